//! Rows by batches, of ranges, and of one input after another.

use super::*;

/// Where every row of a long list is, by both ways, with odd rows strewn in.
#[test]
fn batches_know_the_place_of_every_row() {
    let (mut text, mut expected, mut bad) = (String::new(), Vec::new(), 0);
    for index in 0..60_000u64 {
        let sha1 = sha1_of(&index.to_le_bytes());
        let tail = u32::from_be_bytes([sha1[16], sha1[17], sha1[18], sha1[19]]);
        let (offset, hash) = (text.len() as u64, sha1_key(&sha1));
        let digits = format!("{:032X}{tail:08X}", u128::from_be_bytes(hash.to_bytes()));
        let count = (index % 5_003).max(1);
        let row = match index % 997 {
            0 => format!("\u{feff}{digits}:{count}\r\n"),
            1 => format!("{digits}:{count}\n"),
            2 => format!("{}:{count}\r\n", digits.to_lowercase()),
            3 => format!("{digits}:00{}\r\n", grouped(count)),
            4 => format!("{digits}:-{count}\r\n"),
            _ => format!("{digits}:{count}\r\n"),
        };
        text += &row;
        if index % 997 == 4 {
            bad += 1;
            let fault = RowFault::Count;
            expected.push(Err(BadRow { number: index + 1, offset, fault }));
        } else {
            expected.push(Ok(Row { hash, tail, count: Some(count), number: index + 1, offset }));
        }
    }
    let (found, totals) = read(text.as_bytes(), ListFormat::Hashes(Sha1));
    assert!(found == expected);
    assert_eq!((totals.rows, totals.bytes), (60_000, text.len() as u64));
    assert_eq!(totals.marks, 61);
    assert_eq!(totals.bad, bad);
}

/// The rows of a range file, in every dress, are those of the list.
#[test]
fn ranges_are_read_with_the_digits_of_their_name() {
    for (digest, whole) in [(Sha1, PASSWORD_SHA1), (Nt, PASSWORD_NT)] {
        let prefix = RangePrefix::parse(&whole.as_bytes()[..5]).expect("five digits");
        let suffix = &whole[5..];
        let format = ListFormat::Range(digest, prefix);
        let hash = digest.key_of(b"password").expect("UTF-8");
        for list in [
            format!("{suffix}:3\r\n{suffix}:3"),
            format!("\u{feff}{suffix}:3\r\n\r\n{}:3\n", suffix.to_lowercase()),
            format!("W/\"0x8DEADBEEF\"\n{suffix}:3\n{suffix}:3\n{suffix}:0\n"),
            format!("\"0x8DEADBEEF\"\r\n{suffix}:3\n{suffix}:3\n"),
            format!("0x8DEADBEEF\n{suffix}:3\n{suffix}:3\n"),
        ] {
            assert_eq!(ListFormat::detect_range(list.as_bytes(), prefix), Ok(format), "{list}");
            assert_eq!(rows(list.as_bytes(), format), [(hash, Some(3)); 2], "{list}");
            let totals = read(list.as_bytes(), format).1;
            assert_eq!(totals.etags, u64::from(list.contains("0x")), "{list}");
        }
        // Anywhere else an entity tag is a fault, and so is one in front of whole hashes.
        let list = format!("{suffix}:3\n\"0x8DEADBEEF\"\n");
        let fault = RowFault::NoSuffix { expected: digest };
        assert_eq!(read(list.as_bytes(), format).0[1].map_err(|bad| bad.fault), Err(fault));
        let (other, other_row) =
            if digest == Sha1 { (Nt, &PASSWORD_NT[5..]) } else { (Sha1, &PASSWORD_SHA1[5..]) };
        let fault = RowFault::OtherSuffix { expected: digest, found: other };
        assert_eq!(read(other_row.as_bytes(), format).0[0].map_err(|bad| bad.fault), Err(fault));
        for list in ["", "\r\n", "<html>\r\n", whole] {
            assert!(ListFormat::detect_range(list.as_bytes(), prefix).is_err(), "{list}");
        }
    }
}

#[test]
fn rows_with_a_count_of_zero_are_kept_if_they_are_said_to_be_meant() {
    let list = format!("{PASSWORD_SHA1}:0\n{PASSWORD_SHA1}:1\n");
    let reader = ListReader::new(list.as_bytes(), ListFormat::Hashes(Sha1));
    let mut reader = reader.zero_count(ZeroCount::Keep);
    let mut batch = Batch::new();
    assert!(reader.next_batch(&mut batch).expect("good rows"));
    assert_eq!(batch.rows().map(|row| row.count).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert_eq!(reader.totals().zero_count, 0);
}

#[test]
fn rows_counted_seldom_go_from_a_batch_and_the_others_keep_their_place() {
    let list = format!("{PASSWORD_NT}:9\n{PASSWORD_NT}\n{PASSWORD_NT}:10\n{PASSWORD_NT}:11\n");
    let mut reader = ListReader::new(list.as_bytes(), ListFormat::Hashes(Nt));
    let mut batch = Batch::new();
    assert!(reader.next_batch(&mut batch).expect("good rows"));
    assert_eq!(batch.retain_counted(1), 0);
    assert_eq!(batch.retain_counted(10), 2);
    assert_eq!(batch.rows().map(|row| row.number).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(batch.hashes().len(), 2);
}

#[test]
fn a_reader_starts_again_with_another_input() {
    let mut reader = ListReader::with_row_limit(&b"ab\nlong row"[..], ListFormat::Plain(Sha1), 3);
    assert!(reader.next_row().is_ok());
    assert!(reader.next_row().is_err());
    reader.restart(PASSWORD_NT.as_bytes(), ListFormat::Hashes(Nt));
    assert_eq!(reader.totals(), ListTotals::default());
    assert!(reader.next_row().is_err(), "the limit stays");
    reader.restart(&b"abc"[..], ListFormat::Plain(Sha1));
    let row = reader.next_row().expect("a good row").expect("a row");
    assert_eq!((row.hash, row.number, row.offset), (key("abc"), 1, 0));
}
