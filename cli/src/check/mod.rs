//! `hapax check`: which of these passwords are listed?
//!
//! ```text
//!  stdin, files, prompt ──chunks of rows──▶ answers, in parallel ──in order──▶ report
//!                                              │
//!                                              └ listed │ not listed │ unknown
//! ```
//!
//! There are three answers, and the third is never taken for the second: a row that cannot be
//! asked for, an input that cannot be read, and an input that is empty all end in exit status 2.

mod answer;
mod prompt;
mod report;
mod rows;

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hapax::screen::PasswordDigest;
use hapax::screen::list::ListFormat;
use rayon::prelude::*;

use self::answer::{Answer, Asked};
use self::report::{Output, Report};
use self::rows::{Chunks, MAX_ROW_LEN, Row};
use crate::args::Global;
use crate::exit::{self, Exit};
use crate::filters;
use crate::lists::{self, Input, OpenFile};
use crate::progress::{Progress, When};
use crate::trouble::{Trouble, shown};

/// Chunks of fewer rows are not worth waking other threads.
const PARALLEL_ROWS: usize = 4_096;

/// Tell which passwords are listed
///
/// Reads one candidate per row from standard input, from files, or at a prompt without echo, and
/// prints which rows are listed: never the candidate itself. Passwords are no arguments, since
/// other users of the machine can read those.
///
/// Rows are bytes. The line end is taken off and nothing else; blank rows are passed over.
#[derive(Args, Debug)]
#[command(
    override_usage = "hapax check [OPTIONS] [FILTER]... [-- <FILE>...]",
    after_help = exit::section(exit::CHECK)
)]
pub(crate) struct CheckArgs {
    /// Filters to ask; a candidate in any of them is listed. Without one: a built-in list of the
    /// 100,000 most common passwords
    #[arg(value_name = "FILTER")]
    filters: Vec<PathBuf>,
    /// Files of candidates, `-` for standard input
    #[arg(last = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What a row is; required unless asked at the prompt, where it is plain
    #[arg(short, long, value_enum, value_name = "FORM")]
    input: Option<Form>,
    /// Print only how many are listed
    #[arg(short, long)]
    count: bool,
    /// Print a JSON record for each listed row, and for each that has no answer
    ///
    /// A record has at least the fields `input`, `line` and `listed`. Where `listed` is null, there
    /// is no answer, and `error` says why; if `line` is null too, the input could not be read to
    /// its end. A row without a record is not listed, or blank.
    #[arg(long, conflicts_with = "count")]
    json: bool,
    /// What exit status 0 stands for
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    expect: Expect,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A password, as its bytes
    Plain,
    /// Its SHA-1 in 40 hexadecimal digits
    Sha1,
    /// Its NT hash (NTLM) in 32 hexadecimal digits
    Nt,
}

/// What exit status 0 stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Expect {
    /// At least one candidate is listed
    #[default]
    Listed,
    /// None is
    Absent,
}

/// Answers all candidates.
///
/// # Errors
///
/// If the filters cannot be opened or asked, a file cannot be opened, nothing was given to check, or the results cannot be
/// written. Rows without an answer and files that cannot be read to their end are told, counted, and decides the status.
pub(crate) fn run(args: &CheckArgs, global: Global) -> Result<Exit, Trouble> {
    let opened = match args.filters.as_slice() {
        [] => vec![filters::open_builtin()?],
        paths => paths
            .iter()
            .enumerate()
            .map(|(index, path)| filters::open(index, path))
            .collect::<Result<_, _>>()?,
    };
    let prompted = args.files.is_empty() && io::stdin().is_terminal();
    let form = match args.input {
        Some(form) => form,
        None if prompted => Form::Plain,
        None => {
            return Err(Trouble::new(
                "say what the rows are with --input plain, --input sha1 or --input nt: a password \
                 may look like a hash, so this is not guessed",
            ));
        }
    };
    let asked = Asked::new(opened, form)?;
    let output = match (args.count, args.json, global.quiet) {
        (true, ..) => Output::Count,
        (_, true, _) => Output::Json,
        (_, _, true) => Output::Nothing,
        _ => Output::Lines,
    };
    let mut report = Report::new(output, asked.false_positive_rate());
    if prompted {
        let line = prompt::ask(form.question())?;
        let mut chunks = Chunks::new(line.as_slice());
        check(&mut chunks, &asked, "prompt", &Progress::new(When::Never, None), &mut report)?;
    } else {
        check_all(sources(args)?, &asked, progress(&report, global), &mut report)?;
    }
    report.finish(global.quiet)?;
    Ok(Exit::of_answer(
        match args.expect {
            Expect::Listed => report.listed() > 0,
            Expect::Absent => report.listed() == 0,
        },
        report.is_certain(),
    ))
}

/// Rows on a terminal and a bar on the same terminal would tear each other.
fn progress(report: &Report, global: Global) -> When {
    match global.progress() {
        When::Auto if report.prints_rows() && io::stdout().is_terminal() => When::Never,
        when => when,
    }
}

impl Form {
    const fn question(self) -> &'static str {
        match self {
            Self::Plain => "Password (not shown): ",
            Self::Sha1 => "SHA-1 (not shown): ",
            Self::Nt => "NT hash (not shown): ",
        }
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

fn check_all(
    sources: Vec<OpenFile>,
    asked: &Asked,
    when: When,
    report: &mut Report,
) -> Result<(), Trouble> {
    let progress = Progress::new(when, sources.iter().map(OpenFile::len).sum());
    for source in sources {
        let (name, input) = source.into_parts();
        check(&mut Chunks::new(input), asked, &label(&name), &progress, report)?;
    }
    Ok(())
}

/// Answers the rows of one source.
fn check(
    chunks: &mut Chunks<impl Read>,
    asked: &Asked,
    name: &str,
    progress: &Progress,
    report: &mut Report,
) -> Result<(), Trouble> {
    let mut answers = Vec::new();
    loop {
        let chunk = match chunks.next() {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(()),
            Err(error) => {
                return report.source_failed(name, &Trouble::reading(name, &error), progress);
            }
        };
        if chunk.first == 1
            && let Err(error) = ListFormat::detect(chunk.bytes(), PasswordDigest::Sha1)
            && error.is_foreign()
        {
            // Every row would be "not listed", and none of them is a candidate.
            let trouble = Trouble::new(format_args!("{name}: {error}"));
            return report.source_failed(name, &trouble, progress);
        }
        let answer = |row: &Row| match chunk.content(*row) {
            Some(content) => asked.answer(content),
            None => Answer::too_long(MAX_ROW_LEN),
        };
        if chunk.rows.len() < PARALLEL_ROWS {
            answers.clear();
            answers.extend(chunk.rows.iter().map(answer));
        } else {
            let rows = chunk.rows.par_iter().with_min_len(PARALLEL_ROWS / 4);
            rows.map(answer).collect_into_vec(&mut answers);
        }
        report.rows(name, chunk.first, &answers, progress)?;
        progress.advance(chunk.byte_len);
    }
}
