//! Candidates in a column of CSV.
//!
//! Records are cut by `csv-core`, the inside of the `csv` crate: it writes into buffers that are
//! ours, so that they are wiped. What it forgives of quotation marks is found by [`Quotes`].

use std::io::{self, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use zeroize::Zeroizing;

use super::args::Column;
use super::batch::{BATCH_LEN, Batch, Cut, Fault, MAX_ROW_LEN};
use super::lines;
use super::quotes::Quotes;
use crate::trouble::Trouble;

/// Bytes read at once.
const INPUT_LEN: usize = 64 * 1024;

/// The longest record.
const MAX_RECORD_LEN: usize = 1 << 20;

/// The most columns of a record.
const MAX_COLUMNS: usize = 4_096;

/// The longest label.
const MAX_LABEL_LEN: usize = 256;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Which columns are of interest, and what parts them.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) candidate: Column,
    pub(super) label: Option<Column>,
    pub(super) delimiter: u8,
}

impl Columns {
    /// Whether the first record says what the columns are.
    fn have_header(&self) -> bool {
        let named = |column: &Column| matches!(column, Column::Name(_));
        named(&self.candidate) || self.label.as_ref().is_some_and(named)
    }
}

/// Reads records.
pub(super) struct CsvReader<R> {
    input: R,
    parser: Reader,
    quotes: Quotes,
    columns: Columns,
    /// The columns by number, once they are known.
    numbers: Option<(usize, Option<usize>)>,
    buffer: Zeroizing<Vec<u8>>,
    unread: std::ops::Range<usize>,
    ended: bool,
    record: Record,
    /// Line in which the next byte is.
    line: u64,
    start_of_input: bool,
    long: LongRecords,
}

/// Records that go over several lines and are whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LongRecords {
    pub(super) count: u64,
    /// The line of the first.
    pub(super) first: u64,
}

/// The record at hand.
struct Record {
    bytes: Zeroizing<Vec<u8>>,
    len: usize,
    ends: Vec<usize>,
    columns: usize,
    line: u64,
    begun: bool,
    too_long: bool,
    /// The input ended inside of its quotation marks.
    open: bool,
    /// Line ends within it.
    line_ends: u64,
}

impl Record {
    fn begin(&mut self, line: u64) {
        (self.len, self.columns, self.line) = (0, 0, line);
        (self.begun, self.too_long, self.open) = (true, false, false);
    }

    fn column(&self, number: usize) -> Option<&[u8]> {
        let ends = &self.ends[..self.columns];
        let end = *ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| ends[before]);
        Some(&self.bytes[start..end])
    }
}

impl<R: Read> CsvReader<R> {
    pub(super) fn new(input: R, columns: Columns) -> Self {
        Self {
            input,
            parser: ReaderBuilder::new().delimiter(columns.delimiter).build(),
            numbers: None,
            quotes: Quotes::new(columns.delimiter),
            columns,
            buffer: Zeroizing::new(vec![0; INPUT_LEN]),
            unread: 0..0,
            ended: false,
            record: Record {
                bytes: Zeroizing::new(vec![0; MAX_RECORD_LEN]),
                len: 0,
                ends: vec![0; MAX_COLUMNS],
                columns: 0,
                line: 1,
                begun: false,
                too_long: false,
                open: false,
                line_ends: 0,
            },
            line: 1,
            start_of_input: true,
            long: LongRecords::default(),
        }
    }

    /// The beginning of the input, after the first batch.
    pub(super) fn head(&self) -> &[u8] {
        &self.buffer[..self.unread.end]
    }

    /// What is known so far of records that go over several lines.
    pub(super) const fn long_records(&self) -> LongRecords {
        self.long
    }

    pub(super) fn fill(&mut self, batch: &mut Batch, name: &str) -> Result<bool, Trouble> {
        if self.ended {
            return Ok(false);
        }
        batch.first = self.line;
        loop {
            if self.unread.is_empty() {
                if batch.byte_len > 0 || !batch.cuts.is_empty() {
                    // What has arrived can be answered; what will arrive is not waited for.
                    return Ok(true);
                }
                self.read(batch).map_err(|error| Trouble::reading(name, &error))?;
            }
            while !self.unread.is_empty() || self.ended {
                if BATCH_LEN - batch.len < MAX_ROW_LEN + MAX_LABEL_LEN {
                    return Ok(true);
                }
                if !self.read_record() {
                    break;
                }
                let is_candidate = self.numbers.is_some() || !self.columns.have_header();
                if self.numbers.is_none() {
                    self.numbers = Some(self.find_columns(name)?);
                }
                let cut = is_candidate.then(|| self.cut(batch));
                batch.cuts.extend(cut);
                // Of the others it is told what is wrong with them.
                let is_whole = cut.is_none_or(|cut| cut.fault.is_none());
                if is_whole && self.record.line_ends > 0 {
                    if self.long.count == 0 {
                        self.long.first = self.record.line;
                    }
                    self.long.count += 1;
                }
            }
            if self.ended {
                return Ok(true);
            }
        }
    }

    /// Reads more input; at its start, enough to see a mark.
    fn read(&mut self, batch: &mut Batch) -> io::Result<()> {
        self.unread = 0..0;
        loop {
            let room = &mut self.buffer[self.unread.end..];
            let read = lines::read(&mut self.input, room)?;
            batch.byte_len += read as u64;
            self.unread.end += read;
            self.ended = read == 0;
            let head = &self.buffer[self.unread.clone()];
            let may_be_marked = self.start_of_input && BYTE_ORDER_MARK.starts_with(head);
            if self.ended || !may_be_marked || head.len() == BYTE_ORDER_MARK.len() {
                break;
            }
        }
        let head = &self.buffer[self.unread.clone()];
        if std::mem::take(&mut self.start_of_input) && head.starts_with(BYTE_ORDER_MARK) {
            self.unread.start = BYTE_ORDER_MARK.len();
        }
        Ok(())
    }

