//! `hapax convert`: from list to list.
//!
//! ```text
//!  lists ──▶ [sort by hash, one row for each] ──▶ [sort by count, the first N] ──▶ [sort] ──▶ list
//! ```
//!
//! Stages in brackets are there if they are asked for. Without any, rows go from end to end as they
//! come; one that sorts keeps what memory holds and the rest, as hashes, in temporary files.

mod args;

use std::fmt;
use std::path::PathBuf;

use hapax::codec::Readers;

pub(crate) use self::args::ConvertArgs;
use crate::build::grouped;
use crate::lists::{self, Counts, OpenList, Reading};
use crate::rows::{Entry, ListWriter, Order, Sorted, Sorter, Target};
use crate::trouble::{Trouble, shown};

/// What is to be made of the lists.
#[derive(Clone, Debug)]
pub(crate) struct ConvertRequest {
    pub(crate) reading: Reading,
    pub(crate) target: Target,
    /// The order of the output; `None` leaves the rows as they come.
    pub(crate) sort: Option<Order>,
    /// What to do with rows of one hash; `None` leaves them.
    pub(crate) merge: Option<Merge>,
    /// Rows counted less often are left out.
    pub(crate) min_count: u64,
    /// Only so many rows, those seen most often.
    pub(crate) top: Option<u64>,
    /// Bytes of memory to sort in.
    pub(crate) memory: u64,
    /// Where to keep what does not fit.
    pub(crate) tmp: PathBuf,
}

/// How the counts of rows of one hash become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
}

/// What was done.
#[derive(Clone, Debug)]
pub(crate) struct Converted {
    output: PathBuf,
    counts: Counts,
    /// Rows that were merged with the one before.
    duplicate: u64,
    /// Rows under the minimum count or beyond the top.
    left_out: u64,
    written: u64,
}

impl fmt::Display for Converted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: rows read {}, written {}, duplicate {}, left out {}, skipped {}",
            shown(&self.output),
            grouped(self.counts.rows),
            grouped(self.written),
            grouped(self.duplicate),
            grouped(self.left_out),
            grouped(self.counts.skipped())
        )
    }
}

/// Rows are sorted, and something is done with them in this order.
#[derive(Clone, Copy)]
struct Stage {
    order: Order,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Keep,
    Merge(Merge),
    Top(u64),
}

/// Converts lists.
///
/// # Errors
///
/// As [`lists::read_all`], if there is no memory or disk to sort with, and if the output cannot be
/// written. Then there is none, or the old one.
pub(crate) fn run(
    request: &ConvertRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
) -> Result<Converted, Trouble> {
    let output = &request.target.path;
    if let Ok(metadata) = output.metadata()
        && lists.iter().any(|list| list.holds(&metadata, output))
    {
        return Err(Trouble::new(format_args!(
            "{}: the output is one of the lists: give another name",
            shown(output)
        )));
    }
    let mut run = Run { request, duplicate: 0, left_out: 0, written: 0 };
    let counts = match request.stages().split_first() {
        None => run.stream(lists, progress)?,
        Some((first, rest)) => run.sort(*first, rest, lists, progress)?,
    };
    let Run { duplicate, left_out, written, .. } = run;
    Ok(Converted { output: output.clone(), counts, duplicate, left_out, written })
}

impl ConvertRequest {
    fn stages(&self) -> Vec<Stage> {
        let mut stages = Vec::new();
        stages
            .extend(self.merge.map(|merge| Stage { order: Order::Hash, step: Step::Merge(merge) }));
        stages.extend(self.top.map(|top| Stage { order: Order::Count, step: Step::Top(top) }));
        let order = stages.last().map(|stage| stage.order);
        let sort = self.sort.filter(|sort| Some(*sort) != order);
        stages.extend(sort.map(|order| Stage { order, step: Step::Keep }));
        stages
    }
}

struct Run<'a> {
    request: &'a ConvertRequest,
    duplicate: u64,
    left_out: u64,
    written: u64,
}

impl Run<'_> {
    /// Writes rows as they come.
    fn stream(&mut self, lists: Vec<OpenList>, progress: &dyn Fn(u64)) -> Result<Counts, Trouble> {
        // Whoever holds hashes of passwords can test guesses. Lists of hashes are public.
        let private = lists::may_hold_passwords(&lists, self.request.reading.format);
        let readers = if private { Readers::Owner } else { Readers::Umask };
        self.request.target.write(readers, |writer| {
            let read = lists::read_all(lists, self.request.reading, progress, |rows| {
                writer.set_digest(rows.digest);
                rows.batch.rows().try_for_each(|row| self.write(writer, Entry::of(row)))
            })?;
            Ok(read.counts)
        })
    }

    /// Sorts rows, once or more often, and writes them.
    fn sort(
        &mut self,
        first: Stage,
        rest: &[Stage],
        lists: Vec<OpenList>,
        progress: &dyn Fn(u64),
    ) -> Result<Counts, Trouble> {
        let mut sorter = self.sorter(first.order);
        let read = lists::read_all(lists, self.request.reading, progress, |rows| {
            rows.batch.rows().try_for_each(|row| sorter.push(Entry::of(row)))
        })?;
        let mut step = first.step;
        for stage in rest {
            let mut next = self.sorter(stage.order);
            self.take(step, sorter.finish()?, |_, entry| next.push(entry))?;
            (sorter, step) = (next, stage.step);
        }
        let sorted = sorter.finish()?;
        let readers = if read.any_plain { Readers::Owner } else { Readers::Umask };
        self.request.target.write(readers, |writer| {
            writer.set_digest(read.digest);
            self.take(step, sorted, |run, entry| run.write(writer, entry))
        })?;
        Ok(read.counts)
    }

    fn sorter(&self, order: Order) -> Sorter {
        Sorter::new(order, self.request.memory, self.request.tmp.clone())
    }

    /// Takes a step with sorted rows, and hands on what is left of them.
    fn take(
        &mut self,
        step: Step,
        sorted: Sorted,
        mut next: impl FnMut(&mut Self, Entry) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut place = 0;
        let mut waiting: Option<Entry> = None;
        for entry in sorted {
            let entry = entry?;
            place += 1;
            match (step, &mut waiting) {
                (Step::Top(top), _) if place > top => self.left_out += 1,
                (Step::Merge(merge), Some(first)) if first.is_same_hash(&entry) => {
                    self.duplicate += 1;
                    first.count = match merge {
                        Merge::Sum => first.count.saturating_add(entry.count),
                        Merge::Max => first.count.max(entry.count),
                    };
                }
                (Step::Merge(_), waiting) => {
                    if let Some(done) = waiting.replace(entry) {
                        self.hand_on(done, &mut next)?;
                    }
                }
                (Step::Keep | Step::Top(_), _) => self.hand_on(entry, &mut next)?,
            }
        }
        match waiting {
            Some(done) => self.hand_on(done, &mut next),
            None => Ok(()),
        }
    }

    /// Hands on a row that is counted often enough.
    fn hand_on(
        &mut self,
        entry: Entry,
        next: &mut impl FnMut(&mut Self, Entry) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        if entry.count < self.request.min_count {
            self.left_out += 1;
            return Ok(());
        }
        next(self, entry)
    }

    fn write(&mut self, writer: &mut ListWriter<'_>, entry: Entry) -> Result<(), Trouble> {
        if entry.count < self.request.min_count {
            self.left_out += 1;
            return Ok(());
        }
        self.written += 1;
        writer.push(entry)
    }
}

#[cfg(test)]
mod tests;
