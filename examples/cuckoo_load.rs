//! Prints the load factor at which a cuckoo filter first refuses a key, and the cost of its
//! searches: `cargo run --release --example cuckoo_load`.

use std::time::Instant;

use hapax::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "fingerprint bits   buckets   lowest load at the first refusal (of runs)   ns per insert"
    );
    for bits in [4, 5, 6, 8, 16] {
        for keys in [10, 30, 60, 200, 1_000, 5_000, 100_000, 2_000_000] {
            let runs = (100_000 / keys).clamp(2, 200);
            let (mut lowest, mut buckets, mut inserts) = (1.0f64, 0, 0u64);
            let start = Instant::now();
            for run in 0..runs {
                let mut filter = CuckooFilter::builder()
                    .capacity(keys)
                    .false_positive_rate(0.9)
                    .fingerprint_bits(bits)
                    .past_capacity(PastCapacity::Degrade)
                    .build()?;
                let mut key = u128::from(run) << 64;
                while filter.insert(&key).is_ok() {
                    key += 1;
                    inserts += 1;
                }
                lowest = lowest.min(filter.load_factor());
                buckets = filter.buckets();
            }
            let nanoseconds = start.elapsed().as_nanos() as f64 / inserts as f64;
            println!("{bits:>16} {buckets:>9} {lowest:>28.4} ({runs}) {nanoseconds:>26.0}");
        }
    }
    Ok(())
}
