//! `hapax check`: answers, exit statuses and every shape of input.

use crate::common::{Folder, Ran, check, hapax, numbered, run};
use hapax::screen::digest::{nt_of, sha1_of};
use serde_json::Value::{self, Null};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat()
}

/// Status and standard output.
fn answer(ran: &Ran) -> (Option<i32>, &str) {
    (ran.status, &ran.stdout)
}

#[test]
fn listed_rows_are_printed_and_the_rest_is_not() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha", b"beta"]);
    let ran = check(&["-i", "plain"], &[&filter], "alpha\ngamma\nbeta\n");
    assert_eq!(answer(&ran), (Some(0), "stdin:1: listed\nstdin:3: listed\n"));
    assert_eq!(
        ran.stderr,
        "checked 3, listed 2 (by filter only; about 0.0 expected false alarms)\n"
    );
}

#[test]
fn the_status_follows_the_answers() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    for (input, listed, absent) in
        [("alpha\n", 0, 1), ("gamma\n", 1, 0), ("gamma\nalpha", 0, 1), ("", 2, 2), ("\n\r\n", 2, 2)]
    {
        assert_eq!(check(&["-i", "plain"], &[&filter], input).status, Some(listed), "{input:?}");
        let ran = check(&["-i", "plain", "--expect", "absent"], &[&filter], input);
        assert_eq!(ran.status, Some(absent), "{input:?}");
    }
}

#[test]
fn uncertain_rows_win_over_every_answer() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let long = "x".repeat(70_000);
    for (input, stdout) in [
        (format!("{long}\n"), ""),
        (format!("alpha\n{long}\n"), "stdin:1: listed\n"),
        (format!("{long}\nalpha"), "stdin:2: listed\n"),
        (long.clone(), ""),
    ] {
        for args in [&["-i", "plain"][..], &["-i", "plain", "--expect", "absent"]] {
            let ran = check(args, &[&filter], input.as_str());
            assert_eq!(answer(&ran), (Some(2), stdout));
            assert!(ran.stderr.contains("unknown: expected at most 65536 bytes"), "{}", ran.stderr);
            assert!(ran.stderr.contains(", 1 unknown\n"), "{}", ran.stderr);
        }
    }
}

#[test]
fn rows_are_bytes() {
    let folder = Folder::new();
    let passwords: [&[u8]; 6] =
        [b"alpha", b"space ", b"nul\0inside", b"ma\xf1ana", b"cr\rinside", b"\ttab"];
    let filter = folder.sha1("f.hapax", &passwords);
    for end in [&b"\n"[..], b"\r\n"] {
        let ran = check(&["-i", "plain", "-c"], &[&filter], passwords.join(end));
        assert_eq!(answer(&ran), (Some(0), "6\n"), "{end:?}");
    }
    for stranger in [&b"alpha "[..], b"space", b"nul", b"ma\xc3\xb1ana", b" alpha", b"tab"] {
        let ran = check(&["-i", "plain"], &[&filter], stranger);
        assert_eq!(answer(&ran), (Some(1), ""), "{stranger:?}");
    }
    // Some editors put a mark in front of the text.
    let ran = check(&["-i", "plain"], &[&filter], b"\xef\xbb\xbfalpha\r\n");
    assert_eq!(ran.status, Some(0));
}

