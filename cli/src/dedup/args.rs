//! The arguments of `hapax dedup`, and the step from them to what the run works with.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hapax::replay::{ChannelKind, OnProbable};

use super::acks::Mark;
use super::columns::{Columns, Place};
use super::sizing::Sizing;
use crate::exit;
use crate::rate;

/// Pass the first sighting of each line, drop repeats.
///
/// Reads lines from standard input and writes the first sighting of each to standard output, in
/// order. Memory is bounded: the last CAPACITY first sightings are remembered at least. A line that
/// only looks repeated is dropped too, at the false positive rate; the summary says how many lines
/// are expected to be lost that way. Lines with a position in their log are told apart by it first,
/// which never errs.
///
/// With a state, run it again after a crash on the input from the beginning, or from what
/// --ack-file names: lines that are covered are dropped, if they are within the last CAPACITY new
/// ones or have dense positions. `hapax info DIR` shows the state.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DOING))]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct DedupArgs {
    /// Identify a line by these fields, counted from 1, instead of by all of it
    #[arg(
        short = 'k',
        long,
        visible_alias = "key-field",
        value_name = "COL[,COL...]",
        value_delimiter = ',',
        value_parser = column()
    )]
    id: Vec<u32>,
    /// What separates fields: one character, or \t
    #[arg(short, long, value_name = "CHAR", default_value = r"\t", value_parser = delimiter)]
    delimiter: u8,
    /// The field with the line's position in its log: a number that it keeps when it is sent again
    #[arg(long, value_name = "COL", value_parser = column())]
    position: Option<u32>,
    /// The field with the number of the log, where there are several
    #[arg(long, value_name = "COL", requires = "position", value_parser = column())]
    channel: Option<u32>,
    /// What positions promise
    #[arg(long, value_enum, value_name = "KIND", requires = "position", default_value_t)]
    positions: Positions,
    /// Where each log begins [default: at its first line]; without --position, the number of the
    /// first line of the input, as after a restart from --ack-file [default: 1]
    #[arg(long, value_name = "N")]
    first: Option<u64>,

    /// Restore the state from this folder if there is one, and save checkpoints there
    #[arg(short, long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Make a checkpoint after so many lines, or so often: 100000, 500ms, 10s, 5m, 1h; and at the end
    #[arg(long, value_name = "LINES|TIME", default_value = "100000", requires = "state")]
    checkpoint_every: Every,
    /// Write here, atomically after each checkpoint, what need not be sent again: the number of the
    /// last line that is covered, the position (the highest, or with dense ones that up to which all
    /// came), or with --channel a channel and its position on each line
    #[arg(long, value_name = "FILE", requires = "state")]
    ack_file: Option<PathBuf>,
    /// Read what was written after the checkpoint from the end of the output, so that nothing comes
    /// out twice; with a new state, all of it
    #[arg(long, value_name = "FILE", requires = "state")]
    catch_up: Option<PathBuf>,

    /// Distinct lines to remember at least [default: 1000000, or as in the state]
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(u64).range(1..))]
    capacity: Option<u64>,
    /// Share of tested new lines that may be lost, such as 1e-8, 0.01%, 1/65536 or 2^-16 [default:
    /// 1e-8, or the loss budget by the expected lines, or as in the state]
    #[arg(long, value_name = "RATE", value_parser = rate::parse)]
    false_positive_rate: Option<f64>,
    /// Expected lost lines of a run at most. When it is spent, lines that look repeated go to
    /// --divert, and without it the run stops
    #[arg(long, value_name = "LOST", value_parser = budget)]
    loss_budget: Option<f64>,
    /// New lines of a run that the loss budget must last for
    #[arg(
        long,
        value_name = "LINES",
        requires = "loss_budget",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    expected_lines: Option<u64>,
    /// What makes room: the COUNT of new lines, the age of lines (as 10m), or that the log was
    /// truncated before them, as --truncated says
    #[arg(long, value_name = "count|truncated|TIME", default_value = "count")]
    retire: Retire,
    /// What is written here, in the form of --ack-file, was truncated from the log, and is never sent
    /// again
    #[arg(long, value_name = "FILE", requires = "position")]
    truncated: Option<PathBuf>,

    /// Append lines that look repeated to FILE instead of dropping them; with --loss-budget, only
    /// when that is spent
    #[arg(long, value_name = "FILE")]
    divert: Option<PathBuf>,
    /// Test only lines that may be replays after a restart, by --fence or --tested; others pass
    #[arg(long, requires = "state")]
    replays_only: bool,
    /// The last position that was in the log when this run began, or CHANNEL:N; may be repeated
    #[arg(long, value_name = "N", requires = "replays_only", requires = "position")]
    fence: Vec<Mark>,
    /// Test so many new lines after a restart [default: CAPACITY]
    #[arg(long, value_name = "LINES", requires = "replays_only", conflicts_with = "position")]
    tested: Option<u64>,
    /// What is done with lines that look repeated and are no replays by their position
    #[arg(long, value_enum, value_name = "WHAT", requires = "replays_only", default_value_t)]
    on_suspect: OnSuspect,

    /// Print the summary as a JSON object
    #[arg(long)]
    json: bool,
    /// Forget everything: erase the state; says what that costs, and does it with --force
    #[arg(long, requires = "state", conflicts_with_all = ["catch_up", "ack_file", "divert"])]
    reset: bool,
    /// Do what --reset would do
    #[arg(long, requires = "reset")]
    force: bool,
}

