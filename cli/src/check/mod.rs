//! `hapax check`: which of these passwords are listed?
//!
//! ```text
//!  stdin, files, prompt ──batches of rows──▶ answers, in parallel ──in order──▶ report
//!                                              │
//!                                              └ listed │ not listed │ unknown
//! ```
//!
//! There are three answers, and the third is never taken for the second: a row that cannot be
//! asked for, an input that cannot be read, and an input that is empty all end in exit status 2.

mod accounts;
mod answer;
mod args;
mod ask;
mod batch;
mod csv;
mod forms;
mod lines;
mod prompt;
mod quotes;
mod record;
mod report;
mod tally;
mod wiped;
mod workers;

use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::thread;

use hapax::codec::CHECKED_LEN;

pub(crate) use self::args::CheckArgs;
use self::args::{Expect, Form};
use self::ask::{Answers, Asked};
use self::batch::Batch;
use self::report::{Output, Printed, Report};
use self::workers::Work;
use crate::args::Global;
use crate::exit::Exit;
use crate::filters::{self, Opened};
use crate::lists::{self, Input, OpenFile};
use crate::progress::{Progress, When};
use crate::trouble::{Trouble, shown};

/// Answers all candidates.
///
/// # Errors
///
/// If the filters cannot be opened or asked, a file cannot be opened, nothing was given to check,
/// or the results cannot be written. Rows without an answer and files that cannot be read to their
/// end are told, counted, and decide the status.
pub(crate) fn run(args: &CheckArgs, global: Global) -> Result<Exit, Trouble> {
    let prompted = args.files.is_empty() && io::stdin().is_terminal();
    let form = args.form(prompted)?;
    let asked = Asked::new(open(args)?, &args.confirm, args.min_count, form, args.also.clone())?;
    let output = match (args.count, args.json, global.quiet) {
        (true, ..) => Output::Count,
        (_, true, _) => Output::Json,
        (_, _, true) => Output::Nothing,
        _ => Output::Lines,
    };
    let printed = if args.invert { Printed::NotListed } else { Printed::Listed };
    let mut report = Report::new(&asked, output, printed)?;
    if prompted {
        check_prompt(form, &asked, &mut report)?;
    } else {
        check_all(args, &asked, progress(&report, global), &mut report)?;
    }
    let certain = report.finish(global.quiet, args.stats)?;
    Ok(Exit::of_answer(
        match args.expect {
            Expect::Listed => report.listed() > 0,
            Expect::Absent => report.listed() == 0,
        },
        certain,
    ))
}

fn open(args: &CheckArgs) -> Result<Vec<Opened>, Trouble> {
    match args.filters.as_slice() {
        [] => Ok(vec![filters::open_builtin()?]),
        paths => {
            let up_to = if args.verify { u64::MAX } else { CHECKED_LEN };
            let paths = paths.iter().enumerate();
            paths.map(|(index, path)| filters::open(index, path, up_to)).collect()
        }
    }
}

/// Rows on a terminal and a bar on the same terminal would tear each other.
fn progress(report: &Report<'_>, global: Global) -> When {
    match global.progress() {
        When::Auto if report.prints_rows() && io::stdout().is_terminal() => When::Never,
        when => when,
    }
}

/// Opens the sources named, or standard input: each once, since a pipe gives its rows once.
fn sources(args: &CheckArgs) -> Result<Vec<OpenFile>, Trouble> {
    for (index, path) in args.files.iter().enumerate() {
        if Input::from(path.clone()) != Input::Stdin {
            filters::existing_len("FILE", index, path)?;
        }
    }
    let mut sources: Vec<Input> = args.files.iter().cloned().map(Input::from).collect();
    if sources.is_empty() {
        sources.push(Input::Stdin);
    }
    lists::open_files(&sources)
}

/// What a source is called in results.
fn label(source: &Input) -> String {
    match source {
        Input::Stdin => "stdin".into(),
        Input::File(path) => shown(path),
    }
}

fn check_prompt(form: Form, asked: &Asked, report: &mut Report<'_>) -> Result<(), Trouble> {
    let batch = Batch::of_one(prompt::ask(form.question())?);
    let mut answers = Answers::default();
    asked.answer(&batch, &mut answers);
    report.batch("prompt", &batch, &answers, &Progress::new(When::Never, None))
}

fn check_all(
    args: &CheckArgs,
    asked: &Asked,
    when: When,
    report: &mut Report<'_>,
) -> Result<(), Trouble> {
    let sources = sources(args)?;
    let shape = args.shape();
    let progress = Progress::new(when, sources.iter().map(OpenFile::len).sum());
    let threads = || match args.threads {
        Some(threads) => usize::from(threads.get()),
        None => thread::available_parallelism().map_or(1, NonZero::get),
    };
    for source in sources {
        let (name, input) = source.into_parts();
        let name = label(&name);
        let work = Work { asked, shape: &shape, progress: &progress, name: &name };
        workers::check_all(input, work, threads, report)?;
    }
    Ok(())
}
