//! The reader against an oracle, and every fault that lists are known to have.

use std::io::{self, Read};

use proptest::prelude::*;

use super::super::digest::PasswordDigest::{Nt, Sha1};
use super::super::digest::{sha1_key, sha1_of};
use super::*;
use crate::hash::KeyHash;

mod batches;
mod shapes;

const PASSWORD_SHA1: &str = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
const PASSWORD_NT: &str = "8846F7EAEE8FB117AD06BDD830B7586C";

fn key(password: &str) -> KeyHash {
    Sha1.key_of(password.as_bytes()).expect("SHA-1 takes any bytes")
}

/// Everything a reader gives: rows and faults in order, and the totals; by batches if asked for.
fn read_all(
    input: impl Read,
    format: ListFormat,
    limit: u32,
    by_batches: bool,
) -> (Vec<Result<Row, BadRow>>, ListTotals) {
    let mut reader = ListReader::with_row_limit(input, format, limit);
    let (mut all, mut batch) = (Vec::new(), Batch::new());
    loop {
        let read = if by_batches {
            let read = reader.next_batch(&mut batch);
            assert_eq!(matches!(read, Ok(true)), !batch.is_empty());
            assert_eq!(batch.hashes().len(), batch.rows().len());
            all.extend(batch.rows().map(Ok));
            read
        } else {
            reader.next_row().map(|row| row.map(|row| all.push(Ok(row))).is_some())
        };
        match read {
            Ok(true) => {}
            Ok(false) => return (all, reader.totals()),
            Err(ListError::Row(bad)) => all.push(Err(bad)),
            Err(ListError::Read { .. }) => unreachable!("the input does not fail"),
        }
    }
}

fn read(input: &[u8], format: ListFormat) -> (Vec<Result<Row, BadRow>>, ListTotals) {
    let by_rows = read_all(input, format, DEFAULT_ROW_LIMIT, false);
    let by_batches = read_all(input, format, DEFAULT_ROW_LIMIT, true);
    assert_eq!(by_rows, by_batches);
    by_rows
}

/// Keys and counts of a list that has no fault.
fn rows(input: &[u8], format: ListFormat) -> Vec<(KeyHash, Option<u64>)> {
    let (all, _) = read(input, format);
    all.into_iter().map(|row| row.map(|row| (row.hash, row.count)).expect("a good row")).collect()
}

/// Gives its bytes in pieces of these sizes, over and over, and interrupts now and then.
struct Trickle<'a> {
    bytes: &'a [u8],
    sizes: Vec<usize>,
    calls: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let size = self.sizes[self.calls % self.sizes.len()].min(buffer.len());
        let (now, later) = self.bytes.split_at(size.min(self.bytes.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.bytes = later;
        Ok(now.len())
    }
}

/// The plain format in five lines.
fn plain_oracle(input: &[u8], limit: usize) -> (Vec<Result<Row, BadRow>>, ListTotals) {
    let (mut all, mut totals) = (Vec::new(), ListTotals::default());
    let mut offset = 0;
    for line in input.split_inclusive(|&byte| byte == b'\n') {
        totals.rows += 1;
        let number = totals.rows;
        let line_offset = offset;
        offset += line.len() as u64;
        let row = line.strip_suffix(b"\n").unwrap_or(line);
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        if row.len() > limit {
            totals.bad += 1;
            let fault = RowFault::TooLong { limit };
            all.push(Err(BadRow { number, offset: line_offset, fault }));
            continue;
        }
        let unmarked = row.strip_prefix("\u{feff}".as_bytes());
        totals.marks += u64::from(unmarked.is_some());
        let row = unmarked.unwrap_or(row);
        if row.is_empty() {
            totals.blank += 1;
            continue;
        }
        totals.carriage_returns += u64::from(row.contains(&b'\r'));
        let sha1 = sha1_of(row);
        let (hash, tail) =
            (sha1_key(&sha1), u32::from_be_bytes([sha1[16], sha1[17], sha1[18], sha1[19]]));
        all.push(Ok(Row { hash, tail, count: None, number, offset: line_offset }));
    }
    totals.bytes = offset;
    (all, totals)
}

