//! The guard of a run: new, or from its state.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use hapax::AnyFilter;
use hapax::codec::{Artefact, DecodeError, FileError, Kind};
use hapax::replay::state::{self, LocalDirectory, Skipped, StateError, Storage as _, StorageError};
use hapax::replay::{
    OnFull, OnProbable, Opened, Placement, Position, ReplayGuard, ReplayGuardBuilder, StateFault,
    StateReport,
};
use serde::{Deserialize, Serialize};

use super::args::{Plan, Reset, Retire, Test};
use super::sizing;
use crate::exit::Exit;
use crate::trouble::{Trouble, escaped, shown};

/// Lines that are judged at once.
const BATCH: u64 = 1_024;

/// What this command keeps with each checkpoint.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Attached {
    /// What lines are identified by.
    pub(super) lines: String,
    /// How long the output was, if it was a file.
    pub(super) output: Option<u64>,
    /// The last position by channel that may be of a line whose output came after a checkpoint: after a
    /// second crash nothing else tells that it may come again.
    #[serde(default)]
    pub(super) fences: BTreeMap<u32, u64>,
}

impl Attached {
    /// What is attached to a state; `None` if it is not one of this command.
    pub(super) fn of(state: &StateReport) -> Option<Self> {
        serde_json::from_slice(&state.attached).ok()
    }
}

/// A guard, ready to judge.
pub(super) struct Ready {
    pub(super) guard: ReplayGuard,
    /// Lines that it judges at once.
    pub(super) most: u64,
    /// What was attached to the state that it was restored from; `None` for a new one.
    pub(super) restored: Option<Attached>,
    /// The fences of its channels.
    pub(super) fences: BTreeMap<u32, u64>,
}

impl Ready {
    fn new(guard: ReplayGuard, plan: &Plan) -> Self {
        let most = in_flight(plan.sizing.capacity());
        Self { guard, most, restored: None, fences: BTreeMap::new() }
    }

    /// Lines up to this position may be replays.
    pub(super) fn fence(&mut self, at: Position) {
        let fence = self.fences.entry(at.channel).or_insert(at.sequence);
        *fence = at.sequence.max(*fence);
        self.guard.fence(Position::new(at.channel, *fence));
    }
}

/// Opens the guard on its state, begins a state where there is none, or goes without one.
///
/// # Errors
///
/// If the state is not whole, in use, or made with other options than asked for: it is never taken
/// for an empty one.
pub(super) fn open(plan: &Plan) -> Result<Ready, Trouble> {
    let Some(folder) = &plan.state else {
        let guard = builder(plan, plan.sizing.capacity());
        let guard = plan.sizing.begin(guard).build().map_err(sizing::refused)?;
        return Ok(Ready::new(guard, plan));
    };
    let trouble = |fault: StateFault| explain(folder, &fault);
    let storage = claim(folder)?;
    if storage.list().map_err(|error| trouble(StateError::from(error).into()))?.is_empty() {
        let begun = plan.sizing.begin(builder(plan, plan.sizing.capacity()));
        let (guard, _) = begun.open(storage).map_err(trouble)?;
        return Ok(Ready::new(guard, plan));
    }
    let report = StateReport::read(&storage).map_err(trouble)?;
    let attached = check_lines(plan, &report).map_err(|error| error.of(folder))?;
    let sized = plan.sizing.resume(|| builder(plan, report.window), &report);
    let (guard, opened) =
        sized.map_err(|error| error.of(folder))?.open(storage).map_err(trouble)?;
    if let Opened::Restored(restored) = opened {
        restored.skipped.iter().for_each(|skipped| note_skipped(folder, skipped));
    }
    let fences = attached.fences.clone();
    let most = in_flight(report.window);
    let mut ready = Ready { guard, most, restored: Some(attached), fences: BTreeMap::new() };
    for (channel, sequence) in fences {
        ready.fence(Position::new(channel, sequence));
    }
    if let Test::Replays { fences, .. } = &plan.test {
        for mark in fences {
            ready.fence(mark.0);
        }
    }
    Ok(ready)
}

