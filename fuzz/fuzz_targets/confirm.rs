//! Looking hashes up in a list on disk, against all of its rows in memory: every answer is right, and a
//! list that is not whole or not in order gives errors.
//!
//! Seeds: none are needed, since rows are made from a few bytes.
//!
//! A row that is there is denied in one case only, which is documented: in a file too long to be looked
//! at whole, with a fault where nobody looked.
#![cfg_attr(fuzzing, no_main)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use arbitrary::Arbitrary;
use hapax::KeyHash;
use hapax::screen::confirm::ConfirmFault;
use hapax::screen::list::{Decompressed, ListFormat};
use hapax::screen::{ConfirmList, Confirmation, PasswordDigest};

#[derive(Debug, Arbitrary)]
struct Input {
    nt: bool,
    list: List,
    queries: Vec<Query>,
    min_count: u16,
}

#[derive(Debug, Arbitrary)]
enum List {
    Sorted(Content),
    Folder { names: Names, samples: Content, others: Vec<(Other, Content)> },
}

/// What is in a file.
#[derive(Clone, Debug, Arbitrary)]
enum Content {
    Raw(Vec<u8>),
    Rows(Rows),
}

/// A list as it should be, and what was done to it.
#[derive(Clone, Debug, Arbitrary)]
struct Rows {
    rows: u16,
    seed: u8,
    /// So many leading bits are 0 in half of the hashes.
    skew: u8,
    counts: Counts,
    crlf: bool,
    lower_case: bool,
    edits: Vec<Edit>,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Counts {
    None,
    Some,
    Commas,
    /// Some are 0, as those of rows that are made up.
    Padding,
    Mixed,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Edit {
    Blank {
        row: u16,
        lines: u16,
    },
    Repeat {
        row: u16,
        times: u8,
    },
    Swap {
        row: u16,
        other: u16,
    },
    Remove {
        row: u16,
        rows: u8,
    },
    Shuffle,
    /// Of the bytes, once the rows are written; positions are parts of 2¹⁶.
    Byte {
        at: u16,
        byte: u8,
    },
    Cut {
        at: u16,
    },
}

/// How the files of a folder are named.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Names {
    nest: u8,
    suffix: u8,
    lower_case: bool,
    in_folder_of_digest: bool,
}

/// A file beside those that are looked at when the folder is opened, or in the place of one.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Other {
    Sample(u8),
    First,
    Second,
    Last,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Query {
    Row(u16),
    Near(u16, i8),
    Any(u16, u128),
}

/// Rows of a list, at most, some 100 kB: beyond the 64 KiB that are looked at whole.
const MAX_ROWS: u16 = 2_000;

/// Rows of a range, at most: enough to have a gap.
const MAX_RANGE_ROWS: u16 = 300;

/// A file so short is looked at whole when it is opened.
const WHOLE: usize = 64 << 10;

const MAX_LINE_LEN: usize = 256;

/// The ranges that are looked at when a folder is opened.
const SAMPLES: [u32; 4] = [0x2_aaaa, 0x5_5555, 0xa_aaaa, 0xd_5555];

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Content {
    /// The bytes of the file. The digits of a range are in its name.
    fn bytes(&self, digest: PasswordDigest, range: Option<u32>) -> Vec<u8> {
        match self {
            Self::Raw(bytes) => bytes.clone(),
            Self::Rows(rows) => rows.bytes(digest, range),
        }
    }
}

impl Rows {
    fn bytes(&self, digest: PasswordDigest, range: Option<u32>) -> Vec<u8> {
        let mut random = Random(self.seed.into());
        let most = if range.is_some() { MAX_RANGE_ROWS } else { MAX_ROWS };
        let len = self.rows % (most + 1);
        let mut hashes: Vec<(u128, u64)> = (0..len)
            .map(|i| {
                let (hi, lo, more) = (random.next(), random.next(), random.next());
                let mut hash = u128::from(hi) << 64 | u128::from(lo);
                if i.is_multiple_of(2) {
                    hash >>= self.skew % 64;
                }
                match range {
                    Some(range) => (u128::from(range) << 108 | hash >> 20, more),
                    None => (hash, more),
                }
            })
            .collect();
        hashes.sort_unstable();
        let mut lines: Vec<String> = hashes
            .iter()
            .map(|&(hash, more)| self.line(digest, range.is_some(), hash, more))
            .collect();
        for &edit in &self.edits {
            edit.lines(&mut lines, &mut random);
        }
        let mut bytes = Vec::new();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(if self.crlf { b"\r\n" } else { b"\n" });
        }
        for &edit in &self.edits {
            edit.bytes(&mut bytes);
        }
        bytes
    }

