//! `hapax build` and `hapax verify`, from a list to a filter and back.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use crate::common::{CANARY, Folder, Ran, numbered, run};

fn text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[track_caller]
fn assert_ran(ran: &Ran, status: i32) {
    assert_eq!((ran.status, &*ran.stdout), (Some(status), ""), "{}", ran.stderr);
    assert!(!ran.stderr.contains(CANARY), "{}", ran.stderr);
}

#[test]
fn what_is_built_is_verified_described_and_found() {
    let folder = Folder::new();
    let list = folder.file("list.txt", format!("alpha\r\nbeta\r\n\r\nalpha\r\n{CANARY}"));
    let other = folder.file("other.txt", format!("alpha\nomega {CANARY}\n"));
    let output = folder.path().join("out.hapax");
    for kind in ["fuse", "bloom", "blocked", "counting", "cuckoo"] {
        let args = ["build", text(&list), "-f", "--kind", kind, "-o", text(&output), "--name", "n"];
        let ran = run(args, "");
        assert_ran(&ran, 0);
        assert!(ran.stderr.contains("added                3\n"), "{}", ran.stderr);

        let ran = run(["verify", text(&output), "--against", text(&list)], "");
        assert_ran(&ran, 0);
        assert!(ran.stderr.contains("checked 4, missed 0, skipped 1"), "{}", ran.stderr);
        let ran = run(["verify", text(&output), "--against", text(&other), "-q"], "");
        assert_ran(&ran, 1);
        assert!(ran.stderr.contains("other.txt: row 2 at byte 6"), "{}", ran.stderr);

        let ran = run(["check", text(&output), "-i", "plain", "-c"], fs::read(&list).unwrap());
        assert_eq!((ran.status, &*ran.stdout), (Some(0), "4\n"), "{}", ran.stderr);

        let ran = run(["info", text(&output), "--json"], "");
        let info: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((&info["kind"], &info["rows_added"]), (&kind.into(), &3.into()));
        assert!(info["promised_false_positive_rate"].as_f64().unwrap() <= 2f64.powi(-16));

        let bytes = fs::read(&output).unwrap();
        assert!(!bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()));
    }
    assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
}

#[test]
fn lists_come_from_standard_input_too_and_under_the_other_names() {
    let folder = Folder::new();
    let output = folder.path().join("out.hapax");
    assert_ran(&run(["create", "-", "-o", text(&output), "-q"], "alpha\n"), 0);
    assert_ran(&run(["verify", text(&output), "--against", "-"], "alpha\n"), 0);
    let ran = run(["query", text(&output), "-i", "plain"], "alpha\n");
    assert_eq!(ran.status, Some(0));
    assert_eq!(run(["show", text(&output)], "").status, Some(0));
}

#[test]
fn a_build_that_fails_writes_nothing_and_leaves_what_was_there() {
    let folder = Folder::new();
    let hash = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
    let good = folder.file("good.txt", "alpha\n");
    let bad = folder.file("bad.txt", format!("{hash}:3\n{CANARY}\n"));
    let empty = folder.file("empty.txt", "");
    let output = folder.path().join("out.hapax");
    let names = folder.names().len();
    for (list, args) in [
        (text(&bad), &[][..]),
        (text(&bad), &["--format", "hashes"]),
        (text(&empty), &[]),
        (text(folder.path()), &[]),
        ("no-such-list.txt", &[]),
        (text(&good), &["--min-count", "2"]),
        (text(&good), &["--bytes", "64T"]),
        (text(&good), &["--false-positive-rate", "1e-300"]),
    ] {
        let ran = run(["build", list, "-o", text(&output)].iter().chain(args), "");
        assert_ran(&ran, 2);
        assert!(ran.stderr.starts_with("hapax: "), "{}", ran.stderr);
        assert_eq!(folder.names().len(), names, "{list} {args:?}");
    }
    fs::write(&output, "old").unwrap();
    assert_ran(&run(["build", text(&good), "-o", text(&output)], ""), 2);
    assert_ran(&run(["build", text(&bad), "-f", "-o", text(&output)], ""), 2);
    assert_ran(&run(["build", text(&good), "-f", "-o", text(&good)], ""), 2);
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(fs::read(&good).unwrap(), b"alpha\n");
}

