//! The prompt: one secret from the terminal, without echo.
//!
//! `rpassword` is the usual crate for this. It drops control characters and replaces bytes that
//! are not UTF-8, so it may hand over another password than was typed, and the answer would be a
//! false "not listed". Here the terminal's own line editing stays on, only its echo goes off, and
//! the bytes arrive as typed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::signals::Undo;
use crate::trouble::Trouble;

const TERMINAL: &str = "/dev/tty";

/// Longest line that terminals pass on whole; the kernel drops what exceeds it, in silence.
const MAX_LINE_LEN: usize = 4_095;

/// Asks on the terminal, whatever standard output is, and returns the line without its end.
///
/// # Errors
///
/// If there is no terminal, or the line is so long that the terminal may have cut it.
pub(super) fn ask(question: &str) -> Result<Zeroizing<Vec<u8>>, Trouble> {
    let failed = |error| Trouble::new(format_args!("{TERMINAL}: cannot be asked: {error}"));
    let terminal = OpenOptions::new().read(true).write(true).open(TERMINAL).map_err(failed)?;
    let line = read_hidden(&terminal, question).map_err(failed)?;
    if line.len() >= MAX_LINE_LEN {
        return Err(Trouble::new(format_args!(
            "expected at most {} bytes at the prompt, found more: terminals cut long lines; give \
             it on standard input",
            MAX_LINE_LEN - 1
        )));
    }
    Ok(line)
}

fn read_hidden(mut terminal: &File, question: &str) -> io::Result<Zeroizing<Vec<u8>>> {
    let hidden = Hidden::hide(terminal)?;
    terminal.write_all(question.as_bytes())?;
    let mut line = Zeroizing::new(vec![0; MAX_LINE_LEN + 1]);
    let mut len = 0;
    while len < line.len() {
        let read = match terminal.read(&mut line[len..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        len += read;
        if read == 0 || line[..len].ends_with(b"\n") {
            break;
        }
    }
    drop(hidden);
    // The newline that was typed was not echoed either.
    terminal.write_all(b"\n")?;
    let len = len - usize::from(line[..len].ends_with(b"\n"));
    line.truncate(len);
    Ok(line)
}

/// Keeps the echo off; dropping it, or stopping the run, restores the terminal.
struct Hidden<'a> {
    terminal: &'a File,
    before: Termios,
    _undo: Undo,
}

impl<'a> Hidden<'a> {
    fn hide(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let (copy, saved) = (terminal.try_clone()?, before.clone());
        let undo = Undo::register(move || {
            let _ = tcsetattr(&copy, OptionalActions::Now, &saved);
        });
        let mut hidden = before.clone();
        hidden.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
        // Flushing drops what was typed ahead, and so was visible.
        tcsetattr(terminal, OptionalActions::Flush, &hidden)?;
        Ok(Self { terminal, before, _undo: undo })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // Nothing more can be done if the terminal is gone.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}
