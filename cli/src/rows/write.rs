//! Lists that are written: a file, or a folder of ranges, whole or not at all.
//!
//! ```text
//!                        ┌─▶ text ──▶ compress ──▶ temporary file ──sync──▶ rename
//!  rows in some order ───┤
//!                        └─▶ 00000.txt 00001.txt ... in a temporary folder ──sync──▶ rename
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use hapax::codec::{self, Existing, Readers, SaveOptions};
use hapax::screen::PasswordDigest;
use hapax::screen::list::RangePrefix;

use super::{Entry, LineEnd, RowText};
use crate::signals::Undo;
use crate::trouble::Trouble;

/// Text is handed on in pieces of this size.
const PIECE: usize = 256 * 1024;

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Hashes and counts, as Have I Been Pwned publishes them
    #[default]
    Hibp,
    /// The same as a folder of range files, one for each five digits
    HibpDir,
    /// Hashes alone
    Hashes,
}

/// How the output is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// Not at all
    #[default]
    None,
    /// gzip
    Gz,
    /// bzip2
    Bz2,
    /// Zstandard
    Zst,
}

impl Compress {
    const fn ending(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gz => ".gz",
            Self::Bz2 => ".bz2",
            Self::Zst => ".zst",
        }
    }
}

/// Where a list goes, and in which form.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The file or folder; `-` for standard output.
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// By default as usual for the format: range files end their lines as the service does.
    pub(crate) end: Option<LineEnd>,
    pub(crate) compress: Compress,
    pub(crate) existing: Existing,
}

impl Target {
    /// Writes a list: `rows` is given a writer to push them to. Nothing is there before all of it is
    /// (except on standard output), and what `rows` returns in place of its rows leaves the old file.
    ///
    /// # Errors
    ///
    /// If the target cannot be written, and what `rows` returns.
    pub(crate) fn write<T>(
        &self,
        readers: Readers,
        rows: impl FnOnce(&mut ListWriter<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.format == Format::HibpDir {
            return self.write_folder(readers, rows);
        }
        self.write_text(readers, |out| {
            let mut write = |text: &[u8]| out.write(text);
            let mut writer = ListWriter {
                text: self.text(0, LineEnd::Lf),
                buffer: Vec::with_capacity(PIECE + super::MAX_ROW_TEXT),
                to: To::File(&mut write),
            };
            let value = rows(&mut writer)?;
            writer.finish()?;
            Ok(value)
        })
    }

    /// The same for text as it is: a file or standard output, no folder.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub(crate) fn write_text<T>(
        &self,
        readers: Readers,
        text: impl FnOnce(&mut TextWriter<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.path.as_os_str() == "-" {
            let mut out = stdout().map_err(|error| Trouble::stdout(&error))?;
            return self.encode(&mut out, &Trouble::stdout, text);
        }
        let options = SaveOptions { existing: self.existing, readers };
        let mut written = None;
        let failed = |error: &io::Error| Trouble::writing(&self.path, error);
        let saved = codec::write_file(&self.path, options, |out| {
            let result = self.encode(out, &failed, text);
            let ended = result.is_ok();
            written = Some(result);
            if ended { Ok(()) } else { Err(io::Error::other("what was to be written failed")) }
        });
        match (written, saved) {
            (Some(Err(trouble)), _) => Err(trouble),
            (_, Err(error)) => Err(Trouble::file(&error)),
            (Some(written), Ok(())) => written,
            (None, Ok(())) => Err(Trouble::new("nothing was written")),
        }
    }

    fn encode<T>(
        &self,
        out: &mut dyn Write,
        failed: &dyn Fn(&io::Error) -> Trouble,
        text: impl FnOnce(&mut TextWriter<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let out = Encoder::new(out, self.compress).map_err(|error| failed(&error))?;
        let mut writer = TextWriter { out, failed };
        let value = text(&mut writer)?;
        writer.out.finish().map_err(|error| failed(&error))?;
        Ok(value)
    }

    fn write_folder<T>(
        &self,
        readers: Readers,
        rows: impl FnOnce(&mut ListWriter<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let failed = |error: &io::Error| Trouble::writing(&self.path, error);
        let made = self.make_folder(readers).map_err(|error| failed(&error))?;
        let path = made.path().to_owned();
        let undo = Undo::register(move || {
            // Nobody is left to be told.
            let _ = fs::remove_dir_all(path);
        });
        let mut writer = ListWriter {
            text: self.text(RangePrefix::DIGITS, LineEnd::Crlf),
            buffer: Vec::with_capacity(PIECE),
            to: To::Folder {
                folder: made.path(),
                compress: self.compress,
                last: None,
                failed: &failed,
            },
        };
        let value = rows(&mut writer)?;
        writer.finish()?;
        let persisted = (|| {
            // One call for a million files.
            rustix::fs::syncfs(File::open(made.path())?)?;
            fs::rename(made.path(), &self.path)
        })();
        persisted.map_err(|error| failed(&error))?;
        drop(undo);
        // It has another name now.
        let _ = made.keep();
        Ok(value)
    }

    /// A folder under another name beside the target, which must not be there.
    fn make_folder(&self, readers: Readers) -> io::Result<tempfile::TempDir> {
        use std::os::unix::fs::PermissionsExt;
        if self.path.as_os_str() == "-" {
            return Err(io::Error::other("a folder of ranges is no stream: name a new folder"));
        }
        if self.path.symlink_metadata().is_ok() {
            return Err(io::Error::other(
                "it exists, and a folder is never replaced: name a new one",
            ));
        }
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mode = if readers == Readers::Owner { 0o700 } else { 0o777 };
        tempfile::Builder::new()
            .prefix(".hapax-")
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(mode))
            .tempdir_in(parent.unwrap_or(Path::new(".")))
    }

    fn text(&self, skip: usize, end: LineEnd) -> RowText {
        RowText {
            digest: PasswordDigest::default(),
            skip,
            counts: self.format != Format::Hashes,
            end: self.end.unwrap_or(end),
        }
    }
}

/// Standard output without the buffer of the standard library, which looks for line ends.
pub(crate) fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Takes text.
pub(crate) struct TextWriter<'a> {
    out: Encoder<'a>,
    failed: &'a dyn Fn(&io::Error) -> Trouble,
}

impl TextWriter<'_> {
    /// Takes a piece of text.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn write(&mut self, text: &[u8]) -> Result<(), Trouble> {
        self.out.write_all(text).map_err(|error| (self.failed)(&error))
    }
}

