//! Lists that are compressed, told by their first bytes: a name may lie.
//!
//! What is cut short or damaged is an error and not the end of the list: all three formats say where
//! they end, and carry checksums (zstd only if its writer wanted one). Several streams in one file (`cat a.gz b.gz`, parallel compressors)
//! are read to the end of the last one.

use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

/// How a list is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// gzip, RFC 1952.
    Gzip,
    /// bzip2.
    Bzip2,
    /// Zstandard, RFC 8878.
    Zstd,
}

/// Bytes that tell how a file is compressed.
const MAGIC_LEN: usize = 10;

impl Compression {
    /// Tells how data is compressed from its first ten bytes; `None` if it is not, or in a way that is
    /// not read.
    #[must_use]
    pub fn detect(head: &[u8]) -> Option<Self> {
        /// Follows `BZh` and the level: the head of a block, or the end of an empty stream. (π and
        /// its square root, as the format has it.)
        const BZIP2: [&[u8]; 2] =
            [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];

        if head.starts_with(&[0x1f, 0x8b, 0x08]) {
            return Some(Self::Gzip);
        }
        // A frame, or one to be passed over, which may come first.
        let skippable =
            head.len() >= 4 && (0x50..0x60).contains(&head[0]) && head[1..4] == *b"\x2a\x4d\x18";
        if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
            return Some(Self::Zstd);
        }
        let bzip2 = head.starts_with(b"BZh")
            && head
                .get(4..)
                .is_some_and(|block| BZIP2.iter().any(|magic| block.starts_with(magic)));
        bzip2.then_some(Self::Bzip2)
    }
}

/// Reads an input, decompressed if it is compressed.
///
/// # Examples
///
/// ```
/// use std::io::{Read, Write};
/// use hapax::screen::list::{Compression, Decompressed};
///
/// let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
/// gzip.write_all(b"123456\npassword\n")?;
/// let compressed = gzip.finish()?;
///
/// let mut list = Decompressed::new(compressed.as_slice())?;
/// assert_eq!(list.compression(), Some(Compression::Gzip));
/// let mut text = String::new();
/// list.read_to_string(&mut text)?;
/// assert_eq!(text, "123456\npassword\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Decompressed<R: Read> {
    decoder: Decoder<Head<R>>,
}

enum Decoder<R: Read> {
    None(R),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    Bzip2(Box<MultiBzDecoder<BufReader<R>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<R>>>),
}

impl<R: Read> Decompressed<R> {
    /// Reads the first bytes of an input and tells how to go on. Buffers of a compressed list are not
    /// wiped.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    pub fn new(mut input: R) -> io::Result<Self> {
        let (mut bytes, mut len) = ([0; MAGIC_LEN], 0);
        while len < MAGIC_LEN {
            match input.read(&mut bytes[len..]) {
                Ok(0) => break,
                Ok(read) => len += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let compression = Compression::detect(&bytes[..len]);
        let input = Head { bytes, start: 0, len, rest: input };
        let decoder = match compression {
            None => Decoder::None(input),
            Some(Compression::Gzip) => {
                Decoder::Gzip(Box::new(MultiGzDecoder::new(BufReader::new(input))))
            }
            Some(Compression::Bzip2) => {
                Decoder::Bzip2(Box::new(MultiBzDecoder::new(BufReader::new(input))))
            }
            Some(Compression::Zstd) => Decoder::Zstd(Box::new(zstd::Decoder::new(input)?)),
        };
        Ok(Self { decoder })
    }

    /// How the input is compressed.
    #[must_use]
    pub const fn compression(&self) -> Option<Compression> {
        match self.decoder {
            Decoder::None(_) => None,
            Decoder::Gzip(_) => Some(Compression::Gzip),
            Decoder::Bzip2(_) => Some(Compression::Bzip2),
            Decoder::Zstd(_) => Some(Compression::Zstd),
        }
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.decoder {
            Decoder::None(input) => input.read(buffer),
            Decoder::Gzip(input) => input.read(buffer),
            Decoder::Bzip2(input) => input.read(buffer),
            Decoder::Zstd(input) => input.read(buffer),
        }
    }
}

/// How the input is compressed; nothing of its content.
impl<R: Read> fmt::Debug for Decompressed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressed")
            .field("compression", &self.compression())
            .finish_non_exhaustive()
    }
}

/// The first bytes of an input, and the rest of it.
struct Head<R> {
    bytes: [u8; MAGIC_LEN],
    start: usize,
    len: usize,
    rest: R,
}

impl<R: Read> Read for Head<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start == self.len {
            return self.rest.read(buffer);
        }
        let head = &self.bytes[self.start..self.len];
        let len = head.len().min(buffer.len());
        buffer[..len].copy_from_slice(&head[..len]);
        self.start += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn list() -> Vec<u8> {
        (0..20_000u32).flat_map(|i| format!("password {i}\n").into_bytes()).collect()
    }

    fn compressed(list: &[u8], compression: Compression) -> Vec<u8> {
        match compression {
            Compression::Gzip => {
                let mut out =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(list).unwrap();
                out.finish().unwrap()
            }
            Compression::Bzip2 => {
                let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                out.write_all(list).unwrap();
                out.finish().unwrap()
            }
            Compression::Zstd => {
                let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
                out.include_checksum(true).unwrap();
                out.write_all(list).unwrap();
                out.finish().unwrap()
            }
        }
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Decompressed::new(bytes)?.read_to_end(&mut out).map(|_| out)
    }

    const ALL: [Compression; 3] = [Compression::Gzip, Compression::Bzip2, Compression::Zstd];

    #[test]
    fn streams_one_after_the_other_are_one_list() {
        for compression in ALL {
            let list = list();
            let (first, second) = list.split_at(list.len() / 3);
            let mut bytes = compressed(first, compression);
            bytes.extend(compressed(&[], compression));
            bytes.extend(compressed(second, compression));
            assert!(read(&bytes).unwrap() == list, "{compression:?}");
            assert_eq!(Decompressed::new(&bytes[..]).unwrap().compression(), Some(compression));
            assert_eq!(read(&compressed(&[], compression)).unwrap(), [], "{compression:?}");
        }
    }

    #[test]
    fn a_list_cut_short_is_an_error_and_not_a_shorter_list() {
        for compression in ALL {
            let bytes = compressed(&list(), compression);
            for len in [bytes.len() - 1, bytes.len() - 5, bytes.len() / 2, 11] {
                assert!(read(&bytes[..len]).is_err(), "{compression:?} cut to {len}");
            }
        }
    }

    #[test]
    fn damage_is_an_error() {
        for compression in ALL {
            let whole = compressed(&list(), compression);
            for at in [whole.len() / 4, whole.len() / 2, whole.len() * 3 / 4] {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x40;
                assert!(read(&bytes).is_err(), "{compression:?} at {at}");
            }
        }
    }

    #[test]
    fn what_is_not_compressed_comes_as_it_is() {
        for list in [&b""[..], b"a", b"BZh9 is a password", b"\x1f\x8b", b"more than ten bytes\n"] {
            assert_eq!(read(list).unwrap(), list);
            assert_eq!(Decompressed::new(list).unwrap().compression(), None);
        }
    }
}