/// Bytes in which line ends, marks and NULs are as frequent as letters.
fn awkward_bytes(len: usize) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        2 => Just(b"\xef\xbb\xbf".to_vec()),
        1 => Just(b"\0".to_vec()),
        4 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(piece, 0..len).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn plain_rows_equal_the_oracle_for_any_bytes_and_buffer_sizes(
        input in awkward_bytes(60),
        sizes in prop::collection::vec(1..40usize, 1..6),
        limit in 0..30u32,
    ) {
        for by_batches in [false, true] {
            let trickle = Trickle { bytes: &input, sizes: sizes.clone(), calls: 0 };
            let found = read_all(trickle, ListFormat::Plain(Sha1), limit, by_batches);
            prop_assert_eq!(found, plain_oracle(&input, limit as usize));
        }
    }

    #[test]
    fn every_row_of_any_bytes_is_accounted_for(input in awkward_bytes(40), nt: bool) {
        let digest = if nt { Nt } else { Sha1 };
        for format in [ListFormat::Plain(digest), ListFormat::Hashes(digest)] {
            let (all, totals) = read_all(input.as_slice(), format, 20, nt);
            let good = all.iter().filter(|row| row.is_ok()).count() as u64;
            prop_assert_eq!(totals.rows, good + totals.blank + totals.zero_count + totals.bad);
            prop_assert_eq!(totals.bytes, input.len() as u64);
        }
    }

    #[test]
    fn hash_rows_survive_every_way_of_writing_them(
        list in prop::collection::vec((any::<[u8; 16]>(), 0..4u8, any::<u64>()), 1..30),
        crlf: bool,
        upper: bool,
        marks: bool,
        last_newline: bool,
        sizes in prop::collection::vec(1..200usize, 1..6),
    ) {
        let (mut text, mut expected) = (String::new(), Vec::new());
        for (index, (bytes, shape, count)) in list.iter().enumerate() {
            let digits = format!("{:032x}", u128::from_be_bytes(*bytes));
            text += if marks { "\u{feff}" } else { "" };
            text += &if upper { digits.to_uppercase() } else { digits };
            let count = *count.max(&1);
            let (written, read) = match shape {
                0 => (String::new(), None),
                1 => (format!(":{count}"), Some(count)),
                2 => (format!(":{}", grouped(count)), Some(count)),
                _ => (format!(":9{count:020}"), Some(u64::MAX - 1)),
            };
            text += &written;
            if last_newline || index + 1 < list.len() {
                text += if crlf { "\r\n" } else { "\n" };
            }
            expected.push((KeyHash::from_uniform(bytes), read));
        }
        prop_assert_eq!(rows(text.as_bytes(), ListFormat::Hashes(Nt)), &expected[..]);
        let trickle = Trickle { bytes: text.as_bytes(), sizes, calls: 0 };
        let (all, _) = read_all(trickle, ListFormat::Hashes(Nt), 100, true);
        let all: Vec<_> = all.into_iter().flatten().map(|row| (row.hash, row.count)).collect();
        prop_assert_eq!(all, expected);
        prop_assert_eq!(ListFormat::detect(text.as_bytes(), Sha1), Ok(ListFormat::Hashes(Nt)));
    }

    #[test]
    fn detection_and_reading_never_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(format) = ListFormat::detect(&input, Nt) {
            let _ = read(&input, format);
        }
    }
}