    fn line(&self, digest: PasswordDigest, in_range: bool, hash: u128, more: u64) -> String {
        let mut line = match digest {
            PasswordDigest::Sha1 => format!("{hash:032X}{:08X}", more as u32),
            PasswordDigest::Nt => format!("{hash:032X}"),
        };
        if in_range {
            line.drain(..5);
        }
        if self.lower_case {
            line.make_ascii_lowercase();
        }
        let count = more >> (32 + more % 32);
        let written = match (self.counts, more >> 62) {
            (Counts::None, _) | (Counts::Mixed, 0) => return line,
            (Counts::Some, _) | (Counts::Mixed, 1) => write!(line, ":{count}"),
            (Counts::Commas, _) | (Counts::Mixed, 2) => {
                let (high, low) = (count / 1_000 % 1_000, count % 1_000);
                write!(line, ":{high},{low:03}")
            }
            (Counts::Padding, even) => write!(line, ":{}", count * (even % 2)),
            (Counts::Mixed, _) => write!(line, ":{count}00000000000000000000"),
        };
        written.expect("a string takes all");
        line
    }
}

impl Edit {
    fn lines(self, lines: &mut Vec<String>, random: &mut Random) {
        let len = lines.len();
        if len == 0 {
            return;
        }
        let at = |row: u16| usize::from(row) % len;
        match self {
            Self::Blank { row, lines: blank } => {
                let blank = vec![String::new(); usize::from(blank % 10_000)];
                lines.splice(at(row)..at(row), blank);
            }
            Self::Repeat { row, times } => {
                let again = vec![lines[at(row)].clone(); times.into()];
                lines.splice(at(row)..at(row), again);
            }
            Self::Swap { row, other } => lines.swap(at(row), at(other)),
            Self::Remove { row, rows } => {
                lines.drain(at(row)..len.min(at(row) + usize::from(rows)));
            }
            Self::Shuffle => {
                for i in (1..len).rev() {
                    lines.swap(i, random.next() as usize % (i + 1));
                }
            }
            Self::Byte { .. } | Self::Cut { .. } => {}
        }
    }

    fn bytes(self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        let place = |at: u16| len * usize::from(at) >> 16;
        match self {
            Self::Byte { at, byte } if len > 0 => bytes[place(at)] = byte,
            Self::Cut { at } => bytes.truncate(place(at)),
            _ => {}
        }
    }
}

impl Names {
    fn path(self, digest: PasswordDigest, range: u32) -> String {
        let digits = format!("{range:05X}");
        let digits = if self.lower_case { digits.to_lowercase() } else { digits };
        let (d2, d4) = (&digits[..2], &digits[2..4]);
        let path = match self.nest % 5 {
            0 => digits.clone(),
            1 => format!("{d2}/{digits}"),
            2 => format!("{d2}/{}", &digits[2..]),
            3 => format!("{d2}/{d4}/{digits}"),
            _ => format!("{}/{}/{}/{digits}", &digits[..1], &digits[1..2], &digits[2..3]),
        };
        let folder = match (self.in_folder_of_digest, digest) {
            (false, _) => "",
            (true, PasswordDigest::Sha1) => "sha1/",
            (true, PasswordDigest::Nt) => "ntlm/",
        };
        // Names say nothing: whether a file is compressed is seen from its content.
        let suffix = ["", ".txt", ".gz", ".txt.zst"][usize::from(self.suffix) % 4];
        format!("{folder}{path}{suffix}")
    }
}

