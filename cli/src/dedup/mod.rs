//! `hapax dedup`: pass the first sighting of each line, drop repeats, survive a crash.
//!
//! ```text
//!  stdin ──lines──▶ id ──▶ replay filter ──first sightings──▶ stdout
//!                              │                                │ 1. flushed
//!                              └────────── state file ◀─────────┘ 2. saved
//! ```
//!
//! The order of the two steps is what keeps a crash from losing lines: a saved state never covers a
//! line that was not written out. After a crash, run it again on whatever was not yet covered, and
//! earlier lines too if that is simpler: at most the lines between the last save and the crash come
//! out twice.

mod info;
mod lines;
mod state;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use hapax::Seen;

pub(crate) use self::info::StateInfo;
use self::lines::{Id, Lines};
pub(crate) use self::state::SavedState;
use self::state::{Sizing, State};
use crate::args::Global;
use crate::exit::{self, Exit};
use crate::progress::Progress;
use crate::rate;
use crate::trouble::Trouble;

/// Pass the first sighting of each line, drop repeats.
///
/// Reads lines from standard input and writes the first sighting of each to standard output, in
/// order. Memory is bounded: the last CAPACITY first sightings are remembered at least. A line that
/// only looks repeated is dropped too, at the false positive rate; the summary says how many lines
/// were probably lost that way.
///
/// With a state, run it again after a crash on what the state does not cover, or on more: lines that
/// are covered are dropped. `hapax info FILE` shows how many lines the state covers.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DOING))]
pub(crate) struct DedupArgs {
    /// Identify a line by this field, counted from 1, instead of by all of it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    key_field: Option<u32>,
    /// What separates fields: one character, or \t
    #[arg(short, long, value_name = "CHAR", default_value = r"\t", value_parser = delimiter)]
    delimiter: u8,
    /// Restore the state from this file if it exists, and save it there, atomically
    #[arg(short, long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Save the state each time so many lines were read, and at the end
    #[arg(
        long,
        value_name = "LINES",
        default_value_t = 100_000,
        requires = "state",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    checkpoint_every: u64,
    /// Distinct lines to remember at least [default: 1000000, or as in the state]
    #[arg(long, value_name = "LINES")]
    capacity: Option<u64>,
    /// Share of new lines that may be lost, such as 1e-8, 0.01%, 1/65536 or 2^-16 [default: 1e-8,
    /// or as in the state]
    #[arg(long, value_name = "RATE", value_parser = rate::parse)]
    false_positive_rate: Option<f64>,
}

/// One byte that separates fields.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        br"\t" => Ok(b'\t'),
        [byte] if *byte != b'\n' => Ok(*byte),
        _ => Err(r"expected one ASCII character, or \t".to_owned()),
    }
}

/// Copies first sightings.
///
/// # Errors
///
/// If the state cannot be restored, a line has no key, input or output fails, or the filter refuses.
/// Everything before the offending line was written, and the state on disk covers none that was not.
pub(crate) fn run(args: &DedupArgs, global: Global) -> Result<Exit, Trouble> {
    let id = Id::new(args.key_field, args.delimiter);
    let sizing = Sizing { capacity: args.capacity, rate: args.false_positive_rate };
    let mut state = State::open(args.state.as_deref(), sizing, &id)?;
    let restored = state.counts();
    if !global.quiet {
        state.announce();
    }

    // Before anything is passed: a place where nothing can be saved is told at once.
    state.save()?;

    let progress = Progress::new(global.progress(), input_len());
    let mut lines = Lines::new(progress.wrap(io::stdin().lock()));
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if state.is_saved() && stdout_ends_in_mid_line() {
        crate::note("standard output ends in mid-line, as a killed run may leave it: it was ended");
        out.write_all(b"\n").map_err(|error| Trouble::stdout(&error))?;
    }
    let mut since_save = 0;
    loop {
        // Whoever follows the output sees what came of the input so far before it is waited for.
        if !lines.next_is_here() {
            out.flush().map_err(|error| Trouble::stdout(&error))?;
        }
        let next = lines.next().map_err(|error| Trouble::reading("standard input", &error))?;
        let Some(line) = next else { break };
        let trouble = |what: &dyn std::fmt::Display| {
            Trouble::new(format_args!("line {}: {what}", line.number))
        };
        if !line.ended && state.is_saved() {
            save(&mut out, &mut state)?;
            return Err(trouble(
                &"the last line has no line end and may be cut short, so it was neither passed nor \
                  remembered: send it again, whole",
            ));
        }
        let key = id.of(line.content()).map_err(|error| trouble(&error))?;
        if state.admit(key).map_err(|error| trouble(&error))? == Seen::Never {
            // In one piece: the buffer is then written out at line ends only.
            out.write_all(line.whole).map_err(|error| Trouble::stdout(&error))?;
        }
        since_save += 1;
        if since_save == args.checkpoint_every {
            save(&mut out, &mut state)?;
            since_save = 0;
        }
    }
    save(&mut out, &mut state)?;
    drop(progress);

    if !global.quiet {
        let counts = state.counts();
        let (passed, dropped) =
            (counts.passed - restored.passed, counts.dropped - restored.dropped);
        let lost = counts.estimated_lost - restored.estimated_lost;
        crate::note(&format!(
            "read {}, passed {passed}, dropped {dropped}; of these about {lost:.2} were new and are \
             lost",
            passed + dropped
        ));
        if restored.judged() > 0 {
            crate::note(&format!(
                "since the state was made: read {}, passed {}, dropped {}, about {:.2} lost",
                counts.judged(),
                counts.passed,
                counts.dropped,
                counts.estimated_lost
            ));
        }
    }
    Ok(Exit::Yes)
}

/// Output first, then the state that covers it.
fn save(out: &mut BufWriter<io::StdoutLock<'_>>, state: &mut State) -> Result<(), Trouble> {
    out.flush().map_err(|error| Trouble::stdout(&error))?;
    if !state.is_saved() {
        return Ok(());
    }
    sync_stdout().map_err(|error| Trouble::stdout(&error))?;
    state.save()
}

/// Makes what was written durable where standard output is a file; a pipe has nothing to sync.
fn sync_stdout() -> io::Result<()> {
    use std::os::fd::AsFd;
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    if stdout.metadata()?.is_file() { stdout.sync_data() } else { Ok(()) }
}

/// Whether standard output is a file that ends in the middle of a line: the last write of a run that
/// was killed. What is appended must not be glued to it.
fn stdout_ends_in_mid_line() -> bool {
    use std::os::unix::fs::FileExt;
    // Standard output is open for writing; this opens it again for reading, where that is possible.
    let Ok(file) = File::open("/proc/self/fd/1") else { return false };
    let last = |metadata: std::fs::Metadata| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, metadata.len().checked_sub(1)?).ok()?;
        Some(byte)
    };
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
    metadata.and_then(last).is_some_and(|byte| byte != *b"\n")
}

/// Bytes of standard input, if it is a file.
fn input_len() -> Option<u64> {
    use std::os::fd::AsFd;
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    stdin.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}
