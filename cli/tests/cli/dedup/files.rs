//! The files around a run: its output, the end of it, what upstream is told and tells.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, Ran, numbered, run};

/// Runs on a state, its output appended to a file.
fn append(state: &Path, out: &Path, arguments: &[&str], input: &str) -> Ran {
    let input_file = state.with_extension("input");
    std::fs::write(&input_file, input).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "--state"])
        .arg(state)
        .args(arguments)
        .stdin(File::open(input_file).unwrap())
        .stdout(File::options().append(true).create(true).open(out).unwrap())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    Ran {
        status: output.status.code(),
        stdout: std::fs::read_to_string(out).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A producer that dies in mid-line: its id may be whole and the rest missing.
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
    let out = folder.file("out", "a whole line\nhalf a l");
    let ran = append(&folder.path().join("state"), &out, &[], "half a line\n");
    assert_eq!(ran.stdout, "a whole line\nhalf a l\nhalf a line\n");
    assert!(ran.stderr.contains("it was ended"), "{}", ran.stderr);
}

#[test]
fn output_that_fails_leaves_its_lines_out_of_the_state() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let path = state.to_str().unwrap();
    assert_eq!(run(["dedup", "-q", "--state", path], "a\n").status, Some(0));
    let ran = append(&state, Path::new("/dev/null"), &[], "");
    assert_eq!(ran.status, Some(0));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let input = File::open(folder.file("input", "b\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "--state", path])
        .stdin(input)
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(run(["dedup", "-q", "--state", path], "a\nb\n").stdout, "b\n");
}

#[test]
fn a_state_that_does_not_fit_on_the_disk_leaves_the_old_one() {
    let folder = Folder::new();
    let state = folder.path().join("state");
    let path = state.to_str().unwrap();
    assert_eq!(run(["dedup", "-q", "--state", path], "a\n").status, Some(0));
    let input = folder.file("input", numbered(100_000));
    // A limit of 64 blocks on every file that it writes; the new lines take 800 kB.
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hapax")])
        .args(["dedup", "--state", path])
        .stdin(File::open(&input).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(path), "{said}");
    let left = std::fs::read_dir(&state).unwrap();
    let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!left.any(|name| name.contains("tmp")), "a temporary file was left");
    assert_eq!(run(["dedup", "-q", "--state", path], "a\n1\n").stdout, "1\n");
}

