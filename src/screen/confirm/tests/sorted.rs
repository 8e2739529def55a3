//! Files sorted by hash.

use proptest::prelude::*;

use super::*;

#[test]
fn every_row_of_short_lists_is_found_whatever_ends_the_rows() {
    let folder = Folder::new();
    for len in 0..=20 {
        for end in ["\n", "\r\n"] {
            let whole = text(0..len, end);
            let unended = whole.strip_suffix(end).unwrap_or(&whole);
            let marked: String = whole
                .split_inclusive('\n')
                .map(|row| format!("\u{feff}{row}{end}"))
                .collect::<Vec<_>>()
                .concat();
            let lower = whole.to_lowercase();
            for content in [&whole, unended, &marked, &lower, &format!("{end}{end}{whole}{end}")] {
                let path = folder.file("list.txt", content);
                if len == 0 {
                    assert_eq!(open(&path).unwrap_err(), ConfirmFault::Empty);
                } else {
                    let list = open(&path).unwrap();
                    assert_finds(&list, 0..len, 1_000..1_050);
                }
            }
        }
    }
}

#[test]
fn every_row_of_long_lists_is_found() {
    let folder = Folder::new();
    // Around one block, around the size that is read whole, and many blocks.
    for (len, end) in [(92, "\n"), (93, "\n"), (1_400, "\r\n"), (1_430, "\n"), (30_000, "\r\n")] {
        let path = folder.file("list.txt", text(0..len, end));
        let list = open(&path).unwrap();
        let estimated = list.estimate_rows() as f64;
        assert!((estimated / f64::from(len) - 1.0).abs() < 0.03, "{estimated} of {len}");
        assert_finds(&list, 0..len, 100_000..100_500);
    }
}

#[test]
fn rows_without_counts_and_counts_of_any_shape_are_read() {
    let folder = Folder::new();
    let rows = sorted(0..5);
    for (tail, expected) in [
        ("", None),
        (":2,203", Some(2_203)),
        (":99999999999", Some(99_999_999_999)),
        (":18446744073709551616", Some(u64::MAX)),
        (":100", Some(100)),
    ] {
        let content: String =
            rows.iter().map(|(_, hex)| format!("{hex}{tail}\n")).collect::<Vec<_>>().concat();
        let list = open(&folder.file("list.txt", content)).unwrap();
        let listed = Confirmation::Listed { count: expected };
        assert_eq!(list.find(key(3)), Ok(listed), "{tail}");
        let list = list.with_min_count(50);
        let found = list.find(key(3)).map_err(|error| error.fault);
        let no_count = Err(ConfirmFault::NoCount { min_count: 50 });
        assert_eq!(found, expected.map_or(no_count, |_| Ok(listed)));
        assert_eq!(list.find(key(9)), Ok(Confirmation::NotListed));
    }
    let list = open(&folder.file("list.txt", text(0..1_000, "\n"))).unwrap().with_min_count(1_000);
    for number in 0..1_000 {
        let count = count(number);
        let expected = if count < 1_000 {
            Confirmation::Rare { count }
        } else {
            Confirmation::Listed { count: Some(count) }
        };
        assert_eq!(list.find(key(number)), Ok(expected));
    }
}

#[test]
fn several_rows_of_a_hash_are_one_and_a_count_of_zero_is_listed() {
    let folder = Folder::new();
    let mut rows = Vec::new();
    for (number, hex) in sorted(0..3_000) {
        rows.push(format!("{hex}:{}\n", count(number)));
        if number % 3 == 0 {
            rows.push(format!("{hex}:{}\n", count(number) + 5));
        }
        if number % 7 == 0 {
            rows.push(format!("{hex}:0\n"));
        }
    }
    let list = open(&folder.file("list.txt", rows.concat())).unwrap();
    for number in 0..3_000 {
        let count = Some(count(number) + if number % 3 == 0 { 5 } else { 0 });
        assert_eq!(list.find(key(number)), Ok(Confirmation::Listed { count }), "{number}");
    }
    let zeros: String =
        sorted(0..10).iter().map(|(_, hex)| format!("{hex}:0\n")).collect::<Vec<_>>().concat();
    let mut list = open(&folder.file("list.txt", zeros)).unwrap();
    for (min_count, expected) in [
        (0, Confirmation::Listed { count: Some(0) }),
        (1, Confirmation::Listed { count: Some(0) }),
        (2, Confirmation::Rare { count: 0 }),
    ] {
        list = list.with_min_count(min_count);
        for number in 0..10 {
            assert_eq!(list.find(key(number)), Ok(expected));
        }
        assert_eq!(list.find(key(10)), Ok(Confirmation::NotListed));
    }
}

