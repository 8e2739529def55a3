//! How the files of ranges are named: one grammar for who reads names and for who makes them.
//!
//! ```text
//!  07F07.txt   07/07F07   07/F07.zst   sha1/07/f0/07f07.gz   0/7/F/07F07.bz2
//!                                      └─ one of two lists   └─ nests of digits, an ending, a case
//! ```
//!
//! A folder is read by all of its names, whatever lies around them: a range that is passed over is
//! thousands of passwords lost. A single range is looked up by making its name, in a layout that was
//! found once, since to go through a million names takes longer than to answer. So the first takes all
//! that the second makes, and more: folders may lie in others, and endings come in any order.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::digest::PasswordDigest;
use super::list::RangePrefix;

/// What files of text end in; nothing does as well.
const TEXT: &str = ".txt";

/// What compressed files end in, after that.
const COMPRESSED: [&str; 4] = [".gz", ".bz2", ".zst", ".zstd"];

/// Endings of a file of 6 bytes a row, which cannot be used.
const TRUNCATED: &[u8] = b".bin";

/// How folders and files are named after the five digits, all that are known. The last name is the
/// file's.
const NESTS: [&[&[usize]]; 5] = [
    &[&[0, 1, 2, 3, 4]],
    &[&[0, 1], &[0, 1, 2, 3, 4]],
    &[&[0, 1], &[2, 3, 4]],
    &[&[0, 1], &[2, 3], &[0, 1, 2, 3, 4]],
    &[&[0], &[1], &[2], &[0, 1, 2, 3, 4]],
];

/// The prefix that the file of a range is named after: the last five digits of its path, in a name of
/// five or, in a folder of two, of three. `None` for other names.
pub(super) fn prefix_of(folder: Option<&OsStr>, name: &OsStr) -> Option<RangePrefix> {
    prefix_of_stem(folder, stem_of(name.as_encoded_bytes()))
}

/// Whether a file is a range of which too little was kept.
pub(super) fn is_truncated(folder: Option<&OsStr>, name: &OsStr) -> bool {
    let stem = name.as_encoded_bytes().strip_suffix(TRUNCATED);
    stem.is_some_and(|stem| prefix_of_stem(folder, stem).is_some())
}

fn prefix_of_stem(folder: Option<&OsStr>, stem: &[u8]) -> Option<RangePrefix> {
    match (folder.unwrap_or_default().as_encoded_bytes(), stem) {
        (_, [_, _, _, _, _]) => RangePrefix::parse(stem),
        ([a, b], [c, d, e]) => RangePrefix::parse(&[*a, *b, *c, *d, *e]),
        _ => None,
    }
}

/// A name without its endings, of which there may be two.
fn stem_of(name: &[u8]) -> &[u8] {
    let strip = |name| {
        let mut endings = std::iter::once(TEXT).chain(COMPRESSED);
        endings.find_map(|ending| <[u8]>::strip_suffix(name, ending.as_bytes()))
    };
    let once = strip(name).unwrap_or(name);
    strip(once).unwrap_or(once)
}

/// The folder of the ranges of one hash: one downloader keeps those of both in one folder.
pub(super) fn root_of(folder: &Path, digest: PasswordDigest) -> PathBuf {
    let inner = folder.join(match digest {
        PasswordDigest::Sha1 => "sha1",
        PasswordDigest::Nt => "ntlm",
    });
    if inner.is_dir() { inner } else { folder.to_owned() }
}

/// How the files of one folder are named, all alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    nest: &'static [&'static [usize]],
    upper_case: bool,
    text: &'static str,
    compressed: &'static str,
}

impl Layout {
    /// The layout in which the file of one of these ranges exists. Costs a look-up of a name for each
    /// of a hundred layouts, as long as there is no such file.
    pub(super) fn find(root: &Path, ranges: impl IntoIterator<Item = RangePrefix>) -> Option<Self> {
        let of = |range| Self::all().find(|layout| layout.path(root, range).is_file());
        ranges.into_iter().find_map(of)
    }

    /// All layouts, first those without a compression.
    fn all() -> impl Iterator<Item = Self> {
        NESTS.into_iter().flat_map(|nest| {
            [true, false].into_iter().flat_map(move |upper_case| {
                std::iter::once("").chain(COMPRESSED).flat_map(move |compressed| {
                    let layout = move |text| Self { nest, upper_case, text, compressed };
                    ["", TEXT].into_iter().map(layout)
                })
            })
        })
    }

    /// The file of a range.
    pub(super) fn path(self, root: &Path, range: RangePrefix) -> PathBuf {
        let mut digits = range.digits();
        if !self.upper_case {
            digits.make_ascii_lowercase();
        }
        let mut path = root.to_owned();
        let mut part = String::with_capacity(16);
        for (depth, picked) in self.nest.iter().enumerate() {
            part.clear();
            part.extend(picked.iter().map(|&digit| char::from(digits[digit])));
            if depth == self.nest.len() - 1 {
                part.push_str(self.text);
                part.push_str(self.compressed);
            }
            path.push(&part);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(value: u32) -> RangePrefix {
        RangePrefix::new(value).unwrap()
    }

    /// A list that can be built from and not confirmed from is a trap, and one the other way about is
    /// worse.
    #[test]
    fn every_name_that_is_made_is_read_as_its_range() {
        let mut paths = Vec::new();
        for layout in Layout::all() {
            for value in [0, 0x0_7f07, 0xa_bcde, 0xf_ffff] {
                let path = layout.path(Path::new("list"), prefix(value));
                let folder = path.parent().and_then(Path::file_name);
                let read = prefix_of(folder, path.file_name().unwrap());
                assert_eq!(read, Some(prefix(value)), "{path:?}");
                assert_eq!(RangePrefix::of_file(&path), read, "{path:?}");
            }
            paths.push(layout.path(Path::new("list"), prefix(0xa_bcde)));
        }
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 5 * 2 * 5 * 2);
    }

    #[test]
    fn names_are_read_whatever_lies_around_them() {
        for (folder, name, range) in [
            ("anything", "07F07.gz.txt", Some(0x0_7f07)),
            ("", "07f07", Some(0x0_7f07)),
            ("07", "F07.txt.zstd", Some(0x0_7f07)),
            ("7", "F07", None),
            ("07", "F0", None),
            ("0G", "F07", None),
            ("07", "7F07.txt", None),
            ("07", "07F07.json", None),
            ("07", "07F07.txt.gz.bz2", None),
            ("07", "07F07.bin", None),
        ] {
            let found = prefix_of(Some(OsStr::new(folder)), OsStr::new(name));
            assert_eq!(found, range.map(prefix), "{folder}/{name}");
        }
        assert!(is_truncated(None, OsStr::new("07F07.bin")));
        assert!(is_truncated(Some(OsStr::new("07")), OsStr::new("F07.bin")));
        assert!(!is_truncated(None, OsStr::new("list.bin")));
    }
}
