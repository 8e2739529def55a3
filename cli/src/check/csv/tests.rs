//! Records whole and broken, in pieces of any size.

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
    let text = "user,password,id\r\nalice,\"a,\"\"b\",1\r\n\r\nbob,b,\"two\nlines\"\neve, x ,3";
    let expected = [row(2, "alice", "a,\"b"), row(4, "bob", "b"), row(6, "eve", " x ")];
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
fn a_quotation_mark_that_is_not_closed_swallows_no_row_in_silence() {
    let lines = (2, Err(Fault::Lines));
    let open = (2, Err(Fault::OpenQuote));
    let stray = (2, Err(Fault::StrayQuote));
    for (rest, expected) in [
        // Never closed, in the column and beside it, with and without a line end.
        ("\"secret,1\nb,2\nc,3\n", vec![open.clone()]),
        ("\"secret,1\nb,2\nc,3", vec![open.clone()]),
        ("x,\"1\nb,2\nc,3\n", vec![open.clone()]),
        ("\"", vec![open.clone()]),
        ("\"a\"\"", vec![open]),
        // Closed by the next one that is opened.
        ("\"secret,1\nb,2\n\"c,3\nd,4\n", vec![stray.clone(), row(4, "", "d")]),
        ("x,\"1\nb,2\nc,\"3\"\nd,4\n", vec![stray.clone(), row(4, "", "d")]),
        ("x,\"1\nb,2\nc,\"3\nd,4\n", vec![stray.clone(), row(4, "", "d")]),
        // Not doubled.
        ("\"a\"b\"\nd\n", vec![stray.clone(), row(3, "", "d")]),
        ("a,\"1\" \nd\n", vec![stray, row(3, "", "d")]),
        ("\"a\rb\",1\nd,4\n", vec![lines, row(3, "", "d")]),
        // Closed by the end.
        ("\"a\"", vec![row(2, "", "a")]),
        ("a\",1", vec![row(2, "", "a\"")]),
        ("a,\"\"", vec![row(2, "", "a")]),
    ] {
        for piece in [1, 3, 1_000] {
            let text = format!("password,id\n{rest}");
            let found = records(text.as_bytes(), piece, "password", None).unwrap();
            let cut =
                |found: &[Found]| found.iter().map(|(_, row)| row.clone()).collect::<Vec<_>>();
            assert_eq!(cut(&found), cut(&expected), "{rest:?} by {piece}");
            let found = records(rest.as_bytes(), piece, "1", None).unwrap();
            assert_eq!(cut(&found), cut(&expected), "{rest:?} by {piece}");
        }
    }
    assert!(records(b"password,\"id\nsecret,1\n", 100, "password", None).is_err());
}

#[test]
fn what_begins_like_a_mark_is_a_record() {
    for input in [&b"\xc3\xaf"[..], b"\xef", b"\xef\xbb", BYTE_ORDER_MARK, b"\xef\xbb\xbfa"] {
        for piece in [1, 2, 100] {
            let columns = Columns { candidate: Column::Number(0), label: None, delimiter: b',' };
            let mut reader = CsvReader::new(Trickle(input, piece), columns);
            let (mut found, mut batch) = (Vec::new(), Batch::new());
            while {
                batch.clear();
                reader.fill(&mut batch, "test").unwrap()
            } {
                found.extend(batch.cuts.iter().map(|cut| batch.candidate(cut).to_vec()));
            }
            let rest = input.strip_prefix(BYTE_ORDER_MARK).unwrap_or(input);
            assert_eq!(found.len(), usize::from(!rest.is_empty()), "{input:?} by {piece}");
            assert_eq!(found.concat(), rest, "{input:?} by {piece}");
        }
    }
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
        assert_eq!((line, label, candidate.len()), (i + 1, format!("user{i}"), i as usize % 3_000));
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
        assert!(records(format!("{header}\nx\n").as_bytes(), 70_000, "password", None).is_err());
    }
}

#[test]
fn records_of_several_lines_are_counted() {
    for (input, column, count, first) in [
        ("a,1\r\n\r\nb,\"2\"\n\nc,3", "1", 0, 0),
        ("a,\"1\n\n2\"\r\nb,\"2\n\"\nc,3", "1", 2, 1),
        ("a,1\nb,2\nc,\"3\r\n4\"", "1", 1, 3),
        // Of the header too, and not of those without an answer.
        ("a,\"1\n2\"\nb,2\n", "a", 1, 1),
        ("\"a\nb\",1\nb,\"2\n3\"4\nc,\"1", "1", 0, 0),
    ] {
        for piece in [1, 3, 1_000] {
            let columns =
                Columns { candidate: column.parse().unwrap(), label: None, delimiter: b',' };
            let mut reader = CsvReader::new(Trickle(input.as_bytes(), piece), columns);
            let mut batch = Batch::new();
            while {
                batch.clear();
                reader.fill(&mut batch, "test").unwrap()
            } {}
            assert_eq!(reader.long_records(), LongRecords { count, first }, "{input:?} by {piece}");
        }
    }
}
