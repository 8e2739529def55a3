//! What the rows of a list are: what the user says, what they look like, and what the lists before
//! were.

use clap::ValueEnum;
use hapax::screen::PasswordDigest;
use hapax::screen::list::{DetectError, ListFormat, RangePrefix, ZeroCount};

use super::Input;
use crate::trouble::Trouble;

/// What the user says of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatChoice {
    /// Told from the first rows
    #[default]
    Auto,
    /// Passwords
    Plain,
    /// Hashes in hexadecimal, with or without counts
    Hashes,
}

/// A hash that keys can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DigestChoice {
    /// SHA-1
    Sha1,
    /// The NT hash, often called NTLM
    #[value(alias = "ntlm")]
    Nt,
}

impl From<DigestChoice> for PasswordDigest {
    fn from(choice: DigestChoice) -> Self {
        match choice {
            DigestChoice::Sha1 => Self::Sha1,
            DigestChoice::Nt => Self::Nt,
        }
    }
}

/// What to do with rows that have a count of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZeroCountChoice {
    /// Skip and count them: they are made up, to hide how long the answer to a range query is
    #[default]
    Skip,
    /// Take them for rows like others
    Keep,
}

impl From<ZeroCountChoice> for ZeroCount {
    fn from(choice: ZeroCountChoice) -> Self {
        match choice {
            ZeroCountChoice::Skip => Self::Skip,
            ZeroCountChoice::Keep => Self::Keep,
        }
    }
}

/// The format of the file of a range, which must be of the same hash as what was read before.
pub(super) fn format_of_range(
    name: &Input,
    sample: &[u8],
    prefix: RangePrefix,
    digest: Option<PasswordDigest>,
) -> Result<ListFormat, Trouble> {
    let format = ListFormat::detect_range(sample, prefix)
        .map_err(|error| Trouble::new(format_args!("{name}: {error}")))?;
    match digest {
        Some(wanted) if format.digest() != wanted => Err(Trouble::new(format_args!(
            "{name}: expected a range of {wanted} hashes ({} digits), found one of {} hashes ({} \
             digits): a list holds hashes of one kind",
            wanted.hex_digits() - RangePrefix::DIGITS,
            format.digest(),
            format.digest().hex_digits() - RangePrefix::DIGITS,
        ))),
        _ => Ok(format),
    }
}

/// The format of one list, given what the user said and what the lists before were.
pub(super) fn format_of(
    name: &Input,
    sample: &[u8],
    choice: FormatChoice,
    digest: Option<PasswordDigest>,
) -> Result<ListFormat, Trouble> {
    if let (Input::File(path), FormatChoice::Auto) = (name, choice)
        && let Some(prefix) = RangePrefix::of_file(path)
        && ListFormat::detect_range(sample, prefix).is_ok()
    {
        return format_of_range(name, sample, prefix, digest);
    }
    let detected = ListFormat::detect(sample, digest.unwrap_or_default());
    match (choice, detected) {
        // Whatever the rows are said to be, these bytes do not hold them.
        (_, Err(error)) if error.is_foreign() => Err(Trouble::new(format_args!("{name}: {error}"))),
        (FormatChoice::Plain, _) => Ok(ListFormat::Plain(digest.unwrap_or_default())),
        (FormatChoice::Hashes, detected) => {
            let of_list = match detected {
                Ok(ListFormat::Hashes(digest)) | Err(DetectError::Mixed { digest, .. }) => {
                    Some(digest)
                }
                Err(DetectError::HashShape { digits, .. }) => {
                    [PasswordDigest::Sha1, PasswordDigest::Nt]
                        .into_iter()
                        .find(|digest| digest.hex_digits() == digits)
                }
                _ => None,
            };
            Ok(ListFormat::Hashes(digest.or(of_list).unwrap_or_default()))
        }
        (FormatChoice::Auto, Ok(format)) => match digest {
            Some(wanted) if format.digest() != wanted => Err(Trouble::new(format_args!(
                "{name}: expected {wanted} hashes ({} digits), found what looks like {} hashes ({} \
                 digits): a filter holds hashes of one kind; use --format plain if these are \
                 passwords",
                wanted.hex_digits(),
                format.digest(),
                format.digest().hex_digits(),
            ))),
            _ => Ok(format),
        },
        (FormatChoice::Auto, Err(error @ DetectError::Mixed { .. })) => {
            Err(Trouble::new(format_args!("{name}: {error} (--format plain or --format hashes)")))
        }
        (FormatChoice::Auto, Err(error @ DetectError::HashShape { .. })) => {
            Err(Trouble::new(format_args!("{name}: {error} (--format plain)")))
        }
        (FormatChoice::Auto, Err(error)) => Err(Trouble::new(format_args!("{name}: {error}"))),
    }
}
