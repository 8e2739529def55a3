//! The loss budget: how many new tuples may be expected to be lost.
//!
//! A new tuple that the filter is asked about is lost with the filter's rate f, if hits are dropped.
//! It passes with 1 − f and then adds f/(1 − f) to the sum, so the expectation of the sum is that of
//! the number lost, whatever share of the tuples were replays. Dropping is allowed only while the sum,
//! the next term included, stays within the budget; so the expected number lost does, too.

use std::time::Duration;

/// Seconds in a cell of the hour.
pub(super) const CELL: u64 = 60;

/// Cells that an hour can touch.
const CELLS: usize = 61;

/// The budgets and what is spent of them, in expected lost tuples.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    per_recovery: f64,
    per_hour: f64,
    /// Since the recovery began.
    recovery: f64,
    /// By minute, of the last hour.
    cells: [f64; CELLS],
    /// The number of the newest minute.
    minute: u64,
}

impl Budget {
    pub(super) const fn new(per_recovery: f64, per_hour: f64) -> Self {
        Self { per_recovery, per_hour, recovery: 0.0, cells: [0.0; CELLS], minute: 0 }
    }

    /// A recovery begins.
    pub(super) const fn renew(&mut self) {
        self.recovery = 0.0;
    }

    /// Lets minutes pass.
    pub(super) fn at(&mut self, now: Duration) {
        let minute = now.as_secs() / CELL;
        let passed = minute.saturating_sub(self.minute).min(CELLS as u64);
        for back in 0..passed {
            self.cells[((minute - back) % CELLS as u64) as usize] = 0.0;
        }
        self.minute = self.minute.max(minute);
    }

    /// Whether a hit may be dropped where one more test costs this.
    pub(super) fn allows(&self, cost: f64) -> bool {
        self.recovery + cost <= self.per_recovery && self.hour() + cost <= self.per_hour
    }

    /// A tuple has passed a test whose hits are dropped.
    pub(super) fn charge(&mut self, cost: f64) {
        self.recovery += cost;
        self.cells[(self.minute % CELLS as u64) as usize] += cost;
    }

    /// The newest minute and all cells, to be stored.
    pub(super) const fn hour_state(&self) -> (u64, &[f64; CELLS]) {
        (self.minute, &self.cells)
    }

    /// Sets the newest minute, and gives the cells to be filled: a crash does not renew the hour.
    pub(super) const fn restore_hour(&mut self, minute: u64) -> &mut [f64; CELLS] {
        self.minute = minute;
        &mut self.cells
    }

    /// Spent in this recovery.
    pub(super) const fn recovery(&self) -> f64 {
        self.recovery
    }

    /// Spent in the last hour; up to a minute more.
    pub(super) fn hour(&self) -> f64 {
        self.cells.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_budgets_bind_and_the_hour_passes() {
        let mut budget = Budget::new(1.0, 1.5);
        assert!(budget.allows(1.0) && !budget.allows(1.01));
        budget.charge(1.0);
        budget.renew();
        assert!(budget.allows(0.5) && !budget.allows(0.51));
        budget.at(Duration::from_secs(3_599));
        assert!(!budget.allows(0.51), "less than an hour later");
        budget.at(Duration::from_mins(61));
        assert!(budget.allows(1.0));
        assert!(budget.hour().abs() < 1e-12);
    }

    /// No hour, wherever it begins, holds more than its budget.
    #[test]
    fn no_hour_is_overspent() {
        let mut budget = Budget::new(f64::INFINITY, 10.0);
        let mut spent = Vec::new();
        for second in (0..5 * 3_600).step_by(7) {
            budget.at(Duration::from_secs(second));
            if budget.allows(0.25) {
                budget.charge(0.25);
                spent.push(second);
            }
        }
        for start in &spent {
            let hour = spent.iter().filter(|at| (*start..start + 3_600).contains(at)).count();
            assert!(hour as f64 * 0.25 <= 10.0, "{hour} from {start}");
        }
        // A spent hour opens again: five hours cost nearly five budgets.
        assert!(spent.len() >= 4 * 40, "{}", spent.len());
    }
}
