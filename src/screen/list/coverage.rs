//! Is a list complete? Hashes are uniform, so the rows themselves tell.
//!
//! ```text
//!  rows of each of 2²⁰ prefixes     1,973 1,949 2,011 ... 1,502 ... 0 0 0 0 0 0 0
//!                                   └──── Poisson(λ) ───┘   │       └─ a gap: the download ended
//!                                                          low: a range cut short
//! ```
//!
//! - **A gap** is a run of g empty prefixes that a whole list would have with a chance below e⁻²¹
//!   (10⁻⁹). Each of n rows leaves out a share g/2²⁰ with chance 1 - g/2²⁰, and the run can begin after
//!   any row, so the chance is at most n·e^(-g·n/2²⁰), and a gap is g·n/2²⁰ > 21 + ln n. At 42 million
//!   rows one missing prefix is a gap; a list of a hundred rows is one from a quarter of all
//!   prefixes on, and for fewer than 24 rows nothing can be said.
//! - **A low prefix** has fewer than λ - 8√λ rows, with λ the mean of those outside gaps. (Possible
//!   from 64 rows a prefix on. 8 standard deviations: 10⁻¹⁵ a prefix, 10⁻⁹ a list.) Genuine range
//!   files reach down to 3.6 standard deviations. High ones are never named: the prefix `00000` of
//!   SHA-1 has 40 % more rows than others, because people publish passwords picked for it.
//!
//! Ask before rows are left out by their count, or with the rows that are left, but not with a
//! list that was cut by hash.

use std::fmt;
use std::ops::RangeInclusive;

use super::prefix::RangePrefix;
use crate::hash::KeyHash;

const PREFIXES: usize = RangePrefix::COUNT as usize;

/// -ln of the chance at which a run of empty prefixes is called a gap.
const SURPRISE: f64 = 21.0;

/// Standard deviations under the mean at which a prefix is called low.
const DEVIATIONS: f64 = 8.0;

/// Rows counted per 20-bit prefix: whether a list is there as a whole.
///
/// Takes 4 MiB, and about a nanosecond a row of a sorted list.
///
/// # Examples
///
/// ```
/// use hapax::screen::PasswordDigest::Sha1;
/// use hapax::screen::list::Coverage;
///
/// let mut hashes: Vec<_> =
///     (0..100_000u32).map(|i| Sha1.key_of(&i.to_le_bytes())).collect::<Result<_, _>>()?;
/// hashes.sort();
///
/// let mut whole = Coverage::new();
/// whole.add(&hashes);
/// assert!(whole.report().is_complete());
///
/// // A download that ended at 14 %.
/// let mut part = Coverage::new();
/// part.add(&hashes[..14_000]);
/// let report = part.report();
/// assert!(!report.is_complete());
/// assert_eq!(report.gaps().len(), 1);
/// assert!(report.to_string().contains("to FFFFF"), "{report}");
/// # Ok::<(), hapax::screen::NotUtf8>(())
/// ```
#[derive(Clone)]
pub struct Coverage {
    rows: Vec<u32>,
    /// Whether there is a file for each prefix, where the list is a folder.
    files: Option<Vec<bool>>,
}

impl Coverage {
    /// No rows yet.
    #[must_use]
    pub fn new() -> Self {
        Self { rows: vec![0; PREFIXES], files: None }
    }

    /// Counts rows.
    pub fn add(&mut self, hashes: &[KeyHash]) {
        for &hash in hashes {
            let rows = &mut self.rows[RangePrefix::of(hash).value() as usize];
            *rows = rows.saturating_add(1);
        }
    }

    /// Says that the list is a folder, and which prefixes have a file: those that have none are
    /// missing, however few rows there are.
    pub fn add_files(&mut self, prefixes: impl IntoIterator<Item = RangePrefix>) {
        let files = self.files.get_or_insert_with(|| vec![false; PREFIXES]);
        for prefix in prefixes {
            files[prefix.value() as usize] = true;
        }
    }

    /// What the counts say. Costs a few passes over them: some milliseconds.
    #[must_use]
    pub fn report(&self) -> CoverageReport {
        let total: u64 = self.rows.iter().copied().map(u64::from).sum();
        let gaps = self.gaps(total);
        let in_gaps: u64 = gaps.iter().map(|gap| u64::from(gap.prefixes())).sum();
        let mean = total as f64 / (PREFIXES as u64 - in_gaps).max(1) as f64;
        let floor = mean - DEVIATIONS * mean.sqrt();
        let mut low = Vec::new();
        let mut present: Vec<u32> = Vec::new();
        for (prefix, &rows) in (0..).zip(&self.rows) {
            let missing = gaps.binary_search_by(|gap| gap.compare(prefix)).is_ok();
            if rows > 0 {
                present.push(rows);
            }
            if f64::from(rows) < floor && !missing {
                low.push((RangePrefix::new(prefix).unwrap_or_default(), rows));
            }
        }
        let lowest = present.iter().min().copied().unwrap_or_default();
        let covered = present.len() as u32;
        let median = if present.is_empty() {
            0
        } else {
            let middle = present.len() / 2;
            *present.select_nth_unstable(middle).1
        };
        CoverageReport { rows: total, covered, median, lowest, gaps, low }
    }

