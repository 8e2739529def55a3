//! Reading lists of compromised passwords, of any length, in constant memory.
//!
//! ```text
//!  file, pipe ─┐
//!  folder of   ├─ Decompressed ──▶ lines ──────────────▶ rows ────────▶ Batch: hashes, counts,
//!  ranges     ─┘                   one buffer, wiped     plain: hashed         places
//!                                  less one \r, a mark   hex ":" count    │
//!                                                                         └──▶ Coverage: is it all?
//! ```
//!
//! Rows come out one by one, or by batches, column by column, at a gigabyte a second: an ordinary row
//! of hashes is decoded where it lies, eight digits at a time, and its end is found on the way. What
//! is not ordinary is looked at closely, and only there is it decided what is a fault.
//!
//! A row that is lost is a breached password that is accepted later, so nothing is skipped in
//! silence: every row comes out as a [`Row`], as an error with its number, offset and fault, or in
//! a count of [`ListTotals`]. What lists look like in the field, and what is done about it:
//!
//! | found | done |
//! |---|---|
//! | `\r\n`, no newline after the last row | one `\n`, then one `\r` are taken off; nothing else is trimmed: a password may end in spaces |
//! | blank rows | skipped and counted; the empty password never becomes listed by accident |
//! | a UTF-8 byte order mark on *any* row (files written in blocks, files put together) | taken off and counted |
//! | digits in either case | read |
//! | counts as `2,203`, or beyond 64 bits | read; saturate |
//! | a count of 0 (padding of range queries) | skipped and counted: such a row is made up |
//! | hashes of another length, foreign digits, a bad count | an error; reading can go on after it |
//! | Latin-1, NUL, any bytes in a plain row | kept: a row is bytes, not text |
//! | a carriage return inside a plain row | kept, and counted: the file may be one of lone `\r` |
//! | rows beyond the limit (64 KiB) | an error, however long; they are never cut |
//! | gzip, bzip2, zstd, by content | decompressed; a stream cut short is an error (`Decompressed`, feature `compressed`) |
//! | the files of range queries, in the folders of every known downloader | read in the order of their prefixes, their digits put together ([`RangeFolder`]) |
//! | an entity tag in front of a range | skipped and counted |
//! | a download that broke off, a range that is missing or cut short | shown by the rows of each prefix ([`Coverage`]) |
//! | UTF-16, data compressed otherwise, lone `\r` as line end, two shapes in one file, `hash:password`, hashes of other kinds | [`ListFormat::detect`] names them |
//!
//! A mark is taken off plain rows too, although it could be part of a password: nobody can type
//! one, while lists put together from files with marks are common, and in them the row after each
//! seam would be lost.
//!
//! Errors carry no content, not even the head of a row: what was taken for a hash may be a
//! password.

mod batch;
#[cfg(feature = "compressed")]
mod compressed;
mod coverage;
mod error;
mod folder;
mod format;
mod lines;
mod prefix;
mod reader;
mod row;
mod single;

pub use batch::Batch;
#[cfg(feature = "compressed")]
pub use compressed::{Compression, Decompressed};
pub use coverage::{Coverage, CoverageReport};
pub use error::{BadRow, DetectError, ListError, RowFault};
pub use folder::{FolderError, RangeFolder};
pub use format::{ListFormat, SAMPLE_LEN};
pub use prefix::RangePrefix;
pub use reader::{DEFAULT_ROW_LIMIT, ListReader, ListTotals, MAX_ROW_LIMIT, ZeroCount};
pub use row::Row;
pub(super) use single::{is_etag_line, parse_line};

#[cfg(test)]
mod tests;
