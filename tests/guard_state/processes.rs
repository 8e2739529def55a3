//! Two processes and one folder.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use hapax::replay::state::{LocalDirectory, StorageError};

use crate::subject::*;

const FOLDER: &str = "HAPAX_TEST_STATE_FOLDER";
const READY: &str = "holding the folder";

/// Not a test but the other process: processes 100 tuples, makes a checkpoint of 60, waits to be
/// killed.
#[test]
#[ignore = "run by the tests below"]
fn holder() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let storage = LocalDirectory::create(PathBuf::from(folder)).unwrap();
    let (mut guard, _) = builder().open(storage).unwrap();
    assert_eq!(process(&mut guard, 0..60), 60);
    guard.checkpoint().unwrap();
    assert_eq!(process(&mut guard, 60..100), 40);
    println!("\n{READY}");
    // Until the end of the input, which does not come.
    std::io::stdin().lines().for_each(drop);
}

/// Kills the other process even if the test fails.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &std::path::Path) -> Holder {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::holder", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let holder = Holder(child);
    assert!(lines.map(Result::unwrap).any(|line| line == READY), "the other process has ended");
    holder
}

#[test]
fn a_second_process_is_told_who_holds_the_folder_and_a_killed_one_frees_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("state");
    let holder = start(&folder);
    let refused = LocalDirectory::open(&folder).unwrap_err();
    assert!(matches!(refused, StorageError::Locked { .. }), "{refused}");
    let expected = format!("is locked by process {}", holder.0.id());
    assert!(refused.to_string().contains(&expected), "{refused}");

    // SIGKILL: nothing runs at the end of that process.
    drop(holder);
    let (mut guard, restored) = reopen(builder(), LocalDirectory::open(&folder).unwrap());
    assert_eq!(restored.skipped.len(), 0);
    assert_eq!(remembered(&mut guard, 200), set(0..60));
    assert_eq!(guard.watermark(0), None, "where the log begins was not told");
    assert_eq!(process(&mut guard, 60..100), 40);
    guard.checkpoint().unwrap();
    drop(guard);
    let (mut guard, _) = reopen(builder(), LocalDirectory::open(&folder).unwrap());
    assert_eq!(remembered(&mut guard, 200), set(0..100));
}
