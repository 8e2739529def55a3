//! Wrong command lines, explained without repeating them.
//!
//! clap quotes what it does not understand. Here that may be a password: typed as an argument by
//! habit, or after `--input` in place of its kind. So the message is put together from clap's own
//! words only (names of options, possible values, usage) and from the *place* of the argument.

use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Exit;
use crate::trouble::Trouble;

/// Prints help and version where that was asked for; explains everything else.
///
/// # Errors
///
/// The explanation, or that help could not be printed.
pub(crate) fn answer(error: &Error, args: &[OsString]) -> Result<Exit, Trouble> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            write!(io::stdout(), "{}", error.render()).map_err(|error| Trouble::stdout(&error))?;
            Ok(Exit::Yes)
        }
        // A command without what it needs: the help is the explanation.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            crate::note(error.render().to_string().trim_end());
            Ok(Exit::Trouble)
        }
        _ => Err(Trouble::new(explain(error, args))),
    }
}

/// What is wrong, what would be right, and the usage.
fn explain(error: &Error, args: &[OsString]) -> String {
    let text = |kind| error.get(kind).map(ToString::to_string).filter(|text| !text.is_empty());
    let option = || text(ContextKind::InvalidArg).unwrap_or_else(|| "an option".into());
    let mut message = match error.kind() {
        ErrorKind::UnknownArgument => {
            format!("{} is not known to this command", place(error, ContextKind::InvalidArg, args))
        }
        ErrorKind::InvalidSubcommand => {
            format!("{} is not a command", place(error, ContextKind::InvalidSubcommand, args))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            format!("the value of {} is not valid", option())
        }
        ErrorKind::MissingRequiredArgument => format!("{} is missing", option()),
        ErrorKind::ArgumentConflict => match text(ContextKind::PriorArg) {
            Some(prior) if prior != option() => {
                format!("{} cannot be used together with {prior}", option())
            }
            _ => format!("{} cannot be used like this, or not twice", option()),
        },
        ErrorKind::InvalidUtf8 => "an argument is not valid UTF-8".into(),
        ErrorKind::TooManyValues | ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
            format!("{} was given the wrong number of values", option())
        }
        _ => "this command line is not understood".into(),
    };
    let suggested =
        text(ContextKind::SuggestedArg).or_else(|| text(ContextKind::SuggestedSubcommand));
    // Parsers of values give reasons; ours do not quote, others may.
    let reason = std::error::Error::source(error).map(ToString::to_string).filter(|reason| {
        text(ContextKind::InvalidValue).is_none_or(|value| !reason.contains(&value))
    });
    let parts = [
        reason.map(|reason| format!(": {reason}")),
        text(ContextKind::ValidValue).map(|values| format!(": it is one of {values}")),
        suggested.map(|suggested| format!(". Did you mean {suggested}?")),
        text(ContextKind::Usage).map(|usage| format!("\n\n{usage}")),
    ];
    message.extend(parts.into_iter().flatten());
    message += "\n\nFor more, try '--help'. Arguments are not repeated here, since a password could \
                be among them;\npasswords never go on the command line, but on standard input or at \
                the prompt of 'hapax check'.";
    message
}

/// Names an argument by its place: "argument 3".
fn place(error: &Error, kind: ContextKind, args: &[OsString]) -> String {
    let found = match error.get(kind) {
        Some(ContextValue::String(text)) => {
            // clap reports `--flag` for `--flag=value` and `-x` for `-xyz`.
            args.iter().skip(1).position(|arg| arg.to_string_lossy().starts_with(text.as_str()))
        }
        _ => None,
    };
    found.map_or_else(|| "an argument".into(), |index| format!("argument {}", index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Request, parse};

    /// The explanation of a command line that is wrong.
    fn explanation(line: &[&str]) -> String {
        let args: Vec<OsString> = line.iter().map(OsString::from).collect();
        match parse(&args) {
            Err(Trouble::Message(message)) => message,
            Err(other) => panic!("{other:?}"),
            Ok(Request::Run(_)) => panic!("{line:?} was accepted"),
            Ok(Request::Answered(exit)) => panic!("{line:?} was answered with {exit:?}"),
        }
    }

    #[test]
    fn no_argument_of_the_user_is_repeated() {
        for line in [
            &["hapax", "hunter2secret"][..],
            &["hapax", "check", "--hunter2secret"],
            &["hapax", "check", "--hunter2secret=hunter2secret"],
            &["hapax", "check", "--input", "hunter2secret"],
            &["hapax", "check", "--input=hunter2secret"],
            &["hapax", "check", "-ihunter2secret"],
            &["hapax", "check", "--count=hunter2secret"],
            &["hapax", "check", "--json", "--count", "hunter2secret"],
            &["hapax", "info", "a.hapax", "hunter2secret"],
            &["hapax", "completions", "hunter2secret"],
            &["hapax", "man", "--", "check", "hunter2secret"],
            &["hapax", "--progress", "hunter2secret", "check"],
        ] {
            let message = explanation(line);
            assert!(!message.contains("hunter2"), "{line:?}: {message}");
            assert!(message.contains("try '--help'"), "{line:?}: {message}");
        }
    }

    #[test]
    fn a_misspelt_option_is_placed_and_corrected() {
        let message = explanation(&["hapax", "check", "a.hapax", "--exepct", "absent"]);
        assert!(message.starts_with("argument 3 is not known to this command"), "{message}");
        assert!(message.contains("Did you mean --expect?"), "{message}");
        assert!(message.contains("Usage: hapax check"), "{message}");
    }

    #[test]
    fn a_wrong_value_names_the_right_ones() {
        let message = explanation(&["hapax", "check", "--input", "ntlm"]);
        assert!(message.contains("--input <FORM>"), "{message}");
        assert!(message.contains("plain, sha1, nt"), "{message}");
    }
}
