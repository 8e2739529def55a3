//! A save is all or nothing: the old file or the new one, whatever stops it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hapax::codec::{Artefact, Existing, FileError, Provenance, Readers, SaveOptions};
use hapax::prelude::*;

use crate::samples::{file, fill};

const REFUSE: SaveOptions = SaveOptions { existing: Existing::Refuse, readers: Readers::Umask };
const REPLACE: SaveOptions = SaveOptions { existing: Existing::Replace, readers: Readers::Umask };

/// A filter of about so many bytes with this many keys.
fn filter(bytes: u64, keys: u32) -> BloomFilter {
    let mut filter = BloomFilter::builder().byte_len(bytes).capacity(1000).build().unwrap();
    fill(&mut filter, |index| Seed::default().hash(&index).unwrap(), 0..keys);
    filter
}

fn save(filter: &BloomFilter, path: &Path, options: SaveOptions) -> Result<(), FileError> {
    Artefact { filter, provenance: Provenance::default() }.save(path, options)
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn io_kind(result: Result<(), FileError>, expected: &Path) -> io::ErrorKind {
    match result {
        Err(FileError::Io { path, source }) if path == expected => source.kind(),
        other => panic!("expected an I/O error at {}, found {other:?}", expected.display()),
    }
}

#[test]
fn an_existing_file_is_refused_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hapax");
    fs::write(&path, "precious").unwrap();
    let error = save(&filter(64, 1), &path, REFUSE).unwrap_err();
    assert!(matches!(&error, FileError::Exists { path: found } if *found == path), "{error:?}");
    assert!(error.to_string().contains("list.hapax"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(names(folder.path()), ["list.hapax"]);
}

#[test]
fn a_new_file_is_written_and_an_old_one_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hapax");
    save(&filter(64, 1), &path, REFUSE).unwrap();
    assert_eq!(fs::read(&path).unwrap(), file(filter(64, 1)));
    save(&filter(128, 2), &path, REPLACE).unwrap();
    assert_eq!(fs::read(&path).unwrap(), file(filter(128, 2)));
    assert_eq!(names(folder.path()), ["list.hapax"]);
}

#[test]
fn a_reader_that_has_the_old_file_open_keeps_it() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hapax");
    filter(64, 1).save(&path).unwrap();
    let mut open = fs::File::open(&path).unwrap();
    filter(128, 2).save(&path).unwrap();
    let mut old = Vec::new();
    open.read_to_end(&mut old).unwrap();
    assert_eq!(old, file(filter(64, 1)));
}

#[test]
fn a_missing_folder_a_file_as_folder_and_a_folder_as_target_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("regular"), "precious").unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    fs::write(root.join("folder/inside"), "precious").unwrap();

    let path = root.join("missing/list.hapax");
    assert_eq!(io_kind(save(&filter(64, 1), &path, REPLACE), &path), io::ErrorKind::NotFound);
    assert_eq!(io_kind(save(&filter(64, 1), &path, REFUSE), &path), io::ErrorKind::NotFound);
    let path = root.join("regular/list.hapax");
    assert_eq!(io_kind(save(&filter(64, 1), &path, REPLACE), &path), io::ErrorKind::NotADirectory);
    assert_eq!(io_kind(save(&filter(64, 1), &path, REFUSE), &path), io::ErrorKind::NotADirectory);
    let path = root.join("folder");
    assert_eq!(io_kind(save(&filter(64, 1), &path, REPLACE), &path), io::ErrorKind::InvalidInput);
    let error = save(&filter(64, 1), &path, REFUSE).unwrap_err();
    assert!(matches!(error, FileError::Exists { .. }), "{error:?}");

    assert_eq!(names(root), ["folder", "regular"], "a temporary file was left");
    assert_eq!(fs::read_to_string(root.join("regular")).unwrap(), "precious");
    assert_eq!(names(&root.join("folder")), ["inside"]);
}

