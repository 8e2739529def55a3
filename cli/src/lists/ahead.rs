//! How many rows lists have, and what they are, before they are read.
//!
//! ```text
//!  file      ▏▏   ▏   ▏   ▏   ▏   ▏   ▏   64 places: line ends a byte, times its size
//!  folder    ranges 0, n/64, 2n/64 ...    64 files: rows a file, times their number
//!  compressed, pipe                       nothing can be said
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

use hapax::screen::PasswordDigest;
use hapax::screen::list::{Decompressed, RangeFolder, SAMPLE_LEN};
use zeroize::Zeroizing;

use super::format::{format_of, format_of_range};
use super::open::{Input, OpenFile, OpenList, Source};
use super::{FormatChoice, Reading};
use crate::trouble::Trouble;

/// Places of a file, or files of a folder, that are looked at.
const PLACES: u64 = 64;

/// Bytes looked at in a place.
const PLACE_LEN: usize = 16 * 1024;

/// The most of a range that is looked at: several thousand times what one is long.
const MAX_RANGE_LEN: u64 = 1 << 28;

/// What is known of lists before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// Rows of any kind, blank ones and repeated ones included.
    pub(crate) rows: u64,
    /// Whether that is their number, rather than about that.
    pub(crate) exact: bool,
    /// Which hash the keys will be; `None` if no list could be looked at.
    pub(crate) digest: Option<PasswordDigest>,
}

/// Looks ahead at all lists. `rows` is how many they have, if the user knows; it is needed for what
/// is compressed and for pipes. Reads a megabyte or so of each list.
///
/// # Errors
///
/// If a list cannot be read, is not of the shape asked for or of the same hash as the others, or if
/// the number of its rows cannot be told and was not given.
pub(crate) fn look_ahead(
    lists: &[OpenList],
    reading: Reading,
    rows: Option<u64>,
) -> Result<Ahead, Trouble> {
    let mut ahead = Ahead { rows: 0, exact: true, digest: reading.digest };
    for list in lists {
        let name = &list.name;
        let failed = |error: io::Error| Trouble::reading(name, &error);
        let estimated = match &list.source {
            Source::File(file) if file.len().is_none() => Err("a pipe"),
            Source::File(file) => {
                let (sample, compressed) = head(file.file()).map_err(failed)?;
                ahead.digest =
                    Some(format_of(name, &sample, reading.format, ahead.digest)?.digest());
                if compressed { Err("what is compressed") } else { Ok(of_file(file)) }
            }
            Source::Folder(_) if reading.format == FormatChoice::Plain => {
                return Err(super::read::plain_folder(name));
            }
            Source::Folder(folder) => Ok(of_folder(folder, &mut ahead.digest)),
        };
        match (estimated, rows) {
            (_, Some(_)) => {}
            (Ok(estimated), None) => {
                let (rows, exact) = estimated?;
                ahead.rows = ahead.rows.saturating_add(rows);
                ahead.exact &= exact;
            }
            (Err(what), None) => {
                return Err(Trouble::new(format_args!(
                    "{name}: how many rows are in {what} is not known before it is read: give \
                     --rows N, about as many as all lists have"
                )));
            }
        }
    }
    if let Some(rows) = rows {
        (ahead.rows, ahead.exact) = (rows, true);
    }
    Ok(ahead)
}

/// The beginning of a list, and whether it is compressed.
fn head(file: &File) -> io::Result<(Zeroizing<Vec<u8>>, bool)> {
    let mut text = Decompressed::new(At { file, offset: 0 })?;
    let compressed = text.compression().is_some();
    Ok((super::read::sample(&mut text, SAMPLE_LEN)?, compressed))
}

/// Rows of a file that is not compressed, and whether all of it was looked at.
fn of_file(file: &OpenFile) -> Result<(u64, bool), Trouble> {
    let len = file.len().unwrap_or(0);
    let counted = count_rows(file.file(), len);
    counted.map_err(|error| Trouble::reading(file.name(), &error))
}

fn count_rows(file: &File, len: u64) -> io::Result<(u64, bool)> {
    let all = PLACES * PLACE_LEN as u64;
    if len <= all {
        return Ok((rows_of(At { file, offset: 0 }.take(len))?, true));
    }
    let mut buffer = Zeroizing::new(vec![0; PLACE_LEN]);
    let (mut ends, mut bytes) = (0u64, 0u64);
    // The middle of each part, so that no part of the file counts for more.
    let part = len / PLACES;
    for place in 0..PLACES {
        let offset = part * place + (part - PLACE_LEN as u64) / 2;
        let read = file.read_at(&mut buffer, offset)?;
        ends += line_ends(&buffer[..read]);
        bytes += read as u64;
    }
    let rows = ends as f64 / bytes.max(1) as f64 * len as f64;
    Ok((rows as u64, false))
}

