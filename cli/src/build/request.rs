//! What a build is asked for.

use std::fmt;
use std::path::PathBuf;

use clap::ValueEnum;
use hapax::codec::Existing;

use crate::lists::Reading;
use crate::trouble::Trouble;

/// The highest rate of false positives of a filter that is built unless it is forced: of a hundred
/// good passwords, one is refused.
pub(crate) const MAX_RATE: f64 = 0.01;

/// What to build, and where to.
#[derive(Clone, Debug)]
pub(crate) struct BuildRequest {
    /// The file to write.
    pub(crate) output: PathBuf,
    /// How the lists are read.
    pub(crate) reading: Reading,
    /// Take only so many rows, those counted most often.
    pub(crate) top: Option<u64>,
    /// Refuse lists that seem to lack rows.
    pub(crate) require_complete: bool,
    /// The kind of filter.
    pub(crate) kind: FilterKind,
    /// What fixes its size, beside the number of keys.
    pub(crate) size: Size,
    /// The highest rate of false positives that is built, whatever it follows from.
    pub(crate) max_rate: f64,
    /// Bytes to work in, beside the filter if it is one that grows.
    pub(crate) memory: u64,
    /// Folder for temporary files of keys that do not fit the memory.
    pub(crate) tmp: PathBuf,
    /// How many threads build; by default as many as there are processors.
    pub(crate) threads: Option<usize>,
    /// The rows may come in any order, however the first ones come.
    pub(crate) unsorted: bool,
    /// What to do if the output exists.
    pub(crate) existing: Existing,
    /// What the list is called.
    pub(crate) name: String,
    /// Where the list is from.
    pub(crate) source: String,
    /// The date of the list.
    pub(crate) date: String,
}

impl BuildRequest {
    /// Refuses a rate that would have too many good passwords refused.
    ///
    /// # Errors
    ///
    /// If the rate, which follows from what was asked for, is above the limit.
    pub(super) fn allow(&self, rate: f64) -> Result<(), Trouble> {
        if rate <= self.max_rate {
            return Ok(());
        }
        let (given, remedy) = match self.size {
            Size::Rate(_) => (String::new(), "give a lower --false-positive-rate"),
            Size::Bytes(bytes) => (
                format!(" follows from --bytes {bytes}, and"),
                "give more bytes, or take fewer rows (--top, --min-count)",
            ),
        };
        Err(Trouble::new(format_args!(
            "a false positive rate of {:.3} %{given} is above the limit of {} %, at which every {}th \
             good password is refused already: {remedy}, or --force if that is what you want",
            rate * 100.0,
            self.max_rate * 100.0,
            (1.0 / self.max_rate).round(),
        )))
    }
}

/// The kinds of filter that a list can be made into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilterKind {
    /// The smallest for a list that does not change, built in bounded memory
    #[default]
    Fuse,
    /// Any rate, can be merged
    Bloom,
    /// The fastest, can be merged
    Blocked,
    /// Keys can be taken out; four times the size
    Counting,
    /// Keys can be taken out
    Cuckoo,
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fuse => "binary fuse filter",
            Self::Bloom => "Bloom filter",
            Self::Blocked => "blocked Bloom filter",
            Self::Counting => "counting Bloom filter",
            Self::Cuckoo => "cuckoo filter",
        })
    }
}

/// What fixes the size of a filter, beside the number of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    /// The highest rate of false positives.
    Rate(f64),
    /// The most bytes of its payload.
    Bytes(u64),
}

impl Default for Size {
    /// 2⁻¹⁶: 1.5 wrong refusals in 100,000 changes.
    fn default() -> Self {
        Self::Rate(2f64.powi(-16))
    }
}
