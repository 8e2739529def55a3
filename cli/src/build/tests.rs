//! Builds of small lists, good and bad.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use hapax::codec::Existing;
use hapax::screen::{PasswordDigest, Screen, Verdict};
use tempfile::TempDir;

use super::*;
use crate::lists::{FormatChoice, Input, Reading, open_all, total_len};

const CANARY: &str = "zebra giraffe 7";

const KINDS: [FilterKind; 5] = [
    FilterKind::Fuse,
    FilterKind::Bloom,
    FilterKind::Blocked,
    FilterKind::Counting,
    FilterKind::Cuckoo,
];

/// A folder with lists and an output.
struct Bench {
    folder: TempDir,
    request: BuildRequest,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let request = BuildRequest {
            output: folder.path().join("out.hapax"),
            reading: Reading::default(),
            top: None,
            require_complete: false,
            kind: FilterKind::default(),
            size: Size::default(),
            max_rate: 0.01,
            memory: 256 << 20,
            tmp: std::env::temp_dir(),
            threads: None,
            unsorted: false,
            existing: Existing::Refuse,
            name: "a list".into(),
            source: String::new(),
            date: "2026-07-02".into(),
        };
        Self { folder, request }
    }

    fn list(&self, name: &str, content: impl AsRef<[u8]>) -> Input {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        Input::File(path)
    }

    fn build(&self, inputs: &[Input]) -> Result<Card, String> {
        let message = |trouble: Trouble| match trouble {
            Trouble::Message(message) => message,
            Trouble::BrokenPipe => unreachable!("nothing is printed"),
        };
        let lists = open_all(inputs).map_err(message)?;
        run(&self.request, lists, &|_| {}).map_err(message)
    }

    fn build_text(&self, content: impl AsRef<[u8]>) -> Result<Card, String> {
        self.build(&[self.list("list.txt", content)])
    }

    /// Builds, expects a refusal, and that nothing was written.
    fn refused(&self, content: impl AsRef<[u8]>) -> String {
        let message = self.build_text(content).unwrap_err();
        assert!(!self.request.output.exists(), "{message}");
        assert!(!message.contains("zebra") && !message.contains("giraffe"), "{message}");
        message
    }

    fn load(&self) -> Artefact<AnyFilter> {
        Artefact::load(&self.request.output).unwrap()
    }
}

fn sha1(password: &str) -> String {
    PasswordDigest::Sha1
        .key_of(password.as_bytes())
        .map(|key| format!("{:032X}00000000", u128::from_be_bytes(key.to_bytes())))
        .unwrap()
}

#[test]
fn every_row_of_a_plain_list_is_listed_afterwards() {
    for kind in KINDS {
        let mut bench = Bench::new();
        bench.request.kind = kind;
        let passwords: Vec<String> = (0..5_000).map(|i| format!("password {i}")).collect();
        let list = passwords.join("\r\n") + "\n\npassword 7\n" + CANARY;
        let card = bench.build_text(&list).unwrap();
        assert_eq!(card.provenance.rows_read, 5_003);
        assert_eq!(card.provenance.rows_added, 5_001);
        assert_eq!(card.provenance.rows_duplicate, 1);
        assert_eq!(card.provenance.rows_skipped, 1);
        assert!(card.promised_rate <= 2f64.powi(-16), "{kind}: {}", card.promised_rate);
        let screen = Screen::open(&bench.request.output).unwrap();
        for password in &passwords {
            assert_eq!(screen.check(password.as_bytes()), Ok(Verdict::Listed), "{kind}");
        }
        assert_eq!(screen.check(b""), Ok(Verdict::NotListed));
        assert_eq!(screen.check(b"password 5000"), Ok(Verdict::NotListed));
        let shown = card.to_string();
        assert!(shown.contains("at 100,000 password changes expect 1."), "{shown}");
        assert!(!shown.contains("zebra"), "{shown}");
        assert!(!fs::read(&bench.request.output).unwrap().windows(5).any(|w| w == b"zebra"));
    }
}

/// Lists of up to twenty rows: the sizes at which binary searches and builders have lost rows.
#[test]
fn every_row_of_a_tiny_list_is_listed() {
    for kind in KINDS {
        for len in 1..=20 {
            let mut bench = Bench::new();
            bench.request.kind = kind;
            let rows: Vec<String> = (0..len).map(|i| format!("row {i}")).collect();
            bench.build_text(rows.join("\n")).unwrap();
            let screen = Screen::open(&bench.request.output).unwrap();
            for row in rows {
                assert_eq!(screen.check(row.as_bytes()), Ok(Verdict::Listed), "{kind} {len}");
            }
        }
    }
}

