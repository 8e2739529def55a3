//! Shell completions and manual pages, made from the definition of the command line.

use std::io::{self, Write as _};

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args;
use crate::exit::{self, Exit, Statuses};
use crate::trouble::Trouble;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::SHOWING))]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print a manual page
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::SHOWING))]
pub(crate) struct ManArgs {
    /// The command to describe; without one, hapax itself
    command: Option<String>,
}

/// Prints a completion script.
///
/// # Errors
///
/// If standard output cannot be written.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Trouble> {
    // clap_complete panics if it cannot write; a vector always can be written.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::definition(), "hapax", &mut script);
    print(&script)
}

/// Prints a manual page.
///
/// # Errors
///
/// If there is no such command, or standard output cannot be written.
pub(crate) fn man(args: &ManArgs) -> Result<Exit, Trouble> {
    let mut definition = args::definition();
    definition.build();
    let (command, statuses) = match &args.command {
        None => (definition, exit::ANY),
        Some(name) => {
            let found = definition.find_subcommand(name);
            let command = found.cloned().ok_or_else(|| {
                Trouble::new("there is no manual page for this: give a command, such as check")
            })?;
            let statuses = statuses_of(command.get_name());
            (command, statuses)
        }
    };
    let page = page(command, statuses).map_err(|error| Trouble::stdout(&error))?;
    print(&page)
}

fn statuses_of(command: &str) -> Statuses {
    match command {
        "check" => exit::CHECK,
        "verify" => exit::VERIFY,
        "diff" => exit::DIFF,
        "build" | "convert" | "dedup" | "gen" => exit::DOING,
        _ => exit::SHOWING,
    }
}

/// A page in roff, with the exit status as a section of its own.
fn page(command: clap::Command, statuses: Statuses) -> io::Result<Vec<u8>> {
    let has_subcommands = command.has_subcommands();
    let has_version = command.get_version().is_some();
    // The help's plain text of the same section gives way to a list.
    let release = concat!("hapax ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.after_help("")).source(release);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_subcommands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut section = Roff::new();
    section.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in statuses {
        section.control("TP", []);
        section.text([bold(*code)]);
        section.text([roman(*meaning)]);
    }
    section.to_writer(&mut page)?;
    if has_version {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

fn print(bytes: &[u8]) -> Result<Exit, Trouble> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| Trouble::stdout(&error))?;
    Ok(Exit::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_exit_status() {
        let mut definition = args::definition();
        definition.build();
        for command in definition.get_subcommands() {
            let name = command.get_name();
            let page = page(command.clone(), statuses_of(name)).unwrap();
            let page = String::from_utf8(page).unwrap();
            assert_eq!(page.matches("EXIT STATUS").count(), 1, "{name}: {page}");
            assert!(!page.contains("Exit status:"), "{name}: {page}");
        }
    }
}