/// Opens the folder for writing, and makes it if need be: for the owner alone, since whoever reads a
/// state can test guesses of lines against it.
fn claim(folder: &Path) -> Result<LocalDirectory, Trouble> {
    match folder.metadata() {
        Ok(metadata) if !metadata.is_dir() => return Err(no_folder(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = DirBuilder::new().mode(0o700).create(folder);
            made.map_err(|error| {
                Trouble::new(format_args!("{}: cannot be made: {error}", shown(folder)))
            })?;
        }
        _ => {}
    }
    // Makes the name of the folder durable, too.
    LocalDirectory::create(folder)
        .map_err(|error| explain(folder, &StateFault::State(StateError::Storage(error))))
}

/// What is wrong with a path that is no folder: once, states were files.
fn no_folder(path: &Path) -> Trouble {
    let found = match Artefact::<AnyFilter>::load(path) {
        Err(FileError::Decode {
            source: DecodeError::WrongKind { found: Kind::Replay, .. },
            ..
        }) => {
            "found a state of an earlier release, in one file, which this one cannot go on with: name a \
             new folder, and give --catch-up the output that the old state covers, so that none of it \
             passes again"
        }
        Ok(_) => "found a filter",
        Err(_) => "found a file that is no state: name another folder",
    };
    Trouble::new(format_args!("{}: expected a folder, {found}", shown(path)))
}

/// Checks that lines are identified as they were.
fn check_lines(plan: &Plan, state: &StateReport) -> Result<Attached, Trouble> {
    let given = plan.columns.to_string();
    let Some(attached) = Attached::of(state) else {
        // Stopped before its first checkpoint.
        if state.attached.is_empty() && state.counts.judged == 0 {
            return Ok(Attached { lines: given, ..Attached::default() });
        }
        return Err(Trouble::new("this state was not made by hapax dedup: name another folder"));
    };
    if attached.lines == given {
        return Ok(attached);
    }
    Err(Trouble::new(format_args!(
        "the state was made with lines identified by {}, and {} is asked for: run with what it was made \
         with, or begin another state",
        escaped(&attached.lines),
        escaped(&given)
    )))
}

/// Lines that may be in flight: no more than are remembered.
fn in_flight(window: u64) -> u64 {
    BATCH.min(window)
}

/// What does not depend on the size; the window is of so many lines.
fn builder(plan: &Plan, window: u64) -> ReplayGuardBuilder {
    let builder = ReplayGuard::builder(Placement::AfterOutput)
        .channels(plan.kind)
        .max_in_flight(in_flight(window))
        .on_probable(match (&plan.divert, plan.sizing.budget) {
            (Some(_), None) => OnProbable::Divert,
            _ => OnProbable::Drop,
        });
    let builder = match plan.retire {
        Retire::Count => builder.on_full(OnFull::Rotate),
        Retire::Truncated => builder.retire_on_truncation(),
        Retire::After(time) => builder.retire_after(time).on_full(OnFull::Rotate),
    };
    let builder = match plan.sizing.budget {
        Some(lost) => builder.loss_budget(lost),
        None => builder,
    };
    match &plan.test {
        Test::Every => builder.test_every_tuple(),
        Test::Replays { tested, on_suspect, .. } => {
            let builder = builder.on_suspect(*on_suspect);
            match tested {
                Some(tested) => builder.tested_after_recovery(*tested),
                None => builder,
            }
        }
    }
}

fn note_skipped(folder: &Path, skipped: &Skipped) {
    crate::note(&format!(
        "{}: {skipped}. An older checkpoint is used: what only the newer one covered is not remembered",
        shown(folder)
    ));
}

/// Why a state cannot be used, and what to do in terms of this command.
pub(super) fn explain(folder: &Path, fault: &StateFault) -> Trouble {
    let folder_name = shown(folder);
    if let StateFault::State(StateError::Storage(StorageError::Locked { holder, .. })) = fault {
        return Trouble::new(format_args!(
            "{folder_name}: in use by another run, {holder}: give each run a state of its own, or stop \
             that one first"
        ));
    }
    let reset = match fault {
        StateFault::State(StateError::NoneVerifies { .. } | StateError::NoManifest { .. }) => {
            " (hapax dedup --reset --state)"
        }
        _ => "",
    };
    Trouble::new(format_args!("{folder_name}: {}{reset}", escaped(&fault.to_string())))
}

/// Reads a state without taking it over.
///
/// # Errors
///
/// If there is none, or it is not whole.
pub(crate) fn report(folder: &Path) -> Result<StateReport, Trouble> {
    let storage = LocalDirectory::read_only(folder)
        .map_err(|error| explain(folder, &StateFault::State(StateError::Storage(error))))?;
    StateReport::read(&storage).map_err(|fault| explain(folder, &fault))
}

/// Erases a state, or says what that would cost.
///
/// # Errors
///
/// If it is in use, or cannot be erased; and without force always.
pub(super) fn reset(asked: &Reset) -> Result<Exit, Trouble> {
    let folder = &asked.state;
    if !asked.force {
        let cost = match report(folder) {
            Ok(report) => {
                let lines: u64 = report.epochs.iter().map(|epoch| epoch.len).sum();
                format!("it remembers {lines} lines, each of which passes again if it comes again")
            }
            Err(Trouble::Message(message)) => format!("it cannot be read ({message})"),
            Err(error) => return Err(error),
        };
        return Err(Trouble::new(format_args!(
            "{}: not erased: {cost}. To erase it all the same, add --force",
            shown(folder)
        )));
    }
    let at_folder = |error: StateError| explain(folder, &StateFault::State(error));
    let storage = LocalDirectory::open(folder).map_err(|error| at_folder(error.into()))?;
    let erased = state::reset(&storage).map_err(at_folder)?;
    crate::note(&format!(
        "{}: erased, {}",
        shown(folder),
        erased.tuples.map_or_else(
            || "of what could not be read".to_owned(),
            |lines| format!("{lines} lines are forgotten")
        )
    ));
    Ok(Exit::Yes)
}
