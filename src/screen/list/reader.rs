//! The reader of lists.

use std::fmt;
use std::io::Read;

use super::super::digest::PasswordDigest;
use super::batch::{Batch, MAX_ROWS};
use super::error::{BadRow, ListError, RowFault};
use super::format::ListFormat;
use super::lines::{Buffered, Line, Lines};
use super::prefix::RangePrefix;
use super::row::{Row, WINDOW, is_etag, ordinary, parse, strip_mark};

/// The longest row by default, in bytes, its end not counted: 64 KiB.
pub const DEFAULT_ROW_LIMIT: u32 = 64 * 1024;

/// The largest limit that can be set, in bytes: 16 MiB. No password is so long, and a buffer of
/// this size can be had everywhere.
pub const MAX_ROW_LIMIT: u32 = 16 * 1024 * 1024;

/// Reads the rows of a list, one by one or by batches, in constant memory.
///
/// It buffers by itself (320 KiB, wiped when dropped), so give it a `File`, not a `BufReader`,
/// whose buffer would keep a copy of the passwords. Costs no allocation per row; by batches, about
/// 30 ns a row of a list of hashes.
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
    zero_count: ZeroCount,
    totals: ListTotals,
    /// An error met behind rows that had to be handed out first.
    held: Option<ListError>,
    /// Where [`next_row`](Self::next_row) gets its row from.
    single: Batch,
}

/// What to do with rows that have a count of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroCount {
    /// They are made up, to hide how long the answer to a range query is: skip and count them.
    #[default]
    Skip,
    /// Some lists are written with them, and mean them: they are rows like others.
    Keep,
}

impl<R: Read> ListReader<R> {
    /// Reads rows of this format, of up to [`DEFAULT_ROW_LIMIT`] bytes.
    pub fn new(input: R, format: ListFormat) -> Self {
        Self::with_row_limit(input, format, DEFAULT_ROW_LIMIT)
    }

    /// Reads rows of up to `row_limit` bytes, their ends not counted. Allocates that much, and
    /// 256 KiB, once. More than [`MAX_ROW_LIMIT`] is taken as that; the error about a longer row
    /// states the limit in force.
    pub fn with_row_limit(input: R, format: ListFormat, row_limit: u32) -> Self {
        let row_limit = row_limit.min(MAX_ROW_LIMIT);
        Self {
            lines: Lines::new(input, row_limit),
            format,
            zero_count: ZeroCount::default(),
            totals: ListTotals::default(),
            held: None,
            single: Batch::new(),
        }
    }

    /// Says what is to be done with rows that have a count of 0; by default they are skipped.
    #[must_use]
    pub fn zero_count(mut self, zero_count: ZeroCount) -> Self {
        self.zero_count = zero_count;
        self
    }

    /// Goes on with another list, in the same buffer, as if it were the first: a folder of a million
    /// files would otherwise cost a buffer each.
    pub fn restart(&mut self, input: R, format: ListFormat) {
        self.lines.restart(input);
        self.format = format;
        self.totals = ListTotals::default();
        self.held = None;
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
        let mut batch = std::mem::take(&mut self.single);
        let read = self.read(&mut batch, 1);
        self.single = batch;
        Ok(if read? { self.single.get(0) } else { None })
    }

    /// Fills a batch with the next rows that hold a password, as many as are at hand; `false` after
    /// the last one. What was in the batch is gone.
    ///
    /// # Errors
    ///
    /// As [`next_row`](Self::next_row), once every row before the fault was handed out; the batch is
    /// empty then.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::screen::PasswordDigest::Nt;
    /// use hapax::screen::list::{Batch, ListFormat, ListReader};
    ///
    /// let list = "8846F7EAEE8FB117AD06BDD830B7586C:10434004\r\n".repeat(100_000);
    /// let mut reader = ListReader::new(list.as_bytes(), ListFormat::Hashes(Nt));
    /// let (mut batch, mut rows) = (Batch::new(), 0);
    /// while reader.next_batch(&mut batch)? {
    ///     assert!(batch.hashes().iter().all(|&hash| Nt.key_of(b"password") == Ok(hash)));
    ///     rows += batch.len();
    /// }
    /// assert_eq!(rows, 100_000);
    /// # Ok::<(), hapax::screen::list::ListError>(())
    /// ```
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, ListError> {
        self.read(batch, MAX_ROWS)
    }

    /// Fills a batch with up to so many rows from what is in the buffer; more is read only while
    /// there is no row.
    fn read(&mut self, batch: &mut Batch, max_rows: usize) -> Result<bool, ListError> {
        let (number, offset) = self.lines.place();
        batch.restart(number, offset);
        if let Some(error) = self.held.take() {
            return Err(error);
        }
        while batch.len() < max_rows {
            self.take_ordinary(batch, max_rows);
            if batch.len() == max_rows {
                break;
            }
            match self.lines.buffered() {
                Buffered::Line(line) => match self.row_of(line) {
                    Ok(Some(row)) => batch.push(row),
                    Ok(None) => {}
                    Err(bad) => {
                        self.totals.bad += 1;
                        self.totals.bytes = self.lines.offset();
                        if batch.is_empty() {
                            return Err(bad.into());
                        }
                        self.held = Some(bad.into());
                        return Ok(true);
                    }
                },
                Buffered::End => break,
                Buffered::NeedsMore if !batch.is_empty() => break,
                Buffered::NeedsMore => {
                    let filled = self.lines.fill();
                    filled.map_err(|source| ListError::Read {
                        offset: self.lines.bytes_read(),
                        source,
                    })?;
                    // What was passed over is not in the buffer any more.
                    let (number, offset) = self.lines.place();
                    batch.restart(number, offset);
                }
            }
        }
        self.totals.bytes = self.lines.offset();
        Ok(!batch.is_empty())
    }

