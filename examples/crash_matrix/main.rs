//! Crash matrix: an operator is killed at every boundary between its steps, and nothing is lost and
//! nothing comes out twice.
//!
//! ```text
//!   upstream (this process)                        operator (a process of its own)
//!   log, durable ──────────── tuples ────────────▶ receive ─▶ test ─▶ process ─▶ output durable
//!   keeps what is not      ◀── acknowledgements ──               ack ◀─ filter durable ◀─┘
//!   acknowledged, and      ─────── truncated ────▶ retire
//!   sends it again after
//!   the operator's death
//! ```
//!
//! `cargo run --release --example crash_matrix` runs all of it; `-- --short` fewer kills of each kind. The
//! exit status is 1 if a row is not as expected.
//!
//! Where to read first, to put a guard into an operator of one's own:
//!
//! - `after_output.rs`: the guard at a sink, whose output never rolls back.
//! - `with_state.rs`: the guard as part of an operator's state, which does.
//! - `job.rs`: how the guard is asked for, depending on what upstream says of its tuples.
//! - `broken.rs`: what *not* to do, and what it costs.
//!
//! The rest is the bench: `upstream.rs` and `wire.rs` with `link.rs` (the log and the connection),
//! `output.rs` and `sums.rs` (what the operators write), `trial.rs` (kills and starts again), `judge.rs`
//! and `report.rs`.

mod after_output;
mod broken;
mod job;
mod judge;
mod link;
mod output;
mod report;
mod step;
mod sums;
mod trial;
mod tuple;
mod upstream;
mod wire;
mod with_state;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broken::Rule;
use hapax::replay::Placement;
use job::Job;
use step::Step;
use trial::{Outcome, Trial};
use upstream::Kind;

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        // The operator is this program, too.
        Some("operator") => {
            Job::from_arguments(&arguments).and_then(|job| job.run()).map(|()| true)
        }
        None => matrix(20, 1_000),
        Some("--short") => matrix(3, 200),
        Some(other) => Err(format!("expected nothing or --short, found {other:?}").into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("crash_matrix: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all trials and prints what came of them: `false` if one is not as it must be.
fn matrix(kills: u64, tuples: u64) -> Result<bool, Error> {
    let mut trials = Vec::new();
    let mut add = |placement, kind, broken, step| {
        let seed = trials.len() as u64;
        trials.push(Trial { placement, kind, broken, step, kills, tuples, seed });
    };
    for placement in [Placement::AfterOutput, Placement::WithState] {
        for kind in Kind::ALL {
            for step in Step::ALL {
                add(placement, kind, None, step);
            }
        }
    }
    for rule in Rule::ALL {
        for kind in rule.kinds() {
            add(rule.placement(), *kind, Some(rule), rule.worst_step());
        }
    }

    report::head(&trials, kills, tuples);
    let results = run(&trials)?;
    let (kept, broken): (Vec<_>, Vec<_>) =
        results.into_iter().partition(|(trial, _)| trial.broken.is_none());
    report::kept(&kept);
    report::broken(&broken);
    Ok(kept.iter().chain(&broken).all(|(trial, outcome)| trial.is_met(outcome)))
}

/// Trials that run at the same time: they wait for the disk most of the time.
const PARALLEL: usize = 8;

/// Runs the trials, several at a time, and gives them in order with their outcomes.
fn run(trials: &[Trial]) -> Result<Vec<(Trial, Outcome)>, Error> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = trial.run();
                    let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                    outcomes.push((trial.seed, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(seed, _)| *seed);
    let in_order = outcomes.into_iter().map(|(_, outcome)| outcome);
    trials.iter().zip(in_order).map(|(trial, outcome)| Ok((*trial, outcome?))).collect()
}
