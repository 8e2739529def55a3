//! `hapax dedup`: what passes, what is refused, and what a crash costs.

mod crash;
mod files;
mod state;

use std::fmt::Write as _;

use crate::common::{Folder, numbered, run};

#[test]
fn first_sightings_pass_in_order_and_are_counted() {
    let ran = run(["dedup"], "b\na\nb\n\na\r\na\n\nlast");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "b\na\n\na\r\nlast\n"));
    assert!(ran.stderr.contains("read 8, passed 5, dropped 3"), "{}", ran.stderr);
    assert_eq!(run(["dedup", "-q"], "").stdout, "");
}

#[test]
fn lines_are_bytes() {
    let input = b"ma\xf1ana\0x\nma\xf1ana\0y\nma\xf1ana\0x\n".to_vec();
    let output = crate::common::hapax().arg("dedup").write_stdin(input).output().unwrap();
    assert_eq!(output.stdout, b"ma\xf1ana\0x\nma\xf1ana\0y\n");
}

/// Repeats at every distance, within a batch and beyond.
#[test]
fn repeats_are_dropped_at_any_distance() {
    let mut input = String::new();
    for i in 0..20_000u32 {
        write!(input, "{i}\n{}\n{}\n{i}\n", i.saturating_sub(700), i / 2).unwrap();
    }
    let ran = run(["dedup", "--capacity", "30000", "--false-positive-rate", "1e-12"], input);
    let expected = numbered(20_000);
    assert!(ran.stdout == expected, "{}", ran.stderr);
    assert!(ran.stderr.contains("read 80000, passed 20000, dropped 60000"), "{}", ran.stderr);
}

#[test]
fn fields_can_be_the_id_and_must_be_there() {
    let ran = run(["dedup", "-q", "-k", "2", "-d", ","], "1,x,a\n2,x,b\n3,y,c\n4,,d\n5,,e\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "1,x,a\n3,y,c\n4,,d\n"));
    for name in ["--id", "--key-field"] {
        let ran = run(["dedup", "-q", name, "3,1", "-d", ","], "1,x,a\n1,y,a\n1,x,b\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(0), "1,x,a\n1,x,b\n"));
    }
    // What came before the line without an id is out; nothing after it is judged.
    let ran = run(["dedup", "-q", "-k", "2"], "1\tx\nsecret\n2\ty\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), "1\tx\n"));
    assert!(ran.stderr.contains("line 2: expected at least 2 fields, found 1"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    for arguments in [["-k", "0"], ["-k", "1,"], ["-d", "ab"], ["-d", ""], ["-d", "\n"]] {
        let ran = run(["dedup"].into_iter().chain(arguments), "a\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{arguments:?}");
    }
}

/// The same position is a replay for certain; the same id at another position was published twice.
#[test]
fn positions_are_asked_before_the_filter() {
    let input = "1\ta\n2\tb\n1\ta\n3\ta\n2\tb\n";
    let arguments = ["dedup", "--id", "2", "--position", "1"];
    let ran = run(arguments, input);
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "1\ta\n2\tb\n"));
    assert!(ran.stderr.contains("(2 for certain, 1 by the filter)"), "{}", ran.stderr);
    let ran = run(arguments.into_iter().chain(["-q", "--json"]), input);
    let summary: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!((&summary["read"], &summary["passed"]), (&5.into(), &2.into()), "{summary}");
    assert_eq!(summary["dropped_certain"], 2, "{summary}");
    assert_eq!(summary["dropped_probable"], 1, "{summary}");
    let ran = run(arguments, "1\ta\nx\tb\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), "1\ta\n"));
    assert!(ran.stderr.contains("line 2: expected a number from 0 to"), "{}", ran.stderr);
    // Channels have positions of their own.
    let ran = run(
        ["dedup", "-q", "--id", "3", "--position", "2", "--channel", "1"],
        "0\t1\ta\n1\t1\tb\n0\t1\ta\n",
    );
    assert_eq!(ran.stdout, "0\t1\ta\n1\t1\tb\n");
}

#[test]
fn hits_are_diverted_and_not_lost() {
    let folder = Folder::new();
    let divert = folder.file("divert", "a whole line\nhalf a l");
    let arguments = ["dedup", "--divert", divert.to_str().unwrap(), "--state"];
    let state = folder.path().join("state");
    let ran = run(arguments.into_iter().chain([state.to_str().unwrap()]), "a\nb\na\na\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "a\nb\n"));
    assert!(ran.stderr.contains("read 4, passed 2, dropped 0, diverted 2"), "{}", ran.stderr);
    let diverted = std::fs::read_to_string(&divert).unwrap();
    assert_eq!(diverted, "a whole line\nhalf a l\na\na\n");
    let ran = run(["dedup", "--divert", "/dev/full"], "a\na\n");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("/dev/full: cannot be written"), "{}", ran.stderr);
}

/// With a rate of 1 % and a window of 100, each test costs up to 0.01: a budget of 0.1 is spent within
/// the first hundred lines.
#[test]
fn a_loss_budget_that_is_spent_diverts_or_stops() {
    let folder = Folder::new();
    let divert = folder.path().join("divert");
    let mut input = String::new();
    for line in numbered(2_000).lines() {
        write!(input, "{line}\n{line}\n").unwrap();
    }
    let arguments =
        ["dedup", "--capacity", "100", "--false-positive-rate", "1%", "--loss-budget", "0.1"];
    let ran = run(arguments.into_iter().chain(["--divert", divert.to_str().unwrap()]), &*input);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let diverted = std::fs::read_to_string(&divert).unwrap().lines().count();
    let passed = ran.stdout.lines().count();
    assert!((1_800..2_000).contains(&passed), "{passed}");
    assert!(diverted > 1_800 && diverted + passed < 4_000, "{diverted} of {passed}");

    let ran = run(arguments, &*input);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("looks repeated, and the loss budget of 0.1"), "{}", ran.stderr);
    let all = numbered(2_000);
    assert!(all.starts_with(&ran.stdout) && ran.stdout.len() > 10, "{}", ran.stdout);
}

#[test]
fn options_that_contradict_each_other_are_refused_in_words() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    for (arguments, expected) in [
        (
            &[
                "--loss-budget",
                "1e-3",
                "--expected-lines",
                "1000000",
                "--false-positive-rate",
                "1e-6",
            ][..],
            "ask for a rate of 1e-9 or less",
        ),
        (&["--loss-budget", "9", "--expected-lines", "10"], "is no limit"),
        (&["--loss-budget", "1e-12", "--expected-lines", "1000000"], "share a hash at a rate of"),
        (&["--expected-lines", "9"], "--loss-budget"),
        (&["--loss-budget", "0"], "expected a positive number"),
        (&["--retire", "truncated", "--position", "1"], "--truncated FILE"),
        (&["--truncated", "x", "--position", "1"], "--retire truncated"),
        (&["--retire", "never"], "expected count, truncated or a time"),
        (&["--channel", "1"], "--position"),
        (&["--replays-only"], "--state"),
        (&["--tested", "9"], "--replays-only"),
        (&["--fence", "9"], "--replays-only"),
        (&["--state", state, "--replays-only", "--on-suspect", "divert"], "--divert FILE"),
        (&["--checkpoint-every", "10s"], "--state"),
        (&["--checkpoint-every", "0", "--state", state], "1 line or more"),
        (&["--force"], "--reset"),
    ] {
        let ran = run(["dedup"].iter().chain(arguments), "a\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    assert!(folder.names().is_empty());
}