    /// The runs of empty prefixes that a whole list would not have.
    fn gaps(&self, total: u64) -> Vec<Gap> {
        let shortest =
            (SURPRISE + (total.max(1) as f64).ln()) * PREFIXES as f64 / total.max(1) as f64;
        let mut gaps = Vec::new();
        let mut start = 0;
        for end in 0..=PREFIXES {
            let present = |at: usize| match &self.files {
                Some(files) => files[at] || self.rows[at] > 0,
                None => self.rows[at] > 0,
            };
            if end < PREFIXES && !present(end) {
                continue;
            }
            let run = end - start;
            if run > 0 && (self.files.is_some() || run as f64 > shortest) {
                gaps.push(Gap { first: start as u32, last: end as u32 - 1 });
            }
            start = end + 1;
        }
        gaps
    }
}

impl Default for Coverage {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coverage").field("report", &self.report()).finish_non_exhaustive()
    }
}

/// Prefixes without a row, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    first: u32,
    last: u32,
}

impl Gap {
    const fn prefixes(self) -> u32 {
        self.last - self.first + 1
    }

    /// Where this gap lies, seen from a prefix.
    fn compare(self, prefix: u32) -> std::cmp::Ordering {
        match prefix {
            _ if self.last < prefix => std::cmp::Ordering::Less,
            _ if self.first > prefix => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        }
    }
}

/// What the rows of each prefix say of a list. [`Display`](fmt::Display) tells it in a few lines,
/// and names the first ten places where rows are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageReport {
    rows: u64,
    covered: u32,
    median: u32,
    lowest: u32,
    gaps: Vec<Gap>,
    low: Vec<(RangePrefix, u32)>,
}

impl CoverageReport {
    /// Whether nothing seems to be missing. A short list tells little: see the module.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty() && self.low.is_empty()
    }

    /// Rows counted.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Prefixes that have a row.
    #[must_use]
    pub const fn covered(&self) -> u32 {
        self.covered
    }

    /// Rows of the middle one of the prefixes that have any.
    #[must_use]
    pub const fn median(&self) -> u32 {
        self.median
    }

    /// Rows of the prefix that has the fewest, of those that have any.
    #[must_use]
    pub const fn lowest(&self) -> u32 {
        self.lowest
    }

    /// Runs of prefixes whose rows are missing, each from its first prefix to its last.
    #[must_use]
    pub fn gaps(&self) -> impl ExactSizeIterator<Item = RangeInclusive<RangePrefix>> + '_ {
        let prefix = |value| RangePrefix::new(value).unwrap_or_default();
        self.gaps.iter().map(move |gap| prefix(gap.first)..=prefix(gap.last))
    }

    /// Prefixes with so few rows that some must be missing, and how many they have.
    #[must_use]
    pub fn low(&self) -> &[(RangePrefix, u32)] {
        &self.low
    }
}

/// Places named, of each kind.
const NAMED: usize = 10;

impl fmt::Display for CoverageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { covered, median, lowest, .. } = self;
        write!(f, "prefixes {} of {}", grouped(*covered), grouped(RangePrefix::COUNT))?;
        write!(f, "; rows per prefix: median {}, lowest {}", grouped(*median), grouped(*lowest))?;
        if !self.gaps.is_empty() {
            let missing: u32 = self.gaps.iter().map(|gap| gap.prefixes()).sum();
            write!(f, "\nincomplete: {} prefixes are missing: ", grouped(missing))?;
            for (index, gap) in self.gaps().take(NAMED).enumerate() {
                let (first, last) = (gap.start(), gap.end());
                write!(f, "{}{first}", if index > 0 { ", " } else { "" })?;
                if first != last {
                    write!(f, " to {last}")?;
                }
            }
            if self.gaps.len() > NAMED {
                write!(f, " and {} more", grouped((self.gaps.len() - NAMED) as u32))?;
            }
        }
        if !self.low.is_empty() {
            write!(
                f,
                "\nincomplete: {} prefixes have too few rows: ",
                grouped(self.low.len() as u32)
            )?;
            for (index, (prefix, rows)) in self.low.iter().take(NAMED).enumerate() {
                write!(f, "{}{prefix} ({rows})", if index > 0 { ", " } else { "" })?;
            }
            if self.low.len() > NAMED {
                write!(f, " and {} more", grouped((self.low.len() - NAMED) as u32))?;
            }
        }
        Ok(())
    }
}

