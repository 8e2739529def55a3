//! Signals: a run that is stopped tidies up first.
//!
//! ```text
//!  SIGINT, SIGTERM ──▶ thread ──▶ undo what is registered,   ──▶ exit 130 or 143
//!                                 remove unfinished files
//! ```
//!
//! An ordinary thread does the work, not the handler, so that undoing may lock, allocate and touch
//! files. What needs undoing is registered by whoever starts it and struck off by dropping the
//! [`Undo`]. Unfinished files need no registering: they are found among the open ones.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::exit::Exit;

type Action = Box<dyn FnOnce() + Send>;

static REGISTERED: Mutex<Vec<(u64, Action)>> = Mutex::new(Vec::new());

/// What is to be undone if the run is stopped; dropping it strikes it off.
#[derive(Debug)]
#[must_use = "dropping it at once strikes it off at once"]
pub(crate) struct Undo(u64);

impl Undo {
    /// Registers an action for the case that the run is stopped. Actions run in reverse order.
    pub(crate) fn register(action: impl FnOnce() + Send + 'static) -> Self {
        let mut registered = registered();
        let id = registered.last().map_or(0, |(id, _)| id + 1);
        registered.push((id, Box::new(action)));
        Self(id)
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        registered().retain(|(id, _)| *id != self.0);
    }
}

/// Starts the thread that waits for SIGINT and SIGTERM.
///
/// # Errors
///
/// What the system said, if the handlers or the thread could not be had.
pub(crate) fn tidy_up_when_stopped() -> io::Result<()> {
    // Past a limit on file sizes the system would kill the run; handled, the write fails instead.
    flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // The lock is kept: nothing new can be started while the process ends.
            let mut registered = registered();
            while let Some((_, action)) = registered.pop() {
                action();
            }
            remove_unfinished_files();
            let exit = if signal == SIGINT { Exit::Interrupted } else { Exit::Terminated };
            std::process::exit(exit.code().into());
        }
    })?;
    Ok(())
}

fn remove_unfinished_files() {
    for path in unfinished_files() {
        // It may have been finished and renamed meanwhile; then there is nothing to remove.
        let _ = std::fs::remove_file(path);
    }
}

/// The temporary files from which the library was about to make artefacts: exactly those that this
/// process holds open, since another run may be writing in the same folder. Where there is no
/// `/proc` none are found, and they stay, as after a SIGKILL.
fn unfinished_files() -> Vec<PathBuf> {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let paths = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let unfinished = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(b".hapax-") && name.ends_with(b".tmp")
    });
    unfinished.collect()
}

/// The actions. A panic while they were held cannot have left them half done.
fn registered() -> MutexGuard<'static, Vec<(u64, Action)>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_strikes_off_only_its_own_action() {
        let first = Undo::register(|| ());
        let second = Undo::register(|| ());
        let ids = [first.0, second.0];
        // Other tests of this process register actions of their own.
        let left = || ids.map(|id| registered().iter().any(|(registered, _)| *registered == id));
        assert_eq!(left(), [true, true]);
        drop(first);
        assert_eq!(left(), [false, true]);
        drop(second);
        assert_eq!(left(), [false, false]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_unfinished_files_of_this_process_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let temporary =
            || tempfile::Builder::new().prefix(".hapax-").suffix(".tmp").tempfile_in(&folder);
        let own = temporary().unwrap();
        // Closed here, as is one that belongs to another run.
        let _foreign = temporary().unwrap().into_temp_path();
        let _list = tempfile::Builder::new().suffix(".txt").tempfile_in(&folder).unwrap();
        // Other tests of this process are at work in folders of their own.
        let mut found = unfinished_files();
        found.retain(|path| path.starts_with(&folder));
        assert_eq!(found, [own.path()]);
    }
}
