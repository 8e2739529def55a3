//! Windows of a stream side by side: a ring of two filters, and one table whose slots know their
//! epoch. Bits per guaranteed tuple, time, and the rate with what is expected of it.
//!
//! `cargo run --release --example windows [GUARANTEED]`
//!
//! Times are medians over bursts of first sightings that take turns between the windows, so that
//! whatever else the machine does falls on all of them.

use std::hint::black_box;
use std::time::Instant;

use hapax::filter::Buildable;
use hapax::replay::{GenerationWindow, Window};
use hapax::{
    BlockedBloomFilter, BloomFilter, Builder, CuckooFilter, KeyHash, RetiringCuckooFilter, Seed,
    Seen,
};

const RATES: [f64; 3] = [1e-2, 1e-3, 1.0 / 65_536.0];
const BURST: u64 = 4_096;
const BURSTS: usize = 120;

type Failure = Box<dyn std::error::Error>;

struct Row {
    name: &'static str,
    window: Box<dyn Window>,
    /// ns per tuple of each burst: one by one, in batches.
    single: Vec<f64>,
    batch: Vec<f64>,
}

fn main() -> Result<(), Failure> {
    let guaranteed: u64 = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 1_000_000,
    };
    println!("{guaranteed} tuples guaranteed");
    println!(
        "{:<22} {:>8} {:>11} {:>9} {:>9} {:>21}",
        "window", "rate", "bits/tuple", "ns each", "ns batch", "measured (expected)"
    );
    for rate in RATES {
        let mut rows = vec![
            ring("2 × Bloom", BloomFilter::builder(), guaranteed, rate)?,
            ring("2 × blocked Bloom", BlockedBloomFilter::builder(), guaranteed, rate)?,
            ring("2 × cuckoo", CuckooFilter::builder(), guaranteed, rate)?,
            retiring("retiring, 15 epochs", guaranteed, 15, rate)?,
            retiring("retiring, 31 epochs", guaranteed, 31, rate)?,
        ];
        measure(&mut rows, guaranteed)?;
        for row in &mut rows {
            report(row, rate);
        }
    }
    Ok(())
}

fn row(name: &'static str, window: impl Window + 'static) -> Row {
    Row { name, window: Box::new(window), single: Vec::new(), batch: Vec::new() }
}

fn ring<F: Buildable + hapax::Restart + 'static>(
    name: &'static str,
    builder: Builder<F>,
    guaranteed: u64,
    rate: f64,
) -> Result<Row, Failure> {
    let builder = builder.capacity(guaranteed).false_positive_rate(rate);
    Ok(row(name, GenerationWindow::new(&builder)?))
}

fn retiring(name: &'static str, guaranteed: u64, epochs: u32, rate: f64) -> Result<Row, Failure> {
    let builder = RetiringCuckooFilter::builder().window(guaranteed, epochs);
    Ok(row(name, builder.false_positive_rate(rate).build()?))
}

/// Keys that never repeat.
fn keys(first: u64, number: u64) -> Result<Vec<KeyHash>, Failure> {
    Ok((first..first + number).map(|key| Seed::new(0).hash(&key)).collect::<Result<_, _>>()?)
}

/// Fills the windows three times over, and then lets bursts take turns.
fn measure(rows: &mut [Row], guaranteed: u64) -> Result<(), Failure> {
    let mut seen = vec![Seen::Never; BURST as usize];
    let mut next = 0;
    while next < 3 * guaranteed {
        let burst = keys(next, BURST)?;
        for row in &mut *rows {
            row.window.insert_batch(&burst, &mut seen)?;
        }
        next += BURST;
    }
    for _ in 0..BURSTS {
        for batched in [false, true] {
            let burst = keys(next, BURST)?;
            next += BURST;
            for row in &mut *rows {
                let start = Instant::now();
                if batched {
                    row.window.insert_batch(&burst, &mut seen)?;
                } else {
                    for &key in &burst {
                        let _ = black_box(row.window.insert_unique_hash(key)?);
                    }
                }
                let ns = start.elapsed().as_nanos() as f64 / BURST as f64;
                if batched { row.batch.push(ns) } else { row.single.push(ns) }
            }
        }
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn report(row: &mut Row, rate: f64) {
    let asked = (400.0 / rate) as u64;
    let strangers =
        (1 << 60..).take(asked as usize).filter_map(|key: u64| Seed::new(0).hash(&key).ok());
    let found = strangers.filter(|&key| row.window.contains_hash(key)).count();
    let bits = row.window.stats().bit_len as f64 / row.window.guaranteed() as f64;
    println!(
        "{:<22} {:>8.1e} {:>11.2} {:>9.1} {:>9.1} {:>10.3e} ({:.3e})",
        row.name,
        rate,
        bits,
        median(&mut row.single),
        median(&mut row.batch),
        found as f64 / asked as f64,
        row.window.false_positive_rate(),
    );
}
