//! States: restored, in use, damaged, erased.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hapax::CuckooFilter;
use hapax::codec::{Artefact, Provenance, SaveOptions};
use hapax::replay::{GenerationWindow, ReplayFilter};

use crate::common::{Folder, Ran, run};

/// Runs on a state.
fn on(state: &Path, arguments: &[&str], input: &str) -> Ran {
    run(["dedup", "--state", state.to_str().unwrap()].iter().chain(arguments), input)
}

/// What `hapax info` says of a state.
fn info(state: &Path) -> serde_json::Value {
    let ran = run(["info", "--json", state.to_str().unwrap()], "");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Starts a run whose input stays open.
fn start(state: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "--state"])
        .arg(state)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Gives a run a line and waits until it comes out.
fn pass(child: &mut Child, line: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
    let mut out = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut out).unwrap();
    assert_eq!(out.trim_end(), line);
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The newest manifest.
fn newest(state: &Path) -> PathBuf {
    let entries = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("manifest-")).max().unwrap()
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_state_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let ran = on(&state, &[], "a\nb\n");
    assert!(ran.stderr.contains("starts empty"), "{}", ran.stderr);
    let ran = on(&state, &[], "b\nc\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "c\n"));
    assert!(ran.stderr.contains("restored, 2 lines read before"), "{}", ran.stderr);
    assert!(ran.stderr.contains("since the state was made: read 4, passed 3, dropped 1"));
    let info = info(&state);
    assert_eq!((&info["judged"], &info["passed"], &info["len"]), (&4.into(), &3.into(), &3.into()));
    assert_eq!((&info["lines"], &info["capacity"]), (&"whole lines".into(), &1_000_000.into()));
    let verified = run(["verify", state.to_str().unwrap()], "");
    assert_eq!(verified.status, Some(0), "{}", verified.stderr);
    let shown = run(["info", state.to_str().unwrap()], "");
    assert!(shown.stdout.contains("epoch 0: 3 lines, "), "{}", shown.stdout);
    // Whoever reads it can test guesses of lines against it.
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(folder.names(), ["state"]);
}

#[test]
fn the_size_of_a_state_is_kept_without_being_said_again() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    for (capacity, rate) in [("1000", "0.1"), ("70001", "3e-13"), ("5", "1e-9"), ("1", "0.4")] {
        let sized = ["--capacity", capacity, "--false-positive-rate", rate];
        assert_eq!(on(&state, &sized, "a\nb\nc\nd\ne\nf\n").status, Some(0), "{sized:?}");
        assert_eq!(on(&state, &[], "f\n").stdout, "", "{sized:?}");
        assert_eq!(on(&state, &sized, "f\n").status, Some(0), "{sized:?}");
        std::fs::remove_dir_all(&state).unwrap();
    }
}

#[test]
fn a_place_where_nothing_can_be_kept_is_told_before_anything_passes() {
    for place in ["/nonexistent/state", "/proc", "/proc/state"] {
        let ran = run(["dedup", "--state", place], "a\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
    }
}

#[test]
fn a_state_in_use_is_left_to_its_run() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let mut first = start(&state, &[]);
    pass(&mut first, "1");
    let second = on(&state, &[], "2\n");
    assert_eq!((second.status, &*second.stdout), (Some(2), ""));
    let expected = format!("in use by another run, process {}", first.id());
    assert!(second.stderr.contains(&expected), "{}", second.stderr);
    let reset = on(&state, &["--reset", "--force"], "");
    assert_eq!(reset.status, Some(2));
    assert!(reset.stderr.contains(&expected), "{}", reset.stderr);
    // Looking at it is possible meanwhile.
    assert_eq!(info(&state)["judged"], 0);
    assert!(first.wait_with_output().unwrap().status.success());
    assert_eq!(info(&state)["judged"], 1);
}