/// What a run works with.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) columns: Columns,
    pub(super) kind: ChannelKind,
    pub(super) first: Option<u64>,
    pub(super) state: Option<PathBuf>,
    pub(super) checkpoint_every: Every,
    pub(super) ack_file: Option<PathBuf>,
    pub(super) catch_up: Option<PathBuf>,
    pub(super) sizing: Sizing,
    pub(super) retire: Retire,
    pub(super) truncated: Option<PathBuf>,
    pub(super) divert: Option<PathBuf>,
    pub(super) test: Test,
    pub(super) json: bool,
}

/// Which lines the filter is asked about.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Every,
    /// After a restart: those up to the fences, or so many.
    Replays {
        fences: Vec<Mark>,
        tested: Option<u64>,
        on_suspect: OnProbable,
    },
}

/// What is asked for beside deduplicating: erasing the state.
#[derive(Debug)]
pub(super) struct Reset {
    pub(super) state: PathBuf,
    pub(super) force: bool,
}

impl DedupArgs {
    /// Whether the state is to be erased, and nothing else to be done.
    pub(super) fn reset(&self) -> Option<Reset> {
        let state = self.state.clone().filter(|_| self.reset)?;
        Some(Reset { state, force: self.force })
    }

    /// What is to be done.
    ///
    /// # Errors
    ///
    /// If options contradict each other.
    pub(super) fn plan(&self) -> Result<Plan, crate::trouble::Trouble> {
        use crate::trouble::Trouble;
        let place = self.position.map(|position| Place::new(position, self.channel));
        if self.retire == Retire::Truncated && self.truncated.is_none() {
            return Err(Trouble::new(
                "--retire truncated needs --truncated FILE, which says what was truncated",
            ));
        }
        if self.truncated.is_some() && self.retire != Retire::Truncated {
            return Err(Trouble::new("--truncated FILE is read with --retire truncated only"));
        }
        let on_suspect = match self.on_suspect {
            OnSuspect::Pass => OnProbable::Pass,
            OnSuspect::Divert if self.divert.is_some() => OnProbable::Divert,
            OnSuspect::Divert => {
                return Err(Trouble::new("--on-suspect divert needs --divert FILE"));
            }
        };
        let sizing = Sizing {
            capacity: self.capacity,
            rate: self.false_positive_rate,
            budget: self.loss_budget,
            lines: self.expected_lines.or(self.tested).filter(|_| self.loss_budget.is_some()),
        };
        sizing.check()?;
        Ok(Plan {
            columns: Columns::new(&self.id, place, self.positions.name(), self.delimiter),
            kind: self.positions.kind(),
            first: self.first,
            state: self.state.clone(),
            checkpoint_every: self.checkpoint_every,
            ack_file: self.ack_file.clone(),
            catch_up: self.catch_up.clone(),
            sizing,
            retire: self.retire,
            truncated: self.truncated.clone(),
            divert: self.divert.clone(),
            test: if self.replays_only {
                Test::Replays { fences: self.fence.clone(), tested: self.tested, on_suspect }
            } else {
                Test::Every
            },
            json: self.json,
        })
    }
}

/// What positions of a log promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Positions {
    /// Consecutive numbers, as offsets of a partition.
    #[default]
    Dense,
    /// Growing numbers with holes.
    Monotone,
}

impl Positions {
    const fn kind(self) -> ChannelKind {
        match self {
            Self::Dense => ChannelKind::Dense,
            Self::Monotone => ChannelKind::Monotone,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Monotone => "monotone",
        }
    }
}

/// What is done with a hit that is no replay by its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OnSuspect {
    /// Let it pass, and count it.
    #[default]
    Pass,
    /// Append it to --divert.
    Divert,
}

/// When checkpoints are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Every {
    Lines(u64),
    Time(Duration),
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("expected 1 line or more".to_owned()),
            Ok(lines) => Ok(Self::Lines(lines)),
            Err(_) => duration(text).map(Self::Time),
        }
    }
}

/// What makes room in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retire {
    Count,
    Truncated,
    After(Duration),
}

impl FromStr for Retire {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "count" => Ok(Self::Count),
            "truncated" => Ok(Self::Truncated),
            _ => duration(text).map(Self::After).map_err(|error| {
                format!("expected count, truncated or a time; for a time, {error}")
            }),
        }
    }
}

/// A time with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a whole number with a unit, as 500ms, 10s, 5m, 1h or 1d".to_owned();
    let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(milliseconds) {
        // Times are kept in nanoseconds of 64 bits.
        Some(milliseconds @ 1..=9_000_000_000_000) => Ok(Duration::from_millis(milliseconds)),
        _ => Err("expected a time above 0, up to 100000d".to_owned()),
    }
}

/// A column, counted from 1.
fn column() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// One byte that separates fields.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        br"\t" => Ok(b'\t'),
        [byte] if *byte != b'\n' => Ok(*byte),
        _ => Err(r"expected one ASCII character, or \t".to_owned()),
    }
}

/// An expected number of lost lines.
fn budget(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(lost) if lost > 0.0 && f64::is_finite(lost) => Ok(lost),
        _ => Err("expected a positive number of lines".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!("100000".parse(), Ok(Every::Lines(100_000)));
        for (text, milliseconds) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
        ] {
            let time = Duration::from_millis(milliseconds);
            assert_eq!(text.parse(), Ok(Every::Time(time)), "{text}");
            assert_eq!(text.parse(), Ok(Retire::After(time)), "{text}");
        }
        for text in ["", "0", "0s", "-1", "1.5s", "s", "10 s", "10S", "99999999999999d", "ms"] {
            assert!(text.parse::<Every>().is_err(), "{text}");
            assert!(text.parse::<Retire>().is_err(), "{text}");
        }
        assert_eq!(
            ("count".parse(), "truncated".parse()),
            (Ok(Retire::Count), Ok(Retire::Truncated))
        );
        assert!("10".parse::<Retire>().is_err(), "of what?");
    }
}
