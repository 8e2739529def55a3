//! The progress bar: on standard error, by bytes of input, so that 100 % is the end of the input
//! and nothing else.

use std::io::{self, IsTerminal, Read};
use std::time::Duration;

use clap::ValueEnum;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// When to draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// If standard error is a terminal.
    #[default]
    Auto,
    /// Also into files and pipes.
    Always,
    /// Not at all.
    Never,
}

/// A bar, or nothing. Erased when dropped, so that what is printed next starts on a clean line.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar over `total` bytes, or a running count where the end is not known.
    pub(crate) fn new(when: When, total: Option<u64>) -> Self {
        let draw = match when {
            When::Auto => io::stderr().is_terminal(),
            When::Always => true,
            When::Never => false,
        };
        if !draw {
            return Self(ProgressBar::hidden());
        }
        // `ProgressDrawTarget::stderr` hides itself outside terminals, which `always` rules out.
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(Term::stderr()), 5);
        let bar = ProgressBar::with_draw_target(total, target).with_style(style(total.is_some()));
        // At once, so that a short run shows it too; the steady tick draws from its own thread.
        bar.tick();
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Counts bytes of input that are done.
    pub(crate) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// Counts what is read through the returned reader.
    pub(crate) fn wrap<R: Read>(&self, input: R) -> impl Read + use<R> {
        self.0.wrap_read(input)
    }

    /// Prints a line to standard error without tearing the bar.
    pub(crate) fn note(&self, line: &str) {
        self.0.suspend(|| crate::note(line));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

const BOUNDED: &str = "{bar:30} {percent}% {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const UNBOUNDED: &str = "{spinner} {bytes} {bytes_per_sec} {elapsed}";

/// What a bar shows. A template that does not parse would fall back to indicatif's own.
fn style(bounded: bool) -> ProgressStyle {
    let template = if bounded { BOUNDED } else { UNBOUNDED };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_parse() {
        for template in [BOUNDED, UNBOUNDED] {
            ProgressStyle::with_template(template).unwrap();
        }
    }

    #[test]
    fn bytes_are_counted_without_a_bar_too() {
        let progress = Progress::new(When::Never, Some(5));
        progress.advance(2);
        progress.advance(3);
        assert_eq!(progress.0.position(), 5);
    }
}