#[test]
fn plain_and_hashed_lists_of_one_set_give_one_digest() {
    let plain = Bench::new().build_text("abc\npassword\n123456\nabc\n").unwrap();
    let hashed = [sha1("123456").to_lowercase(), sha1("password"), sha1("abc")].join(":3\r\n");
    let hashed = Bench::new().build_text(hashed).unwrap();
    let bench = Bench::new();
    let lists =
        [bench.list("a", "123456"), bench.list("b", sha1("abc")), bench.list("c", "password")];
    let parts = bench.build(&lists).unwrap();
    assert_eq!(plain.provenance.set_digest, hashed.provenance.set_digest);
    assert_eq!(plain.provenance.set_digest, parts.provenance.set_digest);
    let other = Bench::new().build_text("abc\npassword\n").unwrap();
    assert_ne!(plain.provenance.set_digest, other.provenance.set_digest);
}

#[test]
fn provenance_says_what_was_built() {
    let mut bench = Bench::new();
    bench.request.reading.min_count = 10;
    let list = format!("{}:9\n{}:10\n{}:1,000\n{}:0\n", sha1("a"), sha1("b"), sha1("c"), sha1("d"));
    let card = bench.build_text(list).unwrap();
    assert_eq!((card.counts.under_minimum, card.counts.zero_count), (1, 1));
    let provenance = bench.load().provenance;
    assert_eq!(provenance, card.provenance);
    assert_eq!((provenance.name.as_str(), provenance.date.as_str()), ("a list", "2026-07-02"));
    assert_eq!((provenance.min_count, provenance.rows_read, provenance.rows_added), (10, 4, 2));
    assert_eq!(provenance.rows_skipped, 2);
    assert!(provenance.tool.starts_with("hapax "), "{}", provenance.tool);
}

#[test]
fn bad_rows_stop_the_build_unless_tolerated() {
    let list = format!("{}:3\n{CANARY}\n{}\nABC:1\n", sha1("a"), "Z".repeat(40));
    let mut bench = Bench::new();
    bench.request.reading.format = FormatChoice::Hashes;
    for (tolerated, row) in [(0, "row 2 at byte 43"), (1, "row 3 at byte 59"), (2, "row 4")] {
        bench.request.reading.skip_bad = tolerated;
        let message = bench.refused(&list);
        assert!(message.contains("list.txt: ") && message.contains(row), "{message}");
    }
    bench.request.reading.skip_bad = 3;
    let card = bench.build_text(&list).unwrap();
    assert_eq!(
        (card.counts.bad, card.provenance.rows_skipped, card.provenance.rows_added),
        (3, 3, 1)
    );
}

#[test]
fn tolerance_is_over_all_lists() {
    let mut bench = Bench::new();
    bench.request.reading =
        Reading { format: FormatChoice::Hashes, skip_bad: 1, ..Reading::default() };
    let text = format!("{}\nbad\n", sha1("a"));
    let lists = [bench.list("a", &text), bench.list("b", &text)];
    let message = bench.build(&lists).unwrap_err();
    assert!(message.contains("b: row 2"), "{message}");
}

#[test]
fn lists_that_cannot_be_told_or_are_of_two_kinds_are_refused() {
    let nt = "8846F7EAEE8FB117AD06BDD830B7586C";
    let bench = Bench::new();
    for (list, expected) in [
        (String::new(), "expected rows, found none"),
        ("\r\n\n".into(), "expected rows, found none"),
        (format!("{}\n{nt}\n", sha1("a")), "row 1 looks like a hash (SHA-1) and row 2 does not"),
        (format!("{CANARY}\n{nt}\n"), "--format plain or --format hashes"),
        (format!("{CANARY}\rabc\r"), "lone \\r"),
        (format!("{nt}:{CANARY}\n"), "row 1 has 32 hexadecimal digits"),
        (format!("{nt}:{CANARY}\n"), "(--format plain)"),
    ] {
        assert!(bench.refused(&list).contains(expected), "{list}");
    }
    assert!(bench.refused(b"\xfd7zXZ\0").contains("xz"));

    let lists = [bench.list("a", sha1("a")), bench.list("b", nt)];
    let message = bench.build(&lists).unwrap_err();
    assert!(message.contains("b: expected SHA-1 hashes (40 digits), found"), "{message}");

    let mut bench = Bench::new();
    bench.request.reading.digest = Some(PasswordDigest::Nt);
    let message = bench.refused(sha1("a"));
    assert!(message.contains("expected NT hashes (32 digits)"), "{message}");
    let message = bench.refused(b"ma\xf1ana zebra\n");
    assert!(message.contains("row 1 at byte 0: expected a password in UTF-8"), "{message}");
}