impl Other {
    fn range(self) -> u32 {
        match self {
            Self::Sample(number) => SAMPLES[usize::from(number) % SAMPLES.len()],
            Self::First => 0,
            Self::Second => 1,
            Self::Last => 0xf_ffff,
        }
    }
}

type Row = (KeyHash, Option<u64>);

/// Reads a line of a list: `None` if it is blank, `Err` if it is no row.
fn row(line: &[u8], digest: PasswordDigest, prefix: &str) -> Result<Option<Row>, ()> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.is_empty() {
        return Ok(None);
    }
    let line = std::str::from_utf8(line).map_err(drop)?;
    let (digits, count) = line.split_once(':').map_or((line, None), |(d, c)| (d, Some(c)));
    let digits = format!("{prefix}{digits}");
    if digits.len() != digest.hex_digits() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(());
    }
    let word = u128::from_str_radix(&digits[..32], 16).map_err(drop)?;
    let count = count.map(read_count).transpose()?;
    Ok(Some((KeyHash::from_uniform(&word.to_be_bytes()), count)))
}

/// Digits, or groups of three after the first. Too large a number is the largest.
fn read_count(text: &str) -> Result<u64, ()> {
    let groups: Vec<&str> = text.split(',').collect();
    let (first, others) = groups.split_first().ok_or(())?;
    let grouped = others.is_empty() || (first.len() <= 3 && others.iter().all(|g| g.len() == 3));
    let digits = groups.concat();
    if first.is_empty() || !grouped || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(());
    }
    let digits = digits.trim_start_matches('0');
    Ok(if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) })
}

/// All rows of a file, or `None` if a line is none.
fn rows(bytes: &[u8], digest: PasswordDigest, prefix: &str) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        match row(line, digest, prefix) {
            _ if line.len() > MAX_LINE_LEN => return None,
            Ok(None) => {}
            Ok(Some(row)) => rows.push(row),
            // The version of a range, as some downloaders keep it.
            Err(()) if number == 0 && !prefix.is_empty() && is_tag(line) => {}
            Err(()) => return None,
        }
    }
    Some(rows)
}

fn is_tag(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let strong = line.strip_prefix(b"W/").unwrap_or(line);
    let quoted = strong.len() > 1 && strong.starts_with(b"\"") && strong.ends_with(b"\"");
    let bare = line.strip_prefix(b"0x").is_some_and(|digits| {
        (1..=16).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit)
    });
    quoted || bare
}

/// The largest count of a hash.
fn counts(rows: &[Row]) -> HashMap<KeyHash, Option<u64>> {
    let mut counts = HashMap::new();
    for &(hash, count) in rows {
        let most = counts.entry(hash).or_insert(count);
        *most = count.max(*most);
    }
    counts
}

/// What a list says of a hash that is in it.
fn seen(count: Option<u64>, min_count: u64) -> Result<Confirmation, ConfirmFault> {
    match count {
        None if min_count > 1 => Err(ConfirmFault::NoCount { min_count }),
        Some(count) if min_count > 1 && count < min_count => Ok(Confirmation::Rare { count }),
        count => Ok(Confirmation::Listed { count }),
    }
}