    /// Reads on to the end of a record; `false` if it is not here yet, or if there is none.
    fn read_record(&mut self) -> bool {
        loop {
            if !self.record.begun {
                self.skip_line_ends();
                self.record.begin(self.line);
                self.quotes.begin();
            }
            let record = &mut self.record;
            let at_end = self.ended && self.unread.is_empty();
            let input = if at_end && !record.open {
                // The parser does not say whether it is inside of quotation marks, and shows it when
                // it is given a line end: there, it does not end the record.
                b"\n"
            } else {
                &self.buffer[self.unread.clone()]
            };
            let (result, read, written, columns) = self.parser.read_record(
                input,
                &mut record.bytes[record.len..],
                &mut record.ends[record.columns..],
            );
            if !at_end {
                self.line += memchr::memchr_iter(b'\n', &input[..read]).count() as u64;
                self.quotes.follow(&input[..read]);
                self.unread.start += read;
            }
            record.len += written;
            record.columns += columns;
            match result {
                ReadRecordResult::InputEmpty if at_end && written > 0 => record.open = true,
                ReadRecordResult::InputEmpty if self.ended && !at_end => {}
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    // The rest of it is read over what there is.
                    (record.len, record.columns, record.too_long) = (0, 0, true);
                }
                ReadRecordResult::Record => {
                    record.begun = false;
                    let own_end = !at_end && input[..read].last() == Some(&b'\n');
                    record.line_ends = self.line - record.line - u64::from(own_end);
                    if record.too_long {
                        // The parser counts on from what was written over.
                        record.columns = 0;
                    }
                    return true;
                }
                ReadRecordResult::End => {
                    record.begun = false;
                    return false;
                }
            }
        }
    }

    /// Goes on to the first byte of a record, so that its line is known.
    fn skip_line_ends(&mut self) {
        while let Some(&byte @ (b'\r' | b'\n')) = self.buffer[self.unread.clone()].first() {
            self.unread.start += 1;
            self.line += u64::from(byte == b'\n');
        }
    }

    fn find_columns(&self, name: &str) -> Result<(usize, Option<usize>), Trouble> {
        let fault = self.fault_of_quotes().filter(|_| self.columns.have_header());
        if let Some(fault) = fault {
            return Err(Trouble::new(format_args!("{name}: the header: {fault}")));
        }
        let candidate = self.find_column(&self.columns.candidate, "--column", name)?;
        let label = self.columns.label.as_ref();
        let label = label.map(|label| self.find_column(label, "--label", name)).transpose()?;
        if label == Some(candidate) {
            return Err(Trouble::new(format_args!(
                "{name}: --label and --column name the same column: the candidate would be printed"
            )));
        }
        Ok((candidate, label))
    }

    fn find_column(&self, column: &Column, option: &str, name: &str) -> Result<usize, Trouble> {
        let wanted = match column {
            Column::Number(number) => return Ok(*number),
            Column::Name(wanted) => wanted.as_bytes(),
        };
        let mut numbers = 0..self.record.columns;
        let found = numbers.find(|&number| self.record.column(number) == Some(wanted));
        found.ok_or_else(|| {
            Trouble::new(format_args!(
                "{name}: expected a header with the column of {option}, found one of {} other \
                 columns: name a column of it, or give its number if there is no header",
                self.record.columns
            ))
        })
    }

    /// What is wrong with the quotation marks of the record at hand.
    fn fault_of_quotes(&self) -> Option<Fault> {
        match (self.record.open, self.quotes.are_stray()) {
            (true, _) => Some(Fault::OpenQuote),
            (_, true) => Some(Fault::StrayQuote),
            _ => None,
        }
    }

    /// Copies what is of interest of the record at hand.
    fn cut(&self, batch: &mut Batch) -> Cut {
        let record = &self.record;
        let Some((candidate, label)) = self.numbers else {
            return Cut::faulty(record.line, Fault::NoColumn);
        };
        if record.too_long {
            return Cut::faulty(record.line, Fault::TooLong);
        }
        if let Some(fault) = self.fault_of_quotes() {
            return Cut::faulty(record.line, fault);
        }
        let label = label.map(|label| record.column(label));
        let (candidate, label) = match (record.column(candidate), label) {
            (None, _) | (_, Some(None)) => return Cut::faulty(record.line, Fault::NoColumn),
            (Some(candidate), label) => (candidate, label.flatten().unwrap_or_default()),
        };
        if candidate.len() > MAX_ROW_LEN {
            return Cut::faulty(record.line, Fault::TooLong);
        }
        if has_line_end(candidate) {
            return Cut::faulty(record.line, Fault::Lines);
        }
        let mut copy = |field: &[u8]| {
            let start = batch.len;
            batch.len += field.len();
            batch.bytes[start..batch.len].copy_from_slice(field);
            start..batch.len
        };
        let cut = Cut::new(record.line, copy(candidate));
        if label.len() > MAX_LABEL_LEN || has_line_end(label) {
            return cut.with_fault(Fault::Label);
        }
        cut.with_label(copy(label))
    }
}

fn has_line_end(field: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', field).is_some()
}

#[cfg(test)]
mod tests;