#[test]
fn lists_that_are_not_sorted_are_refused() {
    let folder = Folder::new();
    let not_sorted = |content: String| {
        let fault = open(&folder.file("list.txt", content)).unwrap_err();
        assert!(matches!(fault, ConfirmFault::NotSorted { .. }), "{fault}");
    };
    // By count, as numbers come; descending; two lists one after the other.
    for len in [2, 20, 2_000, 20_000] {
        not_sorted(
            (0..len).map(|number| format!("{}:9\n", sha1_hex(number))).collect::<Vec<_>>().concat(),
        );
        not_sorted(
            sorted(0..len)
                .iter()
                .rev()
                .map(|(_, hex)| format!("{hex}:9\n"))
                .collect::<Vec<_>>()
                .concat(),
        );
        not_sorted(text(0..len, "\n") + &text(0..len, "\n"));
    }
    // One block that opening does not look at: what lies there is refused when it is asked for.
    let mut rows: Vec<String> =
        text(0..20_000, "\n").lines().map(|row| format!("{row}\n")).collect();
    rows[10_200..10_500].reverse();
    let list = open(&folder.file("list.txt", rows.concat())).unwrap();
    let (mut refused, mut found) = (0, 0);
    for number in 0..20_000 {
        match list.find(key(number)) {
            Ok(Confirmation::Listed { .. }) => found += 1,
            Err(ConfirmError {
                fault: ConfirmFault::NotSorted { .. } | ConfirmFault::Gap, ..
            }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(refused >= 299 && found > 19_000, "{refused} {found}");
}

#[test]
fn a_row_is_found_between_many_that_are_blank_and_among_its_likes() {
    let folder = Folder::new();
    let rows = sorted(0..5_000);
    for (blank, likes) in [(6_000, 1), (0, 500), (6_000, 500)] {
        let mut content = String::new();
        for (at, (_, hex)) in rows.iter().enumerate() {
            let odd = at % 1_000 == 500;
            if odd {
                content += &"\n".repeat(blank);
            }
            for like in 1..=if odd { likes } else { 1 } {
                let _ = writeln!(content, "{hex}:{like}");
            }
            if odd {
                content += &"\n".repeat(blank);
            }
        }
        let list = open(&folder.file("list.txt", content)).unwrap();
        for (at, &(number, _)) in rows.iter().enumerate() {
            let count = Some(if at % 1_000 == 500 { likes } else { 1 });
            let found = list.find(key(number));
            assert_eq!(found, Ok(Confirmation::Listed { count }), "{at} {blank} {likes}");
        }
    }
}

#[test]
fn rows_of_the_other_hash_and_damaged_rows_are_refused() {
    let folder = Folder::new();
    let nt: String = sorted(0..5_000)
        .iter()
        .map(|(_, hex)| format!("{}:1\n", &hex[..32]))
        .collect::<Vec<_>>()
        .concat();
    let path = folder.file("nt.txt", &nt);
    let other = RowFault::OtherDigest { expected: Sha1, found: Nt };
    assert_eq!(open(&path).unwrap_err(), ConfirmFault::Row { offset: Some(0), fault: other });
    let list = ConfirmList::open(&path, Nt).unwrap();
    let hash = Nt.key_from_hex(&nt.as_bytes()[..32]).unwrap();
    assert_eq!(list.find(hash), Ok(Confirmation::Listed { count: Some(1) }));

    // One such row among the others, and other damage: an answer near it is refused.
    for damage in ["zz", ":", "\0\0", " "] {
        let mut content = text(0..5_000, "\n").into_bytes();
        let at = content.iter().position(|&byte| byte == b'\n').unwrap() + 8;
        content[at..at + damage.len()].copy_from_slice(damage.as_bytes());
        let fault = open(&folder.file("list.txt", content)).unwrap_err();
        assert!(matches!(fault, ConfirmFault::Row { .. }), "{damage:?}: {fault}");
    }
    let mut content = text(0..5_000, "\n").into_bytes();
    // Half of the last row is cut off, and its neighbour's end with it.
    content.truncate(content.len() - 60);
    let fault = open(&folder.file("list.txt", content)).unwrap_err();
    assert!(matches!(fault, ConfirmFault::Row { .. }), "{fault}");
}

#[test]
fn a_part_of_a_list_answers_only_where_it_has_rows() {
    let folder = Folder::new();
    let rows: Vec<_> = sorted(0..6_000);
    let quarter = rows.len() / 4;
    for (name, kept) in [
        ("head", [0..3 * quarter, 0..0]),
        ("tail", [quarter..rows.len(), 0..0]),
        ("ends", [0..quarter, 2 * quarter..rows.len()]),
    ] {
        let part: Vec<_> = kept.iter().flat_map(|range| &rows[range.clone()]).collect();
        let content: String = part
            .iter()
            .map(|(n, hex)| format!("{hex}:{}\n", count(*n)))
            .collect::<Vec<_>>()
            .concat();
        let list = open(&folder.file(name, content)).unwrap();
        let (mut found, mut gaps) = (0, 0);
        for (number, _) in &rows {
            match list.find(key(*number)) {
                Ok(Confirmation::Listed { .. }) => found += 1,
                Err(ConfirmError { fault: ConfirmFault::Gap, .. }) => gaps += 1,
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!((found, gaps), (part.len(), rows.len() - part.len()), "{name}");
    }
}

#[test]
fn what_is_no_list_is_refused() {
    let folder = Folder::new();
    let open = |content: &[u8]| open(&folder.file("list.txt", content)).unwrap_err();
    assert_eq!(open(b""), ConfirmFault::Empty);
    assert_eq!(open(b"\n\r\n\n"), ConfirmFault::Empty);
    let gzip = ConfirmFault::Foreign(DetectError::Compressed { format: "gzip" });
    assert_eq!(open(b"\x1f\x8b\x08\0\0\0"), gzip);
    assert!(matches!(open(b"password\nletmein\n"), ConfirmFault::Row { offset: Some(0), .. }));
    assert!(matches!(open(&vec![b'A'; 1 << 20]), ConfirmFault::Row { .. }));
    assert!(matches!(open(&vec![b'\n'; 8 << 20]), ConfirmFault::Empty));
    let mut zeroed = text(0..20_000, "\n").into_bytes();
    zeroed[4_096..8_192].fill(0);
    let list = ConfirmList::open(folder.file("list.txt", zeroed), Sha1).unwrap();
    let unknown = (0..20_000).filter(|&number| list.find(key(number)).is_err()).count();
    assert!((95..400).contains(&unknown), "{unknown}");
    let missing = ConfirmList::open(folder.0.path().join("none"), Sha1).unwrap_err();
    assert!(matches!(missing.fault, ConfirmFault::Read(_)), "{missing}");
    assert!(missing.path.is_absolute());
}

#[test]
fn a_list_that_shrinks_is_refused() {
    let folder = Folder::new();
    let path = folder.file("list.txt", text(0..20_000, "\n"));
    let list = open(&path).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert_eq!(list.find(key(0)).unwrap_err().fault, ConfirmFault::Shrunk);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any list, any question: what a set of hashes would say.
    #[test]
    fn answers_are_those_of_a_set(
        members in prop::collection::btree_set(0..3_000u32, 1..1_500),
        asked in prop::collection::vec(0..3_000u32, 1..200),
    ) {
        let folder = Folder::new();
        let list = open(&folder.file("list.txt", text(members.iter().copied(), "\n"))).unwrap();
        let hashes: Vec<_> = asked.iter().copied().map(key).collect();
        let mut found = vec![Confirmation::NotListed; asked.len()];
        list.find_batch(&hashes, &mut found).unwrap();
        for ((number, hash), found) in asked.iter().zip(hashes).zip(found) {
            let expected = if members.contains(number) {
                Confirmation::Listed { count: Some(count(*number)) }
            } else {
                Confirmation::NotListed
            };
            prop_assert_eq!(found, expected);
            prop_assert_eq!(list.find(hash), Ok(expected));
        }
    }

    /// No bytes make it panic, loop, or find what is not there.
    #[test]
    fn any_bytes_are_refused_or_searched(content in prop::collection::vec(any::<u8>(), 0..20_000)) {
        let folder = Folder::new();
        if let Ok(list) = open(&folder.file("list.txt", content)) {
            let found = matches!(list.find(key(1)), Ok(Confirmation::Listed { .. }));
            prop_assert!(!found);
        }
    }
}
