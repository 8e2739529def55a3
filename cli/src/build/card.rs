//! What is told at the end of a build.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hapax::Stats;
use hapax::codec::Provenance;
use hapax::screen::list::CoverageReport;

use super::{BuildRequest, FilterKind};
use crate::lists::{Counts, ReadLists};
use crate::memory;
use crate::trouble::shown;

/// The summary of a build, for standard error.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) output: PathBuf,
    pub(crate) kind: FilterKind,
    pub(crate) counts: Counts,
    pub(crate) provenance: Provenance,
    pub(crate) stats: Stats,
    /// The expected rate of the filter as it was planned.
    pub(crate) promised_rate: f64,
    coverage: Option<CoverageReport>,
    digest: hapax::screen::PasswordDigest,
    /// Whether rows were read as passwords, rather than as hashes.
    any_plain: bool,
    elapsed: Duration,
    /// The most memory that was held, where the system says.
    peak_memory: Option<u64>,
}

impl Card {
    pub(super) fn new(
        request: &BuildRequest,
        read: ReadLists,
        provenance: Provenance,
        stats: Stats,
        promised_rate: f64,
        elapsed: Duration,
    ) -> Self {
        Self {
            output: request.output.clone(),
            kind: request.kind,
            counts: read.counts,
            provenance,
            stats,
            promised_rate,
            coverage: read.coverage,
            digest: read.digest,
            any_plain: read.any_plain,
            elapsed,
            peak_memory: memory::peak(),
        }
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { counts, provenance, stats, promised_rate, .. } = self;
        let keys = provenance.rows_added;
        writeln!(f, "{}: {} of {} keys", shown(&self.output), self.kind, self.digest)?;
        let what = if self.any_plain { "passwords" } else { "hashes" };
        writeln!(f, "  rows read            {}, as {what}", grouped(provenance.rows_read))?;
        writeln!(f, "  added                {}", grouped(keys))?;
        writeln!(f, "  duplicate            {}", grouped(provenance.rows_duplicate))?;
        write!(f, "  skipped              {}", grouped(provenance.rows_skipped))?;
        for (number, what) in [
            (counts.blank, "blank"),
            (counts.zero_count, "with a count of 0"),
            (counts.etags, "entity tags"),
            (counts.under_minimum, "under the minimum count"),
            (counts.beyond_top, "counted less often than the top"),
            (counts.bad, "malformed"),
        ] {
            if number > 0 {
                write!(f, "; {} {what}", grouped(number))?;
            }
        }
        if let Some(coverage) = &self.coverage {
            let lines = coverage.to_string();
            for (index, line) in lines.lines().enumerate() {
                write!(f, "\n  {}{line}", if index == 0 { "coverage             " } else { "" })?;
            }
        }
        let bytes = stats.byte_len();
        let bits_per_key = stats.bit_len as f64 / keys as f64;
        writeln!(
            f,
            "\n  size                 {} bytes, {bits_per_key:.2} bits per key",
            grouped(bytes)
        )?;
        writeln!(f, "  false positive rate  {promised_rate:.3e}")?;
        let refusals = promised_rate * 100_000.0;
        writeln!(
            f,
            "                       at 100,000 password changes expect {refusals:.1} wrong refusals"
        )?;
        writeln!(f, "  set digest           {:032x}", provenance.set_digest)?;
        write!(f, "  time                 {:.1} s", self.elapsed.as_secs_f64())?;
        if let Some(peak) = self.peak_memory {
            write!(f, "\n  peak memory          {} bytes", grouped(peak))?;
        }
        for warning in counts.warnings() {
            write!(f, "\n  note: {warning}")?;
        }
        Ok(())
    }
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
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

    #[test]
    fn numbers_are_grouped_by_three() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (999_999, "999,999"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