/// A hundredth of all good passwords refused: no policy survives its users.
#[test]
fn a_rate_above_one_in_a_hundred_is_refused_unless_forced() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(1_000));
    let output = folder.path().join("out.hapax");
    // 8 bits a key give 2.1 %, 16 give 0.05 %.
    for (args, told) in [
        (&["--false-positive-rate", "0.02"][..], "rate of 2.000 % is above the limit of 1 %"),
        (&["--false-positive-rate", "0.02", "--kind", "bloom"], "rate of 2.000 % is above"),
        (&["--bytes", "1000", "--kind", "bloom"], "% follows from --bytes 1000, and is above"),
    ] {
        let ran = run(["build", text(&list), "-o", text(&output)].iter().chain(args), "");
        assert_ran(&ran, 2);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert!(ran.stderr.contains("100th good password"), "{}", ran.stderr);
        assert_eq!(folder.names(), ["list.txt"], "{args:?}");
        let ran = run(["build", "-f", text(&list), "-o", text(&output)].iter().chain(args), "");
        assert_ran(&ran, 0);
        fs::remove_file(&output).unwrap();
    }
    for args in [&["--false-positive-rate", "1/100"][..], &["--bytes", "2000", "--kind", "bloom"]] {
        let ran = run(["build", text(&list), "-o", text(&output)].iter().chain(args), "");
        assert_ran(&ran, 0);
        fs::remove_file(&output).unwrap();
    }
}

#[test]
fn a_damaged_filter_is_no_good_filter() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    assert_ran(&run(["verify", text(&filter)], ""), 0);
    let mut bytes = fs::read(&filter).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let damaged = folder.file("damaged.hapax", bytes);
    for path in [text(&damaged), text(folder.path()), "missing.hapax"] {
        assert_ran(&run(["verify", path], ""), 2);
        assert_ran(&run(["verify", path, "--against", "-"], "alpha\n"), 2);
    }
}

/// A full disk, by way of the limit on the size of files: the old filter stays.
#[test]
fn a_build_without_room_leaves_the_old_filter() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(20_000));
    let output = folder.file("out.hapax", "old");
    // 8 blocks of 512 or 1024 bytes; the filter takes 58,000. The tool handles the signal of the
    // limit, so that writing fails as it does on a full disk.
    let script = r#"ulimit -f 8; exec "$0" build "$1" -f -o "$2""#;
    let output_of_run = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_hapax"), text(&list), text(&output)])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output_of_run.stderr);
    assert_eq!(output_of_run.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("File too large"), "{stderr}");
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
}

/// Stopped at some moment, by a signal that can be handled or by one that cannot: the file is the
/// old one or the whole new one, and after a signal that can be handled nothing else is left.
#[test]
fn a_build_that_is_stopped_leaves_a_whole_file() {
    use rustix::process::{Pid, Signal, kill_process};

    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(300_000));
    let old = folder.sha1("old.hapax", &[b"alpha"]);
    let old = fs::read(old).unwrap();
    let output = folder.file("out.hapax", &old);
    let mut stopped = 0;
    for round in 0..30u64 {
        let signal = [Signal::INT, Signal::TERM, Signal::KILL][round as usize % 3];
        let mut child = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(["build", text(&list), "-q", "-f", "-o", text(&output)])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(4 * round));
        // It may be done already.
        let _ = kill_process(Pid::from_child(&child), signal);
        let status = child.wait().unwrap();
        stopped += u32::from(!status.success());
        assert_ran(&run(["verify", text(&output), "-q"], ""), 0);
        let unfinished: Vec<_> =
            folder.names().into_iter().filter(|name| name.starts_with(".hapax-")).collect();
        if signal == Signal::KILL {
            for name in unfinished {
                fs::remove_file(folder.path().join(name)).unwrap();
            }
        } else {
            assert!(unfinished.is_empty(), "{signal:?} {unfinished:?}");
        }
    }
    assert!(stopped > 0, "no run was stopped before its end");
}

/// Rows of hashes, sorted, as many as asked for.
fn sorted_rows(rows: u64) -> String {
    let step = u64::MAX / rows;
    let mut text = String::new();
    for i in 0..rows {
        let _ = writeln!(text, "{:016X}{:024}", i * step, 0);
    }
    text
}

