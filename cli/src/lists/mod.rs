//! The lists given to commands: opened once, their shape told, their rows read by batches and
//! counted.

mod ahead;
mod format;
mod open;
mod read;

use hapax::screen::PasswordDigest;
use hapax::screen::list::{CoverageReport, ListTotals};

use crate::build::grouped;

pub(crate) use self::ahead::{Ahead, look_ahead};
pub(crate) use self::format::{DigestChoice, FormatChoice, ZeroCountChoice};
pub(crate) use self::open::{
    Input, OpenFile, OpenList, may_hold_passwords, open_all, open_files, total_len,
};
pub(crate) use self::read::{Reading, Rows, read_all};

/// What reading lists came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows of all kinds.
    pub(crate) rows: u64,
    /// Rows without content.
    pub(crate) blank: u64,
    /// Rows with a count of 0.
    pub(crate) zero_count: u64,
    /// Rows that are the entity tag of a range.
    pub(crate) etags: u64,
    /// Malformed rows that were tolerated.
    pub(crate) bad: u64,
    /// Rows counted less often than asked.
    pub(crate) under_minimum: u64,
    /// Rows counted less often than as many as are wanted.
    pub(crate) beyond_top: u64,
    /// Rows with a carriage return inside.
    pub(crate) carriage_returns: u64,
    /// Rows taken for passwords that look like hashes.
    pub(crate) hash_like: u64,
    /// Files in folders that are not named like a range.
    pub(crate) files_passed_over: u64,
}

impl Counts {
    /// Rows that gave no key.
    pub(crate) const fn skipped(&self) -> u64 {
        let not_wanted = self.under_minimum + self.beyond_top;
        self.blank + self.zero_count + self.etags + self.bad + not_wanted
    }

    /// What may be wrong with the lists, or with how they were read, a line each.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let returns = (self.carriage_returns > 0).then(|| {
            format!(
                "{} rows have a carriage return inside. If the list ends its lines with lone carriage \
                 returns, convert it: these rows are not the passwords they should be",
                grouped(self.carriage_returns)
            )
        });
        let hashes = (self.hash_like > 0).then(|| {
            format!(
                "{} rows were read as passwords and look like hashes. If they are hashes, none of their \
                 passwords is found: give them as a list of their own, with --format hashes",
                grouped(self.hash_like)
            )
        });
        let files = (self.files_passed_over > 0).then(|| {
            format!(
                "{} files of the folder are not named like a range, and were not read",
                grouped(self.files_passed_over)
            )
        });
        [returns, hashes, files].into_iter().flatten()
    }

    const fn add(&mut self, totals: ListTotals) {
        self.rows += totals.rows;
        self.blank += totals.blank;
        self.zero_count += totals.zero_count;
        self.etags += totals.etags;
        self.bad += totals.bad;
        self.carriage_returns += totals.carriage_returns;
        self.hash_like += totals.hash_like;
    }
}

/// What all lists have in common, and what came of reading them.
#[derive(Clone, Debug)]
pub(crate) struct ReadLists {
    /// The hash that the keys are.
    pub(crate) digest: PasswordDigest,
    /// Whether a list was one of passwords.
    pub(crate) any_plain: bool,
    /// The rows.
    pub(crate) counts: Counts,
    /// Whether they are all there, if that was asked for and all lists are of hashes.
    pub(crate) coverage: Option<CoverageReport>,
}