/// 1234567 as 1,234,567.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One row per fault: the list, the format, and the row and fault it must give.
#[test]
fn bad_rows_are_named_with_number_offset_and_fault() {
    let after_two = |row: &str| format!("{PASSWORD_SHA1}:3\r\n\r\n{row}\n{PASSWORD_SHA1}");
    let sha1 = ListFormat::Hashes(Sha1);
    for (row, fault) in [
        ("Z".repeat(40).as_str(), RowFault::NoHash { expected: Sha1 }),
        (PASSWORD_NT, RowFault::OtherDigest { expected: Sha1, found: Nt }),
        ("ABC:1", RowFault::NoHash { expected: Sha1 }),
        (&PASSWORD_SHA1[1..], RowFault::NoHash { expected: Sha1 }),
        (&format!("{PASSWORD_SHA1}0"), RowFault::NoHash { expected: Sha1 }),
        (&format!(" {PASSWORD_SHA1}"), RowFault::NoHash { expected: Sha1 }),
        (&format!("{PASSWORD_SHA1} "), RowFault::NoHash { expected: Sha1 }),
        (&format!("{PASSWORD_SHA1}:"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:-1"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:+1"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}: 1"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:1:2"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:1,2"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:1234,567"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:,123"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:123,"), RowFault::Count),
        (&format!("{PASSWORD_SHA1}:1\0"), RowFault::Count),
        ("#!comment: a header", RowFault::NoHash { expected: Sha1 }),
    ] {
        let (all, totals) = read(after_two(row).as_bytes(), sha1);
        let expected = BadRow { number: 3, offset: 46, fault };
        assert_eq!(all.len(), 3, "{row}");
        assert_eq!(all[1], Err(expected), "{row}");
        // Reading went on, and lost nothing.
        assert_eq!(all[2].map(|row| (row.hash, row.number)), Ok((key("password"), 4)), "{row}");
        assert_eq!((totals.rows, totals.bad, totals.blank), (4, 1, 1), "{row}");
    }
    let (all, _) = read(PASSWORD_SHA1.as_bytes(), ListFormat::Hashes(Nt));
    let fault = RowFault::OtherDigest { expected: Nt, found: Sha1 };
    assert_eq!(all, [Err(BadRow { number: 1, offset: 0, fault })]);
}

#[test]
fn plain_rows_are_bytes_and_are_not_trimmed() {
    let plain = ListFormat::Plain(Sha1);
    let list = b" password \r\npass\0word\r\nma\xf1ana\n\ttab\t\npass\rword\r\r\n#first";
    let expected = [
        b" password ".as_slice(),
        b"pass\0word",
        b"ma\xf1ana",
        b"\ttab\t",
        b"pass\rword\r",
        b"#first",
    ]
    .map(|row| (Sha1.key_of(row).expect("any bytes"), None));
    assert_eq!(rows(list, plain), expected);
    assert_eq!(read(list, plain).1.carriage_returns, 1);
}

#[test]
fn blank_rows_never_list_the_empty_password() {
    for format in [ListFormat::Plain(Sha1), ListFormat::Hashes(Sha1)] {
        let (all, totals) = read(b"\n\r\n\xef\xbb\xbf\n\xef\xbb\xbf\r\n\r", format);
        assert_eq!(all, []);
        assert_eq!((totals.rows, totals.blank, totals.marks), (5, 5, 2));
    }
}

#[test]
fn a_mark_on_any_row_is_taken_off_and_counted() {
    let list = "\u{feff}password\n\u{feff}123456\nqwerty\n";
    let expected = [key("password"), key("123456"), key("qwerty")].map(|key| (key, None));
    assert_eq!(rows(list.as_bytes(), ListFormat::Plain(Sha1)), expected);
    assert_eq!(read(list.as_bytes(), ListFormat::Plain(Sha1)).1.marks, 2);
}

#[test]
fn padding_rows_are_skipped_and_counted() {
    let list = format!("{PASSWORD_SHA1}:0\r\n{PASSWORD_SHA1}:000\r\n{PASSWORD_SHA1}:10");
    let (all, totals) = read(list.as_bytes(), ListFormat::Hashes(Sha1));
    assert_eq!(all.len(), 1);
    assert_eq!((totals.rows, totals.zero_count), (3, 2));
}

#[test]
fn plain_rows_without_an_nt_hash_are_bad() {
    let (all, _) = read(b"ma\xf1ana\nma\xc3\xb1ana\n", ListFormat::Plain(Nt));
    assert_eq!(all[0], Err(BadRow { number: 1, offset: 0, fault: RowFault::NotUtf8 }));
    let expected = Nt.key_from_hex(b"717a593e7919d6e00182561812c2b621");
    assert_eq!(all[1].map(|row| row.hash).ok(), expected);
}

