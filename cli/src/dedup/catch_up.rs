//! Reading the end of the output after a crash: what was written after the checkpoint.
//!
//! ```text
//!  output   ■■■■■■■■■■■■■■■■■■■■│■■■■■■■■■■■■■▪
//!            the checkpoint covers│ caught up  └ cut by the kill: comes again
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use hapax::replay::{Position, ReplayGuard};

use super::args::Plan;
use super::lines::Lines;
use super::outputs::{Output, whole_len};
use super::session::ROUTE;
use super::state::{Attached, Ready, explain};
use crate::trouble::{Trouble, shown};

/// Lines between checkpoints while a window is filled from the output.
const INTERVAL: u64 = 100_000;

/// Takes the lines of the output that the state does not cover as read, and gives their number. A last
/// line that a kill has cut off is taken out of the output if that is where this run writes to.
///
/// # Errors
///
/// If the file cannot be read, is not that of the checkpoint, or has lines without an id.
pub(super) fn catch_up(
    path: &Path,
    folder: &Path,
    plan: &Plan,
    ready: &mut Ready,
    out: &mut Output,
) -> Result<u64, Trouble> {
    let columns = &plan.columns;
    let reading = |error| Trouble::reading(shown(path), &error);
    let mut file = File::open(path).map_err(reading)?;
    if out.is(&file.metadata().map_err(reading)?) && out.cut_torn_line()? {
        crate::note(&format!(
            "{}: ended in mid-line, as a killed run may leave it: that line was taken out, and passes \
             when it comes again",
            shown(path)
        ));
    }
    // Otherwise whoever writes the file may be in the middle of a line.
    let end = whole_len(&file).map_err(reading)?;
    let start = match &ready.restored {
        None => 0,
        Some(Attached { output: Some(start), .. }) if *start <= end => *start,
        Some(Attached { output, .. }) => {
            let why = match output {
                Some(start) => format!(
                    "expected at least the {start} bytes that the checkpoint covers, found {end}: give \
                     the file that the output went to, and append to it"
                ),
                None => "the output of the checkpoint was no file, so where its end begins is not \
                         known: begin a new state, which catches up with all of the output"
                    .to_owned(),
            };
            return Err(Trouble::new(format_args!("{}: {why}", shown(path))));
        }
    };
    file.seek(SeekFrom::Start(start)).map_err(reading)?;
    let mut lines = Lines::new(file.take(end - start));
    let mut heads = BTreeMap::new();
    let mut taken = 0;
    let mut since_checkpoint = 0;
    while lines.fill().map_err(reading)? {
        let mut ids = Vec::new();
        while let Some(line) = lines.next() {
            let content = lines.content(&line);
            let unreadable =
                |why| Trouble::new(format_args!("{}, line {}: {why}", shown(path), line.number));
            ids.push(columns.id(content).map_err(unreadable)?.into_owned());
            if let Some(at) = columns.position(content).map_err(unreadable)? {
                let head = heads.entry(at.channel).or_insert(at.sequence);
                *head = at.sequence.max(*head);
            }
        }
        since_checkpoint += ids.len() as u64;
        taken += take(&mut ready.guard, &ids, ready.restored.is_some())?;
        if since_checkpoint >= INTERVAL && ready.restored.is_none() {
            ready.guard.checkpoint().map_err(|fault| explain(folder, &fault))?;
            since_checkpoint = 0;
        }
    }
    if ready.restored.is_some() {
        for (channel, sequence) in heads {
            ready.fence(Position::new(channel, sequence));
        }
    }
    Ok(taken)
}

/// The end of an output is exact evidence; all of a long one is for the filter alone.
fn take(guard: &mut ReplayGuard, ids: &[Vec<u8>], is_end: bool) -> Result<u64, Trouble> {
    let ids = ids.iter().map(|id| (ROUTE, id));
    let taken = if is_end { guard.catch_up(ids) } else { guard.rebuild_from(ids) };
    taken.map_err(Trouble::new)
}
