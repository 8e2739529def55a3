//! How fast lists are read: `cargo run --release --features screen --example read_list FILE...`
//! prints rows and bytes a second for each, without building anything.

use std::fs::File;
use std::time::Instant;

use hapax::screen::PasswordDigest;
use hapax::screen::list::{Batch, ListFormat, ListReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let mut reader =
            ListReader::new(File::open(&path)?, ListFormat::Hashes(PasswordDigest::Sha1));
        let (mut batch, mut rows, mut sum) = (Batch::new(), 0u64, 0u64);
        let start = Instant::now();
        while reader.next_batch(&mut batch)? {
            rows += batch.len() as u64;
            // Looked at, so that nothing of the work is left out.
            sum = batch.hashes().iter().fold(sum, |sum, hash| sum.wrapping_add(hash.hi()));
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}: {rows} rows in {seconds:.3} s, {:.1} million rows/s, {:.2} GB/s ({sum:016x})",
            path.display(),
            rows as f64 / seconds / 1e6,
            reader.totals().bytes as f64 / seconds / 1e9,
        );
    }
    Ok(())
}
