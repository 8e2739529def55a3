//! `hapax diff`: what has changed between two lists.
//!
//! ```text
//!  OLD ──rows──▶ ┌───────────────────────────┐
//!                │ the lower hash goes first │──▶ removed │ added │ count changed │ unchanged
//!  NEW ──rows──▶ └───────────────────────────┘
//! ```
//!
//! One forward pass through both at once, in constant memory. It needs both in order of their
//! hashes, so a row that is not after the one before it stops the comparison: what comes after such
//! a row would be reported wrong.

mod args;
mod pull;

use std::cmp::Ordering;
use std::fmt;

use hapax::codec::{Existing, Readers};
use hapax::screen::PasswordDigest;

pub(crate) use self::args::DiffArgs;
use self::pull::Pull;
use crate::build::grouped;
use crate::exit::Exit;
use crate::lists::{OpenList, Reading};
use crate::rows::{Compress, Entry, Format, LineEnd, RowText, Target, TextWriter};
use crate::trouble::Trouble;

/// What is to be compared, and what is to be printed of it.
#[derive(Clone, Debug)]
pub(crate) struct DiffRequest {
    pub(crate) reading: Reading,
    pub(crate) print: Print,
    /// Where rows are printed; `-` for standard output.
    pub(crate) output: std::path::PathBuf,
    pub(crate) existing: Existing,
}

/// Which rows are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Print {
    pub(crate) added: bool,
    pub(crate) removed: bool,
    pub(crate) changed: bool,
}

impl Print {
    /// Rows of one kind are a list; of several kinds, each row says which it is.
    const fn is_list(self) -> bool {
        self.added as u8 + self.removed as u8 + self.changed as u8 == 1
    }

    const fn is_nothing(self) -> bool {
        !(self.added || self.removed || self.changed)
    }
}

/// What has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Difference {
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) count_changed: u64,
    pub(crate) unchanged: u64,
}

impl Difference {
    /// 0 if nothing has changed, 1 otherwise.
    pub(crate) const fn exit(self) -> Exit {
        if self.added == 0 && self.removed == 0 && self.count_changed == 0 {
            Exit::Yes
        } else {
            Exit::No
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, removed, count_changed, unchanged } = *self;
        write!(
            f,
            "added {}, removed {}, count changed {}, unchanged {}",
            grouped(added),
            grouped(removed),
            grouped(count_changed),
            grouped(unchanged)
        )
    }
}

/// Compares two lists.
///
/// # Errors
///
/// As [`crate::lists::read_all`]; if a list is not sorted or has a hash twice, if the two are of
/// different hashes, and if rows cannot be written.
pub(crate) fn run(
    request: &DiffRequest,
    old: OpenList,
    new: OpenList,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Difference, Trouble> {
    if request.print.is_nothing() {
        return compare(request.reading, old, new, progress, |_, _, _| Ok(()));
    }
    let target = Target {
        path: request.output.clone(),
        format: Format::Hibp,
        end: None,
        compress: Compress::None,
        existing: request.existing,
    };
    target.write_text(Readers::Umask, |out| {
        let mut printer = Printer { print: request.print, text: Vec::new(), out };
        let difference = compare(request.reading, old, new, progress, |digest, change, entry| {
            printer.change(digest, change, entry)
        })?;
        printer.flush()?;
        Ok(difference)
    })
}

/// How a row differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    /// The count was another one.
    Count {
        old: u64,
    },
}

fn compare(
    reading: Reading,
    old: OpenList,
    new: OpenList,
    progress: &(dyn Fn(u64) + Sync),
    mut change: impl FnMut(PasswordDigest, Change, Entry) -> Result<(), Trouble>,
) -> Result<Difference, Trouble> {
    std::thread::scope(|scope| {
        let mut old = Pull::start(scope, old, reading, progress);
        let mut new = Pull::start(scope, new, reading, progress);
        let mut difference = Difference::default();
        let (mut before, mut after) = (old.next()?, new.next()?);
        let digest = match (old.digest(), new.digest()) {
            (Some(old), Some(new)) if old != new => {
                return Err(Trouble::new(format_args!(
                    "expected two lists of the same hash, found {old} in the first and {new} in the \
                     second: give lists of one kind"
                )));
            }
            (old, new) => old.or(new).unwrap_or_default(),
        };
        let place = |entry: Entry| (entry.hash, entry.tail);
        loop {
            // What is left when the other list has ended comes before its end.
            let order = match (before, after) {
                (None, None) => return Ok(difference),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(before), Some(after)) => place(before).cmp(&place(after)),
            };
            match (before, after) {
                (Some(removed), _) if order.is_lt() => {
                    difference.removed += 1;
                    change(digest, Change::Removed, removed)?;
                }
                (_, Some(added)) if order.is_gt() => {
                    difference.added += 1;
                    change(digest, Change::Added, added)?;
                }
                (Some(before), Some(after)) if before.count != after.count => {
                    difference.count_changed += 1;
                    change(digest, Change::Count { old: before.count }, after)?;
                }
                _ => difference.unchanged += 1,
            }
            if order.is_le() {
                before = old.next()?;
            }
            if order.is_ge() {
                after = new.next()?;
            }
        }
    })
}

/// Bytes of rows that are written at once.
const PIECE: usize = 64 * 1024;

struct Printer<'a, 'b> {
    print: Print,
    text: Vec<u8>,
    out: &'a mut TextWriter<'b>,
}

impl Printer<'_, '_> {
    fn change(
        &mut self,
        digest: PasswordDigest,
        change: Change,
        entry: Entry,
    ) -> Result<(), Trouble> {
        let (wanted, sign) = match change {
            Change::Added => (self.print.added, b'+'),
            Change::Removed => (self.print.removed, b'-'),
            Change::Count { .. } => (self.print.changed, b'~'),
        };
        if !wanted {
            return Ok(());
        }
        let is_list = self.print.is_list();
        if !is_list {
            self.text.push(sign);
        }
        let row = RowText { digest, skip: 0, counts: true, end: LineEnd::Lf };
        row.append(&mut self.text, entry);
        if let (Change::Count { old }, false) = (change, is_list) {
            self.text.truncate(self.text.len() - LineEnd::Lf.bytes().len());
            self.text.extend_from_slice(format!(" was {old}\n").as_bytes());
        }
        if self.text.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        self.out.write(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