#[test]
fn a_path_without_folder_is_taken_from_the_working_directory() {
    // The error names the whole path, so that it is clear where the file was looked for.
    let name = "no-such-file-anywhere.hapax";
    let error = BloomFilter::load(name).unwrap_err();
    let expected = std::env::current_dir().unwrap().join(name);
    assert!(matches!(&error, FileError::Io { path, .. } if *path == expected), "{error:?}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("any"), "").unwrap();
        let path = folder.path().join("list.hapax");
        save(&filter(64, 1), &path, REFUSE).unwrap();
        assert_eq!(mode(&path), mode(&folder.path().join("any")));
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.hapax");
        for kept in [0o600, 0o640, 0o666, 0o444] {
            filter(64, 1).save(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            filter(64, 2).save(&path).unwrap();
            assert_eq!(mode(&path), kept, "{kept:o} was not kept");
        }
    }

    #[test]
    fn a_file_for_its_owner_is_closed_to_others_whatever_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.hapax");
        let owner = SaveOptions { readers: Readers::Owner, ..REPLACE };
        save(&filter(64, 1), &path, owner).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        save(&filter(64, 1), &path, owner).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_link_stays_and_what_it_points_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (near, far) = (folder.path().join("near"), folder.path().join("far"));
        fs::create_dir(&near).unwrap();
        fs::create_dir(&far).unwrap();
        filter(64, 1).save(far.join("list.hapax")).unwrap();
        symlink("../far/list.hapax", near.join("link")).unwrap();
        symlink("link", near.join("link to the link")).unwrap();

        filter(64, 2).save(near.join("link to the link")).unwrap();
        assert!(near.join("link").is_symlink() && near.join("link to the link").is_symlink());
        assert_eq!(fs::read(far.join("list.hapax")).unwrap(), file(filter(64, 2)));
        assert_eq!(names(&far), ["list.hapax"]);

        let error = save(&filter(64, 3), &near.join("link"), REFUSE).unwrap_err();
        assert!(matches!(error, FileError::Exists { .. }), "{error:?}");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_refused_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("nowhere", &link).unwrap();
        let error = save(&filter(64, 1), &link, REFUSE).unwrap_err();
        assert!(matches!(error, FileError::Exists { .. }), "{error:?}");
        assert!(link.is_symlink());
        save(&filter(64, 1), &link, REPLACE).unwrap();
        assert!(!link.is_symlink());
        assert_eq!(fs::read(&link).unwrap(), file(filter(64, 1)));
        assert_eq!(names(folder.path()), ["link"]);
    }

    #[test]
    fn a_link_that_leads_to_itself_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("link", &link).unwrap();
        assert!(matches!(filter(64, 1).save(&link), Err(FileError::Io { .. })));
        assert!(link.is_symlink());
        assert_eq!(names(folder.path()), ["link"]);
    }

    /// The variable by which a test tells its child process what to do.
    const TARGET: &str = "HAPAX_TEST_SAVE_TARGET";

    fn child(test: &str, target: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored"]).env(TARGET, target);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn target() -> PathBuf {
        std::env::var_os(TARGET).expect("run by another test").into()
    }

    #[test]
    #[ignore = "runs as the child process of a test below"]
    fn child_saves_more_than_fits() {
        let folder = target();
        let path = folder.join("list.hapax");
        for options in [REPLACE, SaveOptions { readers: Readers::Owner, ..REPLACE }] {
            let kind = io_kind(save(&filter(1 << 20, 3), &path, options), &path);
            assert_eq!(kind, io::ErrorKind::FileTooLarge);
        }
        let path = folder.join("new.hapax");
        let kind = io_kind(save(&filter(1 << 20, 3), &path, REFUSE), &path);
        assert_eq!(kind, io::ErrorKind::FileTooLarge);
    }

    /// A full disk, by a limit on the length of files: no disk needs to be filled, nor a device
    /// mounted.
    #[test]
    fn a_file_that_does_not_fit_leaves_the_old_one_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        filter(64, 1).save(folder.path().join("list.hapax")).unwrap();
        let inner = child("atomic::unix::child_saves_more_than_fits", folder.path());
        // Without the signal, writing past the limit is an error like that of a full disk.
        let mut limited = Command::new("sh");
        limited.args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""]);
        limited.arg(inner.get_program()).args(inner.get_args()).env(TARGET, folder.path());
        let output = limited.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");

        assert_eq!(names(folder.path()), ["list.hapax"]);
        let left = fs::read(folder.path().join("list.hapax")).unwrap();
        assert_eq!(left, file(filter(64, 1)));
    }

    #[test]
    fn a_pipe_is_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(filter(64, 1).save(&path).is_err());
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(names(folder.path()), ["pipe"]);
    }

    #[test]
    #[ignore = "runs as the child process of a test below, until it is killed"]
    fn child_saves_for_ever() {
        let path = target().join("list.hapax");
        let filters = [filter(300_000, 1), filter(200_000, 2)];
        for filter in filters.iter().cycle() {
            save(filter, &path, REPLACE).unwrap();
        }
    }

    #[test]
    fn a_process_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.hapax");
        let (mut interrupted, mut replaced) = (0, 0);
        for round in 0..30u64 {
            filter(100_000, 3).save(&path).unwrap();
            let mut child = child("atomic::unix::child_saves_for_ever", folder.path());
            let mut child = child.spawn().unwrap();
            // Into the loop; the moment within a save moves on with each round.
            let first = |path: &Path| fs::metadata(path).unwrap().len() < 150_000;
            while first(&path) && round % 5 != 0 {
                assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
                sleep(Duration::from_micros(100));
            }
            sleep(Duration::from_micros(round * 173));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            assert!(!status.success(), "the child ended before it was killed");

            let keys = Artefact::<BloomFilter>::load(&path).unwrap().filter.stats().len;
            assert!((1..=3).contains(&keys), "{keys} keys");
            replaced += u32::from(keys < 3);
            for name in names(folder.path()) {
                if name != "list.hapax" {
                    // Only what a killed process cannot remove, and by its name it can be told.
                    assert!(name.starts_with(".hapax-"), "{name}");
                    fs::remove_file(folder.path().join(name)).unwrap();
                    interrupted += 1;
                }
            }
        }
        // Otherwise the test has not tested anything.
        assert!(replaced > 0, "no save was ever finished");
        assert!(interrupted > 0, "no save was ever interrupted");
    }
}
