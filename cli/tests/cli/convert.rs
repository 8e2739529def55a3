//! `hapax gen`, `hapax convert` and `hapax diff` in pipes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{CANARY, Folder, hapax, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn what_is_made_is_built_and_verified_through_pipes() {
    let folder = Folder::new();
    let output = folder.path().join("out.hapax");
    let pipe = |args: &[&str]| {
        let mut made = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(["gen", "--rows", "50000", "--seed", "3", "-q"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let taken = Command::new(env!("CARGO_BIN_EXE_hapax"))
            .args(args)
            .stdin(made.stdout.take().unwrap())
            .output()
            .unwrap();
        assert!(made.wait().unwrap().success());
        assert_eq!(taken.status.code(), Some(0), "{}", String::from_utf8_lossy(&taken.stderr));
        String::from_utf8_lossy(&taken.stderr).into_owned()
    };
    let card = pipe(&["build", "-", "-o", text(&output), "--require-complete"]);
    assert!(card.contains("duplicate            0"), "{card}");
    let verified = pipe(&["verify", text(&output), "--against", "-"]);
    assert!(verified.contains("missed 0"), "{verified}");
    // Another seed has no row in common.
    let foreign = run(["gen", "--rows", "20000", "--seed", "4", "--as", "hashes", "-q"], "");
    let ran = run(["check", text(&output), "-i", "sha1", "-c"], foreign.stdout);
    assert!(ran.stdout.trim().parse::<u32>().unwrap() < 10, "{}", ran.stdout);
}

#[test]
fn a_reader_that_goes_away_ends_the_list_quietly() {
    let output = Command::new("bash")
        .args(["-c", r#"set -o pipefail; "$0" gen --rows 100000000 | head -1"#])
        .arg(env!("CARGO_BIN_EXE_hapax"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(output.stderr, b"");
    assert_eq!(output.stdout.len(), 40 + 2 + 1);
}

#[test]
fn a_folder_and_a_file_of_one_list_are_the_same() {
    let folder = Folder::new();
    let [file, ranges, back, compressed] =
        ["file", "ranges", "back", "list.zst"].map(|name| folder.path().join(name));
    assert_eq!(run(["gen", "--rows", "3000", "-o", text(&file), "-q"], "").status, Some(0));
    let args = ["gen", "--rows", "3000", "--as", "hibp-dir", "-o", text(&ranges), "-q"];
    assert_eq!(run(args, "").status, Some(0));
    assert_eq!(run(["diff", text(&file), text(&ranges)], "").status, Some(0));
    let ran = run(["convert", text(&ranges), "-o", text(&back)], "");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(fs::read(&back).unwrap() == fs::read(&file).unwrap());
    let args = ["convert", text(&file), "--compress", "zst", "-o", text(&compressed), "-q"];
    assert_eq!(run(args, "").status, Some(0));
    assert_eq!(run(["diff", text(&compressed), text(&ranges), "-q"], "").status, Some(0));
    // And to a pipe.
    let ran = run(["convert", text(&ranges), "-o", "-"], "");
    assert!(ran.stdout.as_bytes() == fs::read(&file).unwrap());
}

#[test]
fn differences_are_told_by_status_numbers_and_rows() {
    let folder = Folder::new();
    let hash = |digit: &str| digit.repeat(40);
    let old = folder.file("old", format!("{}:1\n{}:2\n{}:5\n", hash("1"), hash("2"), hash("5")));
    let new = folder.file("new", format!("{}:3\n{}:4\n{}:5\n", hash("2"), hash("4"), hash("5")));
    let ran = run(["diff", text(&old), text(&new), "--json"], "");
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    assert_eq!(ran.stdout, "{\"added\":1,\"removed\":1,\"count_changed\":1,\"unchanged\":1}\n");
    let ran = run(["diff", text(&old), text(&new), "--print", "removed,changed"], "");
    assert_eq!(ran.stdout, format!("-{}:1\n~{}:3 was 2\n", hash("1"), hash("2")));
    assert!(ran.stderr.contains("added 1, removed 1, count changed 1, unchanged 1"));
    let added = folder.path().join("added");
    let ran =
        run(["diff", text(&old), text(&new), "--print", "added", "-o", text(&added), "-q"], "");
    assert_eq!((ran.status, &*ran.stderr), (Some(1), ""));
    assert_eq!(fs::read_to_string(&added).unwrap(), format!("{}:4\n", hash("4")));
    let unsorted = folder.file("unsorted", format!("{}:3\n{}:4\n", hash("2"), hash("1")));
    let ran = run(["diff", text(&old), text(&unsorted)], "");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""));
    assert!(ran.stderr.contains("unsorted: row 2 at byte 43 is not sorted"), "{}", ran.stderr);
    for args in [["diff", "missing", text(&new)], ["diff", text(&old), text(folder.path())]] {
        assert_eq!(run(args, "").status, Some(2));
    }
}

/// What is sorted on disk is hashes, in files without a name; of the list itself nothing is told.
#[test]
fn a_list_of_passwords_leaves_no_trace_but_hashes() {
    let folder = Folder::new();
    let tmp = folder.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let rows: String =
        (0..200_000).fold(String::new(), |text, i| text + CANARY + &i.to_string() + "\n");
    let list = folder.file("list", &rows);
    let output = folder.path().join("out");
    let args = ["convert", text(&list), "--sort", "hash", "--memory", "1K", "--tmp", text(&tmp)];
    let ran = hapax().args(args).args(["-o", text(&output)]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let written = fs::read_to_string(&output).unwrap();
    assert_eq!(written.lines().count(), 200_000);
    assert!(written.lines().is_sorted() && !written.contains(CANARY));
    assert!(!String::from_utf8_lossy(&ran.stderr).contains(CANARY));
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
    let bad = folder.file("bad", format!("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8\n{CANARY}\n"));
    let ran = run(["convert", text(&bad), "--format", "hashes", "-o", text(&tmp.join("x"))], "");
    assert_eq!(ran.status, Some(2));
    assert!(!ran.stderr.contains(CANARY) && ran.stderr.contains("row 2"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
}
