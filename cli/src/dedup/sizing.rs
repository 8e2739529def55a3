//! How large the window is and how often it errs.

use hapax::replay::{GuardError, ReplayGuardBuilder, StateReport};

use crate::trouble::Trouble;

/// What the user said of the size; a restored state decides what was not said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizing {
    pub(super) capacity: Option<u64>,
    pub(super) rate: Option<f64>,
    /// Expected lost lines of a run.
    pub(super) budget: Option<f64>,
    /// New lines that the budget must last for.
    pub(super) lines: Option<u64>,
}

const DEFAULT_CAPACITY: u64 = 1_000_000;
const DEFAULT_RATE: f64 = 1e-8;

/// Rates that are equal but for how they were computed.
const ROUNDING: f64 = 1e-9;

impl Sizing {
    /// Checks what was said against itself.
    ///
    /// # Errors
    ///
    /// If it contradicts itself.
    pub(super) fn check(&self) -> Result<(), Trouble> {
        if let (Some(lost), Some(lines)) = (self.budget, self.lines)
            && lost > lines as f64 / 2.0
        {
            return Err(Trouble::new(format_args!(
                "a loss budget of {lost} of {lines} lines is no limit: expected half of the lines at \
                 most"
            )));
        }
        self.rate.map_or(Ok(()), |rate| self.check_rate(rate, "the false positive rate"))
    }

    /// Whether the budget can last for the lines at this rate.
    fn check_rate(&self, rate: f64, whose: &str) -> Result<(), Trouble> {
        let (Some(budget), Some(lines)) = (self.budget, self.lines) else { return Ok(()) };
        let lost = rate * lines as f64;
        if lost <= budget * (1.0 + ROUNDING) {
            return Ok(());
        }
        Err(Trouble::new(format_args!(
            "{whose} of {rate:e} loses {lost} of {lines} new lines by expectation, and the loss budget \
             is {budget}: ask for a rate of {:e} or less, or leave it out, or raise the budget",
            budget / lines as f64
        )))
    }

    /// The rate asked for, or that the budget asks for.
    fn wanted_rate(&self) -> Option<f64> {
        self.rate.or_else(|| Some(self.budget? / self.lines? as f64))
    }

    /// The window, in lines, of a new state.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity.unwrap_or(DEFAULT_CAPACITY)
    }

    /// Sizes a new window.
    pub(super) fn begin(&self, builder: ReplayGuardBuilder) -> ReplayGuardBuilder {
        let rate = self.wanted_rate().unwrap_or(DEFAULT_RATE);
        builder.window(self.capacity()).false_positive_rate(rate)
    }

    /// Sizes a guard as its state, if that is what was asked for.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub(super) fn resume(
        &self,
        builder: impl Fn() -> ReplayGuardBuilder,
        state: &StateReport,
    ) -> Result<ReplayGuardBuilder, Trouble> {
        let other = |what: &str, found: String, given: String| {
            Trouble::new(format_args!(
                "the state was made with {what} of {found}, and {given} is asked for: run with what it \
                 was made with, or begin another state"
            ))
        };
        if let Some(capacity) = self.capacity.filter(|capacity| *capacity != state.window) {
            return Err(other("a capacity", state.window.to_string(), capacity.to_string()));
        }
        let saved = builder().sized_as(state);
        let found = saved.plan().map_err(refused)?.false_positive_rate;
        if let Some(given) = self.rate.filter(|rate| (rate / found - 1.0).abs() > ROUNDING) {
            let what = "a false positive rate";
            return Err(other(what, format!("{found:e}"), format!("{given:e}")));
        }
        self.check_rate(found, "the state's false positive rate")?;
        Ok(saved)
    }
}

/// Why a guard cannot be built, in terms of this command.
pub(super) fn refused(error: GuardError) -> Trouble {
    match error {
        GuardError::BelowHashFloor { wanted, floor } => Trouble::new(format_args!(
            "a false positive rate of {wanted:e} is asked for, and in a window of this capacity two ids \
             share a hash at a rate of {floor:e}: raise --false-positive-rate or --loss-budget, or lower \
             --capacity"
        )),
        error => Trouble::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_contradicts_the_rate_is_refused() {
        let sizing = Sizing { budget: Some(1e-3), lines: Some(1_000_000), ..Sizing::default() };
        sizing.check().unwrap();
        assert_eq!(sizing.wanted_rate(), Some(1e-9));
        Sizing { rate: Some(1e-9), ..sizing }.check().unwrap();
        let Err(Trouble::Message(message)) = (Sizing { rate: Some(1e-6), ..sizing }).check() else {
            panic!("taken")
        };
        assert!(message.contains("loses 1 of 1000000") && message.contains("1e-9"), "{message}");
        let all = Sizing { budget: Some(9.0), lines: Some(10), ..Sizing::default() };
        assert!(all.check().is_err());
    }
}
