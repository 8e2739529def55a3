//! What a list of passwords costs in memory: hash sets, as an allocator counts them, beside filters
//! at the same list.
//!
//! `cargo run --release --example bits_per_key -- LIST`

use std::alloc::System;
use std::collections::HashSet;
use std::error::Error;
use std::fs;

use hapax::filter::{Buildable, Builder};
use hapax::prelude::*;
use hapax::screen::digest::sha1_of;
use hapax::screen::{PasswordDigest, Screen, Verdict};
use hapax::{Digest, Seed};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const RATE: f64 = 1.0 / 65_536.0;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a list of passwords, one a line")?;
    let list = fs::read(&path)?;
    let rows: Vec<&[u8]> =
        list.split(|&byte| byte == b'\n').filter(|row| !row.is_empty()).collect();
    let keys = rows.len() as f64;
    println!("{} passwords, {} bytes as text", rows.len(), list.len());
    println!("{:<34} {:>12} {:>14} {:>16}", "", "bits a key", "false rate", "measured");

    let (bits, _) = allocated_bits(|| {
        rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect::<HashSet<_>>()
    });
    println!("{:<34} {:>12.1} {:>14}", "HashSet<String>", bits / keys, 0);
    let (bits, _) = allocated_bits(|| rows.iter().map(|row| sha1_of(row)).collect::<HashSet<_>>());
    println!("{:<34} {:>12.1} {:>14}", "HashSet<[u8; 20]> of SHA-1", bits / keys, 0);
    measure("BloomFilter", &BloomFilter::builder(), &rows)?;
    measure("CuckooFilter", &CuckooFilter::builder(), &rows)?;
    Ok(())
}

/// Bits held by what `make` returns: allocated less freed while it was made.
fn allocated_bits<T>(make: impl FnOnce() -> T) -> (f64, T) {
    let region = Region::new(ALLOCATOR);
    let made = make();
    let change = region.change();
    ((change.bytes_allocated as f64 - change.bytes_deallocated as f64) * 8.0, made)
}

fn measure<F>(name: &str, builder: &Builder<F>, rows: &[&[u8]]) -> Result<(), Box<dyn Error>>
where
    F: Buildable + Insert,
{
    let builder = builder
        .clone()
        .capacity(rows.len() as u64)
        .false_positive_rate(RATE)
        .seed(Seed::uniform(Digest::Sha1));
    let (bits, filter) = allocated_bits(|| builder.build());
    let mut filter = filter?;
    for row in rows {
        let _ = filter.insert_hash(PasswordDigest::Sha1.key_of(row)?)?;
    }
    let screen = Screen::new(filter);
    for row in rows {
        assert_eq!(screen.check(row)?, Verdict::Listed, "a listed password was missed");
    }
    let strangers = 10_000_000;
    let mut listed = 0;
    for i in 0..strangers {
        listed += u32::from(screen.check(format!("stranger {i}").as_bytes())? == Verdict::Listed);
    }
    println!(
        "{name:<34} {:>12.1} {:>14.2e} {:>16.2e}",
        bits / rows.len() as f64,
        screen.filter().false_positive_rate(),
        f64::from(listed) / f64::from(strangers)
    );
    Ok(())
}
