//! The prompt, on a terminal of its own.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::common::{CANARY, Folder};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// A run of `hapax check` whose terminal we hold the other end of.
struct Session {
    child: Child,
    terminal: File,
    screen: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Session {
    fn start(args: &[&str], filter: &Path) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let own = OpenOptions::new().read(true).write(true).open(name).unwrap();
        // `setsid --ctty` makes the terminal on standard input the controlling one, `/dev/tty`.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_hapax"), "check"])
            .args(args)
            .arg(filter)
            .stdin(own)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let terminal = File::from(terminal);
        let (sender, screen) = channel();
        let mut reader = terminal.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 1_024];
            // The other end closes with an error.
            while let Ok(len @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..len].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, terminal, screen, seen: Vec::new() }
    }

    /// Waits for a text on the screen.
    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            let more = self.screen.recv_timeout(left);
            assert!(more.is_ok(), "no {text:?} in \"{}\"", self.seen.escape_ascii());
            self.seen.extend(more.unwrap_or_default());
        }
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    fn type_in(&mut self, bytes: &[u8]) {
        self.terminal.write_all(bytes).unwrap();
    }

    /// The status, what standard output and error got, and everything the terminal showed.
    fn finish(mut self) -> (Option<i32>, String, String, String) {
        let status = self.child.wait().unwrap().code();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(self.echoes(), "the terminal was left without echo");
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(100)) {
            self.seen.extend(bytes);
        }
        (status, stdout, stderr, String::from_utf8_lossy(&self.seen).into_owned())
    }
}

const PROMPT: &str = "Password (not shown): ";

#[test]
fn a_password_is_asked_for_on_the_terminal_without_echo() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[CANARY.as_bytes()]);
    for (typed, status, stdout) in [
        (format!("{CANARY}\n"), 0, "prompt:1: listed\n"),
        (format!("{CANARY} \n"), 1, ""),
        // Editing the line works as on any terminal.
        (format!("{CANARY}x\x7f\n"), 0, "prompt:1: listed\n"),
    ] {
        let mut session = Session::start(&[], &filter);
        session.wait_for(PROMPT);
        assert!(!session.echoes());
        session.type_in(typed.as_bytes());
        let (found, out, err, screen) = session.finish();
        assert_eq!((found, &*out), (Some(status), stdout), "{typed:?}: {err}");
        assert_eq!(screen, format!("{PROMPT}\r\n"));
        assert!(!err.contains(CANARY), "{err}");
    }
}

#[test]
fn bytes_that_are_no_text_and_control_characters_arrive_as_typed() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"ma\xf1ana\ttab\x01"]);
    let mut session = Session::start(&[], &filter);
    session.wait_for(PROMPT);
    session.type_in(b"ma\xf1ana\ttab\x01\n");
    assert_eq!(session.finish().0, Some(0));
}

#[test]
fn no_password_is_no_answer() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    for typed in [&b"\n"[..], b"\x04", b"\r"] {
        let mut session = Session::start(&[], &filter);
        session.wait_for(PROMPT);
        session.type_in(typed);
        let (status, stdout, stderr, _) = session.finish();
        assert_eq!((status, &*stdout), (Some(2), ""), "{typed:?}");
        assert!(stderr.contains("no input to check"), "{stderr}");
    }
}

#[test]
fn a_line_that_the_terminal_may_have_cut_has_no_answer() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha", &[b'x'; 4_094]]);
    for (len, status) in [(4_094, 0), (4_095, 2), (4_096, 2), (6_000, 2)] {
        let mut session = Session::start(&[], &filter);
        session.wait_for(PROMPT);
        // In pieces, which terminals take; one by one would be slow.
        for piece in vec![b'x'; len].chunks(512) {
            session.type_in(piece);
            std::thread::sleep(Duration::from_millis(5));
        }
        session.type_in(b"\n");
        let (found, _, stderr, _) = session.finish();
        assert_eq!(found, Some(status), "{len} bytes: {stderr}");
    }
}

#[test]
fn the_form_asked_for_is_named() {
    let folder = Folder::new();
    let filter = folder.nt("f.hapax", &[b"password"]);
    let mut session = Session::start(&["-i", "nt"], &filter);
    session.wait_for("NT hash (not shown): ");
    session.type_in(b"8846f7eaee8fb117ad06bdd830b7586c\n");
    assert_eq!(session.finish().0, Some(0));
}

#[test]
fn stopping_the_run_restores_the_echo() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let mut session = Session::start(&[], &filter);
    session.wait_for(PROMPT);
    session.type_in(b"secr\x03");
    let (status, stdout, _, screen) = session.finish();
    assert_eq!((status, &*stdout), (Some(130), ""));
    assert!(!screen.contains("secr"), "{screen}");

    let mut session = Session::start(&[], &filter);
    session.wait_for(PROMPT);
    assert!(!session.echoes());
    kill_process(child_of(&session.child), Signal::TERM).unwrap();
    assert_eq!(session.finish().0, Some(143));
}

/// The process that `setsid` started, or itself where it replaced itself.
fn child_of(child: &Child) -> Pid {
    let own = Pid::from_raw(child.id().cast_signed()).unwrap();
    let children = format!("/proc/{own}/task/{own}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    children.split_whitespace().next().and_then(|id| Pid::from_raw(id.parse().ok()?)).unwrap_or(own)
}
