//! Why a run stopped.

use std::fmt;
use std::io;
use std::path::Path;

use hapax::codec::FileError;

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

    /// A filter or a state could not be read or written.
    pub(crate) fn file(error: &FileError) -> Self {
        // Its path is whatever the file system allows, line ends included.
        Self::Message(escaped(&error.to_string()))
    }

    /// Reading this input failed.
    pub(crate) fn reading(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(format_args!("{what}: cannot be read: {error}"))
    }

    /// Writing this file or folder failed.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "no space is left on the disk: make room, or name a place on another one".into()
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                "its file system is read-only: name another place".into()
            }
            io::ErrorKind::NotFound => "its folder does not exist: make it first".into(),
            _ => error.to_string(),
        };
        Self::new(format_args!("{}: cannot be written: {why}", shown(path)))
    }

    /// The same, said of a file or folder.
    pub(crate) fn of(self, path: &Path) -> Self {
        match self {
            Self::Message(message) => Self::new(format_args!("{}: {message}", shown(path))),
            Self::BrokenPipe => self,
        }
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

/// A path as it may be printed.
pub(crate) fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy())
}

/// Text as it may be printed: control characters, which could drive a terminal, are escaped.
pub(crate) fn escaped(text: &str) -> String {
    escaped_but(text, None)
}

/// The same for text of several lines.
pub(crate) fn escaped_lines(text: &str) -> String {
    escaped_but(text, Some('\n'))
}

fn escaped_but(text: &str, kept: Option<char>) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && Some(c) != kept {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
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
    fn control_characters_of_messages_are_escaped() {
        assert_eq!(escaped_lines("a\u{1b}[2J\u{9b}1m\rb\nc"), "a\\u{1b}[2J\\u{9b}1m\\rb\nc");
        let error = FileError::Exists { path: "a\u{1b}[2J\nhapax: b".into() };
        let Trouble::Message(message) = Trouble::file(&error) else { panic!("no message") };
        assert!(message.starts_with("a\\u{1b}[2J\\nhapax: b: the file exists"), "{message}");
    }

    #[test]
    fn a_closed_pipe_is_told_apart_from_a_full_disk() {
        let closed = Trouble::stdout(&io::ErrorKind::BrokenPipe.into());
        assert_eq!(closed.exit(), Exit::BrokenPipe);
        let full = Trouble::stdout(&io::ErrorKind::StorageFull.into());
        assert_eq!(full.exit(), Exit::Trouble);
    }
}