fn queries(queries: &[Query], rows: &[Row], folder: bool) -> Vec<KeyHash> {
    let word = |row: u16| match rows.len() {
        0 => 0,
        len => u128::from_be_bytes(rows[usize::from(row) % len].0.to_bytes()),
    };
    let asked = queries.iter().map(|&query| match query {
        Query::Row(row) => word(row),
        Query::Near(row, by) => word(row).wrapping_add_signed(by.into()),
        // Most ranges have no file.
        Query::Any(choice, any) if folder => {
            let range = SAMPLES[usize::from(choice) % SAMPLES.len()];
            u128::from(range) << 108 | any >> 20
        }
        Query::Any(_, any) => any,
    });
    asked.take(200).map(|word| KeyHash::from_uniform(&word.to_be_bytes())).collect()
}

type Found = Result<Confirmation, ConfirmFault>;

fn find(list: &ConfirmList, hash: KeyHash) -> Found {
    let found = list.find(hash).map_err(|error| error.fault);
    if let Err(fault) = &found {
        assert!(!fault.to_string().is_empty());
    }
    found
}

/// Asks for all at once: the same answers where they are certain. Where one is an error, all are.
fn assert_batch(list: &ConfirmList, asked: &[KeyHash], one_by_one: &[Found]) {
    let mut found = vec![Confirmation::NotListed; asked.len()];
    let whole = list.find_batch(asked, &mut found);
    let certain: Result<Vec<_>, _> = one_by_one.iter().cloned().collect();
    match certain {
        Ok(certain) => {
            assert_eq!(whole, Ok(()), "found one by one");
            assert_eq!(found, certain, "found otherwise one by one");
        }
        Err(_) => assert!(whole.is_err(), "not found one by one"),
    }
}

fn sorted(path: &Path, bytes: &[u8], digest: PasswordDigest, input: &Input) {
    let min_count = input.min_count.into();
    let list = ConfirmList::open(path, digest).map_err(|error| error.fault);
    let parsed = rows(bytes, digest, "");
    let in_order = parsed.filter(|rows| !rows.is_empty() && rows.is_sorted_by_key(|row| row.0));
    if let Some(rows) = in_order {
        let list = match list {
            Ok(list) => list.with_min_count(min_count),
            Err(fault) => {
                // So much of it blank that it was met nowhere.
                let blank = bytes.len() > WHOLE && rows.len() * 100 < bytes.len() / 10;
                assert!(blank && fault == ConfirmFault::Empty, "a good list is refused: {fault}");
                return;
            }
        };
        return sorted_in_order(&list, &rows, input);
    }
    let Ok(list) = list else { return };
    assert!(bytes.len() > WHOLE, "a bad list was opened");
    let list = list.with_min_count(min_count);
    let good: Vec<Row> = bytes
        .split(|&byte| byte == b'\n')
        .filter_map(|line| row(line, digest, "").ok().flatten())
        .collect();
    for hash in queries(&input.queries, &good, false) {
        match find(&list, hash) {
            Err(_) | Ok(Confirmation::NotListed) => {}
            found => {
                let mut rows = good.iter().filter(|row| row.0 == hash);
                assert!(rows.any(|row| seen(row.1, min_count) == found), "made up: {found:?}");
            }
        }
    }
}

/// A list that is as it should be.
fn sorted_in_order(list: &ConfirmList, rows: &[Row], input: &Input) {
    let counts = counts(rows);
    let asked = queries(&input.queries, rows, false);
    let mut found = Vec::new();
    for &hash in &asked {
        let answer = find(list, hash);
        match (counts.get(&hash), &answer) {
            (Some(&count), answer) => assert_eq!(*answer, seen(count, input.min_count.into())),
            (None, Err(ConfirmFault::Gap)) => assert!(list.estimate_rows() > 64, "it is whole"),
            (None, Err(ConfirmFault::Row { .. } | ConfirmFault::NotSorted { .. })) => {
                panic!("every row is good and in order")
            }
            (None, answer) => assert_eq!(*answer, Ok(Confirmation::NotListed)),
        }
        found.push(answer);
    }
    assert_batch(list, &asked, &found);
}

