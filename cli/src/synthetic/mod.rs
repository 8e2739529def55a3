//! `hapax gen`: lists of any size for tests and measurements, without a disk and without a sort.
//!
//! ```text
//!  cells  2^b of equal width, b ≥ 20:  how many rows? ──▶ Poisson(n / 2^b), from a table
//!                                       which?         ──▶ 64 bits each, sorted: a dozen numbers
//!                                       the rest       ──▶ made from those 64 bits
//!
//!  threads   1: [cells 0..][cells 2..]...  ┐
//!            2: [cells 1..][cells 3..]...  ┴──▶ in turns, so that the order is kept ──▶ output
//! ```
//!
//! Uniform hashes fall into cells of equal width in independent Poisson numbers (the number of all
//! rows then is Poisson too, and close to what is asked for). A cell is made from the seed and its
//! own number alone, so any part of a list can be made again at any time. Counts are drawn from a
//! Pareto distribution with index 1, as in genuine lists: half of all rows are counted once, one in
//! a thousand a thousand times.

mod args;
mod cells;
mod pipeline;

use hapax::codec::Readers;
use hapax::screen::PasswordDigest;

pub(crate) use self::args::GenArgs;
use self::cells::Cells;
use crate::rows::{Format, LineEnd, RowText, Target};
use crate::trouble::Trouble;

/// What is to be made.
#[derive(Clone, Debug)]
pub(crate) struct GenRequest {
    pub(crate) kind: Kind,
    /// Rows: about so many hashes, exactly so many passwords.
    pub(crate) rows: u64,
    pub(crate) seed: u64,
    pub(crate) digest: PasswordDigest,
    pub(crate) threads: usize,
    pub(crate) target: Target,
}

/// What rows are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Hashes, sorted.
    Hashes,
    /// The numbers from this one on.
    Plain { start: u64 },
}

/// Makes a list, and says how many rows it has.
///
/// # Errors
///
/// If the output cannot be written.
pub(crate) fn run(request: &GenRequest) -> Result<u64, Trouble> {
    let end = request.target.end.unwrap_or_default();
    match request.kind {
        Kind::Plain { start } => {
            let last = start.checked_add(request.rows).ok_or_else(|| {
                Trouble::new("the numbers do not fit into 64 bits: give a smaller --start")
            })?;
            write_pieces(request, request.rows.div_ceil(NUMBERS), |piece, out| {
                let first = start + piece * NUMBERS;
                numbers(first..last.min(first + NUMBERS), end, out)
            })
        }
        Kind::Hashes => {
            let cells = Cells::new(request.rows, request.seed, request.digest);
            if request.target.format == Format::HibpDir {
                return write_folder(request, &cells);
            }
            let text = RowText {
                digest: request.digest,
                skip: 0,
                counts: request.target.format == Format::Hibp,
                end,
            };
            write_pieces(request, cells.pieces(), |piece, out| {
                let mut rows = 0;
                cells.piece(piece, |entry| {
                    text.append(out, entry);
                    rows += 1;
                });
                rows
            })
        }
    }
}

/// Numbers in a piece of a plain list.
const NUMBERS: u64 = 1 << 16;

/// Appends numbers as rows.
fn numbers(numbers: std::ops::Range<u64>, end: LineEnd, out: &mut Vec<u8>) -> u64 {
    use std::io::Write as _;
    let rows = numbers.end - numbers.start;
    for number in numbers {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{number}");
        out.extend_from_slice(end.bytes());
    }
    rows
}

fn write_pieces(
    request: &GenRequest,
    pieces: u64,
    make: impl Fn(u64, &mut Vec<u8>) -> u64 + Sync,
) -> Result<u64, Trouble> {
    request.target.write_text(Readers::Umask, |out| {
        pipeline::run(pieces, request.threads, make, |text| out.write(text))
    })
}

fn write_folder(request: &GenRequest, cells: &Cells) -> Result<u64, Trouble> {
    request.target.write(Readers::Umask, |writer| {
        writer.set_digest(request.digest);
        let (mut rows, mut written) = (0, Ok(()));
        for piece in 0..cells.pieces() {
            cells.piece(piece, |entry| {
                rows += 1;
                if written.is_ok() {
                    written = writer.push(entry);
                }
            });
            if written.is_err() {
                break;
            }
        }
        written.map(|()| rows)
    })
}

#[cfg(test)]
mod tests;
