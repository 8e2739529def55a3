//! What is said when a run ends.

use std::fmt;

use hapax::replay::{Accounts, Snapshot};
use serde::Serialize;

/// Lines of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counted {
    pub(super) read: u64,
    pub(super) passed: u64,
    /// Dropped, and certainly repeated.
    #[serde(rename = "dropped_certain")]
    pub(super) certain: u64,
    /// Dropped because the filter has them.
    #[serde(rename = "dropped_probable")]
    pub(super) probable: u64,
    pub(super) diverted: u64,
}

/// The summary of a run. As JSON, fields may be added, and none is taken away or changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    run: Counted,
    /// Of `passed`: the filter had them, and they were no replays by their position.
    suspect: u64,
    /// Of `dropped_probable`: new, by expectation.
    expected_lost: f64,
    /// Ids taken from the output.
    caught_up: u64,
    /// Lines in the window.
    remembered: u64,
    /// Over what the window was planned for.
    fill_ratio: f64,
    false_positive_rate: f64,
    /// Since the state was made.
    all_read: u64,
    all_passed: u64,
    all_dropped: u64,
    all_expected_lost: f64,
}

impl Summary {
    pub(super) fn of(run: Counted, before: Accounts, now: &Snapshot) -> Self {
        let counts = now.counts;
        Self {
            run,
            suspect: counts.suspect - before.suspect,
            expected_lost: counts.estimated_lost - before.estimated_lost,
            caught_up: counts.caught_up - before.caught_up,
            remembered: now.remembered,
            fill_ratio: now.fill_ratio,
            false_positive_rate: now.false_positive_rate,
            all_read: counts.judged - counts.aborted,
            all_passed: counts.first,
            all_dropped: counts.replay + counts.probable,
            all_expected_lost: counts.estimated_lost,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { read, passed, certain, probable, diverted } = self.run;
        write!(f, "read {read}, passed {passed}, dropped {}", certain + probable)?;
        if certain > 0 {
            write!(f, " ({certain} for certain, {probable} by the filter)")?;
        }
        if diverted > 0 {
            write!(f, ", diverted {diverted}")?;
        }
        if self.suspect > 0 {
            write!(f, "; of the passed {} look repeated", self.suspect)?;
        }
        write!(
            f,
            "; expected to be lost: {}; window: {} lines, {:.1} % full",
            lost(self.expected_lost),
            self.remembered,
            100.0 * self.fill_ratio
        )?;
        if self.all_read > read {
            write!(
                f,
                "\nsince the state was made: read {}, passed {}, dropped {}, expected to be lost: {}",
                self.all_read,
                self.all_passed,
                self.all_dropped,
                lost(self.all_expected_lost)
            )?;
        }
        Ok(())
    }
}

/// An expected number of lines, with its size told where it is small.
pub(super) fn lost(lines: f64) -> String {
    if lines == 0.0 || lines >= 0.01 { format!("{lines:.2}") } else { format!("{lines:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_expectations_are_not_rounded_away() {
        for (lines, text) in
            [(0.0, "0.00"), (1e-7, "1.0e-7"), (0.0123, "0.01"), (123.456, "123.46")]
        {
            assert_eq!(lost(lines), text);
        }
    }
}
