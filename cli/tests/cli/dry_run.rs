//! `hapax build --dry-run`: it tells what the build would come to, and touches nothing.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::{Folder, Ran, numbered, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn dry_run(args: &[&str], output: &Path, stdin: &str) -> Ran {
    run(["build", "--dry-run", "-o", text(output)].iter().chain(args), stdin)
}

/// The number after a label.
fn number(ran: &Ran, label: &str) -> f64 {
    let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    let words =
        line.split_whitespace().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    words.map(|word| word.replace(',', "").parse().unwrap()).next().unwrap()
}

#[test]
fn a_dry_run_touches_nothing() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(1_000));
    let output = folder.file("out.hapax", "old");
    // What a killed build left, which the next build removes.
    let stale = folder.file(".hapax-abcdef.tmp", "stale");
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    File::options().write(true).open(&stale).unwrap().set_modified(hour_ago).unwrap();
    let mut names = folder.names();
    names.sort();
    for args in [&["-f"][..], &["-f", "-q"], &["-f", "--kind", "bloom"], &["-f", "--top", "9"], &[]]
    {
        let ran = dry_run(&[&[text(&list)], args].concat(), &output, "");
        assert_eq!(ran.status, Some(if args.is_empty() { 2 } else { 0 }), "{}", ran.stderr);
        assert_eq!(ran.stdout.is_empty(), args.is_empty() || args.contains(&"-q"));
        let mut left = folder.names();
        left.sort();
        assert_eq!(left, names, "{args:?}");
        assert_eq!(fs::read(&output).unwrap(), b"old");
    }
    let ran = dry_run(&[text(&list)], &folder.path().join("new.hapax"), "");
    assert_eq!((ran.status, &*ran.stderr), (Some(0), ""));
    assert!(
        ran.stdout.contains("new.hapax: would be a binary fuse filter of SHA-1"),
        "{}",
        ran.stdout
    );
    assert_eq!(folder.names().len(), names.len());
    let ran = run(["build", "-f", text(&list), "-o", text(&output)], "");
    assert_eq!((ran.status, stale.exists()), (Some(0), false), "{}", ran.stderr);
}

#[test]
fn what_is_foretold_is_what_is_built() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(200_000));
    for args in
        [&["--kind", "fuse"][..], &["--kind", "cuckoo"], &["--kind", "bloom", "--bytes", "400K"]]
    {
        let output = folder.path().join("out.hapax");
        let told = dry_run(&[&[text(&list), "-f"], args].concat(), &output, "");
        assert_eq!(told.status, Some(0), "{}", told.stderr);
        assert!((number(&told, "rows") / 200_000.0 - 1.0).abs() < 0.01, "{}", told.stdout);
        let ran = run(["build", "-f", text(&list), "-o", text(&output)].iter().chain(args), "");
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        let len = fs::metadata(&output).unwrap().len() as f64;
        assert!((number(&told, "size") / len - 1.0).abs() < 0.02, "{len}: {}", told.stdout);
        let built = Ran { stdout: ran.stderr.clone(), ..ran };
        let (told, built) = (number(&told, "false pos"), number(&built, "false pos"));
        assert!((told / built - 1.0).abs() < 0.05, "{told} {built}");
    }
}

#[test]
fn rows_that_cannot_be_told_are_asked_for() {
    let folder = Folder::new();
    let output = folder.path().join("out.hapax");
    let ran = dry_run(&["-"], &output, "abc\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""));
    for part in ["standard input", "a pipe", "--rows N"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
    let ran = dry_run(&["-", "--rows", "2068408781"], &output, "abc\n");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("rows                 2,068,408,781\n"), "{}", ran.stdout);
    // 18.1 bits a key; unsorted, 16 bytes a row on disk.
    assert!((4.6e9..4.8e9).contains(&number(&ran, "size")), "{}", ran.stdout);
    assert!(ran.stdout.contains("33,094,540,496 bytes in "), "{}", ran.stdout);
    assert!(ran.stdout.contains("none if the rows are sorted"), "{}", ran.stdout);
    assert!(folder.names().is_empty());
}

#[test]
fn what_a_build_refuses_a_dry_run_refuses() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(1_000));
    let output = folder.path().join("out.hapax");
    for (args, told) in [
        (&["--false-positive-rate", "0.02"][..], "above the limit"),
        (&["--kind", "bloom", "--bytes", "1000"], "above the limit"),
        (&["--bytes", "1M"], "follows from its rate"),
        (&["--memory", "1M"], "memory must be"),
        (&["--false-positive-rate", "1e-300"], "rate"),
        (&["--format", "hashes", "--rows", "0"], "no row is left"),
        (&["/none/such"], "/none/such: cannot be opened"),
    ] {
        let ran = dry_run(&[&[text(&list)], args].concat(), &output, "");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    assert_eq!(folder.names(), ["list.txt"]);
}
