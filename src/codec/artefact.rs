//! A filter with its provenance, to and from bytes and files.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::atomic;
use super::error::{DecodeError, FileError, ReadError};
use super::header::{Kind, SectionType};
use super::provenance::Provenance;
use super::reader::{self, Sections};
use super::writer::{self, Section};
use crate::hash::HashIdentity;
use crate::simd::map;
use crate::store::{Mapped, Words};

/// A filter and where its keys came from: what a `.hapax` file holds.
///
/// # Examples
///
/// ```
/// use hapax::codec::{Artefact, Provenance};
/// use hapax::prelude::*;
///
/// let mut filter = BloomFilter::builder().capacity(100).false_positive_rate(0.01).build()?;
/// let _ = filter.insert("alice")?;
/// let provenance = Provenance { name: "staff".into(), ..Provenance::default() };
///
/// let bytes = Artefact { filter, provenance }.to_bytes();
/// let back = Artefact::<BloomFilter>::from_bytes(&bytes)?;
/// assert!(back.filter.contains("alice")?);
/// assert_eq!(back.provenance.name, "staff");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Artefact<F> {
    /// The filter.
    pub filter: F,
    /// Where its keys came from.
    pub provenance: Provenance,
}

/// What can be written to a file. Implemented by this crate's filters.
pub trait Encode {
    /// The kind that the file will name.
    fn kind(&self) -> Kind;

    /// The hash function that the file will name.
    #[doc(hidden)]
    fn identity(&self) -> HashIdentity;

    /// The sections, filters numbered from `index`.
    #[doc(hidden)]
    fn encode(&self, index: u16) -> Vec<Section<'_>>;
}

/// What can be read from a file, its words in `S`. Implemented by this crate's filters.
pub trait Decode<S>: Sized {
    /// The kinds of file that hold it.
    #[doc(hidden)]
    const KINDS: &'static [Kind];

    /// What it is called in an error about a file of another kind.
    #[doc(hidden)]
    const EXPECTED: &'static str;

    /// Takes its sections.
    #[doc(hidden)]
    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError>;

    /// Compares what is stored about the body with the body. O(size).
    #[doc(hidden)]
    fn check_body(&self) -> Result<(), DecodeError>;
}

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveOptions {
    /// What to do if the file exists.
    pub existing: Existing,
    /// Who may read the file.
    pub readers: Readers,
}

/// What to do if the file to be written exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// Leave it and return [`FileError::Exists`]. The default.
    #[default]
    Refuse,
    /// Replace it, atomically: a reader sees the old file or the new one. Of a symbolic link what
    /// it points to is replaced, and the link stays.
    Replace,
}

/// Who may read the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readers {
    /// Whoever may read the file that is replaced; for a new one, whoever the process's umask lets.
    /// The default.
    #[default]
    Umask,
    /// The owner alone (0600 on Unix): whoever holds a filter can test guesses against it.
    Owner,
}

impl<F: Encode> Artefact<F> {
    /// The whole file. Equal artefacts give equal bytes, on every platform.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // A vector takes all bytes: there is no error to report.
        let _: io::Result<()> = self.write_to(&mut out);
        out
    }

    /// Writes the whole file to a stream, front to back.
    ///
    /// # Errors
    ///
    /// What the stream returns.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let provenance = Section::small(SectionType::Provenance, 0, self.provenance.encode());
        let mut sections = self.filter.encode(0);
        sections.push(provenance);
        writer::write(self.filter.kind(), self.filter.identity(), &sections, out)
    }

    /// Writes the file atomically: a temporary file in the same folder, synced, renamed, and the
    /// folder synced. A crash or a full disk at any moment leaves the old file, or none.
    ///
    /// Only a process that is killed leaves the temporary file, `.hapax-XXXXXX.tmp`, behind;
    /// [`remove_stale_temporaries`](super::remove_stale_temporaries) tidies up after it.
    ///
    /// # Errors
    ///
    /// [`FileError::Exists`] as the options say, [`FileError::Io`] otherwise.
    pub fn save(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<(), FileError> {
        atomic::write_file(path.as_ref(), options, |out| self.write_to(out))
    }
}

