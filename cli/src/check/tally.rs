//! What was counted, and what it says of the answers as a whole.

use std::collections::HashSet;
use std::fmt::Write as _;

use hapax::KeyHash;

use super::answer::Answer;

/// So many different refuted keys are told apart; more are not needed to be sure.
const MAX_REFUTED: usize = 1 << 16;

/// A number of false alarms that is less probable than this is none by chance.
const LN_DOUBT: f64 = -20.723; // ln 1e-9

/// Counts of rows by their answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) confirmed: u64,
    pub(super) by_filter: u64,
    pub(super) refuted: u64,
    pub(super) rare: u64,
    /// Rows that no filter lists, the refuted and the rare ones not counted.
    pub(super) denied: u64,
    pub(super) unknown: u64,
    pub(super) blank: u64,
    pub(super) failed_sources: u64,
    /// Different keys refuted, for each filter.
    distinct_refuted: Vec<HashSet<KeyHash>>,
}

impl Tally {
    pub(super) fn count(&mut self, answer: Answer) {
        *match answer {
            Answer::Blank => &mut self.blank,
            Answer::NotListed => &mut self.denied,
            Answer::Refuted => &mut self.refuted,
            Answer::Rare { .. } => &mut self.rare,
            Answer::Unknown(_) => &mut self.unknown,
            Answer::Maybe(_) => &mut self.by_filter,
            Answer::Confirmed { .. } => &mut self.confirmed,
        } += 1;
    }

    pub(super) fn refuted(&mut self, filter: u16, key: KeyHash) {
        let filter = usize::from(filter);
        if self.distinct_refuted.len() <= filter {
            self.distinct_refuted.resize_with(filter + 1, HashSet::new);
        }
        let keys = &mut self.distinct_refuted[filter];
        if keys.len() < MAX_REFUTED {
            keys.insert(key);
        }
    }

    pub(super) const fn listed(&self) -> u64 {
        self.confirmed + self.by_filter
    }

    pub(super) const fn not_listed(&self) -> u64 {
        self.denied + self.refuted + self.rare
    }

    /// Whether nothing was given that could be checked.
    pub(super) const fn is_empty(&self) -> bool {
        self.listed() + self.not_listed() + self.unknown + self.failed_sources == 0
    }

    /// Whether every row of every source had an answer.
    pub(super) const fn is_certain(&self) -> bool {
        self.unknown == 0 && self.failed_sources == 0
    }