#[test]
fn long_rows_are_kept_to_the_limit_and_are_errors_beyond_it() {
    let plain = ListFormat::Plain(Sha1);
    let limit = DEFAULT_ROW_LIMIT as usize;
    for end in ["\n", "\r\n", ""] {
        for len in [6_341, limit - 1, limit, limit + 1, limit + 2, 70_000, 1_000_000] {
            let long = "x".repeat(len);
            let list = format!("aaa\n{long}{end}");
            let list = if end.is_empty() { list } else { list + "password\nbbb" };
            let (all, totals) = read(list.as_bytes(), plain);
            let keys: Vec<_> = all.iter().flatten().map(|row| row.hash).collect();
            let mut expected = vec![key("aaa")];
            expected.extend((len <= limit).then(|| key(&long)));
            if !end.is_empty() {
                expected.extend([key("password"), key("bbb")]);
            }
            assert_eq!(keys, expected, "{len} bytes, end {end:?}");
            assert_eq!(totals.bad, u64::from(len > limit), "{len} bytes, end {end:?}");
        }
    }
}

#[test]
fn an_endless_line_is_given_up_after_the_limit() {
    /// Counts what is asked of it.
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += buffer.len() as u64;
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }
    let mut input = Endless(0);
    let mut reader = ListReader::new(&mut input, ListFormat::Plain(Sha1));
    let error = reader.next_row().expect_err("no end");
    assert!(matches!(error, ListError::Row(BadRow { number: 1, offset: 0, .. })), "{error}");
    drop(reader);
    let most = u64::from(DEFAULT_ROW_LIMIT) + 2 * lines::CHUNK as u64;
    assert!(input.0 <= most, "{} bytes were read", input.0);
}

#[test]
fn a_failing_input_is_an_error_that_says_where_and_can_be_retried() {
    /// Gives the first half, fails once, gives the rest.
    struct Flaky(Vec<Option<&'static [u8]>>);
    impl Read for Flaky {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop() {
                Some(Some(bytes)) => {
                    buffer[..bytes.len()].copy_from_slice(bytes);
                    Ok(bytes.len())
                }
                Some(None) => Err(io::Error::other("the disk is gone")),
                None => Ok(0),
            }
        }
    }
    let input = Flaky(vec![Some(b"word\n"), None, Some(b"aaa\npass")]);
    let mut reader = ListReader::new(input, ListFormat::Plain(Sha1));
    assert_eq!(reader.next_row().expect("the first row").map(|row| row.hash), Some(key("aaa")));
    let error = reader.next_row().expect_err("the input fails");
    assert_eq!(error.to_string(), "the list could not be read beyond byte 8: the disk is gone");
    let row = reader.next_row().expect("the input is back");
    assert_eq!(row.map(|row| (row.hash, row.offset)), Some((key("password"), 4)));
}

#[test]
fn the_row_limit_has_a_limit() {
    let list = vec![b'x'; MAX_ROW_LIMIT as usize + 1];
    let (all, _) = read_all(list.as_slice(), ListFormat::Plain(Sha1), u32::MAX, true);
    let fault = RowFault::TooLong { limit: MAX_ROW_LIMIT as usize };
    assert_eq!(all, [Err(BadRow { number: 1, offset: 0, fault })]);
}

#[test]
fn nothing_shown_holds_content() {
    const CANARY: &str = "zebra giraffe";
    let shown = |format: ListFormat, list: &str| {
        let mut reader = ListReader::new(list.as_bytes(), format);
        let row = reader.next_row();
        format!(
            "{row:?} {reader:?} {}",
            row.as_ref().map_or_else(ToString::to_string, |_| String::new())
        )
    };
    for digest in [Sha1, Nt] {
        for format in [ListFormat::Plain(digest), ListFormat::Hashes(digest)] {
            let shown = shown(format, CANARY);
            assert!(!shown.contains("zebra") && !shown.contains("giraffe"), "{shown}");
            let hash = digest.key_of(CANARY.as_bytes()).unwrap();
            for hash in [format!("{:08x}", hash.hi() >> 32), (hash.hi() >> 32).to_string()] {
                assert!(!shown.to_lowercase().contains(&hash), "{shown}");
            }
        }
    }
}