/// 1234567 as 1,234,567.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(value: u32) -> RangePrefix {
        RangePrefix::new(value).unwrap()
    }

    /// Counts as a whole list of this many rows a prefix would give: a normal draw a prefix, as the sum
    /// of 12 uniform numbers, from a fixed seed.
    fn whole(mean: f64) -> Coverage {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64
        };
        let mut coverage = Coverage::new();
        for rows in &mut coverage.rows {
            let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            // A normal draw is none of few rows; there, the next whole number by its chance.
            let drawn =
                if mean < 40.0 { mean + uniform() - 0.5 } else { mean + normal * mean.sqrt() };
            *rows = drawn.round().max(0.0) as u32;
        }
        coverage
    }

    #[test]
    fn a_whole_list_of_today_is_complete() {
        let mut coverage = whole(1_972.6);
        // The fullest prefix has 40 % more.
        coverage.rows[0] = 2_760;
        let report = coverage.report();
        assert!(report.is_complete(), "{report}");
        assert_eq!(report.covered(), RangePrefix::COUNT);
        let shown = report.to_string();
        assert!(
            shown.starts_with("prefixes 1,048,576 of 1,048,576; rows per prefix: median 1,97"),
            "{shown}"
        );
    }

    #[test]
    fn one_missing_range_is_named_and_so_is_one_cut_short() {
        let mut coverage = whole(1_972.6);
        coverage.rows[0x07f07] = 0;
        coverage.rows[0xf_ffff] = 1_600;
        let report = coverage.report();
        assert_eq!(report.gaps().collect::<Vec<_>>(), [prefix(0x07f07)..=prefix(0x07f07)]);
        assert_eq!(report.low(), [(prefix(0xf_ffff), 1_600)]);
        let shown = report.to_string();
        assert!(shown.contains("1 prefixes are missing: 07F07\n"), "{shown}");
        assert!(shown.ends_with("too few rows: FFFFF (1600)"), "{shown}");
    }

    /// Downloads that said they were finished: at 14 % and at 8 %, and one without its beginning.
    #[test]
    fn a_list_that_ends_early_or_begins_late_has_a_gap_at_any_size() {
        for mean in [0.001, 0.1, 1.0, 40.0, 1_972.6] {
            for (kept, gap) in [
                (0..0x2_4800u32, 0x2_4800..=0xf_ffff),
                (0..0x1_4000, 0x1_4000..=0xf_ffff),
                (0x5_0000..0x10_0000, 0..=0x4_ffff),
            ] {
                let mut coverage = whole(mean);
                for (prefix, rows) in (0..).zip(&mut coverage.rows) {
                    // Rows at both ends of what is kept, so that the gap is where it is cut.
                    let edge = prefix == kept.start || prefix + 1 == kept.end;
                    *rows = if kept.contains(&prefix) { (*rows).max(u32::from(edge)) } else { 0 };
                }
                let report = coverage.report();
                assert!(!report.is_complete(), "{mean} {kept:?}");
                let expected = prefix(*gap.start())..=prefix(*gap.end());
                assert_eq!(report.gaps().collect::<Vec<_>>(), [expected], "{mean} {kept:?}");
                assert!(report.low().is_empty(), "{mean} {kept:?}: {report}");
            }
        }
    }

    #[test]
    fn short_lists_say_nothing_rather_than_something_wrong() {
        for rows in [0usize, 1, 2, 10, 23] {
            let mut coverage = Coverage::new();
            coverage.rows[..rows].fill(1);
            assert!(coverage.report().is_complete(), "{rows}");
        }
    }

    #[test]
    fn a_folder_lacks_what_has_no_file_however_few_rows_there_are() {
        let mut coverage = Coverage::new();
        coverage.add_files((0..RangePrefix::COUNT).filter(|&p| p != 0x07f07).map(prefix));
        assert_eq!(
            coverage.report().gaps().collect::<Vec<_>>(),
            [prefix(0x07f07)..=prefix(0x07f07)]
        );
        coverage.add_files([prefix(0x07f07)]);
        assert!(coverage.report().is_complete());
    }

    #[test]
    fn many_faults_are_counted_and_ten_are_named() {
        let mut coverage = whole(1_972.6);
        for at in 0..30 {
            coverage.rows[at * 2] = if at < 15 { 0 } else { 7 };
        }
        let shown = coverage.report().to_string();
        assert!(shown.contains("15 prefixes are missing: 00000, 00002,"), "{shown}");
        assert_eq!(shown.matches(" and 5 more").count(), 2, "{shown}");
    }
}
