//! What a list is, told from its beginning.

use super::*;

#[test]
fn shapes_are_told_apart() {
    let sha1_row = format!("{PASSWORD_SHA1}:3\r\n");
    let detect = |sample: &str| ListFormat::detect(sample.as_bytes(), Nt);
    assert_eq!(detect(&sha1_row), Ok(ListFormat::Hashes(Sha1)));
    assert_eq!(detect(&format!("\u{feff}\r\n\u{feff}{sha1_row}")), Ok(ListFormat::Hashes(Sha1)));
    assert_eq!(detect(PASSWORD_NT), Ok(ListFormat::Hashes(Nt)));
    assert_eq!(detect("password"), Ok(ListFormat::Plain(Nt)));
    assert_eq!(detect("password:3\nabc:1"), Ok(ListFormat::Plain(Nt)));
    let mixed =
        |hash_row, digest, other_row| Err(DetectError::Mixed { hash_row, digest, other_row });
    assert_eq!(detect(&format!("{sha1_row}\n{PASSWORD_NT}\n")), mixed(1, Sha1, 3));
    assert_eq!(detect(&format!("{sha1_row}password\n")), mixed(1, Sha1, 2));
    assert_eq!(detect(&format!("a\nb\n{PASSWORD_NT}\n")), mixed(3, Nt, 1));
    for empty in ["", "\n", "\r\n\r\n", "\u{feff}"] {
        assert_eq!(detect(empty), Err(DetectError::Empty), "{empty:?}");
    }
}

#[test]
fn carriage_returns_for_line_ends_are_named() {
    let detect = |sample: &str| ListFormat::detect(sample.as_bytes(), Nt);
    for list in [
        "password\r123456\r",
        "password\r123456\rqwerty\r\n",
        "password\r123456\rqwerty\n",
        "password\r\r\n123456\r\r\n",
        "password\r\r\n123456",
        &format!("{PASSWORD_NT}\r{PASSWORD_NT}\r{PASSWORD_NT}\n"),
    ] {
        assert_eq!(detect(list), Err(DetectError::CarriageReturns), "{list:?}");
    }
    // Part of one password, or the end of a line whose newline is missing.
    for list in ["password\r", "pass\rword\n123456\n", "password\r\n123456\r\n", "a\r\nb\r"] {
        assert_eq!(detect(list), Ok(ListFormat::Plain(Nt)), "{list:?}");
    }
}

#[test]
fn rows_with_a_hash_in_another_shape_are_no_passwords() {
    let detect = |sample: &str| ListFormat::detect(sample.as_bytes(), Sha1);
    let sha256 = "0123456789abcdef".repeat(4);
    for (row, digits) in [
        (format!("{PASSWORD_SHA1}:password"), 40),
        (format!("{PASSWORD_NT}:"), 32),
        (format!("{PASSWORD_NT}:salt:12"), 32),
        (format!("{PASSWORD_SHA1}\t12"), 40),
        (format!("\"{PASSWORD_SHA1}\",12"), 40),
        (format!(" {PASSWORD_SHA1}"), 40),
        (format!("alice:500:{PASSWORD_NT}:{PASSWORD_NT}:::"), 32),
        (sha256.clone(), 64),
        (format!("{sha256}:3"), 64),
        (format!("{}:3", &PASSWORD_SHA1[5..]), 35),
        (format!("{}:3", &PASSWORD_NT[5..]), 27),
    ] {
        let found = |row| Err(DetectError::HashShape { row, digits });
        assert_eq!(detect(&row), found(1), "{row}");
        assert_eq!(detect(&format!("{row}\r\n{row}\r\n")), found(1), "{row}");
        // It is named beside passwords, and beside hashes that could be read.
        assert_eq!(detect(&format!("monkey\n{row}\n")), found(2), "{row}");
        assert_eq!(detect(&format!("{PASSWORD_SHA1}:3\n\n{row}\n")), found(3), "{row}");
    }
    let message = DetectError::HashShape { row: 1, digits: 40 }.to_string();
    assert!(message.contains("hash:password") && message.contains("plain"), "{message}");
    for password in
        [&PASSWORD_NT[5..], &PASSWORD_SHA1[1..], &format!("g{PASSWORD_NT}"), &sha256[..16]]
    {
        assert_eq!(detect(password), Ok(ListFormat::Plain(Sha1)), "{password}");
    }
}

#[test]
fn utf16_is_named_with_and_without_a_mark() {
    let lists = [
        "password\n".to_owned(),
        "pässwörd\r\nmañana\r\n".to_owned(),
        "пароль\nйцукен\n密码密码\n".to_owned(),
        format!("{PASSWORD_SHA1}:3\n"),
        "one row".to_owned(),
    ];
    for list in lists {
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}{list}");
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for bytes in [little, big] {
                let found = ListFormat::detect(&bytes, Sha1);
                assert_eq!(found, Err(DetectError::Utf16), "{text:?}");
                assert!(found.is_err_and(|error| error.is_foreign()));
            }
        }
        assert!(ListFormat::detect(list.as_bytes(), Sha1).is_ok(), "{list:?}");
    }
    // A row may hold NULs.
    assert_eq!(ListFormat::detect(b"pass\0word\nabc\0\n12\n", Sha1), Ok(ListFormat::Plain(Sha1)));
}

#[test]
fn foreign_files_are_named() {
    let detect = |sample: &[u8]| ListFormat::detect(sample, Sha1);
    assert_eq!(detect(b"\xff\xfep\0a\0s\0s\0\r\0\n\0"), Err(DetectError::Utf16));
    for (magic, format) in [
        (b"\x1f\x8b\x08\0".as_slice(), "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"PK\x03\x04", "zip"),
    ] {
        assert_eq!(detect(magic), Err(DetectError::Compressed { format }));
    }
    assert_eq!(detect(b"BZh9 is a password"), Ok(ListFormat::Plain(Sha1)));
}

#[test]
fn a_row_cut_by_the_end_of_the_sample_does_not_confuse_detection() {
    let row = format!("{PASSWORD_SHA1}:3\n");
    let list = row.repeat(SAMPLE_LEN / row.len() + 1);
    let sample = &list.as_bytes()[..SAMPLE_LEN];
    assert_ne!(sample.last(), Some(&b'\n'));
    assert_eq!(ListFormat::detect(sample, Sha1), Ok(ListFormat::Hashes(Sha1)));
    // One long row and nothing else is still a plain list.
    assert_eq!(
        ListFormat::detect("x".repeat(SAMPLE_LEN).as_bytes(), Sha1),
        Ok(ListFormat::Plain(Sha1))
    );
}