#[test]
fn what_is_no_state_is_called_by_what_it_is() {
    let folder = Folder::new();
    let old = folder.path().join("old");
    let window = CuckooFilter::builder().capacity(1_000).false_positive_rate(1e-6);
    let filter = ReplayFilter::new(GenerationWindow::new(&window).unwrap());
    Artefact { filter, provenance: Provenance::default() }
        .save(&old, SaveOptions::default())
        .unwrap();
    for (path, expected) in [
        (old, "a state of an earlier release"),
        (folder.file("text", "not a state"), "a file that is no state"),
        (folder.sha1("filter", &[b"x"]), "found a filter"),
    ] {
        let before = std::fs::read(&path).unwrap();
        let ran = on(&path, &[], "a\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""));
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_state_made_otherwise_is_refused_and_both_are_named() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    assert_eq!(on(&state, &["--capacity", "1000"], "a\tb\n").status, Some(0));
    let before = std::fs::read(newest(&state)).unwrap();
    for (arguments, found, given) in [
        (&["--key-field", "2"][..], "whole lines", "field 2"),
        (&["--position", "2"], "whole lines", "dense positions in field 2"),
        (&["--capacity", "2000"], "1000", "2000"),
        (&["--false-positive-rate", "1e-9"], "1e-8", "1e-9"),
        (&["--loss-budget", "0.001", "--expected-lines", "1000000"], "1e-8", "1e-9"),
    ] {
        let ran = on(&state, arguments, "x\t1\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains(found) && ran.stderr.contains(given), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read(newest(&state)).unwrap(), before);
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_said() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    on(&state, &["--checkpoint-every", "1"], "a\nb\n");
    flip(&newest(&state));
    let verified = run(["verify", state.to_str().unwrap()], "");
    assert_eq!(verified.status, Some(2));
    assert!(verified.stderr.contains("is whole, and would be used"), "{}", verified.stderr);
    let damaged = &info(&state)["damaged_checkpoints"];
    assert_eq!(damaged.as_array().unwrap().len(), 1, "{damaged}");

    let ran = on(&state, &[], "a\nb\n");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("An older checkpoint is used"), "{}", ran.stderr);
    assert!(!ran.stdout.contains('a'), "{}", ran.stdout);
}

#[test]
fn a_state_that_is_damaged_beyond_repair_is_never_taken_for_an_empty_one() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    on(&state, &[], "a\nb\n");
    for entry in std::fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("manifest-") {
            flip(&path);
        }
    }
    let ran = on(&state, &[], "a\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""));
    assert!(ran.stderr.contains("hapax dedup --reset"), "{}", ran.stderr);
    let ran = on(&state, &["--reset"], "");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("it cannot be read"), "{}", ran.stderr);
    let ran = on(&state, &["--reset", "--force"], "");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(on(&state, &[], "a\n").stdout, "a\n");
}

#[test]
fn a_reset_says_what_it_costs_and_needs_force() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    on(&state, &[], "a\nb\n");
    let ran = on(&state, &["--reset"], "");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("remembers 2 lines") && ran.stderr.contains("--force"));
    assert_eq!(on(&state, &[], "a\n").stdout, "");
    let ran = on(&state, &["--reset", "--force"], "");
    assert!(ran.status == Some(0) && ran.stderr.contains("2 lines are forgotten"), "{ran:?}");
    assert_eq!(on(&state, &[], "a\n").stdout, "a\n");
    assert_eq!(on(&folder.path().join("none"), &["--reset", "--force"], "").status, Some(2));
    assert_eq!(folder.names(), ["state"]);
}

#[test]
fn a_checkpoint_is_made_while_input_is_waited_for() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let mut child = start(&state, &["--checkpoint-every", "50ms"]);
    pass(&mut child, "a");
    until("a checkpoint", || info(&state)["judged"] == 1);
    let checkpoint = info(&state)["checkpoint"].clone();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(info(&state)["checkpoint"], checkpoint, "one of nothing new");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(on(&state, &[], "a\nb\n").stdout, "b\n");
}

#[test]
fn a_run_that_is_stopped_covers_what_it_has_read() {
    let folder = Folder::new();
    for (signal, status) in
        [(rustix::process::Signal::TERM, 143), (rustix::process::Signal::INT, 130)]
    {
        let state = folder.path().join(format!("state {status}"));
        let mut child = start(&state, &[]);
        pass(&mut child, "a");
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, signal).unwrap();
        // The input stays open.
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!(output.status.code(), Some(status));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("read 1, passed 1, dropped 0"), "{said}");
        assert_eq!(info(&state)["judged"], 1);
        assert_eq!(on(&state, &[], "a\n").stdout, "");
    }
}

/// Only what may be a replay is tested; what was published twice passes, and is counted or diverted.
#[test]
fn only_replays_are_tested_if_so_wanted() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let arguments = ["--replays-only", "--id", "2", "--position", "1", "--positions", "monotone"];
    let ran = on(&state, &arguments, "1\ta\n2\tb\n3\ta\n");
    assert_eq!(ran.stdout, "1\ta\n2\tb\n3\ta\n", "{}", ran.stderr);
    let divert = folder.path().join("divert");
    let diverting = [&arguments[..], &["--on-suspect", "divert", "--divert"]].concat();
    let diverting = [&diverting[..], &[divert.to_str().unwrap()]].concat();
    let ran = on(&state, &diverting, "2\tb\n4\ta\n5\tc\n");
    assert_eq!(ran.stdout, "5\tc\n", "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(divert).unwrap(), "4\ta\n");

    // Without positions so many lines are tested after a restart.
    let state = folder.path().join("counted");
    let arguments = ["--replays-only", "--tested", "2"];
    assert_eq!(on(&state, &arguments, "a\na\n").stdout, "a\na\n");
    let ran = on(&state, &arguments, "a\nb\nc\na\nb\n");
    assert_eq!(ran.stdout, "b\nc\na\nb\n", "{}", ran.stderr);
}
