//! `hapax dedup`: what passes, what is refused, and what a crash costs.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use hapax::CuckooFilter;
use hapax::codec::Artefact;
use hapax::replay::{Counts, GenerationWindow, ReplayFilter};

use crate::common::{Folder, run};

type State = ReplayFilter<GenerationWindow<CuckooFilter>>;

fn counts(state: &Path) -> Counts {
    Artefact::<State>::load(state).unwrap().filter.counts()
}

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

#[test]
fn a_field_can_be_the_key_and_must_be_there() {
    let ran = run(["dedup", "-q", "-k", "2", "-d", ","], "1,x,a\n2,x,b\n3,y,c\n4,,d\n5,,e\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "1,x,a\n3,y,c\n4,,d\n"));
    // What came before the line without a key is out; nothing after it is judged.
    let ran = run(["dedup", "-q", "-k", "2"], "1\tx\nsecret\n2\ty\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), "1\tx\n"));
    assert!(ran.stderr.contains("line 2: expected at least 2 fields, found 1"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    for arguments in [["-k", "0"], ["-d", "ab"], ["-d", ""], ["-d", "\n"]] {
        let ran = run(["dedup"].into_iter().chain(arguments), "a\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
fn the_state_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let state = state.to_str().unwrap();
    let ran = run(["dedup", "--state", state], "a\nb\n");
    assert!(ran.stderr.contains("starts empty"), "{}", ran.stderr);
    let ran = run(["dedup", "--state", state], "b\nc\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "c\n"));
    assert!(ran.stderr.contains("since the state was made: read 4, passed 3, dropped 1"));
    let info = run(["info", "--json", state], "");
    assert!(info.stdout.contains(r#""judged":4,"passed":3,"dropped":1"#), "{}", info.stdout);
    assert_eq!(folder.names(), ["state"], "a temporary file was left");
}

#[test]
fn a_state_that_cannot_be_kept_is_told_before_anything_passes() {
    let ran = run(["dedup", "--state", "/nonexistent/state"], "a\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
}

/// Two runs on one state would each forget what the other has seen.
#[test]
fn a_state_that_another_run_replaced_is_left_to_it() {
    let folder = Folder::new();
    let path = folder.path().join("state");
    let mut first = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "--state", path.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = first.stdin.take().unwrap();
    stdin.write_all(b"1\n").unwrap();
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "1\n");
    // The first is in the middle of its work.
    let second = run(["dedup", "-q", "--state", path.to_str().unwrap()], "2\n");
    assert_eq!(second.status, Some(0));
    let kept = std::fs::read(&path).unwrap();
    drop(stdin);
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another run"), "{output:?}");
    assert_eq!(std::fs::read(&path).unwrap(), kept);
}

/// A producer that dies in mid-line: its key may be whole and the rest missing.
#[test]
fn a_last_line_without_its_end_is_not_remembered() {
    let folder = Folder::new();
    let path = folder.path().join("state");
    let arguments = ["dedup", "-k", "1", "--state", path.to_str().unwrap()];
    let ran = run(arguments, "1\ta\n2\thalf a li");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), "1\ta\n"));
    assert!(ran.stderr.contains("line 2: the last line has no line end"), "{}", ran.stderr);
    let ran = run(arguments, "1\ta\n2\thalf a line\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "2\thalf a line\n"));
}

/// What a killed run left of a line must not swallow the next one.
#[test]
fn output_is_never_glued_to_a_torn_line() {
    let folder = Folder::new();
    let output = folder.file("out", "a whole line\nhalf a l");
    let append = std::fs::File::options().append(true).open(&output).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "-q", "--state"])
        .arg(folder.path().join("state"))
        .stdin(Stdio::piped())
        .stdout(append)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"half a line\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(output).unwrap(), "a whole line\nhalf a l\nhalf a line\n");
}

#[test]
fn a_state_made_otherwise_is_refused_and_both_are_named() {
    let folder = Folder::new();
    let path = folder.path().join("state");
    let state = path.to_str().unwrap();
    assert_eq!(run(["dedup", "--state", state, "--capacity", "1000"], "a\tb\n").status, Some(0));
    let before = std::fs::read(&path).unwrap();
    for (arguments, expected) in [
        (&["--key-field", "2"][..], "whole lines"),
        (&["--capacity", "2000"], "1000"),
        (&["--false-positive-rate", "0.1"], "bits"),
    ] {
        let ran = run(["dedup", "--state", state].iter().chain(arguments), "x\ty\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_state_that_cannot_be_read_is_never_taken_for_an_empty_one() {
    let folder = Folder::new();
    let good = folder.path().join("good");
    assert_eq!(run(["dedup", "-q", "--state", good.to_str().unwrap()], "a\n").status, Some(0));
    let bytes = std::fs::read(&good).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for (name, content) in [
        ("empty", &[][..]),
        ("truncated", &bytes[..bytes.len() - 1]),
        ("flipped", &flipped),
        ("text", b"not a state"),
    ] {
        let path = folder.file(name, content);
        let ran = run(["dedup", "--state", path.to_str().unwrap()], "a\nb\n");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{name}");
        assert_eq!(std::fs::read(&path).unwrap(), content, "{name} was replaced");
    }
    let filter = folder.sha1("filter", &[b"x"]);
    assert_eq!(run(["dedup", "--state", filter.to_str().unwrap()], "a\n").status, Some(2));
    assert_eq!(run(["dedup", "--state", folder.path().to_str().unwrap()], "a\n").status, Some(2));
    assert_eq!(run(["dedup", "--state", "/nonexistent/state"], "").status, Some(2));
}

#[test]
fn output_that_fails_leaves_the_old_state() {
    let folder = Folder::new();
    let path = folder.path().join("state");
    let state = path.to_str().unwrap();
    assert_eq!(run(["dedup", "-q", "--state", state], "a\n").status, Some(0));
    let before = std::fs::read(&path).unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "--state", state])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"b\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(
        std::fs::read(&path).unwrap(),
        before,
        "the state covers a line that was not printed"
    );
}

/// A log of a million lines with repeats of its own; killed at irregular points, and started again
/// on what the last saved state does not cover and some of what it does.
#[test]
fn killed_runs_lose_only_false_positives_and_repeat_at_most_an_interval_each() {
    const LINES: usize = 1_000_000;
    const INTERVAL: u64 = 20_000;
    let log: Vec<String> = (0..LINES)
        .map(|i| if i % 10 == 9 { i - 5 } else { i })
        .map(|id| format!("order {id:07}"))
        .collect();
    let folder = Folder::new();
    let state = folder.path().join("state");

    let mut printed: HashMap<String, u32> = HashMap::new();
    let (mut covered, mut kills, mut random) = (0usize, 0u64, 12_345u64);
    let mut next_random = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    loop {
        let start = covered - (next_random(30_000) as usize).min(covered);
        let kill_after = 5_000 + next_random(120_000);
        let judged = if state.exists() { counts(&state).judged() } else { 0 };
        let finished = feed(&log[start..], &state, INTERVAL, kill_after, &mut printed);
        covered =
            if state.exists() { start + (counts(&state).judged() - judged) as usize } else { 0 };
        if finished {
            break;
        }
        kills += 1;
    }
    assert_eq!(covered, LINES);
    assert!(kills >= 8, "only {kills} kills");

    let distinct: std::collections::HashSet<&str> = log.iter().map(String::as_str).collect();
    assert!(printed.keys().all(|line| distinct.contains(line.as_str())), "a line was invented");
    let counts = counts(&state);
    let lost = (distinct.len() - printed.len()) as u64;
    assert_eq!(counts.passed + lost, distinct.len() as u64);
    // The number lost is about Poisson with the estimate as its mean.
    let bound = 4.0 * counts.estimated_lost.sqrt();
    assert!(counts.estimated_lost > 50.0, "nothing to measure: {counts:?}");
    assert!((lost as f64 - counts.estimated_lost).abs() <= bound, "{lost} lost, {counts:?}");
    let twice = printed.values().map(|&times| u64::from(times) - 1).sum::<u64>();
    assert!(twice <= kills * INTERVAL, "{twice} lines came again after {kills} kills");
    assert!(twice > 0, "no kill hit between a print and a save");
    println!("{kills} kills, {twice} lines twice, {lost} lost, {counts:?}");
}

/// Runs the tool on lines, kills it once so many came out, and collects whole lines. True if it
/// came to its end first.
fn feed(
    lines: &[String],
    state: &Path,
    interval: u64,
    kill_after: u64,
    printed: &mut HashMap<String, u32>,
) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "-q", "--capacity", "1000000", "--false-positive-rate", "0.001"])
        .args(["--checkpoint-every", &interval.to_string(), "--state"])
        .arg(state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for chunk in lines.chunks(1_000) {
                let text = chunk.join("\n") + "\n";
                // The other end may have been killed.
                if stdin.write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
        });
        let mut came = 0;
        let mut line = String::new();
        loop {
            line.clear();
            stdout.read_line(&mut line).unwrap();
            // A line without its end was cut by the kill, and was not delivered.
            let Some(whole) = line.strip_suffix('\n') else { break };
            *printed.entry(whole.to_owned()).or_default() += 1;
            came += 1;
            if came == kill_after {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap().success()
    })
}

#[test]
fn a_state_that_does_not_fit_on_the_disk_leaves_the_old_one() {
    let folder = Folder::new();
    let path = folder.path().join("state");
    let state = path.to_str().unwrap();
    assert_eq!(run(["dedup", "-q", "--state", state], "a\n").status, Some(0));
    let before = std::fs::read(&path).unwrap();
    // A limit of 64 blocks on every file it writes; the state is megabytes.
    let ran = Command::new("sh")
        .args(["-c", "ulimit -f 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hapax")])
        .args(["dedup", "--state", state])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert!(!ran.stderr.is_empty());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(folder.names(), ["state"], "a temporary file was left");
}
