//! Runs that are killed: what is lost, and what comes out twice.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hapax::replay::state::LocalDirectory;
use hapax::replay::{Accounts, StateReport};

use crate::common::Folder;

fn counts(state: &Path) -> Accounts {
    StateReport::read(&LocalDirectory::read_only(state).unwrap()).unwrap().counts
}

/// A generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % below
    }
}

/// A log of a million lines with repeats of its own; killed at irregular points, and started again
/// on what the last checkpoint does not cover and some of what it does.
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
    let (mut covered, mut kills, mut random) = (0usize, 0u64, Random(12_345));
    loop {
        let start = covered - (random.below(30_000) as usize).min(covered);
        let kill_after = 5_000 + random.below(120_000);
        let judged = if state.exists() { counts(&state).judged } else { 0 };
        let finished = feed(&log[start..], &state, INTERVAL, kill_after, &mut printed);
        covered = start + (counts(&state).judged - judged) as usize;
        if finished {
            break;
        }
        kills += 1;
    }
    assert_eq!(covered, LINES);
    assert!(kills >= 8, "only {kills} kills");

    let distinct: HashSet<&str> = log.iter().map(String::as_str).collect();
    assert!(printed.keys().all(|line| distinct.contains(line.as_str())), "a line was invented");
    let counts = counts(&state);
    let lost = (distinct.len() - printed.len()) as u64;
    assert_eq!(counts.first + lost, distinct.len() as u64);
    // The number lost is about Poisson with the estimate as its mean.
    let bound = 4.0 * counts.estimated_lost.sqrt();
    assert!(counts.estimated_lost > 50.0, "nothing to measure: {counts:?}");
    assert!((lost as f64 - counts.estimated_lost).abs() <= bound, "{lost} lost, {counts:?}");
    let twice = printed.values().map(|&times| u64::from(times) - 1).sum::<u64>();
    assert!(twice <= kills * INTERVAL, "{twice} lines came again after {kills} kills");
    assert!(twice > 0, "no kill hit between a print and a checkpoint");
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

/// What 30 kills at random moments leave of a log that is read from its beginning each time, the
/// output appended.
struct Killed {
    out: String,
    /// Kills after which there was more output.
    useful: u64,
}

const KILLS: u64 = 30;
const INTERVAL: u64 = 30_000;
const LINES: u64 = 600_000;

fn line(i: u64) -> String {
    // Each tenth line repeats an earlier one.
    format!("{i:07}\torder {:07}\n", if i % 10 == 9 { i - 5 } else { i })
}

/// The lines without the repeats.
fn distinct() -> String {
    (0..LINES).filter(|i| i % 10 != 9).map(line).collect()
}

fn killed(seed: u64, arguments: &[&str], catch_up: bool) -> Killed {
    let folder = Folder::new();
    let input = folder.file("input", (0..LINES).map(line).collect::<String>());
    let (state, out) = (folder.path().join("state"), folder.file("out", ""));
    let mut random = Random(seed);
    let (mut kills, mut useful) = (0, 0);
    loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
        command
            .args(["dedup", "--false-positive-rate", "1e-13"])
            .args(["--checkpoint-every", &INTERVAL.to_string(), "--state"])
            .arg(&state)
            .args(arguments)
            .stdin(File::open(&input).unwrap())
            .stdout(File::options().append(true).open(&out).unwrap())
            .stderr(Stdio::piped());
        if catch_up {
            command.arg("--catch-up").arg(&out);
        }
        let before = out.metadata().unwrap().len();
        let mut child = command.spawn().unwrap();
        if kills < KILLS {
            // At any moment: while it starts, while it reads what it knows, or after so much output.
            let grown = random.below(1_500_000);
            let mut patience = random.below(400);
            while patience > 0
                && out.metadata().unwrap().len() < before + grown
                && child.try_wait().unwrap().is_none()
            {
                patience -= 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        useful += u64::from(out.metadata().unwrap().len() > before);
        if output.status.success() {
            assert!(kills > 0, "not one kill");
            break;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), None, "a restart was refused: {said}");
        kills += 1;
    }
    let out = std::fs::read(&out).unwrap();
    Killed { out: String::from_utf8(out).unwrap(), useful }
}

#[test]
fn thirty_kills_repeat_at_most_an_interval_each_and_lose_nothing() {
    let Killed { out, useful } = killed(1, &["--id", "2"], false);
    let expected = distinct();
    let known: HashSet<&str> = expected.lines().collect();
    let mut times: HashMap<&str, u64> = HashMap::new();
    let mut torn = 0;
    for line in out.lines() {
        if known.contains(line) {
            *times.entry(line).or_default() += 1;
        } else {
            torn += 1;
        }
    }
    assert_eq!(times.len(), known.len(), "lines were lost");
    let twice: u64 = times.values().map(|times| times - 1).sum();
    assert!(twice <= KILLS * INTERVAL && torn <= KILLS, "{twice} twice, {torn} torn");
    println!("{useful} useful kills, {twice} twice, {torn} torn");
}

/// With and without positions, and where the filter is asked only about what may be a replay.
#[test]
fn thirty_kills_and_the_end_of_the_output_make_each_line_come_out_once() {
    let all = (0..LINES).map(line).collect::<String>();
    for (seed, arguments, expected) in [
        (2, &["--id", "2"][..], distinct()),
        (3, &["--id", "2", "--position", "1"], distinct()),
        // What was published twice passes.
        (4, &["--id", "1", "--position", "1", "--replays-only"], all),
    ] {
        let Killed { out, useful } = killed(seed, arguments, true);
        assert!(out == expected, "{arguments:?}");
        println!("{useful} useful kills, {arguments:?}");
    }
}
