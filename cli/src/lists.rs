//! The lists given to `build`, `verify` and `check`: opened once, and for the first two their shape
//! told and their rows counted.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;

use clap::ValueEnum;
use hapax::screen::PasswordDigest;
use hapax::screen::list::{
    BadRow, DetectError, ListError, ListFormat, ListReader, ListTotals, Row, SAMPLE_LEN,
};
use zeroize::Zeroizing;

use crate::trouble::{Trouble, shown};

/// Progress is reported at most once for so many bytes.
const PROGRESS_STEP: u64 = 256 * 1024;

/// Where a list comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input, given as `-`.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path) }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => f.write_str(&shown(path)),
        }
    }
}

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

/// How lists are to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// What the rows are.
    pub(crate) format: FormatChoice,
    /// Which hash; by default the one of the list, or SHA-1 for plain lists.
    pub(crate) digest: Option<PasswordDigest>,
    /// Rows counted less often than this are left out; 0 and 1 leave none out.
    pub(crate) min_count: u64,
    /// So many malformed rows are tolerated, over all lists.
    pub(crate) skip_bad: u64,
}

/// A list, opened and not read.
#[derive(Debug)]
pub(crate) struct OpenList {
    name: Input,
    file: File,
    metadata: Metadata,
}

impl OpenList {
    /// Opens a list.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or is a folder.
    pub(crate) fn open(name: Input) -> Result<Self, Trouble> {
        let opened = match &name {
            Input::Stdin => stdin(),
            Input::File(path) => File::open(path),
        };
        let cannot = |error: io::Error| {
            let place = match &name {
                // The place that was really tried, whatever the working directory.
                Input::File(path) => shown(&std::path::absolute(path).unwrap_or(path.clone())),
                Input::Stdin => name.to_string(),
            };
            Trouble::new(format_args!("{place}: cannot be opened: {error}"))
        };
        let file = opened.map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(Trouble::new(format_args!(
                "{name}: expected a file, found a folder: name the files in it"
            )));
        }
        Ok(Self { name, file, metadata })
    }

    /// What it was named, and the file to be read.
    pub(crate) fn into_parts(self) -> (Input, File) {
        (self.name, self.file)
    }

    /// Its size, if that is known before it is read.
    pub(crate) fn len(&self) -> Option<u64> {
        self.metadata.is_file().then_some(self.metadata.len())
    }

    /// Whether it is the file of this metadata.
    pub(crate) fn is_same_file(&self, other: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        (self.metadata.dev(), self.metadata.ino()) == (other.dev(), other.ino())
    }
}

/// Standard input without the buffer of the standard library, which would keep passwords.
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Opens all lists.
///
/// # Errors
///
/// As [`OpenList::open`], and if standard input is named twice.
pub(crate) fn open_all(inputs: &[Input]) -> Result<Vec<OpenList>, Trouble> {
    if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err(Trouble::new("standard input was given twice, and can be read once"));
    }
    inputs.iter().cloned().map(OpenList::open).collect()
}

/// The size of all lists, if it is known before they are read.
pub(crate) fn total_len(lists: &[OpenList]) -> Option<u64> {
    lists.iter().map(OpenList::len).sum()
}

/// What reading lists came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows of all kinds.
    pub(crate) rows: u64,
    /// Rows without content.
    pub(crate) blank: u64,
    /// Rows with a count of 0.
    pub(crate) zero_count: u64,
    /// Malformed rows that were tolerated.
    pub(crate) bad: u64,
    /// Rows counted less often than asked.
    pub(crate) under_minimum: u64,
    /// Rows with a carriage return inside.
    pub(crate) carriage_returns: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

impl Counts {
    /// Rows that gave no key.
    pub(crate) const fn skipped(&self) -> u64 {
        self.blank + self.zero_count + self.bad + self.under_minimum
    }

    fn add(&mut self, totals: ListTotals) {
        self.rows += totals.rows;
        self.blank += totals.blank;
        self.zero_count += totals.zero_count;
        self.bad += totals.bad;
        self.carriage_returns += totals.carriage_returns;
        self.bytes += totals.bytes;
    }
}