/// Takes the rows of a list.
pub(crate) struct ListWriter<'a> {
    text: RowText,
    buffer: Vec<u8>,
    to: To<'a>,
}

enum To<'a> {
    File(&'a mut (dyn FnMut(&[u8]) -> Result<(), Trouble> + 'a)),
    Folder {
        folder: &'a Path,
        compress: Compress,
        last: Option<Entry>,
        failed: &'a dyn Fn(&io::Error) -> Trouble,
    },
}

impl ListWriter<'_> {
    /// Says which hash the rows have; before the first of them.
    pub(crate) fn set_digest(&mut self, digest: PasswordDigest) {
        self.text.digest = digest;
    }

    /// Takes a row. For a folder, rows come in the order of their prefixes.
    ///
    /// # Errors
    ///
    /// If the output cannot be written, or the rows of a folder are not sorted.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) -> Result<(), Trouble> {
        let Self { text, buffer, to } = self;
        match to {
            To::File(write) => {
                if buffer.len() >= PIECE {
                    write(buffer)?;
                    buffer.clear();
                }
            }
            To::Folder { last, .. } => {
                let place = |entry: &Entry| (entry.hash, entry.tail);
                if last.is_some_and(|last| place(&last) > place(&entry)) {
                    return Err(Trouble::new(
                        "a folder of ranges needs rows sorted by hash, and these are not: add --sort \
                         hash",
                    ));
                }
                let prefix = |entry: Entry| RangePrefix::of(entry.hash);
                if last.is_some_and(|last| prefix(last) != prefix(entry)) {
                    self.flush()?;
                }
                if let To::Folder { last, .. } = &mut self.to {
                    *last = Some(entry);
                }
                self.text.append(&mut self.buffer, entry);
                return Ok(());
            }
        }
        text.append(buffer, entry);
        Ok(())
    }

    /// Writes what was gathered: a piece of the file, or the range.
    fn flush(&mut self) -> Result<(), Trouble> {
        match &mut self.to {
            To::File(write) => write(&self.buffer)?,
            To::Folder { last: None, .. } => {}
            To::Folder { folder, compress, last: Some(last), failed } => {
                let prefix = RangePrefix::of(last.hash);
                // As the service sends it: no line end after the last row.
                let end = self.text.end.bytes();
                let text = match self.text.end {
                    LineEnd::Crlf => self.buffer.strip_suffix(end).unwrap_or(&self.buffer),
                    LineEnd::Lf => &self.buffer,
                };
                let path = folder.join(format!("{prefix}.txt{}", compress.ending()));
                let written = File::create_new(path).and_then(|mut file| {
                    let mut out = Encoder::new(&mut file, *compress)?;
                    out.write_all(text)?;
                    out.finish()
                });
                written.map_err(|error| failed(&error))?;
            }
        }
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), Trouble> {
        self.flush()
    }
}

/// Compresses, or does not.
enum Encoder<'a> {
    None(&'a mut dyn Write),
    Gz(Box<flate2::write::GzEncoder<&'a mut dyn Write>>),
    Bz2(Box<bzip2::write::BzEncoder<&'a mut dyn Write>>),
    Zst(Box<zstd::Encoder<'static, &'a mut dyn Write>>),
}

impl<'a> Encoder<'a> {
    fn new(out: &'a mut dyn Write, compress: Compress) -> io::Result<Self> {
        /// Half of a row is one of 16 digits drawn at random, which no effort makes smaller.
        const GZIP_LEVEL: u32 = 4;
        const ZSTD_LEVEL: i32 = 3;
        Ok(match compress {
            Compress::None => Self::None(out),
            Compress::Gz => Self::Gz(Box::new(flate2::write::GzEncoder::new(
                out,
                flate2::Compression::new(GZIP_LEVEL),
            ))),
            Compress::Bz2 => Self::Bz2(Box::new(bzip2::write::BzEncoder::new(
                out,
                bzip2::Compression::default(),
            ))),
            Compress::Zst => {
                let mut encoder = zstd::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zst(Box::new(encoder))
            }
        })
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::None(out) => out.write_all(bytes),
            Self::Gz(out) => out.write_all(bytes),
            Self::Bz2(out) => out.write_all(bytes),
            Self::Zst(out) => out.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let out = match self {
            Self::None(out) => out,
            Self::Gz(out) => out.finish()?,
            Self::Bz2(out) => out.finish()?,
            Self::Zst(out) => out.finish()?,
        };
        out.flush()
    }
}
