//! Every filter beside other crates, in one run: `cargo bench --features rayon --bench peers`.
//!
//! ```text
//!  cargo bench --features rayon --bench peers     100 thousand, 1, 10 and 100 million keys
//!                              -- --keys 1000000     one size; may be repeated
//!                              -- --svg docs/speed.svg     and the plot of the README
//! ```
//!
//! How it measures. Each contestant does a burst of 4,096 operations, then the next one does, and so
//! on round and round, so that a slow moment of the machine meets all of them. Of each contestant's
//! bursts the 5th percentile (what the machine can do) and the median are printed, in nanoseconds per
//! operation. Keys are distinct and never asked twice; making them is not timed. Before its timed
//! bursts a contestant does one that is not, to get its own lines back into the cache. Answers are
//! checked: every member is found, and strangers at the rate that is printed.
//!
//! Ready hash: our filters get a `KeyHash`, the others the 64 random bits that they would hash to.
//! Keys: `u64` and 24 bytes, hashed by whatever each crate uses.
//!
//! The floor is what memory allows: mix the hash, then read one word of a random line (or of two) of
//! a table of the same size on the same pages, 16 ahead or not, whichever is faster.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no result")]

mod contest;
mod floor;
mod keys;
mod ours;
mod parallel;
mod plot;
mod table;
mod theirs;

use contest::{Contestant, run};
use table::Table;

fn main() {
    let mut sizes = Vec::new();
    let mut svg = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // What cargo adds.
            "--bench" => {}
            "--keys" => sizes.push(arguments.next().unwrap().parse::<u64>().unwrap()),
            "--svg" => svg = arguments.next(),
            other => {
                eprintln!("{other}: unknown; use --keys N or --svg FILE");
                std::process::exit(2);
            }
        }
    }
    if sizes.is_empty() {
        sizes = vec![100_000, 1_000_000, 10_000_000, 100_000_000];
    }
    println!("{}\n", table::machine());
    let mut tables = Vec::new();
    for &n in &sizes {
        let mut table = Table::new(n);
        for group in groups() {
            table.add(run(n, group(n)));
        }
        if n >= 10_000_000 {
            table.parallel = Some(parallel::seconds(n));
        }
        println!("{table}");
        tables.push(table);
    }
    println!("{}", table::goals(&tables));
    if let Some(path) = svg {
        std::fs::write(&path, plot::svg(&tables)).unwrap();
        println!("wrote {path}");
    }
}

type Group = fn(u64) -> Vec<Box<dyn Contestant>>;

/// Contestants that take turns, and are in memory together.
fn groups() -> [Group; 4] {
    [
        |n| {
            let blocked = ours::blocked(n);
            let bytes = blocked.bits() / 8;
            vec![
                blocked,
                Box::new(theirs::Sbbf::new(n)),
                Box::new(floor::Floor::new(1, bytes)),
                ours::bloom(n),
                Box::new(theirs::Fastbloom::ready(n)),
            ]
        },
        |n| {
            let cuckoo = ours::cuckoo(n);
            let bytes = cuckoo.bits() / 8;
            vec![
                cuckoo,
                Box::new(floor::Floor::new(2, bytes)),
                Box::new(theirs::Fuse::new(n)),
                Box::new(theirs::Quotient::new(n)),
            ]
        },
        |n| {
            vec![
                ours::blocked_by_u64(n),
                Box::new(theirs::Fastbloom::siphash(n)),
                Box::new(theirs::Fastbloom::foldhash(n)),
                Box::new(theirs::Cuckoo::new(n)),
                Box::new(theirs::HashSet::new(n)),
            ]
        },
        |n| {
            vec![
                ours::blocked_by_bytes(n),
                Box::new(theirs::Fastbloom::siphash_of_bytes(n)),
                Box::new(theirs::Fastbloom::foldhash_of_bytes(n)),
            ]
        },
    ]
}