#[test]
fn no_choice_of_a_format_makes_foreign_bytes_rows() {
    for format in [FormatChoice::Auto, FormatChoice::Plain, FormatChoice::Hashes] {
        let mut bench = Bench::new();
        bench.request.reading = Reading { format, skip_bad: 100, ..Reading::default() };
        let utf16: Vec<u8> = CANARY.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(bench.refused(utf16).contains("UTF-16"), "{format:?}");
        assert!(bench.refused(b"\xfd7zXZ\0").contains("xz"), "{format:?}");
        let message = bench.refused(format!("{CANARY}\rabc\rabc\n"));
        assert!(message.contains("lone \\r"), "{format:?}: {message}");
    }
}

#[test]
fn what_looks_like_a_hash_is_a_password_if_the_user_says_so() {
    let mut bench = Bench::new();
    bench.request.reading.format = FormatChoice::Plain;
    let card = bench.build_text(format!("{}:{CANARY}\n", sha1("a"))).unwrap();
    assert_eq!(card.provenance.rows_added, 1);
}

#[test]
fn a_list_that_an_explicit_format_finds_empty_is_refused() {
    for format in [FormatChoice::Plain, FormatChoice::Hashes] {
        let mut bench = Bench::new();
        bench.request.reading.format = format;
        assert!(bench.refused("\n\n").contains("expected rows, found none"));
    }
    // Rows, but none that counts.
    let message = Bench::new().refused(sha1("a") + ":0\n");
    assert!(message.contains("no row is left to build from"), "{message}");
}

#[test]
fn a_minimum_count_without_counts_is_refused() {
    let mut bench = Bench::new();
    bench.request.reading.min_count = 2;
    assert!(bench.refused(CANARY).contains("expected a count"));
    let message = bench.refused(format!("{}:5\n{}\n", sha1("a"), sha1("b")));
    assert!(message.contains("row 2 at byte 43: expected a count"), "{message}");
}

#[test]
fn an_existing_output_is_kept_unless_forced() {
    let mut bench = Bench::new();
    fs::write(&bench.request.output, "old").unwrap();
    let message = bench.build_text("abc\n").unwrap_err();
    assert!(message.contains("the file exists"), "{message}");
    bench.request.existing = Existing::Replace;
    // A build that fails leaves it too.
    bench.build_text("").unwrap_err();
    assert_eq!(fs::read(&bench.request.output).unwrap(), b"old");
    bench.build_text("abc\n").unwrap();
    assert_eq!(bench.load().provenance.rows_added, 1);
}

