//! How the tool behaves as a process: help, statuses, pipes and signals.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Folder, hapax, run};

#[test]
fn every_help_names_the_exit_statuses() {
    for args in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["check", "--help"],
        &["query", "-h"],
        &["build", "--help"],
        &["create", "-h"],
        &["verify", "--help"],
        &["info", "--help"],
        &["show", "-h"],
        &["completions", "--help"],
        &["man", "--help"],
    ] {
        let ran = run(args, "");
        assert_eq!((ran.status, &*ran.stderr), (Some(0), ""), "{args:?}");
        assert!(ran.stdout.contains("Exit status:\n  0 "), "{args:?}: {}", ran.stdout);
        assert!(ran.stdout.contains("\n  2 "), "{args:?}: {}", ran.stdout);
    }
}

#[test]
fn nothing_asked_shows_the_help_and_is_no_success() {
    let ran = run([""; 0], "");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: hapax"), "{}", ran.stderr);
}

#[test]
fn the_version_is_printed() {
    let ran = run(["--version"], "");
    let expected = concat!("hapax ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), expected));
}

#[test]
fn completions_and_manual_pages_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(["completions", shell], "");
        assert_eq!(ran.status, Some(0), "{shell}");
        assert!(ran.stdout.contains("check") && ran.stdout.contains("expect"), "{shell}");
    }
    let ran = run(["man"], "");
    assert_eq!(ran.status, Some(0));
    assert!(ran.stdout.contains(".SH \"EXIT STATUS\"") && ran.stdout.contains("check"));
    let ran = run(["man", "query"], "");
    assert!(ran.stdout.contains("at least one input is listed"), "{}", ran.stdout);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let list = folder.file("list.txt", "alpha\n".repeat(200_000));
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["check", "-i", "plain"])
        .arg(&filter)
        .arg("--")
        .arg(&list)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");

    // Help into a pipe that is closed.
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!("{} completions bash | head -1", env!("CARGO_BIN_EXE_hapax")))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    for args in [&["check", "-i", "plain"][..], &["check", "-c", "-i", "plain"], &["info"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(args)
            .arg(&filter)
            .stdin(Stdio::piped())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let sent = child.stdin.take().unwrap().write_all(b"alpha\n");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} {sent:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("standard output: cannot be written"), "{args:?}: {stderr}");
    }
}

#[cfg(unix)]
#[test]
fn signals_end_the_run_with_their_status() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};

    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(["check", "-i", "plain"])
            .arg(&filter)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"alpha\n").unwrap();
        // An answer shows that it runs; the open input keeps it running.
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let exit = child.wait().unwrap();
        assert_eq!(exit.code(), Some(status), "{signal:?}");
        drop(stdin);
    }
}

#[test]
fn a_bar_is_drawn_only_where_it_was_asked_for() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let list = folder.file("list.txt", "beta\n".repeat(1_000));
    let bar = |when: &str| {
        let output = hapax()
            .args(["check", "-i", "plain", "--progress", when])
            .arg(&filter)
            .arg("--")
            .arg(&list)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        output.stderr.contains(&b'%')
    };
    // Standard error is a pipe here.
    assert!(!bar("auto") && !bar("never") && bar("always"));
}

#[test]
fn a_filter_is_described_for_people_and_for_programs() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha", b"beta"]);
    let path = filter.to_str().unwrap();
    let ran = run(["info", path], "");
    assert_eq!(ran.status, Some(0));
    for line in ["kind                  bloom\n", "hash                  sha1\n", "a test list\n"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let ran = run(["info", path, "--json"], "");
    let info: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    for (field, value) in [
        ("format_version", 1.into()),
        ("kind", serde_json::Value::from("bloom")),
        ("hash", "sha1".into()),
        ("salt", 7.into()),
        ("capacity", 1_000.into()),
        ("len", 2.into()),
        ("rows_read", 2.into()),
        ("file_len", std::fs::metadata(&filter).unwrap().len().into()),
        ("name", "a test list".into()),
    ] {
        assert_eq!(info[field], value, "{field}");
    }
    let promised = info["promised_false_positive_rate"].as_f64().unwrap();
    assert!(promised <= 2f64.powi(-30) && promised > 2f64.powi(-31), "{promised}");
    assert!(info["false_positive_rate"].as_f64().unwrap() < promised);
    assert_eq!(info["set_digest"].as_str().unwrap().len(), 32);
}

#[test]
fn what_cannot_be_opened_is_not_described() {
    let folder = Folder::new();
    let text = folder.file("text.hapax", "no filter");
    for path in [text.as_path(), folder.path(), &folder.path().join("missing")] {
        let ran = run(["info".as_ref(), path.as_os_str()], "");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", path.display());
    }
}