impl<F: Decode<Words>> Artefact<F> {
    /// Reads a file from a stream to its end, checking everything. Memory grows as bytes arrive.
    ///
    /// # Errors
    ///
    /// [`ReadError::Decode`] if the bytes are not a whole, undamaged file that holds an `F`,
    /// [`ReadError::Io`] if the stream fails.
    pub fn read_from(input: &mut impl Read) -> Result<Self, ReadError> {
        Ok(Self::checked(reader::read(input)?)?)
    }

    /// Reads a file from memory, copying the body and checking everything.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not a whole, undamaged file that holds an `F`.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, DecodeError> {
        match reader::read(&mut bytes) {
            Ok(sections) => Self::checked(sections),
            Err(ReadError::Decode(error)) => Err(error),
            // Reading from memory fails only where the memory ends.
            Err(ReadError::Io(_)) => Err(DecodeError::Incomplete),
        }
    }

    /// Reads a file, checking everything.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`] or [`FileError::Decode`], each with the path.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| FileError::io(path, error))?;
        Self::read_from(&mut BufReader::new(file)).map_err(|error| match error {
            ReadError::Io(error) => FileError::io(path, error),
            ReadError::Decode(error) => FileError::decode(path, error),
        })
    }

    fn checked(sections: Sections<Words>) -> Result<Self, DecodeError> {
        let artefact = Self::assemble(sections)?;
        artefact.filter.check_body()?;
        Ok(artefact)
    }
}

impl<'a, F: Decode<&'a [u64]>> Artefact<F> {
    /// Reads a file in place: the filter borrows its words from `bytes`, such as a mapped file.
    /// Costs microseconds whatever the size, and checks everything but the body, which it does not
    /// look at: run [`verify`] on the same bytes for that.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not a whole file that holds an `F`, do not start at a
    /// multiple of 8, or the machine is big-endian.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::codec::Artefact;
    /// use hapax::prelude::*;
    /// # let filter = BloomFilter::builder().capacity(100).false_positive_rate(0.01).build()?;
    /// # let bytes = Artefact { filter, provenance: Default::default() }.to_bytes();
    /// let artefact = Artefact::<hapax::AnyFilter<&[u64]>>::open(&bytes)?;
    /// assert!(!artefact.filter.contains("alice")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::assemble(reader::open(bytes)?)
    }
}

impl<F: Decode<Mapped>> Artefact<F> {
    /// Maps a file and reads it in place, as [`open`](Self::open) does. It is held open as long as
    /// the filter; pages come into memory as they are asked for, and processes share them.
    ///
    /// The file must not be changed in place meanwhile: cut short, it takes the process down.
    /// [`save`](Self::save) and [`FuseWriter`](super::FuseWriter) put a new file in its place, which
    /// is safe: the filter goes on with the old one.
    ///
    /// # Errors
    ///
    /// [`FileError::Io`] if it cannot be mapped, [`FileError::Decode`] as `open`.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::codec::Artefact;
    /// use hapax::{AnyFilter, Mapped, prelude::*};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.hapax");
    /// # BloomFilter::builder().capacity(100).false_positive_rate(0.01).build()?.save(&path)?;
    /// let filter = Artefact::<AnyFilter<Mapped>>::open_path(&path)?.filter;
    /// assert!(!filter.contains("alice")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_path(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::open_map(path.as_ref(), &Arc::new(mapped(path.as_ref())?))
    }

    fn open_map(path: &Path, map: &Arc<Mmap>) -> Result<Self, FileError> {
        // Keys are asked all over the file: what lies next to one is not read in advance.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Random);
        let words = |body: Range<u64>| {
            let body = usize::try_from(body.start).ok()?..usize::try_from(body.end).ok()?;
            Mapped::new(map, body)
        };
        let sections = reader::open_with(map, words);
        sections.and_then(Self::assemble).map_err(|error| FileError::decode(path, error))
    }
}