/// What all lists have in common, and what came of reading them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLists {
    /// The hash that the keys are.
    pub(crate) digest: PasswordDigest,
    /// Whether a list was one of passwords.
    pub(crate) any_plain: bool,
    /// The rows.
    pub(crate) counts: Counts,
}

/// Reads all lists, front to back, and gives every row that counts to `row` with its list.
/// `progress` is told how many bytes were read since it was last told.
///
/// # Errors
///
/// If a list cannot be read, has no row, is not of the shape asked for or of the same hash as the
/// others; if more rows are malformed than are tolerated; if a count is asked for and a row has
/// none; and what `row` returns.
pub(crate) fn read_all(
    lists: Vec<OpenList>,
    reading: Reading,
    progress: &dyn Fn(u64),
    mut row: impl FnMut(&Input, Row) -> Result<(), Trouble>,
) -> Result<ReadLists, Trouble> {
    let mut digest = reading.digest;
    let mut counts = Counts::default();
    let mut any_plain = false;
    for OpenList { name, mut file, .. } in lists {
        let sample = sample(&mut file).map_err(|error| Trouble::reading(&name, &error))?;
        let format = format_of(&name, &sample, reading.format, digest)?;
        digest = Some(format.digest());
        any_plain |= matches!(format, ListFormat::Plain(_));

        let mut reader = ListReader::new(sample.as_slice().chain(file), format);
        let mut reported = 0;
        loop {
            match reader.next_row() {
                Ok(Some(read)) if counts_enough(&name, read, reading.min_count)? => {
                    row(&name, read)?;
                }
                Ok(Some(_)) => counts.under_minimum += 1,
                Ok(None) => break,
                Err(ListError::Row(bad)) => {
                    if counts.bad + reader.totals().bad > reading.skip_bad {
                        return Err(bad_row(&name, bad, reading.skip_bad));
                    }
                }
                Err(error) => return Err(Trouble::new(format_args!("{name}: {error}"))),
            }
            let bytes = reader.totals().bytes;
            if bytes - reported >= PROGRESS_STEP {
                progress(bytes - reported);
                reported = bytes;
            }
        }
        let totals = reader.totals();
        progress(totals.bytes - reported);
        if totals.rows == totals.blank {
            return Err(Trouble::new(format_args!("{name}: {}", DetectError::Empty)));
        }
        counts.add(totals);
    }
    Ok(ReadLists { digest: digest.unwrap_or_default(), any_plain, counts })
}

/// The beginning of a list.
fn sample(input: &mut impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    // Filled to its capacity and no further, so that it never moves and leaves a copy behind.
    let mut sample = Zeroizing::new(vec![0; SAMPLE_LEN]);
    let mut filled = 0;
    while filled < SAMPLE_LEN {
        match input.read(&mut sample[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    sample.truncate(filled);
    Ok(sample)
}

/// The format of one list, given what the user said and what the lists before were.
fn format_of(
    name: &Input,
    sample: &[u8],
    choice: FormatChoice,
    digest: Option<PasswordDigest>,
) -> Result<ListFormat, Trouble> {
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

/// Whether a row counts enough.
fn counts_enough(name: &Input, row: Row, min_count: u64) -> Result<bool, Trouble> {
    match row.count {
        _ if min_count <= 1 => Ok(true),
        Some(count) => Ok(count >= min_count),
        None => Err(Trouble::new(format_args!(
            "{name}: row {} at byte {}: expected a count, since only rows counted at least \
             {min_count} times are wanted, found none: leave --min-count out for lists without \
             counts",
            row.number, row.offset
        ))),
    }
}

fn bad_row(name: &Input, bad: BadRow, tolerated: u64) -> Trouble {
    if tolerated == 0 {
        return Trouble::new(format_args!(
            "{name}: {bad} (or tolerate such rows with --skip-bad N)"
        ));
    }
    Trouble::new(format_args!(
        "{name}: {bad} ({tolerated} such rows are tolerated, this is one more)"
    ))
}