    /// Takes the rows ahead that are as they should be; stops at the first one that needs a closer
    /// look, or that the buffer may not have whole.
    fn take_ordinary(&mut self, batch: &mut Batch, max_rows: usize) {
        use PasswordDigest::{Nt, Sha1};
        const SKIP: usize = RangePrefix::DIGITS;
        match self.format {
            ListFormat::Plain(_) => {}
            ListFormat::Hashes(Sha1) => self.take_rows::<5, 0>([0; SKIP], batch, max_rows),
            ListFormat::Hashes(Nt) => self.take_rows::<4, 0>([0; SKIP], batch, max_rows),
            ListFormat::Range(Sha1, prefix) => {
                self.take_rows::<5, SKIP>(prefix.digits(), batch, max_rows);
            }
            ListFormat::Range(Nt, prefix) => {
                self.take_rows::<4, SKIP>(prefix.digits(), batch, max_rows);
            }
        }
    }

    fn take_rows<const WORDS: usize, const SKIP: usize>(
        &mut self,
        prefix: [u8; RangePrefix::DIGITS],
        batch: &mut Batch,
        max_rows: usize,
    ) {
        let (first, start) = self.lines.place();
        let (mut number, mut at) = (first, 0);
        let ahead = self.lines.ahead();
        while batch.len() < max_rows
            && let Some(window) = ahead[at..].first_chunk::<WINDOW>()
            && let Some(((hash, tail, count), len)) = ordinary::<WORDS, SKIP>(window, prefix)
        {
            batch.push(Row { hash, tail, count, number, offset: start + at as u64 });
            number += 1;
            at += len;
        }
        self.totals.rows += number - first;
        self.lines.pass(number - first, at);
    }

    /// Reads one line closely; `None` if it holds no password.
    fn row_of(&mut self, line: Line) -> Result<Option<Row>, BadRow> {
        self.totals.rows += 1;
        let Line { number, offset, content } = line;
        let bad = |fault| BadRow { number, offset, fault };
        let content =
            content.ok_or_else(|| bad(RowFault::TooLong { limit: self.lines.limit() }))?;
        let (content, marked) = strip_mark(self.lines.content(content));
        self.totals.marks += u64::from(marked);
        if content.is_empty() {
            self.totals.blank += 1;
            return Ok(None);
        }
        match parse(self.format, content) {
            Ok((_, _, Some(0))) if self.zero_count == ZeroCount::Skip => {
                self.totals.zero_count += 1;
                Ok(None)
            }
            Ok((hash, tail, count)) => {
                if matches!(self.format, ListFormat::Plain(_)) {
                    self.totals.carriage_returns += u64::from(content.contains(&b'\r'));
                    self.totals.hash_like += u64::from(holds_a_hash(content));
                }
                Ok(Some(Row { hash, tail, count, number, offset }))
            }
            Err(_) if number == 1 && self.has_etag() && is_etag(content) => {
                self.totals.etags += 1;
                Ok(None)
            }
            Err(fault) => Err(bad(fault)),
        }
    }

    const fn has_etag(&self) -> bool {
        matches!(self.format, ListFormat::Range(..))
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

/// What a reader has come across. `rows` less `blank`, `zero_count`, `etags` and
/// `bad` were handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListTotals {
    /// Rows, all of them.
    pub rows: u64,
    /// Rows without content.
    pub blank: u64,
    /// Rows with a count of 0, which stand for no password.
    pub zero_count: u64,
    /// Rows that are the entity tag of a range.
    pub etags: u64,
    /// Malformed rows.
    pub bad: u64,
    /// Rows from which a byte order mark was taken off.
    pub marks: u64,
    /// Rows handed out that have a carriage return inside. Many of them mean that the list has
    /// lone carriage returns for line ends, and that its rows are not what they should be.
    pub carriage_returns: u64,
    /// Plain rows handed out that hold 32 or 40 hexadecimal digits in a row, or say `{SHA}`: many of them
    /// mean that the list is one of hashes, further down than its format was told from.
    pub hash_like: u64,
    /// Bytes read, line ends included.
    pub bytes: u64,
}

/// Whether a row looks like a hash rather than a password.
fn holds_a_hash(row: &[u8]) -> bool {
    let runs = || row.split(|byte| !byte.is_ascii_hexdigit()).map(<[u8]>::len);
    row.len() >= 32 && runs().any(|run| matches!(run, 32 | 40)) || row.starts_with(b"{SHA}")
}