/// The order of rows is seen, and where it misleads it does not matter: for a file, nobody notices;
/// for a pipe, which cannot be read again, an option is named.
#[test]
fn any_order_of_rows_gives_the_same_filter() {
    // More than one shard, so that parts are built and gone before the order breaks.
    let rows = sorted_rows(1_100_000);
    let mut lines: Vec<&str> = rows.lines().collect();
    let folder = Folder::new();
    let built = |name: &str, args: &[&str], stdin: &str| {
        let output = folder.path().join(name);
        let ran = run([&["build", "-o", text(&output), "--memory", "64M"], args].concat(), stdin);
        (ran, fs::read(&output).ok())
    };
    // What the file was told of its list is part of it: the rows are as many in each.
    let sorted = folder.file("sorted.txt", &rows);
    let (ran, expected) = built("sorted.hapax", &[text(&sorted)], "");
    assert_ran(&ran, 0);
    assert!(expected.is_some());

    lines.rotate_left(1);
    let rotated = lines.join("\n") + "\n";
    lines.reverse();
    let reversed = folder.file("reversed.txt", lines.join("\n"));
    let at_the_end = folder.file("rotated.txt", &rotated);
    for (name, list) in [("reversed.hapax", &reversed), ("rotated.hapax", &at_the_end)] {
        let (ran, found) = built(name, &[text(list), "--threads", "1"], "");
        assert_ran(&ran, 0);
        assert!(found == expected, "{name}");
    }
    let (ran, found) = built("pipe.hapax", &["-"], &rotated);
    assert_ran(&ran, 2);
    assert!(ran.stderr.contains("--unsorted") && found.is_none(), "{}", ran.stderr);
    let (ran, found) = built("pipe.hapax", &["-", "--unsorted"], &rotated);
    assert_ran(&ran, 0);
    assert!(found == expected, "from a pipe");
    // Three lists and four filters, and nothing else.
    assert_eq!(folder.names().len(), 7, "{:?}", folder.names());
}

/// A filter of passwords is for its owner, also if they come after hashes.
#[cfg(unix)]
#[test]
fn a_streamed_filter_of_passwords_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let hashes = folder.file("hashes.txt", sorted_rows(100));
    let plain = folder.file("plain.txt", "alpha\nbeta\n");
    let output = folder.path().join("out.hapax");
    let mode = || fs::metadata(&output).unwrap().permissions().mode() & 0o777;
    let build = |lists: &[&str]| {
        assert_ran(&run([&["build", "-f", "-o", text(&output)], lists].concat(), ""), 0);
    };
    build(&[text(&hashes)]);
    assert_eq!(mode() & 0o400, 0o400);
    let open = mode();
    fs::remove_file(&output).unwrap();
    build(&[text(&hashes), text(&plain)]);
    assert_eq!(mode(), 0o600, "and {open:o} for hashes alone");
}

/// Hashes so far down a list of passwords that its format was told before they came, and files of a
/// folder that are no ranges: both are said, by build and by verify, with -q or without.
#[test]
fn what_may_have_been_read_wrongly_is_said() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(20_000) + &"ab".repeat(20) + "\n");
    fs::create_dir(folder.path().join("ranges")).unwrap();
    let ranges = folder.path().join("ranges");
    fs::write(ranges.join("00000.txt"), format!("{}:1\n", "A".repeat(35))).unwrap();
    fs::write(ranges.join("extra.txt"), format!("{}:1\n", "B".repeat(40))).unwrap();
    let output = folder.path().join("out.hapax");
    for (input, note) in [
        (text(&list), "1 rows were read as passwords and look like hashes"),
        (text(&ranges), "1 files of the folder are not named like a range"),
    ] {
        for quiet in [None, Some("-q")] {
            let args = ["build", "-f", input, "-o", text(&output)].into_iter().chain(quiet);
            let ran = run(args, "");
            assert_ran(&ran, 0);
            assert!(ran.stderr.contains(note), "{}", ran.stderr);
        }
        let ran = run(["verify", text(&output), "--against", input], "");
        assert_ran(&ran, 0);
        assert!(ran.stderr.contains(note), "{}", ran.stderr);
    }
}

/// A flipped bit in a filter too large to be read at every start is found if it is asked for.
#[test]
fn check_verifies_a_large_filter_when_asked_to() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(50));
    let output = folder.path().join("out.hapax");
    let args = ["build", text(&list), "-o", text(&output), "--kind", "bloom", "--bytes", "17M"];
    assert_ran(&run(args, ""), 0);
    let whole = fs::read(&output).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    for (bytes, verify, status) in
        [(&whole, true, 0), (&whole, false, 0), (&damaged, true, 2), (&damaged, false, 0)]
    {
        fs::write(&output, bytes).unwrap();
        let args = ["check", text(&output), "-i", "plain", "-c"].into_iter();
        let ran = run(args.chain(verify.then_some("--verify")), "7\n");
        assert_eq!(ran.status, Some(status), "{}", ran.stderr);
    }
}
