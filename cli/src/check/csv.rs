//! Candidates in a column of CSV.
//!
//! Records are cut by `csv-core`, the inside of the `csv` crate: it writes into buffers that are
//! ours, so that they are wiped.

use std::io::{self, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use zeroize::Zeroizing;

use super::args::Column;
use super::batch::{BATCH_LEN, Batch, Cut, Fault, MAX_ROW_LEN};
use super::lines;
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
}

impl Record {
    fn begin(&mut self, line: u64) {
        (self.len, self.columns, self.line) = (0, 0, line);
        (self.begun, self.too_long) = (true, false);
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
            },
            line: 1,
            start_of_input: true,
        }
    }

    /// The beginning of the input, after the first batch.
    pub(super) fn head(&self) -> &[u8] {
        &self.buffer[..self.unread.end]
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
                if self.numbers.is_some() {
                    let cut = self.cut(batch);
                    batch.cuts.push(cut);
                } else {
                    let is_candidate = !self.columns.have_header();
                    self.numbers = Some(self.find_columns(name)?);
                    if is_candidate {
                        let cut = self.cut(batch);
                        batch.cuts.push(cut);
                    }
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
            }
            let record = &mut self.record;
            let input = &self.buffer[self.unread.clone()];
            let (result, read, written, columns) = self.parser.read_record(
                input,
                &mut record.bytes[record.len..],
                &mut record.ends[record.columns..],
            );
            self.line += memchr::memchr_iter(b'\n', &input[..read]).count() as u64;
            self.unread.start += read;
            record.len += written;
            record.columns += columns;
            match result {
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    // The rest of it is read over what there is.
                    (record.len, record.columns, record.too_long) = (0, 0, true);
                }
                ReadRecordResult::Record => {
                    record.begun = false;
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

    /// Copies what is of interest of the record at hand.
    fn cut(&self, batch: &mut Batch) -> Cut {
        let record = &self.record;
        let Some((candidate, label)) = self.numbers else {
            return Cut::faulty(record.line, Fault::NoColumn);
        };
        if record.too_long {
            return Cut::faulty(record.line, Fault::TooLong);
        }
        let label = label.map(|label| record.column(label));
        let (candidate, label) = match (record.column(candidate), label) {
            (None, _) | (_, Some(None)) => return Cut::faulty(record.line, Fault::NoColumn),
            (Some(candidate), label) => (candidate, label.flatten().unwrap_or_default()),
        };
        if candidate.len() > MAX_ROW_LEN {
            return Cut::faulty(record.line, Fault::TooLong);
        }
        let mut copy = |field: &[u8]| {
            let start = batch.len;
            batch.len += field.len();
            batch.bytes[start..batch.len].copy_from_slice(field);
            start..batch.len
        };
        let cut = Cut::new(record.line, copy(candidate));
        if label.len() > MAX_LABEL_LEN || memchr::memchr2(b'\n', b'\r', label).is_some() {
            return cut.with_fault(Fault::Label);
        }
        cut.with_label(copy(label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(buffer.len());
            let (head, tail) = self.0.split_at(len);
            buffer[..len].copy_from_slice(head);
            self.0 = tail;
            Ok(len)
        }
    }

    type Found = (u64, Result<(String, String), Fault>);

    fn records(
        input: &[u8],
        piece: usize,
        candidate: &str,
        label: Option<&str>,
    ) -> Result<Vec<Found>, Trouble> {
        let columns = Columns {
            candidate: candidate.parse().unwrap(),
            label: label.map(|label| label.parse().unwrap()),
            delimiter: b',',
        };
        let mut reader = CsvReader::new(Trickle(input, piece), columns);
        let (mut found, mut batch) = (Vec::new(), Batch::new());
        loop {
            batch.clear();
            if !reader.fill(&mut batch, "test")? {
                return Ok(found);
            }
            for cut in &batch.cuts {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let label = batch.label(cut).map(text).unwrap_or_default();
                let row = (label, text(batch.candidate(cut)));
                found.push((cut.line, cut.fault.map_or(Ok(row), Err)));
            }
        }
    }

    fn row(line: u64, label: &str, candidate: &str) -> Found {
        (line, Ok((label.into(), candidate.into())))
    }

    #[test]
    fn columns_are_found_by_name_and_by_number() {
        let text = "user,password,id\r\nalice,\"a,\"\"b\",1\r\n\r\nbob,\"two\nlines\",2\neve, x ,3";
        let expected =
            [row(2, "alice", "a,\"b"), row(4, "bob", "two\nlines"), row(6, "eve", " x ")];
        for text in [text.to_owned(), format!("\u{feff}{text}\r\n\r\n")] {
            for piece in [1, 2, 3, 7, 1_000] {
                let found = records(text.as_bytes(), piece, "password", Some("user")).unwrap();
                assert_eq!(found, expected, "by {piece}");
                let found = records(text.as_bytes(), piece, "2", Some("1")).unwrap();
                assert_eq!(found[0], row(1, "user", "password"));
                assert_eq!(found[1..], expected, "by {piece}");
            }
        }
        let found = records(text.as_bytes(), 5, "password", None).unwrap();
        assert_eq!(found[0], row(2, "", "a,\"b"));
    }

    #[test]
    fn records_that_lack_a_column_or_are_too_long_are_told() {
        let long = "x".repeat(MAX_ROW_LEN + 1);
        let longer = "x".repeat(2 * MAX_RECORD_LEN);
        let wide = ",".repeat(MAX_COLUMNS);
        let text = format!("a,1\nb\n\"c\nd\",2\n{long},3\n4,{longer}\n{wide}\ne,{long}\nf,5\n");
        for piece in [100, 70_000] {
            let found = records(text.as_bytes(), piece, "2", Some("1")).unwrap();
            let expected = [
                row(1, "a", "1"),
                (2, Err(Fault::NoColumn)),
                (3, Err(Fault::Label)),
                (5, Err(Fault::Label)),
                (6, Err(Fault::TooLong)),
                (7, Err(Fault::TooLong)),
                (8, Err(Fault::TooLong)),
                row(9, "f", "5"),
            ];
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn many_records_come_in_several_batches() {
        let row = |i: u64| format!("user{i},{}\n", "p".repeat(i as usize % 3_000));
        let text: Vec<String> = (0..2_000).map(row).collect();
        let found = records(text.concat().as_bytes(), 10_000, "2", Some("1")).unwrap();
        assert_eq!(found.len(), 2_000);
        for (i, (line, row)) in (0..).zip(found) {
            let (label, candidate) = row.unwrap();
            assert_eq!(
                (line, label, candidate.len()),
                (i + 1, format!("user{i}"), i as usize % 3_000)
            );
        }
    }

    #[test]
    fn a_header_without_the_column_is_an_error_that_repeats_nothing() {
        for (column, label) in [("secret", None), ("password", Some("secret"))] {
            let Err(Trouble::Message(message)) =
                records(b"user,password\nalice,hunter2\n", 100, column, label)
            else {
                panic!("accepted")
            };
            assert!(message.contains("2 other columns"), "{message}");
            assert!(!message.contains("secret") && !message.contains("hunter2"), "{message}");
        }
        assert!(records(b"user,password\n", 100, "password", Some("2")).is_err());
        // Nor is one beyond all limits a header.
        let long = "x".repeat(MAX_RECORD_LEN + 100_000);
        for header in [long.clone(), format!("password,{long}"), ",".repeat(MAX_COLUMNS + 1)] {
            assert!(
                records(format!("{header}\nx\n").as_bytes(), 70_000, "password", None).is_err()
            );
        }
    }
}