#[test]
fn an_output_that_is_an_input_is_refused_under_every_name() {
    let mut bench = Bench::new();
    bench.request.existing = Existing::Replace;
    let list = bench.list("list.txt", "abc\n");
    let path = bench.folder.path().join("list.txt");
    let (link, hard) = (bench.folder.path().join("link"), bench.folder.path().join("hard"));
    symlink(&path, &link).unwrap();
    fs::hard_link(&path, &hard).unwrap();
    for output in [path.clone(), link, hard, bench.folder.path().join("./list.txt")] {
        bench.request.output = output;
        let message = bench.build(std::slice::from_ref(&list)).unwrap_err();
        assert!(message.contains("the output is one of the lists"), "{message}");
    }
    assert_eq!(fs::read(path).unwrap(), b"abc\n");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_list_is_read() {
    let mut bench = Bench::new();
    bench.request.existing = Existing::Replace;
    let folder = bench.folder.path().to_owned();
    for output in [folder.clone(), folder.join("none/out"), PathBuf::from("/dev/null")] {
        bench.request.output = output;
        // The list is bad too, which would be told if it had been read.
        let message = bench.build_text("").unwrap_err();
        let about_output = message.contains("expected a file") || message.contains("be written");
        assert!(about_output, "{message}");
    }
}

#[test]
fn inputs_that_are_no_files_are_refused() {
    let bench = Bench::new();
    let message = bench.build(&[Input::File(bench.folder.path().to_owned())]).unwrap_err();
    assert!(message.contains("expected a folder of range files such as"), "{message}");
    let message = bench.build(&[Input::File("surely/not/there".into())]).unwrap_err();
    assert!(message.contains("/surely/not/there: cannot be opened: No such file"), "{message}");
    assert!(bench.build(&[]).unwrap_err().contains("no row is left"));
    let twice = [Input::Stdin, Input::from(PathBuf::from("-"))];
    assert!(bench.build(&twice).unwrap_err().contains("given twice"));
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    let mut bench = Bench::new();
    bench.request.size = Size::Bytes(1 << 44);
    bench.request.kind = FilterKind::Bloom;
    let message = bench.refused("abc\n");
    assert!(message.contains("bytes of memory are needed for the filter"), "{message}");
    bench.request.kind = FilterKind::Cuckoo;
    bench.refused("abc\n");
}

#[test]
fn a_size_in_bytes_is_kept_and_its_rate_is_told() {
    let mut bench = Bench::new();
    bench.request.size = Size::Bytes(1 << 12);
    assert!(bench.refused("abc\n").contains("follows from its rate"));
    bench.request.kind = FilterKind::Bloom;
    let list: Vec<String> = (0..2_048).map(|i| i.to_string()).collect();
    let card = bench.build_text(list.join("\n")).unwrap();
    assert!(card.stats.byte_len() <= 1 << 12);
    // 16 bits a key: 2^-(16 ln 2).
    assert!((card.promised_rate / 4.6e-4 - 1.0).abs() < 0.05, "{}", card.promised_rate);
}

#[test]
fn filters_of_passwords_are_for_their_owner_and_those_of_hashes_for_all() {
    let mode = |bench: &Bench| fs::metadata(&bench.request.output).unwrap().permissions().mode();
    let bench = Bench::new();
    bench.build_text("abc\n").unwrap();
    assert_eq!(mode(&bench) & 0o777, 0o600);
    let bench = Bench::new();
    bench.build_text(sha1("abc")).unwrap();
    // As any new file, whatever the umask is.
    fs::write(bench.folder.path().join("new"), "").unwrap();
    let new = fs::metadata(bench.folder.path().join("new")).unwrap().permissions().mode();
    assert_eq!(mode(&bench), new);
}

#[test]
fn progress_adds_up_to_the_size_of_the_lists() {
    let bench = Bench::new();
    let rows: Vec<String> = (0..100_000).map(|i| format!("row {i}")).collect();
    let inputs = [bench.list("a", rows.join("\r\n")), bench.list("b", "abc\n")];
    let lists = open_all(&inputs).unwrap();
    let total = total_len(&lists).unwrap();
    let (bytes, calls) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |more| {
        bytes.fetch_add(more, Ordering::Relaxed);
        calls.fetch_add(1, Ordering::Relaxed);
    };
    run(&bench.request, lists, &progress).unwrap();
    assert_eq!(bytes.into_inner(), total);
    assert!((3..20).contains(&calls.into_inner()));
}

#[test]
fn equal_lists_give_equal_files() {
    let (first, second) = (Bench::new(), Bench::new());
    first.build_text("abc\n123456\npassword\n").unwrap();
    second.build_text("password\r\nabc\r\n123456").unwrap();
    let read = |bench: &Bench| fs::read(&bench.request.output).unwrap();
    assert_eq!(read(&first), read(&second));
}

#[test]
fn the_top_rows_are_those_counted_most_often() {
    let mut bench = Bench::new();
    bench.request.top = Some(2);
    let list = format!("{}:7\n{}:9\n{}:0\n{}:8\n", sha1("a"), sha1("b"), sha1("c"), sha1("d"));
    let card = bench.build_text(list).unwrap();
    assert_eq!((card.counts.beyond_top, card.counts.zero_count), (1, 1));
    assert_eq!((card.provenance.rows_added, card.provenance.rows_skipped), (2, 2));
    let screen = Screen::open(&bench.request.output).unwrap();
    for (password, verdict) in
        [("a", Verdict::NotListed), ("b", Verdict::Listed), ("d", Verdict::Listed)]
    {
        assert_eq!(screen.check(password.as_bytes()), Ok(verdict), "{password}");
    }
    let mut bench = Bench::new();
    bench.request.top = Some(2);
    assert!(bench.refused(sha1("a")).contains("row 1 at byte 0: expected a count"));
}

#[test]
fn a_list_that_broke_off_is_told_and_refused_if_asked() {
    let mut rows: Vec<String> = (0..3_000).map(|i| sha1(&i.to_string())).collect();
    rows.sort();
    let mut bench = Bench::new();
    bench.request.reading.coverage = true;
    bench.request.require_complete = true;
    let card = bench.build_text(rows.join("\n")).unwrap();
    assert!(card.to_string().contains("prefixes 2,9"), "{card}");
    let bench = Bench { folder: tempfile::tempdir().unwrap(), ..bench };
    let output = bench.folder.path().join("out.hapax");
    let mut bench = Bench { request: BuildRequest { output, ..bench.request }, ..bench };
    let message = bench.refused(rows[..420].join("\n"));
    assert!(message.contains("not complete") && message.contains("to FFFFF"), "{message}");
    let message = bench.refused("password\n123456\n");
    assert!(message.contains("plain passwords"), "{message}");
    bench.request.require_complete = false;
    let card = bench.build_text(rows[..420].join("\n")).unwrap();
    assert!(card.to_string().contains("prefixes are missing: "), "{card}");
}
