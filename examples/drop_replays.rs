//! Upstream backup in miniature: produce, acknowledge, crash, replay.
//!
//! An upstream keeps a log of what it has sent and forgets what was acknowledged. An operator passes
//! first sightings to a sink, saves its filter, and acknowledges what the saved filter covers. It
//! crashes now and then; upstream then sends everything again that was not acknowledged.
//!
//! `cargo run --release --example drop_replays`

use std::alloc::System;
use std::collections::{HashSet, VecDeque};
use std::path::Path;

use hapax::prelude::*;
use hapax::replay::{GenerationWindow, ReplayFilter};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TUPLES: u64 = 1_000_000;
const WINDOW: u64 = 100_000;
const CHECKPOINT_EVERY: u64 = 10_000;
/// Acknowledgements reach upstream this many tuples late, so a replay repeats work that is done.
const ACK_DELAY: u64 = 25_000;
const RATE: f64 = 1e-4;

type Error = Box<dyn std::error::Error>;
type Filter = ReplayFilter<GenerationWindow<CuckooFilter>>;

/// A tuple is its 16-byte id here.
type Tuple = [u8; 16];

/// Sends tuples in order and keeps what was not acknowledged.
struct Upstream {
    log: VecDeque<Tuple>,
    /// Position of the front of the log in the whole stream.
    truncated: u64,
}

impl Upstream {
    fn acknowledge(&mut self, position: u64) {
        while self.truncated < position {
            self.log.pop_front();
            self.truncated += 1;
        }
    }

    fn produce(&mut self, sequence: u64) -> Tuple {
        let tuple = (u128::from(sequence) << 64 | 0x5eed).to_be_bytes();
        self.log.push_back(tuple);
        tuple
    }
}

fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("filter.hapax");
    let builder = CuckooFilter::builder().capacity(WINDOW).false_positive_rate(RATE);
    ReplayFilter::new(GenerationWindow::new(&builder)?).save(&state)?;

    let mut upstream = Upstream { log: VecDeque::new(), truncated: 0 };
    let mut sink: Vec<Tuple> = Vec::new();
    let (mut produced, mut replayed, mut crashes) = (0, 0, 0);
    while produced < TUPLES {
        // One life of the operator: restore, replay, go on until it crashes.
        let mut filter = Filter::load(&state)?;
        let tail: Vec<Tuple> = upstream.log.iter().copied().collect();
        replayed += tail.len() as u64;
        let mut life = Operator {
            filter: &mut filter,
            state: &state,
            sink: &mut sink,
            position: upstream.truncated,
        };
        life.process(tail.into_iter(), &mut upstream)?;
        // Crash after an irregular, reproducible number of tuples.
        let until = (produced + 40_000 + crashes * 7_919 % 60_000).min(TUPLES);
        while produced < until {
            let batch: Vec<Tuple> =
                (0..500.min(until - produced)).map(|i| upstream.produce(produced + i)).collect();
            produced += batch.len() as u64;
            life.process(batch.into_iter(), &mut upstream)?;
        }
        crashes += 1;
    }
    let mut filter = Filter::load(&state)?;
    let tail: Vec<Tuple> = upstream.log.iter().copied().collect();
    replayed += tail.len() as u64;
    let position = upstream.truncated;
    Operator { filter: &mut filter, state: &state, sink: &mut sink, position }
        .process(tail.into_iter(), &mut upstream)?;

    report(&filter, &sink, replayed, crashes);
    Ok(())
}

struct Operator<'a> {
    filter: &'a mut Filter,
    state: &'a Path,
    sink: &'a mut Vec<Tuple>,
    /// Tuples received, as a position in the stream.
    position: u64,
}

impl Operator<'_> {
    fn process(
        &mut self,
        tuples: impl Iterator<Item = Tuple>,
        upstream: &mut Upstream,
    ) -> Result<(), Error> {
        for tuple in tuples {
            for passed in std::iter::once(tuple).unique_within(self.filter, |id| *id) {
                self.sink.push(passed?);
            }
            self.position += 1;
            if self.position.is_multiple_of(CHECKPOINT_EVERY) {
                // Output before state: the sink has everything. State before acknowledgement.
                self.filter.save(self.state)?;
                upstream.acknowledge(self.position.saturating_sub(ACK_DELAY));
            }
        }
        Ok(())
    }
}

fn report(filter: &Filter, sink: &[Tuple], replayed: u64, crashes: u64) {
    let region = Region::new(ALLOCATOR);
    let distinct: HashSet<Tuple> = sink.iter().copied().collect();
    let set_bytes = region.change().bytes_allocated - region.change().bytes_deallocated;

    let counts = filter.counts();
    let lost = TUPLES - distinct.len() as u64;
    println!("tuples produced             {TUPLES}");
    println!("crashes                     {crashes}");
    println!("tuples replayed             {replayed}");
    println!("dropped as replays          {}", counts.dropped);
    println!("passed to the sink          {}", sink.len());
    println!("  of these twice            {}", sink.len() - distinct.len());
    println!("    (printed after the last saved state before a crash)");
    println!("lost to false positives     {lost}");
    println!(
        "  estimated by the filter   {:.1}, give or take {:.1}",
        counts.estimated_lost,
        counts.estimated_lost.sqrt()
    );
    let bits = filter.window().stats().bit_len as f64;
    println!(
        "bits per remembered tuple   {:.1} (window of {WINDOW} at {RATE})",
        bits / WINDOW as f64
    );
    println!(
        "  a HashSet<[u8; 16]>       {:.1} per tuple",
        set_bytes as f64 * 8.0 / distinct.len() as f64
    );
}
