//! Why a run stopped.

use std::fmt;
use std::io;
use std::path::Path;

use crate::exit::Exit;

/// Why a run stopped before its end. Carries no input: messages say where and why, never what.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Something to tell the user.
    Message(String),
    /// The reader of standard output has gone; nobody is left to tell.
    BrokenPipe,
}

impl Trouble {
    /// Something to tell the user, as a sentence without a full stop.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self::Message(message.to_string())
    }

    /// Reading this input failed.
    pub(crate) fn reading(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(format_args!("{what}: cannot be read: {error}"))
    }

    /// Writing to standard output failed.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::new(format_args!("standard output: cannot be written: {error}"))
    }

    /// The exit status it leads to.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Message(_) => Exit::Trouble,
            Self::BrokenPipe => Exit::BrokenPipe,
        }
    }
}

/// A path as it may be printed: control characters, which could drive a terminal, are escaped.
pub(crate) fn shown(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_path_are_escaped() {
        assert_eq!(shown(Path::new("a\u{1b}[2Jb\nc")), "a\\u{1b}[2Jb\\nc");
        assert_eq!(shown(Path::new("liste für März.txt")), "liste für März.txt");
    }

    #[test]
    fn a_closed_pipe_is_told_apart_from_a_full_disk() {
        let closed = Trouble::stdout(&io::ErrorKind::BrokenPipe.into());
        assert_eq!(closed.exit(), Exit::BrokenPipe);
        let full = Trouble::stdout(&io::ErrorKind::StorageFull.into());
        assert_eq!(full.exit(), Exit::Trouble);
    }
}
