//! What `hapax info` shows of a state, and what `hapax verify` says of one.

use std::fmt::Write as _;
use std::path::Path;

use hapax::replay::StateReport;
use serde::Serialize;

use super::state::{Attached, report};
use super::summary::lost;
use crate::trouble::{Trouble, escaped, shown};

/// What is shown. As JSON, fields may be added, and none is taken away or changes its meaning.
#[derive(Debug, Serialize)]
pub(crate) struct StateInfo {
    kind: &'static str,
    /// What identifies a line; empty for a state that another program has made.
    lines: String,
    /// The newest checkpoint that is whole.
    checkpoint: u64,
    /// Newer ones that do not verify, and why.
    damaged_checkpoints: Vec<Damaged>,
    /// New lines that are remembered at least.
    capacity: u64,
    /// New lines that are remembered now.
    len: u64,
    false_positive_rate: f64,
    max_epochs: u32,
    epochs: Vec<Epoch>,
    channels: Vec<Channel>,
    /// Bytes of output that the checkpoint covers, if it was a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_len: Option<u64>,
    /// Lines read, over all runs that are covered by the state.
    judged: u64,
    passed: u64,
    dropped_certain: u64,
    dropped_probable: u64,
    diverted: u64,
    suspect: u64,
    expected_lost: f64,
    caught_up: u64,
    recoveries: u64,
    checkpoints: u64,
    epochs_retired: u64,
    epochs_rotated: u64,
}

#[derive(Debug, Serialize)]
struct Damaged {
    checkpoint: u64,
    why: String,
}

#[derive(Debug, Serialize)]
struct Epoch {
    number: u64,
    len: u64,
    byte_len: u64,
    ended: bool,
}

#[derive(Debug, Serialize)]
struct Channel {
    #[serde(rename = "channel")]
    number: u32,
    /// All positions up to here are covered.
    watermark: Option<u64>,
    highest: Option<u64>,
    gaps: u64,
    truncated: Option<u64>,
}

impl StateInfo {
    /// Reads a state, to the last byte.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not whole.
    pub(crate) fn read(folder: &Path) -> Result<Self, Trouble> {
        Ok(Self::of(&report(folder)?))
    }

    fn of(state: &StateReport) -> Self {
        let attached = Attached::of(state).unwrap_or_default();
        let counts = &state.counts;
        let skipped = state.restored.skipped.iter();
        Self {
            kind: "dedup state",
            lines: attached.lines,
            checkpoint: state.restored.number,
            damaged_checkpoints: skipped
                .map(|skipped| Damaged { checkpoint: skipped.number, why: skipped.why.to_string() })
                .collect(),
            capacity: state.window,
            len: state.epochs.iter().map(|epoch| epoch.len).sum(),
            false_positive_rate: state.false_positive_rate,
            max_epochs: state.max_epochs,
            epochs: state
                .epochs
                .iter()
                .map(|epoch| Epoch {
                    number: epoch.number,
                    len: epoch.len,
                    byte_len: epoch.byte_len,
                    ended: epoch.ended,
                })
                .collect(),
            channels: state
                .channels
                .iter()
                .map(|channel| Channel {
                    number: channel.channel,
                    watermark: channel.watermark,
                    highest: channel.highest,
                    gaps: channel.gaps,
                    truncated: channel.truncated,
                })
                .collect(),
            output_len: attached.output,
            judged: counts.judged,
            passed: counts.first,
            dropped_certain: counts.replay,
            dropped_probable: counts.probable,
            diverted: counts.diverted,
            suspect: counts.suspect,
            expected_lost: counts.estimated_lost,
            caught_up: counts.caught_up,
            recoveries: counts.recoveries,
            checkpoints: counts.checkpoints,
            epochs_retired: counts.retired,
            epochs_rotated: counts.rotated,
        }
    }

    /// Labels and values for people.
    pub(crate) fn table(&self) -> Vec<(&'static str, String)> {
        let mut table = vec![
            ("kind", self.kind.into()),
            ("lines", escaped(&self.lines)),
            ("checkpoint", self.checkpoint.to_string()),
        ];
        for Damaged { checkpoint, why } in &self.damaged_checkpoints {
            table.push(("damaged", format!("checkpoint {checkpoint}: {}", escaped(why))));
        }
        table.extend([
            ("capacity", format!("{} lines", self.capacity)),
            ("remembered", format!("{} lines in {} epochs", self.len, self.epochs.len())),
            ("false positives", format!("{:.3e} at capacity", self.false_positive_rate)),
        ]);
        for Epoch { number, len, byte_len, ended } in &self.epochs {
            let open = if *ended { "" } else { ", being filled" };
            table.push(("", format!("epoch {number}: {len} lines, {byte_len} bytes{open}")));
        }
        let or_none = |position: Option<u64>| {
            position.map_or_else(|| "none".to_owned(), |position| position.to_string())
        };
        for channel in &self.channels {
            let mut text = format!(
                "{}: all up to {}, highest {}, {} gaps",
                channel.number,
                or_none(channel.watermark),
                or_none(channel.highest),
                channel.gaps
            );
            if let Some(truncated) = channel.truncated {
                // Writing to a String cannot fail.
                let _ = write!(text, ", truncated up to {truncated}");
            }
            table.push(("channel", text));
        }
        if let Some(len) = self.output_len {
            table.push(("output", format!("{len} bytes")));
        }
        table.extend([
            ("read", format!("{} lines", self.judged)),
            ("passed", format!("{}, {} of them look repeated", self.passed, self.suspect)),
            (
                "dropped",
                format!(
                    "{} for certain, {} by the filter",
                    self.dropped_certain, self.dropped_probable
                ),
            ),
            ("diverted", self.diverted.to_string()),
            ("expected lost", format!("{} of the dropped", lost(self.expected_lost))),
            ("caught up", self.caught_up.to_string()),
            ("recoveries", self.recoveries.to_string()),
            ("checkpoints", self.checkpoints.to_string()),
            (
                "epochs gone",
                format!("{} retired, {} rotated out", self.epochs_retired, self.epochs_rotated),
            ),
        ]);
        table
    }
}

/// Checks every byte of a state.
///
/// # Errors
///
/// If the newest checkpoint is not whole.
pub(crate) fn verify(folder: &Path) -> Result<(), Trouble> {
    let state = report(folder)?;
    let Some(newest) = state.restored.skipped.first() else { return Ok(()) };
    Err(Trouble::new(format_args!(
        "{}: {}. Checkpoint {} is whole, and would be used",
        shown(folder),
        escaped(&newest.to_string()),
        state.restored.number
    )))
}
