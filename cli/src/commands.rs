//! Commands that read lists: from their arguments to their work, with a progress bar during it and
//! a summary after it.

use std::io::{self, Write as _};

use crate::args::Global;
use crate::build::{self, BuildArgs};
use crate::convert::{self, ConvertArgs};
use crate::diff::{self, DiffArgs};
use crate::exit::Exit;
use crate::filters;
use crate::lists;
use crate::progress::Progress;
use crate::synthetic::{self, GenArgs};
use crate::trouble::Trouble;
use crate::verify::{self, VerifyArgs};

/// Runs `hapax build`.
///
/// # Errors
///
/// As [`build::run`] and [`build::forecast`], and if standard output cannot be written.
pub(crate) fn build(args: &BuildArgs, global: Global) -> Result<Exit, Trouble> {
    let lists = lists::open_all(&args.inputs())?;
    if args.is_dry_run() {
        let forecast = build::forecast(&args.request(), &lists, args.rows())?;
        if !global.quiet {
            let shown = writeln!(io::stdout(), "{forecast}");
            shown.map_err(|error| Trouble::stdout(&error))?;
        }
        return Ok(Exit::Yes);
    }
    let progress = Progress::new(global.progress(), lists::total_len(&lists));
    let card = build::run(&args.request(), lists, &|bytes| progress.advance(bytes))?;
    drop(progress);
    if global.quiet {
        // What may have gone wrong is said all the same.
        card.counts.warnings().for_each(|warning| crate::note(&format!("note: {warning}")));
    } else {
        crate::note(&card.to_string());
    }
    Ok(Exit::Yes)
}

/// Runs `hapax convert`.
///
/// # Errors
///
/// As [`convert::run`].
pub(crate) fn convert(args: &ConvertArgs, global: Global) -> Result<Exit, Trouble> {
    let lists = lists::open_all(&args.inputs())?;
    let progress = Progress::new(global.progress(), lists::total_len(&lists));
    let converted = convert::run(&args.request(), lists, &|bytes| progress.advance(bytes))?;
    drop(progress);
    if !global.quiet {
        crate::note(&converted.to_string());
    }
    Ok(Exit::Yes)
}

/// Runs `hapax diff`.
///
/// # Errors
///
/// As [`diff::run`], and if standard output cannot be written.
pub(crate) fn diff(args: &DiffArgs, global: Global) -> Result<Exit, Trouble> {
    let [old, new] = args.inputs();
    let lists = lists::open_all(&[old, new])?;
    let progress = Progress::new(global.progress(), lists::total_len(&lists));
    let mut lists = lists.into_iter();
    let (Some(old), Some(new)) = (lists.next(), lists.next()) else { return Ok(Exit::Trouble) };
    let difference = diff::run(&args.request(), old, new, &|bytes| progress.advance(bytes))?;
    drop(progress);
    if args.json {
        let json = serde_json::to_string(&difference).map_err(Trouble::new)?;
        writeln!(io::stdout(), "{json}").map_err(|error| Trouble::stdout(&error))?;
    } else if !global.quiet {
        crate::note(&difference.to_string());
    }
    Ok(difference.exit())
}

/// Runs `hapax gen`.
///
/// # Errors
///
/// As [`synthetic::run`].
pub(crate) fn generate(args: &GenArgs, global: Global) -> Result<Exit, Trouble> {
    let rows = synthetic::run(&args.request())?;
    if !global.quiet {
        crate::note(&format!("wrote {} rows", build::grouped(rows)));
    }
    Ok(Exit::Yes)
}

/// Runs `hapax verify`.
///
/// # Errors
///
/// As [`verify::run`].
pub(crate) fn verify(args: &VerifyArgs, global: Global) -> Result<Exit, Trouble> {
    let request = args.request();
    filters::existing_len("FILTER", 0, &request.filter)?;
    let inputs = args.inputs();
    let lists = if inputs.is_empty() { Vec::new() } else { lists::open_all(&inputs)? };
    let progress = Progress::new(global.progress(), lists::total_len(&lists));
    let verified = verify::run(&request, lists, &|bytes| progress.advance(bytes))?;
    drop(progress);
    if !global.quiet || verified.exit() != Exit::Yes {
        crate::note(&verified.to_string());
    }
    Ok(verified.exit())
}