/// A range file, and its rows if all are good.
fn range_rows(bytes: &[u8], digest: PasswordDigest, range: u32) -> Option<Vec<Row>> {
    let mut content = Vec::new();
    let read =
        Decompressed::new(bytes).and_then(|rows| rows.take(1 << 24).read_to_end(&mut content));
    read.ok().and_then(|_| rows(&content, digest, &format!("{range:05X}")))
}

fn is_padding(row: &Row) -> bool {
    row.1 == Some(0)
}

fn folder(path: &Path, files: &HashMap<u32, Vec<u8>>, digest: PasswordDigest, input: &Input) {
    let min_count = input.min_count.into();
    let ranges: HashMap<u32, Option<Vec<Row>>> =
        files.iter().map(|(&range, bytes)| (range, range_rows(bytes, digest, range))).collect();
    let has_rows = |rows: &Vec<Row>| rows.iter().any(|row| !is_padding(row));
    let samples_are_good = SAMPLES.iter().all(|range| ranges[range].as_ref().is_some_and(has_rows));
    let list = ConfirmList::open(path, digest).map_err(|error| error.fault);
    assert_eq!(list.is_ok(), samples_are_good, "{list:?}");
    let Ok(list) = list else { return };
    let list = list.with_min_count(min_count);
    let mut all: Vec<Row> = ranges.values().flatten().flatten().copied().collect();
    all.sort_unstable();
    let asked = queries(&input.queries, &all, true);
    let mut found = Vec::new();
    for &hash in &asked {
        let answer = find(&list, hash).map_err(|fault| match fault {
            ConfirmFault::Range(fault) => *fault,
            fault => fault,
        });
        let range = (hash.hi() >> 44) as u32;
        match ranges.get(&range).and_then(Option::as_ref) {
            None => assert!(answer.is_err(), "{answer:?} from a file that is missing or bad"),
            Some(rows) => match (counts(rows).get(&hash), &answer) {
                (Some(&count), answer) => assert_eq!(*answer, seen(count, min_count)),
                (None, Err(ConfirmFault::Empty)) => assert!(!has_rows(rows), "it has rows"),
                // Neighbours can be 64 mean distances apart only where a file has more rows.
                (None, Err(ConfirmFault::Gap)) => assert!(list.estimate_rows() >> 20 >= 64),
                (None, answer) => {
                    assert_eq!(*answer, Ok(Confirmation::NotListed));
                    assert!(has_rows(rows), "nothing says so");
                }
            },
        }
        found.push(answer);
    }
    assert_batch(&list, &asked, &found);
}

fn run(input: Input) {
    let digest = if input.nt { PasswordDigest::Nt } else { PasswordDigest::Sha1 };
    let temporary = tempfile::tempdir().expect("there is room");
    let write = |name: &str, bytes: &[u8]| {
        let path = temporary.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("there is room");
        std::fs::write(&path, bytes).expect("there is room");
        path
    };
    match &input.list {
        List::Sorted(content) => {
            let bytes = content.bytes(digest, None);
            let foreign = ListFormat::detect(&bytes[..bytes.len().min(4 << 10)], digest)
                .is_err_and(|error| error.is_foreign());
            let path = write("list.txt", &bytes);
            if foreign {
                assert!(ConfirmList::open(path, digest).is_err(), "no list at all");
                return;
            }
            sorted(&path, &bytes, digest, &input);
        }
        List::Folder { names, samples, others } => {
            let mut files: HashMap<u32, Vec<u8>> =
                SAMPLES.iter().map(|&range| (range, samples.bytes(digest, Some(range)))).collect();
            for (other, content) in others.iter().take(4) {
                files.insert(other.range(), content.bytes(digest, Some(other.range())));
            }
            for (&range, bytes) in &files {
                write(&names.path(digest, range), bytes);
            }
            folder(temporary.path(), &files, digest, &input);
        }
    }
}

hapax_fuzz::target!(run: Input);
