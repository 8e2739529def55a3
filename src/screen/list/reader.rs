//! The reader of lists.

use std::fmt;
use std::io::Read;

use super::error::{BadRow, ListError, RowFault};
use super::format::ListFormat;
use super::lines::Lines;
use super::row::{Row, parse, strip_mark};

/// The longest row by default, in bytes, its end not counted: 64 KiB.
pub const DEFAULT_ROW_LIMIT: u32 = 64 * 1024;

/// The largest limit that can be set, in bytes: 16 MiB. No password is so long, and a buffer of
/// this size can be had everywhere.
pub const MAX_ROW_LIMIT: u32 = 16 * 1024 * 1024;

/// Reads the rows of a list one by one, in constant memory.
///
/// It buffers by itself (128 KiB, wiped when dropped), so give it a `File`, not a `BufReader`,
/// whose buffer would keep a copy of the passwords. Costs no allocation per row.
///
/// # Examples
///
/// ```
/// use hapax::screen::PasswordDigest::Sha1;
/// use hapax::screen::list::{ListError, ListFormat, ListReader};
///
/// let list = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:10,434,004\r\n\
///             not a hash\r\n\
///             7c4a8d09ca3762af61e59520943dc26494f8941b";
/// let mut reader = ListReader::new(list.as_bytes(), ListFormat::Hashes(Sha1));
///
/// let row = reader.next_row()?.expect("the first row");
/// assert_eq!((row.number, row.count), (1, Some(10_434_004)));
/// assert_eq!(row.hash, Sha1.key_of(b"password")?);
///
/// // A bad row is an error. Whoever decides to tolerate it can go on.
/// let Err(ListError::Row(bad)) = reader.next_row() else { unreachable!() };
/// assert_eq!((bad.number, bad.offset), (2, 53));
///
/// let row = reader.next_row()?.expect("the last row");
/// assert_eq!((row.hash, row.count), (Sha1.key_of(b"123456")?, None));
/// assert!(reader.next_row()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ListReader<R> {
    lines: Lines<R>,
    format: ListFormat,
    totals: ListTotals,
}

impl<R: Read> ListReader<R> {
    /// Reads rows of this format, of up to [`DEFAULT_ROW_LIMIT`] bytes.
    pub fn new(input: R, format: ListFormat) -> Self {
        Self::with_row_limit(input, format, DEFAULT_ROW_LIMIT)
    }

    /// Reads rows of up to `row_limit` bytes, their ends not counted. Allocates that much, and
    /// 64 KiB, once. More than [`MAX_ROW_LIMIT`] is taken as that; the error about a longer row
    /// states the limit in force.
    pub fn with_row_limit(input: R, format: ListFormat, row_limit: u32) -> Self {
        let row_limit = row_limit.min(MAX_ROW_LIMIT);
        Self { lines: Lines::new(input, row_limit), format, totals: ListTotals::default() }
    }

    /// What the rows are.
    pub const fn format(&self) -> ListFormat {
        self.format
    }

    /// What was read so far.
    pub const fn totals(&self) -> ListTotals {
        self.totals
    }

    /// The next row that holds a password; `None` after the last one.
    ///
    /// # Errors
    ///
    /// [`ListError::Row`] for a malformed row; the next call goes on after it.
    /// [`ListError::Read`] if the input fails; the next call tries again.
    pub fn next_row(&mut self) -> Result<Option<Row>, ListError> {
        loop {
            let line = self
                .lines
                .next()
                .map_err(|source| ListError::Read { offset: self.lines.bytes_read(), source })?;
            self.totals.bytes = self.lines.offset();
            let Some(line) = line else { return Ok(None) };
            self.totals.rows += 1;

            let (number, offset) = (line.number, line.offset);
            let Some(content) = line.content else {
                self.totals.bad += 1;
                let fault = RowFault::TooLong { limit: self.lines.limit() };
                return Err(ListError::Row(BadRow { number, offset, fault }));
            };
            let (content, marked) = strip_mark(self.lines.content(content));
            self.totals.marks += u64::from(marked);
            if content.is_empty() {
                self.totals.blank += 1;
                continue;
            }
            match parse(self.format, content) {
                Ok((_, Some(0))) => self.totals.zero_count += 1,
                Ok((hash, count)) => {
                    self.totals.carriage_returns += u64::from(content.contains(&b'\r'));
                    return Ok(Some(Row { hash, count, number, offset }));
                }
                Err(fault) => {
                    self.totals.bad += 1;
                    return Err(ListError::Row(BadRow { number, offset, fault }));
                }
            }
        }
    }
}

/// Format and totals; nothing of the content.
impl<R> fmt::Debug for ListReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListReader")
            .field("format", &self.format)
            .field("totals", &self.totals)
            .finish_non_exhaustive()
    }
}

/// What a reader has come across. `rows` less `blank`, `zero_count` and `bad` were handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListTotals {
    /// Rows, all of them.
    pub rows: u64,
    /// Rows without content.
    pub blank: u64,
    /// Rows with a count of 0, which stand for no password.
    pub zero_count: u64,
    /// Malformed rows.
    pub bad: u64,
    /// Rows from which a byte order mark was taken off.
    pub marks: u64,
    /// Rows handed out that have a carriage return inside. Many of them mean that the list has
    /// lone carriage returns for line ends, and that its rows are not what they should be.
    pub carriage_returns: u64,
    /// Bytes read, line ends included.
    pub bytes: u64,
}