    /// The filters whose lists refuted far more than the filter's rate explains: they are not the
    /// lists that the filters were made from, and what they refuted may be listed.
    pub(super) fn doubtful<'a>(
        &'a self,
        rates: impl Iterator<Item = f64> + 'a,
        forms: usize,
    ) -> impl Iterator<Item = (u16, usize)> + 'a {
        let strangers = (self.not_listed() * forms as u64) as f64;
        (0..).zip(&self.distinct_refuted).zip(rates).filter_map(move |((filter, keys), rate)| {
            (ln_at_least(keys.len() as f64, strangers * rate) < LN_DOUBT)
                .then_some((filter, keys.len()))
        })
    }

    /// Of s strangers, s(1 - r) are not listed, and s r are false alarms.
    fn expected_false_alarms(&self, rate: f64) -> f64 {
        // A filter that lists everything has rate 1, and all alarms may be false.
        (self.not_listed() as f64 * rate / (1.0 - rate)).min(self.listed() as f64)
    }

    /// One line for people.
    pub(super) fn summary(&self, rate: f64, confirms: bool) -> String {
        let (listed, checked) = (self.listed(), self.listed() + self.not_listed());
        let mut text = format!("checked {checked}, listed {listed} ");
        let alarms = self.expected_false_alarms(rate);
        // Writing to a String cannot fail.
        let _ = if confirms {
            write!(
                text,
                "(confirmed {}, filter-only {}, false alarms {})",
                self.confirmed, self.by_filter, self.refuted
            )
        } else {
            write!(text, "(by filter only; about {alarms:.1} expected false alarms)")
        };
        for (count, what) in [
            (self.rare, "seen less often than asked for"),
            (self.unknown, "unknown"),
            (self.blank, "blank"),
            (self.failed_sources, "inputs not read to their end"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text
    }

    /// A line for each number, for programs.
    pub(super) fn stats(&self, rate: f64, seconds: f64) -> String {
        let rows = self.listed() + self.not_listed() + self.unknown + self.blank;
        let mut text = String::new();
        for (name, count) in [
            ("rows", rows),
            ("listed", self.listed()),
            ("confirmed", self.confirmed),
            ("filter_only", self.by_filter),
            ("false_positives", self.refuted),
            ("rare", self.rare),
            ("not_listed", self.not_listed()),
            ("unknown", self.unknown),
            ("blank", self.blank),
            ("failed_inputs", self.failed_sources),
        ] {
            let _ = writeln!(text, "{name} {count}");
        }
        let _ = writeln!(text, "false_positive_rate {rate:e}");
        let _ = writeln!(text, "seconds {seconds:.3}");
        let _ = write!(text, "rows_per_second {:.0}", rows as f64 / seconds.max(1e-9));
        text
    }
}

/// Logarithm of a bound on the probability that a Poisson number of this mean is at least `count`
/// (Chernoff): e⁻ᵐ (em/k)ᵏ for k beyond the mean m, and 1 up to it.
fn ln_at_least(count: f64, mean: f64) -> f64 {
    if count <= mean {
        return 0.0;
    }
    // A mean of 0 leaves no room for chance.
    count - mean + count * (mean / count).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> KeyHash {
        hapax::Seed::new(1).hash(&number).unwrap()
    }

    #[test]
    fn false_alarms_are_estimated_from_those_not_listed() {
        let tally = |by_filter, denied| Tally { by_filter, denied, ..Tally::default() };
        assert!((tally(60, 50).expected_false_alarms(0.5) - 50.0).abs() < 1e-9);
        assert!((tally(7, 0).expected_false_alarms(1.0) - 7.0).abs() < 1e-9);
        assert!(tally(7, 1_000).expected_false_alarms(0.0).abs() < 1e-9);
    }

    #[test]
    fn the_bound_on_poisson_tails_holds() {
        // Exact values: P(X >= 3 | 1) = 0.0803, P(X >= 20 | 5) = 3.5e-7, P(X >= 1 | 1e-5) = 1e-5.
        for (count, mean, exact) in
            [(3.0, 1.0, 0.0803_f64), (20.0, 5.0, 3.5e-7), (1.0, 1e-5, 1e-5), (2.0, 2.0, 0.594)]
        {
            let bound = ln_at_least(count, mean);
            assert!(bound >= exact.ln() && bound < exact.ln() + 3.2, "{count} {mean}: {bound}");
        }
        assert!(ln_at_least(1.0, 0.0) < LN_DOUBT);
    }

    #[test]
    fn lists_that_refute_more_than_the_rate_explains_are_doubtful() {
        let doubtful = |rows, refuted, rate| {
            let mut tally = Tally { denied: rows, refuted, ..Tally::default() };
            (0..refuted).for_each(|number| tally.refuted(0, key(number)));
            tally.doubtful([rate].into_iter(), 1).count() == 1
        };
        // 100,000 strangers at 2^-8: 390 false alarms, +- 20.
        assert!(!doubtful(100_000, 390, 1.0 / 256.0) && !doubtful(100_000, 480, 1.0 / 256.0));
        assert!(doubtful(100_000, 700, 1.0 / 256.0));
        // One false alarm can be.
        assert!(!doubtful(0, 1, 2f64.powi(-16)) && doubtful(0, 3, 2f64.powi(-16)));
        assert!(!doubtful(1_000, 0, 0.0));
    }

    #[test]
    fn one_false_alarm_many_times_is_one() {
        let mut tally = Tally { denied: 10, refuted: 1_000, ..Tally::default() };
        for _ in 0..1_000 {
            tally.refuted(0, key(1));
        }
        assert_eq!(tally.doubtful([2f64.powi(-16)].into_iter(), 1).count(), 0);
    }

    #[test]
    fn the_summary_is_one_line_and_names_what_is_unknown() {
        let tally = Tally { by_filter: 1, denied: 1, ..Tally::default() };
        let text = tally.summary(1.5e-5, false);
        assert_eq!(text, "checked 2, listed 1 (by filter only; about 0.0 expected false alarms)");
        let tally = Tally { confirmed: 810, refuted: 2, denied: 99_188, ..Tally::default() };
        let text = tally.summary(1.5e-5, true);
        assert_eq!(
            text,
            "checked 100000, listed 810 (confirmed 810, filter-only 0, false alarms 2)"
        );
        let uncertain = Tally { unknown: 3, blank: 2, denied: 1, ..Tally::default() };
        assert!(uncertain.summary(1e-5, false).ends_with(", 3 unknown, 2 blank"));
        assert!(!uncertain.is_certain() && tally.is_certain());
    }
}