#[test]
fn the_end_of_the_output_is_caught_up_with() {
    let folder = Folder::new();
    let (state, out) = (folder.path().join("state"), folder.path().join("out"));
    let catch_up = ["--id", "1", "--catch-up", out.to_str().unwrap()];
    assert_eq!(append(&state, &out, &catch_up, "1\ta\n2\tb\n").stdout, "1\ta\n2\tb\n");
    // What a killed run would leave: lines that no checkpoint covers, the last one cut in its id.
    std::fs::write(&out, "1\ta\n2\tb\n3\tc\n42").unwrap();
    let ran = append(&state, &out, &catch_up, "1\ta\n2\tb\n3\tc\n42\td\n423\te\n");
    assert_eq!(ran.stdout, "1\ta\n2\tb\n3\tc\n42\td\n423\te\n", "{}", ran.stderr);
    assert!(ran.stderr.contains("1 caught up"), "{}", ran.stderr);
    assert!(ran.stderr.contains("that line was taken out"), "{}", ran.stderr);

    // Not the output of the checkpoint.
    let other = folder.file("other", "1\ta\n");
    let ran = append(&state, &out, &["--id", "1", "--catch-up", other.to_str().unwrap()], "");
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("expected at least the 23 bytes"), "{}", ran.stderr);

    // A new state takes all of it.
    let new = folder.path().join("new");
    let ran = append(&new, &out, &catch_up, "42\td\n5\tf\n");
    assert!(ran.stdout.ends_with("423\te\n5\tf\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("5 caught up"), "{}", ran.stderr);
}

/// A second crash comes before the lines of the first one's tail have come again, and nothing but the
/// filter knows them.
#[test]
fn a_caught_up_line_is_remembered_beyond_a_second_crash() {
    for mode in [&["--replays-only"][..], &[]] {
        let folder = Folder::new();
        let (state, out) = (folder.path().join("state"), folder.path().join("out"));
        let columns = ["--id", "2", "--position", "1", "--catch-up", out.to_str().unwrap()];
        let arguments = [&columns[..], mode].concat();
        append(&state, &out, &arguments, "1\ta\n2\tb\n");
        std::fs::write(&out, "1\ta\n2\tb\n3\tc\n4\td\n").unwrap();
        for _ in 0..2 {
            append(&state, &out, &arguments, "");
        }
        let ran = append(&state, &out, &arguments, "1\ta\n2\tb\n3\tc\n4\td\n5\te\n");
        assert_eq!(ran.stdout, "1\ta\n2\tb\n3\tc\n4\td\n5\te\n", "{mode:?}: {}", ran.stderr);
    }
}

#[test]
fn upstream_is_told_what_is_covered() {
    let folder = Folder::new();
    let ack = folder.path().join("ack");
    let acks = || std::fs::read_to_string(&ack).unwrap();
    let on = |state: &str, arguments: &[&str], input: &str| {
        let state = folder.path().join(state);
        let with =
            ["dedup", "--ack-file", ack.to_str().unwrap(), "--state", state.to_str().unwrap()];
        run(with.iter().chain(arguments), input)
    };
    // Lines of the input; repeats count.
    on("lines", &[], "a\nb\na\n");
    assert_eq!(acks(), "3\n");
    let ran = on("lines", &["--first", "4"], "c\na\n");
    assert_eq!((&*ran.stdout, &*acks()), ("c\n", "5\n"));
    let ran = on("lines", &[], "a\nb\na\nc\na\nd\n");
    assert_eq!((&*ran.stdout, &*acks()), ("d\n", "6\n"));

    // Dense positions: up to the first one that did not come.
    let dense = ["--id", "2", "--position", "1"];
    on("dense", &dense, "7\ta\n8\ta\n10\tb\n");
    assert_eq!(acks(), "8\n", "10 must not be named before 9 has come");
    on("dense", &dense, "9\tc\n");
    assert_eq!(acks(), "10\n");
    on("dense-from-1", &[&dense[..], &["--first", "1"]].concat(), "2\ta\n1\tb\n4\tc\n");
    assert_eq!(acks(), "2\n");
    on("monotone", &[&dense[..], &["--positions", "monotone"]].concat(), "7\ta\n10\tb\n");
    assert_eq!(acks(), "10\n");

    // Channels that are silent are named, too.
    let channels = ["--id", "3", "--position", "2", "--channel", "1"];
    on("channels", &channels, "5\t1\ta\n0\t9\tb\n");
    assert_eq!(acks(), "0\t9\n5\t1\n");
    on("channels", &channels, "5\t2\tc\n");
    assert_eq!(acks(), "0\t9\n5\t2\n");
}

/// The window is full, and nothing is forgotten until upstream has truncated: the run waits for it.
#[test]
fn a_full_window_waits_for_the_truncation() {
    let folder = Folder::new();
    let (state, ack) = (folder.path().join("state"), folder.path().join("ack"));
    let truncated = folder.path().join("truncated");
    let mut input = String::new();
    for i in 1..=20_000 {
        writeln!(input, "{i}\tid {i}").unwrap();
    }
    let input = folder.file("input", &input);
    let out = folder.path().join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["dedup", "-q", "--id", "2", "--position", "1", "--capacity", "2000"])
        .args(["--retire", "truncated", "--truncated"])
        .arg(&truncated)
        .arg("--ack-file")
        .arg(&ack)
        .arg("--state")
        .arg(&state)
        .stdin(File::open(&input).unwrap())
        .stdout(File::create(&out).unwrap())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    let waits = std::fs::read_to_string(&out).unwrap().lines().count();
    assert!((2_000..3_500).contains(&waits), "{waits} lines");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begin.elapsed() < Duration::from_mins(1), "it waits for ever");
        // Upstream truncates what it is told, and says so.
        if let Ok(told) = std::fs::read(&ack) {
            let draft = folder.file("draft", told);
            std::fs::rename(draft, &truncated).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success());
    assert!(std::fs::read(&out).unwrap() == std::fs::read(&input).unwrap());
    assert_eq!(std::fs::read_to_string(&ack).unwrap(), "20000\n");
}