impl<F: Decode<Mapped>> Artefact<F> {
    /// As [`open_path`](Self::open_path), and checks every byte of files up to a length, and the counts
    /// in them. Memory does not grow with the file.
    ///
    /// # Errors
    ///
    /// As `open_path`, and as [`verify_path`].
    pub fn open_path_checked(path: impl AsRef<Path>, up_to: u64) -> Result<Self, FileError> {
        let path = path.as_ref();
        // One map for both: the path may name another file meanwhile.
        let map = Arc::new(mapped(path)?);
        if map.len() as u64 <= up_to {
            verify_map(path, &map)?;
        }
        let artefact = Self::open_map(path, &map)?;
        if map.len() as u64 <= up_to {
            artefact.filter.check_body().map_err(|error| FileError::decode(path, error))?;
        }
        Ok(artefact)
    }
}

/// Maps a file that has bytes.
fn mapped(path: &Path) -> Result<Mmap, FileError> {
    let at_path = |error| FileError::io(path, error);
    let file = File::open(path).map_err(at_path)?;
    let metadata = file.metadata().map_err(at_path)?;
    if !metadata.is_file() {
        let message = "expected a file, found a folder, a device or a pipe, which cannot be mapped";
        return Err(at_path(io::Error::new(io::ErrorKind::InvalidInput, message)));
    }
    if metadata.len() == 0 {
        return Err(FileError::decode(path, DecodeError::Empty));
    }
    map(&file).map_err(at_path)
}

impl<F> Artefact<F> {
    fn assemble<S>(mut sections: Sections<S>) -> Result<Self, DecodeError>
    where
        F: Decode<S>,
    {
        let found = sections.kind();
        if !F::KINDS.contains(&found) {
            return Err(DecodeError::WrongKind { expected: F::EXPECTED, found });
        }
        let filter = F::decode(&mut sections, 0)?;
        let provenance = Provenance::decode(&sections.take_small(SectionType::Provenance, 0)?)?;
        sections.finish()?;
        Ok(Self { filter, provenance })
    }
}

/// Checks every byte of a file in memory, whatever it holds and whether or not its secret key is
/// at hand: header, table, lengths, every checksum, all padding. As fast as memory is read.
///
/// It proves that the bytes are those that were written. That the parameters describe a filter is
/// for [`Artefact::open`] to say, and that the counts in them are those of the body for
/// [`Artefact::from_bytes`].
///
/// # Errors
///
/// [`DecodeError`], naming the damaged part.
pub fn verify(bytes: &[u8]) -> Result<(), DecodeError> {
    reader::verify(bytes)
}

/// Checks every byte of a file as [`verify`] does, in place: memory does not grow with it.
///
/// # Errors
///
/// [`FileError::Io`] if it cannot be mapped, [`FileError::Decode`] naming the damaged part.
pub fn verify_path(path: impl AsRef<Path>) -> Result<(), FileError> {
    verify_map(path.as_ref(), &mapped(path.as_ref())?)
}

fn verify_map(path: &Path, map: &Mmap) -> Result<(), FileError> {
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    verify(map).map_err(|error| FileError::decode(path, error))
}

/// Saving and loading without provenance, for programs that keep filters of their own.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.hapax");
///
/// let mut filter = CuckooFilter::builder().capacity(100).false_positive_rate(0.01).build()?;
/// let _ = filter.insert("alice")?;
/// filter.save(&path)?;
/// assert!(CuckooFilter::load(&path)?.contains("alice")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Persist: Encode + Decode<Words> {
    /// Writes a file atomically, replacing an older one.
    ///
    /// # Errors
    ///
    /// As [`Artefact::save`].
    fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let artefact = Artefact { filter: self, provenance: Provenance::default() };
        artefact.save(path, SaveOptions { existing: Existing::Replace, ..SaveOptions::default() })
    }

    /// Reads a file, checking everything.
    ///
    /// # Errors
    ///
    /// As [`Artefact::load`].
    fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Ok(Artefact::load(path)?.filter)
    }
}

impl<F: Encode + Decode<Words>> Persist for F {}

impl<F: Encode> Encode for &F {
    fn kind(&self) -> Kind {
        (**self).kind()
    }

    fn identity(&self) -> HashIdentity {
        (**self).identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        (**self).encode(index)
    }
}