#[test]
fn hashes_are_asked_as_hashes_and_plain_rows_never_are() {
    let folder = Folder::new();
    let (sha1, nt) = (hex(&sha1_of(b"alpha")), hex(&nt_of(b"alpha").unwrap()));
    let sha1_filter = folder.sha1("sha1.hapax", &[b"alpha"]);
    let nt_filter = folder.nt("nt.hapax", &[b"alpha"]);
    for (form, filter, row) in [("sha1", &sha1_filter, &sha1), ("nt", &nt_filter, &nt)] {
        for row in [row.clone(), row.to_lowercase(), format!("{row}\r\n")] {
            assert_eq!(check(&["-i", form], &[filter], row.as_str()).status, Some(0), "{row}");
            assert_eq!(check(&["-i", "plain"], &[filter], row.as_str()).status, Some(1), "{row}");
        }
        for bad in [&row[1..], &format!("{row}0"), &format!(" {row}"), &"Z".repeat(row.len())] {
            let input = format!("{row}\n{bad}\n");
            let ran = check(&["-i", form], &[filter], input.as_str());
            assert_eq!(answer(&ran), (Some(2), "stdin:1: listed\n"), "{bad}");
            assert!(ran.stderr.contains("stdin:2: unknown: expected "), "{}", ran.stderr);
            assert!(!ran.stderr.contains(&bad[2..10]), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_filter_of_other_hashes_is_refused_before_anything_is_answered() {
    let folder = Folder::new();
    let sha1 = folder.sha1("sha1.hapax", &[b"alpha"]);
    let nt = folder.nt("nt.hapax", &[b"alpha"]);
    for (form, filters) in
        [("nt", vec![&*sha1]), ("sha1", vec![&*nt]), ("sha1", vec![&*sha1, &*nt])]
    {
        let ran = check(&["-i", form], &filters, hex(&sha1_of(b"alpha")));
        assert_eq!(answer(&ran), (Some(2), ""), "{form}");
        assert!(ran.stderr.contains("cannot be looked up in a filter of"), "{}", ran.stderr);
    }
}

#[test]
fn text_that_is_not_utf8_has_no_nt_hash_and_no_answer() {
    let folder = Folder::new();
    let nt = folder.nt("nt.hapax", &["mañana".as_bytes()]);
    assert_eq!(check(&["-i", "plain"], &[&nt], "mañana").status, Some(0));
    assert_eq!(check(&["-i", "plain"], &[&nt], b"ma\xf1ana").status, Some(2));
}

#[test]
fn several_filters_are_one_list() {
    let folder = Folder::new();
    let (a, b) = (folder.sha1("a.hapax", &[b"alpha"]), folder.nt("b.hapax", &[b"beta"]));
    let ran = check(&["-i", "plain"], &[&a, &b], "beta\ngamma\nalpha\n");
    assert_eq!(answer(&ran), (Some(0), "stdin:1: listed\nstdin:3: listed\n"));
}

#[test]
fn files_are_named_and_one_that_fails_makes_the_answer_uncertain() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let (one, two) = (folder.file("one.txt", "x\nalpha\n"), folder.file("two.txt", "alpha"));
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (filter, one, two) = (path(&filter), path(&one), path(&two));
    let ran = run(["check", &filter, "-i", "plain", "--", &one, "-", &two], "alpha\n");
    let expected = format!("{one}:2: listed\nstdin:1: listed\n{two}:1: listed\n");
    assert_eq!(answer(&ran), (Some(0), expected.as_str()));

    let ran = run(["check", &filter, "-i", "plain", "--", "/", &two], "");
    assert_eq!(answer(&ran), (Some(2), ""));
    assert!(ran.stderr.contains("hapax: /: expected a file, found a folder"), "{}", ran.stderr);

    // Opens, and cannot be read at its start.
    let args = ["check", &filter, "-i", "plain", "--", "/proc/self/mem", &two];
    let ran = run(args, "");
    assert_eq!(answer(&ran), (Some(2), format!("{two}:1: listed\n").as_str()));
    assert!(ran.stderr.contains("hapax: /proc/self/mem: cannot be read"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 inputs not read to their end"), "{}", ran.stderr);
    let ran = run([&args[..4], &["--json"], &args[4..]].concat(), "");
    let records = records(&ran);
    assert_eq!((records.len(), &records[1]["listed"]), (2, &true.into()), "{}", ran.stdout);
    assert_eq!((&records[0]["line"], &records[0]["listed"]), (&Null, &Null), "{}", ran.stdout);
    assert_eq!(records[0]["input"], "/proc/self/mem");

    let ran = run(["check", &filter, "-i", "plain", "--", "no-such-file", &two], "");
    assert_eq!(answer(&ran), (Some(2), ""));
    assert!(ran.stderr.contains("the first FILE argument"), "{}", ran.stderr);
}

#[test]
fn a_pipe_is_read_once_and_standard_input_is_not_named_twice() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, "x\nalpha\n")
    });
    let output = hapax()
        .args(["check", "-i", "plain"])
        .args([filter.as_path(), "--".as_ref(), pipe.as_path()])
        .timeout(std::time::Duration::from_mins(1))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(output.stdout, format!("{}:2: listed\n", pipe.display()).as_bytes());
    writer.join().unwrap().unwrap();

    let ran = run(["check", filter.to_str().unwrap(), "-i", "plain", "--", "-", "-"], "alpha\n");
    assert_eq!(answer(&ran), (Some(2), ""));
    assert!(ran.stderr.contains("standard input was given twice"), "{}", ran.stderr);
}

#[test]
fn an_empty_filter_answers_nothing() {
    let folder = Folder::new();
    let (empty, good) = (folder.sha1("empty.hapax", &[]), folder.sha1("good.hapax", &[b"alpha"]));
    for args in [&["-i", "plain"][..], &["-i", "plain", "--expect", "absent"]] {
        for filters in [&[&*empty][..], &[&*good, &*empty]] {
            let ran = check(args, filters, "beta\n");
            assert_eq!(answer(&ran), (Some(2), ""), "{args:?}");
            assert!(ran.stderr.contains("empty.hapax: expected a filter of"), "{}", ran.stderr);
        }
    }
}

#[test]
fn names_of_files_cannot_drive_the_terminal() {
    let folder = Folder::new();
    let filter = folder.file("a\u{1b}[2J\nhapax: b.hapax", "no filter");
    for command in [&["check", "-i", "plain"][..], &["verify"], &["info"]] {
        let ran = run(command.iter().copied().chain([filter.to_str().unwrap()]), "alpha\n");
        assert_eq!(answer(&ran), (Some(2), ""), "{command:?}");
        assert!(ran.stderr.contains("a\\u{1b}[2J\\nhapax: b.hapax: not a "), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

fn records(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rows_without_an_answer_have_records_without_one() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let input =
        format!("{}\n{}zebra\n{}\n", "0".repeat(40), "bad\n".repeat(20), hex(&sha1_of(b"alpha")));
    let ran = check(&["-i", "sha1", "--json"], &[&filter], input);
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    let records = records(&ran);
    let lines: Vec<u64> = records.iter().map(|record| record["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, (2..=23).collect::<Vec<_>>());
    for record in &records[..21] {
        assert_eq!(record["input"], "stdin");
        assert_eq!(record.as_object().unwrap().get("listed"), Some(&Null), "{record}");
        assert!(record["error"].as_str().unwrap().contains("40 hexadecimal digits"), "{record}");
    }
    assert_eq!(records[21]["listed"], true);
    assert!(!ran.stdout.contains("zebra") && !ran.stdout.contains("bad"), "{}", ran.stdout);
}

#[test]
fn records_are_json_and_hold_no_secret() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let ran = check(&["-i", "plain", "--json"], &[&filter], "x\nalpha\n\nalpha\n");
    let records = records(&ran);
    assert_eq!(records.len(), 2, "{}", ran.stdout);
    for (record, line) in records.iter().zip([2, 4]) {
        assert_eq!(record["input"], "stdin");
        assert_eq!(record["line"], line);
        assert_eq!(record["listed"], true);
        assert_eq!(record["basis"], "filter");
        assert!(record["false_positive_rate"].is_f64());
        assert_eq!(record["list"], "a test list");
        assert_eq!(record.as_object().unwrap().len(), 6);
    }
    assert!(ran.stderr.ends_with(", 1 blank\n"), "{}", ran.stderr);
}

#[test]
fn quiet_leaves_the_answer_to_the_status() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    for (input, status) in [("alpha", 0), ("beta", 1)] {
        let ran = check(&["-i", "plain", "-q"], &[&filter], input);
        assert_eq!((ran.status, &*ran.stdout, &*ran.stderr), (Some(status), "", ""));
        // What is asked for by name is printed nevertheless.
        let ran = check(&["-i", "plain", "-q", "-c"], &[&filter], input);
        assert_eq!((&*ran.stdout, &*ran.stderr), (if status == 0 { "1\n" } else { "0\n" }, ""));
    }
    let ran = check(&["-i", "plain", "-q"], &[&filter], "");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("no input to check"), "{}", ran.stderr);
}

#[test]
fn a_pipe_needs_to_say_what_it_carries() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let ran = check(&[], &[&filter], "alpha\n");
    assert_eq!(answer(&ran), (Some(2), ""));
    assert!(ran.stderr.contains("--input plain"), "{}", ran.stderr);
}

#[test]
fn what_is_not_a_whole_filter_answers_nothing() {
    let folder = Folder::new();
    let good = std::fs::read(folder.sha1("good.hapax", &[b"alpha"])).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let files = [
        folder.file("text.hapax", "not a filter\n"),
        folder.file("empty.hapax", ""),
        folder.file("short.hapax", &good[..good.len() - 1]),
        folder.file("longer.hapax", [good.as_slice(), b"x"].concat()),
        folder.file("flipped.hapax", flipped),
        folder.path().to_owned(),
        folder.path().join("missing.hapax"),
    ];
    for path in &files {
        let ran = check(&["-i", "plain"], &[path], "alpha\n");
        assert_eq!(answer(&ran), (Some(2), ""), "{}", path.display());
        assert!(ran.stderr.starts_with("hapax: "), "{}", ran.stderr);
        // A good filter beside it does not make up for it.
        let beside = check(&["-i", "plain"], &[&folder.path().join("good.hapax"), path], "alpha\n");
        assert_eq!(answer(&beside), (Some(2), ""), "{}", path.display());
    }
}

#[test]
fn many_rows_are_answered_in_order() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"7", b"123456", b"299999"]);
    let rows: String = numbered(300_000);
    let file = folder.file("rows.txt", &rows);
    let expected = "stdin:8: listed\nstdin:123457: listed\nstdin:300000: listed\n";
    assert_eq!(answer(&check(&["-i", "plain"], &[&filter], rows)), (Some(0), expected));
    let (filter, file) = (filter.to_str().unwrap(), file.to_str().unwrap());
    let ran = run(["check", "-i", "plain", filter, "--", file], "");
    assert_eq!(answer(&ran), (Some(0), expected.replace("stdin", file).as_str()));
    assert!(ran.stderr.starts_with("checked 300000, listed 3 "), "{}", ran.stderr);
}

#[test]
fn only_the_first_unknown_rows_are_told() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let ran = check(&["-i", "sha1"], &[&filter], "bad\n".repeat(500));
    assert_eq!(ran.status, Some(2));
    assert_eq!(ran.stderr.matches("unknown: ").count(), 10);
    assert!(ran.stderr.contains("checked 0, listed 0"), "{}", ran.stderr);
    assert!(ran.stderr.contains(", 500 unknown"), "{}", ran.stderr);
}

/// What `build` refuses to read as passwords is not "not listed" either.
#[test]
fn input_that_is_no_list_of_candidates_is_uncertain() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"password1"]);
    let utf16: Vec<u8> = "password1\r\nfoo\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &utf16].concat();
    for (name, content) in [
        ("UTF-16", marked),
        ("UTF-16 without a mark", utf16),
        ("lone carriage returns", b"password1\rfoo\rbar\r".to_vec()),
        ("a filter", std::fs::read(&filter).unwrap()),
        ("gzip", vec![0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0]),
    ] {
        let ran = check(&["-i", "plain"], &[&filter], content);
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{name}: {}", ran.stderr);
    }
}
