//! What `hapax info` shows of a state file.

use hapax::Membership;
use serde::Serialize;

use super::state::SavedState;

/// What is shown. As JSON, fields may be added, and none is taken away or changes its meaning.
#[derive(Debug, Serialize)]
pub(crate) struct StateInfo {
    kind: &'static str,
    /// What identifies a line.
    keys: String,
    /// First sightings that are remembered at least.
    capacity: u64,
    /// First sightings that are remembered now.
    len: u64,
    generation: u64,
    bit_len: u64,
    false_positive_rate: f64,
    /// Lines read, over all runs that are covered by the state.
    judged: u64,
    passed: u64,
    dropped: u64,
    estimated_lost: f64,
    file_len: u64,
}

impl StateInfo {
    pub(crate) fn of(state: &SavedState, file_len: u64) -> Self {
        let (window, counts) = (state.filter.window(), state.filter.counts());
        let stats = window.stats();
        Self {
            kind: "dedup state",
            keys: state.provenance.source.clone(),
            capacity: stats.capacity,
            len: stats.len,
            generation: window.generation(),
            bit_len: stats.bit_len,
            false_positive_rate: stats.false_positive_rate,
            judged: counts.judged(),
            passed: counts.passed,
            dropped: counts.dropped,
            estimated_lost: counts.estimated_lost,
            file_len,
        }
    }

    /// Labels and values for people.
    pub(crate) fn table(&self) -> Vec<(&'static str, String)> {
        vec![
            ("kind", self.kind.into()),
            ("keys", self.keys.escape_debug().to_string()),
            ("capacity", format!("{} lines", self.capacity)),
            ("remembered", format!("{} lines", self.len)),
            ("generation", self.generation.to_string()),
            ("size", format!("{} bits", self.bit_len)),
            ("file", format!("{} bytes", self.file_len)),
            ("false positives", format!("{:.3e} now", self.false_positive_rate)),
            ("read", format!("{} lines", self.judged)),
            ("passed", self.passed.to_string()),
            ("dropped", self.dropped.to_string()),
            ("probably lost", format!("{:.2} of the dropped", self.estimated_lost)),
        ]
    }
}
