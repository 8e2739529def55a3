//! Any bytes as a list: never a panic, no row lost, and the same rows however the input is cut.
//!
//! Seeds: `printf` a few rows of each shape into `corpus/list`; the fuzzer finds the rest.
#![cfg_attr(fuzzing, no_main)]

use std::io::{self, Read};

use arbitrary::Arbitrary;
use hapax::screen::PasswordDigest;
use hapax::screen::list::{
    BadRow, Batch, Decompressed, ListError, ListFormat, ListReader, ListTotals, RangePrefix, Row,
};

#[derive(Debug, Arbitrary)]
struct Input {
    shape: Shape,
    nt: bool,
    row_limit: u8,
    piece: u8,
    bytes: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
enum Shape {
    Plain,
    Hashes,
    Range,
}

/// Gives a few bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.1.min(out.len()).min(self.0.len());
        out[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

type Rows = Vec<Result<Row, BadRow>>;

fn read(input: impl Read, format: ListFormat, row_limit: u32) -> (Rows, ListTotals) {
    let mut reader = ListReader::with_row_limit(input, format, row_limit);
    let mut rows = Vec::new();
    loop {
        match reader.next_row() {
            Ok(Some(row)) => rows.push(Ok(row)),
            Ok(None) => return (rows, reader.totals()),
            Err(ListError::Row(bad)) => rows.push(Err(bad)),
            Err(error) => panic!("memory cannot fail: {error}"),
        }
    }
}

/// The same by batches.
fn read_batches(input: impl Read, format: ListFormat, row_limit: u32) -> (Rows, ListTotals) {
    let mut reader = ListReader::with_row_limit(input, format, row_limit);
    let (mut rows, mut batch) = (Vec::new(), Batch::new());
    loop {
        match reader.next_batch(&mut batch) {
            Ok(true) => rows.extend(batch.rows().map(Ok)),
            Ok(false) => return (rows, reader.totals()),
            Err(ListError::Row(bad)) => rows.push(Err(bad)),
            Err(error) => panic!("memory cannot fail: {error}"),
        }
    }
}

fn run(Input { shape, nt, row_limit, piece, bytes }: Input) {
    let digest = if nt { PasswordDigest::Nt } else { PasswordDigest::Sha1 };
    let prefix = RangePrefix::new(u32::from(row_limit) << 12).expect("20 bits");
    let format = match shape {
        Shape::Plain => ListFormat::Plain(digest),
        Shape::Hashes => ListFormat::Hashes(digest),
        Shape::Range => ListFormat::Range(digest, prefix),
    };
    let (rows, totals) = read(bytes.as_slice(), format, row_limit.into());
    let pieces = Pieces(&bytes, usize::from(piece) + 1);
    assert_eq!(read(pieces, format, row_limit.into()), (rows.clone(), totals), "cut otherwise");
    let pieces = Pieces(&bytes, usize::from(piece) + 1);
    assert_eq!(
        read_batches(pieces, format, row_limit.into()),
        (rows.clone(), totals),
        "by batches"
    );
    assert_eq!(read_batches(bytes.as_slice(), format, row_limit.into()), (rows.clone(), totals));

    let newlines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let unfinished = bytes.last().is_some_and(|&byte| byte != b'\n');
    assert_eq!(totals.rows, newlines + u64::from(unfinished), "rows by their ends");
    assert_eq!(totals.bytes, bytes.len() as u64);
    let bad = rows.iter().filter(|row| row.is_err()).count() as u64;
    assert_eq!(bad, totals.bad);
    let accounted = rows.len() as u64 + totals.blank + totals.zero_count + totals.etags;
    assert_eq!(accounted, totals.rows, "a row was lost");
    let _ = ListFormat::detect(&bytes, digest);
    let _ = ListFormat::detect_range(&bytes, prefix);
    // Compressed or not, it ends: whole, or with an error. No bomb is defused: what comes out is read
    // in constant memory.
    if let Ok(list) = Decompressed::new(bytes.as_slice()) {
        let _ = std::io::copy(&mut list.take(1 << 20), &mut std::io::sink());
    }
}

hapax_fuzz::target!(run: Input);
