//! A folder of filters and lists for one test, and the tool itself.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use hapax::codec::{Artefact, Provenance, SaveOptions};
use hapax::prelude::*;
use hapax::screen::PasswordDigest;
use hapax::{Digest, Salt};

/// What must appear nowhere.
pub(crate) const CANARY: &str = "xyzzy-Canary-7731";

/// The tool, as built for this test run.
pub(crate) fn hapax() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hapax"))
}

/// A folder that is gone after the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes a filter of these passwords, hashed with SHA-1, at a rate of 2^-30.
    pub(crate) fn sha1(&self, name: &str, passwords: &[&[u8]]) -> PathBuf {
        self.of_digest(name, PasswordDigest::Sha1, passwords)
    }

    /// The same with NT hashes.
    pub(crate) fn nt(&self, name: &str, passwords: &[&[u8]]) -> PathBuf {
        self.of_digest(name, PasswordDigest::Nt, passwords)
    }

    fn of_digest(&self, name: &str, digest: PasswordDigest, passwords: &[&[u8]]) -> PathBuf {
        let mut filter = BloomFilter::builder()
            .capacity(1_000)
            .false_positive_rate(2f64.powi(-30))
            .seed(Seed::uniform(Digest::from(digest)))
            .salt(Salt::new(7))
            .build()
            .unwrap();
        for password in passwords {
            let _ = filter.insert_hash(digest.key_of(password).unwrap()).unwrap();
        }
        let provenance = Provenance {
            name: "a test list".into(),
            rows_read: passwords.len() as u64,
            rows_added: passwords.len() as u64,
            ..Provenance::default()
        };
        self.save(name, filter, provenance)
    }

    /// Writes a filter.
    pub(crate) fn save(
        &self,
        name: &str,
        filter: impl Into<AnyFilter>,
        provenance: Provenance,
    ) -> PathBuf {
        let path = self.0.path().join(name);
        Artefact { filter: filter.into(), provenance }.save(&path, SaveOptions::default()).unwrap();
        path
    }

    /// The names of everything in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// A list of the numbers from 0, a row for each.
pub(crate) fn numbered(rows: u32) -> String {
    (0..rows).map(|i| i.to_string() + "\n").collect()
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the tool with these arguments and this standard input.
pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = A>,
    stdin: impl Into<Vec<u8>>,
) -> Ran {
    let output = hapax().args(args).write_stdin(stdin).output().unwrap();
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `hapax check` with these arguments.
pub(crate) fn check(args: &[&str], filters: &[&Path], stdin: impl Into<Vec<u8>>) -> Ran {
    let args = args.iter().map(std::ffi::OsStr::new);
    let filters = filters.iter().map(|path| path.as_os_str());
    run([std::ffi::OsStr::new("check")].into_iter().chain(args).chain(filters), stdin)
}
