//! One thread and two, filling the same blocked filter.

use std::time::Instant;

use hapax::codec::{Artefact, Provenance};
use hapax::prelude::*;

use crate::contest::BURST;
use crate::keys::Burst;

/// Seconds of the serial and of the parallel build, in turns; the filters are compared to the bit.
pub(crate) fn seconds(n: u64) -> [Vec<f64>; 2] {
    const TURNS: usize = 3;
    let mut hashes = Vec::new();
    for start in (0..n).step_by(BURST as usize) {
        hashes.extend(Burst::of(start..n.min(start + BURST)).hashes);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let builder = BlockedBloomFilter::builder().capacity(n).false_positive_rate(0.0094);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        let mut serial = builder.build().unwrap();
        let mut seen = [Seen::Maybe; BURST as usize];
        let clock = Instant::now();
        for hashes in hashes.chunks(BURST as usize) {
            serial.insert_batch(hashes, &mut seen[..hashes.len()]).unwrap();
        }
        times[0].push(clock.elapsed().as_secs_f64());

        let mut parallel = builder.build().unwrap();
        let clock = Instant::now();
        pool.install(|| parallel.insert_parallel(&hashes)).unwrap();
        times[1].push(clock.elapsed().as_secs_f64());
        assert!(bytes(serial) == bytes(parallel), "the parallel build differs");
    }
    times
}

fn bytes(filter: BlockedBloomFilter) -> Vec<u8> {
    Artefact { filter, provenance: Provenance::default() }.to_bytes()
}