/// Rows of a folder, and whether all of its files were looked at. Of which hash they are is kept.
fn of_folder(
    folder: &RangeFolder,
    digest: &mut Option<PasswordDigest>,
) -> Result<(u64, bool), Trouble> {
    let files = folder.len() as u64;
    let step = files.div_ceil(PLACES).max(1) as usize;
    let (mut rows, mut seen) = (0u64, 0u64);
    for (prefix, path) in folder.ranges().step_by(step) {
        let name = Input::File(path);
        let (_, file) = OpenFile::open(name.clone())?.into_parts();
        let failed = |error: io::Error| Trouble::reading(&name, &error);
        let (sample, _) = head(&file).map_err(failed)?;
        *digest = Some(format_of_range(&name, &sample, prefix, *digest)?.digest());
        let text = Decompressed::new(At { file: &file, offset: 0 }).map_err(failed)?;
        rows += rows_of(text.take(MAX_RANGE_LEN)).map_err(failed)?;
        seen += 1;
    }
    let all = rows as f64 / seen.max(1) as f64 * files as f64;
    Ok((all.round() as u64, seen == files))
}

/// Rows of a text: its line ends, and what comes after the last one.
fn rows_of(mut text: impl Read) -> io::Result<u64> {
    let mut buffer = Zeroizing::new(vec![0; PLACE_LEN]);
    let (mut rows, mut last) = (0, b'\n');
    loop {
        match text.read(&mut buffer) {
            Ok(0) => return Ok(rows + u64::from(last != b'\n')),
            Ok(read) => {
                rows += line_ends(&buffer[..read]);
                last = buffer[read - 1];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// A file from a place on, whose own place does not move: its rows are still to be read.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::open_all;

    fn ahead(content: &[u8], reading: Reading, rows: Option<u64>) -> Result<Ahead, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        std::fs::write(&path, content).unwrap();
        let lists = open_all(&[Input::File(path)]).unwrap();
        look_ahead(&lists, reading, rows).map_err(|trouble| format!("{trouble:?}"))
    }

    #[test]
    fn rows_of_short_files_are_counted() {
        for (content, rows) in [("abc", 1), ("abc\n", 1), ("abc\r\nb", 2), ("a\n\nb\n", 3)] {
            let found = ahead(content.as_bytes(), Reading::default(), None);
            let expected = Ahead { rows, exact: true, digest: Some(PasswordDigest::Sha1) };
            assert_eq!(found, Ok(expected), "{content:?}");
        }
    }

    /// Rows that become longer towards the end, so that the head alone would say too many.
    #[test]
    fn rows_of_long_files_are_estimated_from_all_over() {
        let rows = 300_000u64;
        let row = |i: u64| format!("{i:0width$}\n", width = 6 + i as usize / 10_000);
        let list: Vec<String> = (0..rows).map(row).collect();
        let list = list.concat();
        let found = ahead(list.as_bytes(), Reading::default(), None).unwrap();
        let ratio = found.rows as f64 / rows as f64;
        assert!(!found.exact && (ratio - 1.0).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn what_cannot_be_told_is_asked_for() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, b"abc\n").unwrap();
        let gzip = gzip.finish().unwrap();
        let message = ahead(&gzip, Reading::default(), None).unwrap_err();
        assert!(message.contains("compressed") && message.contains("--rows N"), "{message}");
        let found = ahead(&gzip, Reading::default(), Some(7)).unwrap();
        assert_eq!((found.rows, found.exact), (7, true));
    }

    #[test]
    fn lists_that_a_build_refuses_for_their_shape_are_refused() {
        for content in [&b""[..], b"\n\n", b"abc\rabc\r", b"\xfd7zXZ\0"] {
            for rows in [None, Some(7)] {
                assert!(ahead(content, Reading::default(), rows).is_err(), "{content:?}");
            }
        }
        let nt = Reading { digest: Some(PasswordDigest::Nt), ..Reading::default() };
        assert!(ahead("A".repeat(40).as_bytes(), nt, None).is_err());
    }

    #[test]
    fn rows_of_a_folder_are_estimated_from_some_of_its_files() {
        for (files, exact) in [(20u32, true), (1_000, false)] {
            let folder = tempfile::tempdir().unwrap();
            for file in 0..files {
                let rows = format!("{}:3\r\n", "0".repeat(35)).repeat(10 + file as usize % 3);
                std::fs::write(folder.path().join(format!("{file:05X}.txt")), rows).unwrap();
            }
            let lists = open_all(&[Input::File(folder.path().to_owned())]).unwrap();
            let found = look_ahead(&lists, Reading::default(), None).unwrap();
            let ratio = found.rows as f64 / (11.0 * f64::from(files));
            assert!((ratio - 1.0).abs() < 0.02, "{files}: {ratio}");
            assert_eq!((found.exact, found.digest), (exact, Some(PasswordDigest::Sha1)));
        }
    }
}
