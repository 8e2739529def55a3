//! Prints what a look-up in the list itself costs once its pages are in memory: in one sorted file,
//! and in a folder of range files as large as today's.
//!
//! `cargo run --release --example confirm_cost [ROWS]`

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hapax::KeyHash;
use hapax::screen::PasswordDigest::Sha1;
use hapax::screen::digest::sha1_of;
use hapax::screen::{ConfirmList, Confirmation};

/// Look-ups that are timed, half of them of listed passwords.
const LOOK_UPS: u32 = 20_000;

/// Rows of a range of the list of July 2026, on average.
const ROWS_OF_RANGE: u32 = 1_973;

/// Ranges that are written: every 4,096th, and those that opening looks at.
const RANGES: u32 = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(5_000_000), |rows| rows.parse())?;
    let folder = tempfile::tempdir()?;

    let list = sorted_file(folder.path(), rows)?;
    let member = |i: u32| Sha1.key_of(((i * 7_919) % rows).to_string().as_bytes());
    let stranger = |i: u32| Sha1.key_of((rows + i).to_string().as_bytes());
    let asked: Vec<KeyHash> = (0..LOOK_UPS)
        .map(|i| if i % 2 == 0 { member(i) } else { stranger(i) })
        .collect::<Result<_, _>>()?;
    report(&format!("sorted file of {rows} rows"), &list, &asked)?;

    let list = range_folder(folder.path())?;
    let asked: Vec<KeyHash> = (0..LOOK_UPS)
        .map(|i| {
            let row = if i % 2 == 0 { i % ROWS_OF_RANGE } else { ROWS_OF_RANGE + i };
            let digits = format!("{:05X}{}", range(i % RANGES), suffix(row));
            Sha1.key_from_hex(digits.as_bytes()).ok_or("forty digits")
        })
        .collect::<Result<_, _>>()?;
    report(&format!("range files of {ROWS_OF_RANGE} rows"), &list, &asked)
}

/// Times all look-ups, the second time over, and checks their answers.
fn report(name: &str, list: &ConfirmList, asked: &[KeyHash]) -> Result<(), Box<dyn Error>> {
    let mut took = [Duration::ZERO; 2];
    for _ in 0..2 {
        took = [Duration::ZERO; 2];
        for (i, hash) in asked.iter().enumerate() {
            let started = Instant::now();
            let found = list.find(*hash)?;
            took[i % 2] += started.elapsed();
            assert_eq!(i % 2 == 0, found != Confirmation::NotListed, "a wrong answer");
        }
    }
    let [listed, refuted] = took.map(|took| took.as_secs_f64() * 2e6 / asked.len() as f64);
    println!("{name}: {listed:.1} µs listed, {refuted:.1} µs refuted");
    Ok(())
}

fn sorted_file(folder: &Path, rows: u32) -> Result<ConfirmList, Box<dyn Error>> {
    let mut hashes: Vec<[u8; 20]> = (0..rows).map(|i| sha1_of(i.to_string().as_bytes())).collect();
    hashes.sort_unstable();
    let mut text = String::new();
    for (i, hash) in hashes.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}:{}", hex(hash), i % 1_000 + 1);
    }
    let path = folder.join("list.txt");
    fs::write(&path, text)?;
    Ok(ConfirmList::open(path, Sha1)?)
}

fn range_folder(folder: &Path) -> Result<ConfirmList, Box<dyn Error>> {
    let folder = folder.join("ranges");
    fs::create_dir(&folder)?;
    let mut rows: Vec<String> =
        (0..ROWS_OF_RANGE).map(|row| format!("{}:{}", suffix(row), row + 1)).collect();
    rows.sort();
    let text = rows.join("\r\n");
    let sampled = [0x2_aaaa, 0x5_5555, 0xa_aaaa, 0xd_5555];
    for range in (0..RANGES).map(range).chain(sampled) {
        fs::write(folder.join(format!("{range:05X}.txt")), &text)?;
    }
    Ok(ConfirmList::open(folder, Sha1)?)
}

fn range(number: u32) -> u32 {
    number << 12
}

/// The last 35 digits of a made-up hash.
fn suffix(row: u32) -> String {
    hex(&sha1_of(row.to_string().as_bytes()))[5..].to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat()
}
