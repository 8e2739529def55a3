//! A canary password appears nowhere: not in what is printed, not in what other users of the
//! machine can see of the process, not in files.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{CANARY, Folder, Ran, check, run};

#[track_caller]
fn assert_silent(ran: &Ran, what: &str) {
    for text in [&ran.stdout, &ran.stderr] {
        // No part of it either.
        for part in CANARY.as_bytes().windows(5) {
            let found = text.as_bytes().windows(5).any(|window| window == part);
            assert!(!found, "{what}: {ran:?}");
        }
    }
}

#[track_caller]
fn assert_untouched(folder: &Folder, but: &[&Path]) {
    for name in folder.names() {
        let path = folder.path().join(name);
        if but.contains(&path.as_path()) || path.is_dir() {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{} holds the canary", path.display());
    }
}

#[test]
fn rows_are_never_repeated_whatever_happens_to_them() {
    let folder = Folder::new();
    let sha1 = folder.sha1("sha1.hapax", &[CANARY.as_bytes()]);
    let nt = folder.nt("nt.hapax", &[b"else"]);
    let text = folder.file("text.hapax", "no filter");
    let missing = folder.path().join("missing.hapax");
    let latin1 = [CANARY.as_bytes(), b"\xf1"].concat();
    let long = CANARY.repeat(5_000);
    let rows: [&[u8]; 5] = [
        CANARY.as_bytes(),
        b"x\n",
        &latin1,
        long.as_bytes(),
        format!("{CANARY}:1\n").leak().as_bytes(),
    ];
    let mut statuses = std::collections::BTreeSet::new();
    for filters in [&[&*sha1][..], &[&*nt], &[&*sha1, &*nt], &[&*text], &[&*missing], &[]] {
        for form in [&["-i", "plain"][..], &["-i", "sha1"], &["-i", "nt"], &[]] {
            for output in [&[][..], &["--json"], &["-c"], &["-q"]] {
                for row in rows {
                    let args = [form, output].concat();
                    let ran = check(&args, filters, row);
                    statuses.insert(ran.status);
                    assert_silent(&ran, &format!("{args:?} {filters:?}"));
                }
            }
        }
    }
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_untouched(&folder, &[]);
}

/// Every shape of input and every way to ask, with rows that fit and rows that do not.
#[test]
fn no_option_repeats_a_candidate() {
    let folder = Folder::new();
    let sha1 = folder.sha1("sha1.hapax", &[CANARY.as_bytes()]);
    let nt = folder.nt("nt.hapax", &[CANARY.as_bytes()]);
    let unsorted =
        folder.file("unsorted.txt", format!("{}:1\n{}:1\n", "F".repeat(40), "0".repeat(40)));
    let unsorted = unsorted.to_str().unwrap();
    let zeros = format!("{}:1\n", "0".repeat(40));
    let other = folder.file("other.txt", zeros);
    let other = other.to_str().unwrap();
    let rows = [
        CANARY.to_owned(),
        format!("user,{CANARY}\nuser2\n\"{CANARY}\n{CANARY}\",x\n"),
        format!("user:{CANARY}\nuser:1:{CANARY}:{CANARY}:::\n{CANARY}\n"),
        format!("{CANARY}\0{CANARY} \0\0"),
        format!(" {} \r\n{CANARY}\r", CANARY.to_uppercase()),
        CANARY.repeat(70_000),
    ];
    let mut statuses = std::collections::BTreeSet::new();
    for filter in [&sha1, &nt] {
        for args in [
            &["-i", "plain", "--one"][..],
            &["-i", "plain", "-0"],
            &["-i", "plain", "--csv"],
            &["-i", "plain", "--csv", "--column", "2"],
            &["-i", "plain", "--csv", "--column", "2", "--label", "1"],
            &["-i", "plain", "--csv", "--column", "password"],
            &["-i", "plain", "--also", "nfc,nfkc,lower,trim", "-v"],
            &["-i", "nt", "--user-hash"],
            &["-i", "sha1", "--user-hash", "-v", "-0"],
            &["-i", "plain", "--confirm", other],
            &["-i", "plain", "--confirm", unsorted],
            &["-i", "plain", "--confirm", other, "--min-count", "3", "--stats"],
            &["-i", "plain", "--threads", "3", "--progress", "always"],
        ] {
            for output in [&[][..], &["--json"], &["-c"]] {
                for row in &rows {
                    // Where a column is printed because it was asked for, it is the user's.
                    if args.contains(&"--label") && row.starts_with(CANARY) {
                        continue;
                    }
                    let args = [args, output].concat();
                    let ran = check(&args, &[filter], row.as_str());
                    statuses.insert(ran.status);
                    assert_silent(&ran, &format!("{args:?}"));
                }
            }
        }
    }
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_untouched(&folder, &[]);
}

#[test]
fn a_password_typed_as_an_argument_is_not_repeated() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let filter = filter.to_str().unwrap();
    let dashed = format!("--{CANARY}");
    let valued = format!("--input={CANARY}");
    for args in [
        &[CANARY][..],
        &["check", CANARY],
        &["check", filter, CANARY],
        &["check", filter, "-i", CANARY],
        &["check", filter, &valued],
        &["check", filter, &dashed],
        &["check", filter, "--password", CANARY],
        &["check", filter, "-p", CANARY],
        &["check", "-i", "plain", filter, "--", CANARY],
        &["check", "--expect", CANARY],
        &["check", filter, "-i", "plain", "--confirm", CANARY],
        &["check", filter, "-i", "plain", "--csv", "--column", CANARY],
        &["check", filter, "-i", "plain", "--csv", "--label", CANARY],
        &["check", filter, "-i", "plain", "--csv", "-d", CANARY],
        &["check", filter, "-i", "plain", "--also", CANARY],
        &["check", filter, "-i", "plain", "--threads", CANARY],
        &["check", filter, "-i", "plain", "--confirm", filter, "--min-count", CANARY],
        &["verify", CANARY],
        &["verify", filter, CANARY],
        &["verify", filter, "--format", CANARY],
        &["build", "-o", "out.hapax", "--false-positive-rate", CANARY, "-"],
        &["build", "-o", "out.hapax", "--bytes", CANARY, "-"],
        &["build", "-o", "out.hapax", "--min-count", CANARY, "-"],
        &["info", CANARY],
        &["info", filter, CANARY],
        &["man", CANARY],
        &["completions", CANARY],
        &["help", CANARY],
        &["--progress", CANARY],
        &["check", "--progress", CANARY, filter],
    ] {
        let ran = run(args, "alpha\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.starts_with("hapax: "), "{args:?}: {}", ran.stderr);
        assert_silent(&ran, &format!("{args:?}"));
    }
}

#[test]
fn a_file_that_holds_passwords_is_named_and_not_quoted() {
    let folder = Folder::new();
    let list = folder.file("passwords.txt", format!("{CANARY}\n"));
    let ran = check(&["-i", "plain"], &[&list], CANARY);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("passwords.txt"), "{}", ran.stderr);
    assert_silent(&ran, "a list in place of a filter");
    let path = list.to_str().unwrap();
    for args in [&["info", path][..], &["verify", path], &["dedup", "--state", path]] {
        let ran = run(args, "");
        assert_eq!(ran.status, Some(2), "{args:?}");
        assert_silent(&ran, &format!("{args:?}"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_shows_nothing_while_it_holds_a_password() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[CANARY.as_bytes()]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["check", "-i", "plain"])
        .arg(&filter)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{CANARY}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!(answer, "stdin:1: listed\n");

    // The answer is out and the input still open, so the process is there to be looked at.
    let seen = |file: &str| std::fs::read(format!("/proc/{}/{file}", child.id()));
    let command_line = seen("cmdline").unwrap();
    assert!(command_line.ends_with(b"f.hapax\0"), "{}", command_line.escape_ascii());
    // Others may be refused the rest: that is the purpose of not being dumpable.
    for file in ["cmdline", "environ", "comm", "status", "limits"] {
        let text = seen(file).unwrap_or_default();
        assert!(!text.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()), "{file}");
    }
    let limits = String::from_utf8(seen("limits").unwrap_or_default()).unwrap();
    if let Some(core) = limits.lines().find(|line| line.starts_with("Max core file size")) {
        let columns: Vec<&str> = core.split_whitespace().collect();
        assert_eq!(columns[4..6], ["0", "0"], "{core}");
    }
    drop(stdin);
    finish(child);
    assert_untouched(&folder, &[]);
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}
