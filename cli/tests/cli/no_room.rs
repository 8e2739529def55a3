//! Disks that are full, and folders that cannot be written to: what the user is told.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, Ran, hapax, numbered, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a script with a disk of one megabyte at `disk`, which is gone afterwards; `$0` is the tool.
/// `None` where the system does not let this user have one.
#[cfg(target_os = "linux")]
fn on_a_small_disk(disk: &Path, options: &str, script: &str, args: &[&str]) -> Option<Ran> {
    // In a name space of its own, where who runs the tests may mount.
    let within = |script: &str| {
        let script =
            format!(r#"mount -t tmpfs -o "size=1m,{options}" none "$1" || exit 99; {script}"#);
        Command::new("unshare")
            .args(["--mount", "--map-root-user", "sh", "-c", &script])
            .arg(env!("CARGO_BIN_EXE_hapax"))
            .arg(disk)
            .args(args)
            .output()
    };
    if !within("true").is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no disk can be mounted here");
        return None;
    }
    let output = within(script).unwrap();
    Some(Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    })
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_named_with_what_is_needed() {
    let folder = Folder::new();
    // Of 600,000 rows, 1.36 MB at 2^-16.
    let list = folder.file("list.txt", numbered(600_000));
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    for (kind, needed) in [("fuse", "about 1,3"), ("bloom", "about 1,7")] {
        let script = r#""$0" build "$2" -o "$1/out.hapax" --kind "$3"; s=$?; ls -A "$1"; exit $s"#;
        let Some(ran) = on_a_small_disk(&disk, "rw", script, &[text(&list), kind]) else { return };
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
        for part in
            ["disk/out.hapax: the disk is full", needed, "1,048,576 bytes are free", "--output"]
        {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
    // The disk of the temporary files.
    let script =
        r#""$0" build "$2" -o "$2.hapax" --memory 32M --tmp "$1"; s=$?; ls -A "$1"; exit $s"#;
    let many = folder.file("many.txt", numbered(2_500_000));
    let Some(ran) = on_a_small_disk(&disk, "rw", script, &[text(&many)]) else { return };
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    for part in ["disk: keys cannot be kept", "16 bytes a row, about 40,", "--tmp", "--memory"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let script = r#""$0" convert "$2" -o "$1/out"; s=$?; ls -A "$1"; exit $s"#;
    let Some(ran) = on_a_small_disk(&disk, "rw", script, &[text(&list)]) else { return };
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("disk/out: cannot be written: no space is left"), "{}", ran.stderr);
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_is_read_only_is_told_before_the_list_is_read() {
    let folder = Folder::new();
    let list = folder.file("list.txt", "");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    for args in [&["build"][..], &["build", "--dry-run"]] {
        let script = r#""$0" $3 $4 "$2" -o "$1/out.hapax""#;
        let args: Vec<&str> = std::iter::once(text(&list)).chain(args.iter().copied()).collect();
        let Some(ran) = on_a_small_disk(&disk, "ro", script, &args) else { return };
        assert_eq!(ran.status, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("disk is on a file system that is read-only"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let folder = Folder::new();
    let list = folder.file("list.txt", "alpha\n");
    let within = |name: &str| folder.path().join(name).join("out");
    for (output, told) in [
        (within("none"), "none does not exist: make it, or name another one"),
        (within("list.txt"), "list.txt is a file: name another one"),
    ] {
        let ran = run(["build", text(&list), "-o", text(&output)], "");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    for args in
        [&["convert"][..], &["convert", "--to", "hibp-dir"], &["convert", "--sort", "count"]]
    {
        let list = folder.file("hashes.txt", format!("{}:3\n", "A".repeat(40)));
        let output = within("none");
        let ran = run(args.iter().copied().chain([text(&list), "-o", text(&output)]), "");
        assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("its folder does not exist: make it first"), "{}", ran.stderr);
        assert!(!ran.stderr.contains(".hapax-"), "{}", ran.stderr);
    }
}

#[test]
fn no_threads_at_all_is_explained() {
    for command in ["build", "check", "gen"] {
        let output = hapax().args([command, "--threads", "0"]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(
            stderr.contains("--threads <N> is not valid: expected a number from 1 to 65535"),
            "{stderr}"
        );
    }
}
