//! `hapax build --dry-run`: what a build would come to.

use std::fmt;
use std::path::PathBuf;

use hapax::codec::{Existing, StreamOptions};
use hapax::{
    BlockedBloomFilter, BloomFilter, BuildError, CountingBloomFilter, CuckooFilter, KeyHash, Plan,
};

use super::{BuildRequest, FilterKind, Size, grouped, nothing_left, output, sized, stream};
use crate::lists::{self, Ahead, Input, OpenList};
use crate::rows::{Entry, RECORD};
use crate::trouble::{Trouble, shown};

/// What a build would come to, if no row is blank, repeated or left out.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    output: PathBuf,
    replaces: bool,
    kind: FilterKind,
    ahead: Ahead,
    /// Some rows are left out, and how many is not known.
    fewer: bool,
    plan: Plan,
    memory: u64,
    /// Bytes in temporary files, where they are, and whether sorted rows need none.
    temporary: Option<(u64, PathBuf, bool)>,
    /// Bytes that the disk of the output has left.
    free: Option<u64>,
}

/// Works out what a build would come to. Writes nothing, removes nothing, and reads a megabyte or so
/// of each list. `rows` is how many rows there are, if the user knows.
///
/// # Errors
///
/// What would keep the build from being started, as far as can be seen; and if the number of rows
/// cannot be told and was not given.
pub(crate) fn forecast(
    request: &BuildRequest,
    lists: &[OpenList],
    rows: Option<u64>,
) -> Result<Forecast, Trouble> {
    if let Size::Rate(rate) = request.size {
        request.allow(rate)?;
    }
    output::check(request, lists)?;
    let mut ahead = lists::look_ahead(lists, request.reading, rows)?;
    let sorted_rows = ahead.rows;
    if let Some(top) = request.top
        && top < ahead.rows
    {
        (ahead.rows, ahead.exact) = (top, true);
    }
    if ahead.rows == 0 {
        return Err(nothing_left());
    }
    let plan = plan(request, ahead.rows)?;
    request.allow(plan.false_positive_rate)?;

    // What is sorted by count is sorted before the filter is begun, and kept meanwhile.
    let bytes_of = |rows: u64, each: usize| rows.saturating_mul(each as u64);
    let all_sorted = bytes_of(sorted_rows, size_of::<Entry>());
    let sorting = if request.top.is_some() { all_sorted.min(request.memory) } else { 0 };
    let keys = bytes_of(ahead.rows, size_of::<KeyHash>());
    let building = match request.kind {
        FilterKind::Fuse => request.memory,
        _ => keys.saturating_add(plan.byte_len()),
    };
    let streams = request.kind == FilterKind::Fuse;
    let runs = if streams && keys > request.memory { keys } else { 0 };
    let temporary = match request.top {
        Some(_) if all_sorted > request.memory => runs + bytes_of(sorted_rows, RECORD),
        _ => runs,
    };
    let if_unsorted = request.top.is_none() && !request.unsorted;
    Ok(Forecast {
        output: request.output.clone(),
        replaces: request.existing == Existing::Replace && request.output.exists(),
        kind: request.kind,
        ahead,
        fewer: request.reading.min_count > 1,
        plan,
        memory: sorting.saturating_add(building),
        temporary: (temporary > 0).then(|| (temporary, request.tmp.clone(), if_unsorted)),
        free: output::free(&request.output),
    })
}

/// How many rows there are and bytes in the filter of them, as far as that can be told of lists that
/// were opened before.
pub(super) fn needed(request: &BuildRequest, inputs: &[Input]) -> Option<(u64, u64)> {
    if !inputs.iter().all(Input::can_be_read_again) {
        return None;
    }
    let lists = lists::open_all(inputs).ok()?;
    let rows = lists::look_ahead(&lists, request.reading, None).ok()?.rows;
    let keys = rows.min(request.top.unwrap_or(rows));
    Some((rounded(rows), rounded(plan(request, keys).ok()?.byte_len())))
}

/// The shape of a filter of so many keys.
fn plan(request: &BuildRequest, keys: u64) -> Result<Plan, Trouble> {
    let size = request.size;
    let plan = match request.kind {
        FilterKind::Fuse => {
            let builder = stream::builder(request)?;
            let options = StreamOptions { memory: request.memory, ..StreamOptions::default() };
            options.check().and_then(|()| builder.plan(keys))
        }
        FilterKind::Bloom => sized(BloomFilter::builder(), size, keys).plan(),
        FilterKind::Blocked => sized(BlockedBloomFilter::builder(), size, keys).plan(),
        FilterKind::Counting => sized(CountingBloomFilter::builder(), size, keys).plan(),
        FilterKind::Cuckoo => sized(CuckooFilter::builder(), size, keys).plan(),
    };
    plan.map_err(|error: BuildError| Trouble::new(error))
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ahead, plan, .. } = self;
        let about = |number: u64| {
            if ahead.exact {
                grouped(number)
            } else {
                format!("about {}", grouped(rounded(number)))
            }
        };
        let fate = if self.replaces { "would be replaced by" } else { "would be" };
        write!(f, "{}: {fate} a {}", shown(&self.output), self.kind)?;
        if let Some(digest) = ahead.digest {
            write!(f, " of {digest} keys")?;
        }
        writeln!(f, " (dry run, nothing was written)")?;
        write!(f, "  rows                 {}", about(ahead.rows))?;
        writeln!(f, "{}", if self.fewer { " at most; --min-count leaves some out" } else { "" })?;
        writeln!(
            f,
            "  size                 {} bytes, {:.2} bits per key",
            about(plan.byte_len()),
            plan.bits_per_key()
        )?;
        writeln!(f, "  false positive rate  {:.3e}", plan.false_positive_rate)?;
        writeln!(
            f,
            "                       at 100,000 password changes expect {:.1} wrong refusals",
            plan.false_positive_rate * 100_000.0
        )?;
        write!(f, "  memory               ")?;
        match self.kind {
            FilterKind::Fuse => write!(f, "{} bytes at most", grouped(self.memory))?,
            _ => write!(f, "{} bytes", about(self.memory))?,
        }
        if let Some((bytes, folder, if_unsorted)) = &self.temporary {
            write!(f, "\n  temporary files      {} bytes in {}", about(*bytes), shown(folder))?;
            if *if_unsorted {
                write!(f, ", none if the rows are sorted")?;
            }
        }
        match self.free {
            Some(free) if free < plan.byte_len() => write!(
                f,
                "\n  note: the disk of the output has {} bytes left, which is not enough",
                grouped(free)
            ),
            _ => Ok(()),
        }
    }
}

/// A number that is no more than an estimate, to three digits.
fn rounded(number: u64) -> u64 {
    let unit = 10u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(2));
    (number / unit)
        .saturating_add(u64::from(number % unit >= unit.div_ceil(2)))
        .saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn estimates_have_three_digits() {
        for (number, text) in [
            (0, 0),
            (7, 7),
            (999, 999),
            (1_004, 1_000),
            (1_005, 1_010),
            (9_995, 10_000),
            (2_068_408_781, 2_070_000_000),
        ] {
            assert_eq!(rounded(number), text);
        }
        assert!(rounded(u64::MAX) >= 18_400_000_000_000_000_000);
    }
}
