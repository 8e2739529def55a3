//! The window of a replay guard beside an exact set that forgets by age: `cargo bench --bench replay`.
//!
//! ```text
//!  cargo bench --bench replay     50 million tuples
//!               -- --window 1000000     another length; may be repeated
//! ```
//!
//! What is done to each tuple of a batch of 1,024, an id of 16 bytes:
//!
//! ```text
//!  filter   hash, contains_batch                       the guard asks
//!           insert_batch                               and, when the batch is committed, remembers
//!  set      insert; if new, remove the oldest          hashbrown with foldhash, and a ring of ids
//! ```
//!
//! How it measures. The windows are filled first, and some more, so that every insert also forgets.
//! Then each contestant takes bursts of 8 batches, the next one takes the same, and so on round and
//! round, so that a slow moment of the machine meets all of them. One tuple in a hundred is a replay
//! from within the window. Medians of bursts are printed, in nanoseconds a tuple, and the mean, which
//! holds what only some bursts pay. Making ids is not timed. The set must drop every replay and
//! nothing else; a filter must drop every replay (but of tuples that it had dropped by mistake), and
//! strangers at its rate.
//!
//! At last epochs of the filters are ended early, at any moment, and retired; the longest time that a
//! call took is printed.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no result")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use hapax::{Insert, KeyHash, Membership, RetiringCuckooFilter, Seen};

const EPOCHS: u32 = 15;

/// Tuples of a batch, and batches of a burst.
const BATCH: usize = 1_024;
const BATCHES: usize = 8;

/// Bursts of a turn, and turns: 5.2 million tuples a contestant.
const BURSTS_A_TURN: usize = 16;
const TURNS: usize = 40;

/// Shares of the slots that filters may fill, in percent.
const LOADS: [u32; 4] = [95, 90, 80, 70];

/// One tuple in so many is a replay.
const REPLAYS: u64 = 100;

type Id = [u8; 16];

/// A bijection of the 64-bit words (`SplitMix64`): random bits, no repeats.
const fn word(index: u64) -> u64 {
    let z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The stream: ids, and which of them are replays.
struct Stream {
    window: u64,
    position: u64,
    fresh: u64,
}

#[derive(Default)]
struct Burst {
    ids: Vec<Id>,
    replays: Vec<bool>,
}

impl Stream {
    fn id(index: u64) -> Id {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&word(2 * index).to_le_bytes());
        id[8..].copy_from_slice(&word(2 * index + 1).to_le_bytes());
        id
    }

    fn fill(&mut self, burst: &mut Burst, len: usize) {
        burst.ids.clear();
        burst.replays.clear();
        for _ in 0..len {
            let random = word(self.position ^ 1 << 60);
            self.position += 1;
            let replay = self.fresh > 0 && random.is_multiple_of(REPLAYS);
            let index = if replay {
                let back = (random >> 8) % self.window.min(self.fresh);
                self.fresh - 1 - back
            } else {
                self.fresh += 1;
                self.fresh - 1
            };
            burst.ids.push(Self::id(index));
            burst.replays.push(replay);
        }
    }
}

/// A way to drop replays.
trait Contestant {
    fn name(&self) -> String;

    fn bits(&self) -> u64;

    /// Judges and remembers tuples: `dropped[i]` says what became of the i-th. Gives the time that
    /// questions and inserts took.
    fn admit(&mut self, ids: &[Id], dropped: &mut [bool]) -> [Duration; 2];

    /// The rate at which strangers may be dropped.
    fn rate(&self) -> f64;

    /// Ends epochs early and retires them; gives the longest time that a call took.
    fn retire(&mut self, _: &mut Stream) -> Option<Duration> {
        None
    }
}

/// An exact set, and its ids by age.
struct ExactSet {
    window: usize,
    ids: hashbrown::HashSet<Id, foldhash::fast::FixedState>,
    ages: VecDeque<Id>,
}

impl ExactSet {
    fn new(window: u64) -> Self {
        let window = usize::try_from(window).unwrap();
        let ids = hashbrown::HashSet::with_capacity_and_hasher(
            window + 1,
            foldhash::fast::FixedState::default(),
        );
        Self { window, ids, ages: VecDeque::with_capacity(window + 1) }
    }
}

impl Contestant for ExactSet {
    fn name(&self) -> String {
        "hashbrown set and ring".to_owned()
    }

    fn bits(&self) -> u64 {
        (self.ids.allocation_size() + self.ages.capacity() * size_of::<Id>()) as u64 * 8
    }

    fn admit(&mut self, ids: &[Id], dropped: &mut [bool]) -> [Duration; 2] {
        let start = Instant::now();
        for (id, dropped) in ids.iter().zip(dropped) {
            let new = self.ids.insert(*id);
            *dropped = !new;
            if new {
                self.ages.push_back(*id);
                if self.ages.len() > self.window
                    && let Some(oldest) = self.ages.pop_front()
                {
                    self.ids.remove(&oldest);
                }
            }
        }
        [Duration::ZERO, start.elapsed()]
    }

    fn rate(&self) -> f64 {
        0.0
    }
}

struct Filter {
    name: String,
    window: RetiringCuckooFilter,
    hashes: [KeyHash; BATCH],
    seen: [Seen; BATCH],
}

impl Filter {
    fn new(window: u64, rate: f64, load: u32) -> Self {
        let builder = RetiringCuckooFilter::builder().window(window, EPOCHS).load_percent(load);
        let made = builder.false_positive_rate(rate).build().unwrap();
        let name = format!("retiring, {rate:e}, {load} % full");
        let hashes = [KeyHash::from_uniform(&[0; 16]); BATCH];
        Self { name, window: made, hashes, seen: [Seen::Maybe; BATCH] }
    }
}

impl Contestant for Filter {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn bits(&self) -> u64 {
        self.window.stats().bit_len
    }

    fn admit(&mut self, ids: &[Id], dropped: &mut [bool]) -> [Duration; 2] {
        let mut times = [Duration::ZERO; 2];
        for (ids, dropped) in ids.chunks(BATCH).zip(dropped.chunks_mut(BATCH)) {
            let start = Instant::now();
            let hashes = &mut self.hashes[..ids.len()];
            self.window.seed().hash_all(ids, hashes).unwrap();
            self.window.contains_batch(hashes, black_box(dropped)).unwrap();
            let asked = Instant::now();
            let seen = &mut self.seen[..ids.len()];
            self.window.insert_batch(hashes, seen).unwrap();
            times[0] += asked - start;
            times[1] += asked.elapsed();
            // The answer that counts: an epoch may end, or an id repeat, within the batch.
            for (dropped, seen) in dropped.iter_mut().zip(seen) {
                *dropped = *seen == Seen::Maybe;
            }
        }
        times
    }

    fn rate(&self) -> f64 {
        self.window.false_positive_rate()
    }

    fn retire(&mut self, stream: &mut Stream) -> Option<Duration> {
        let mut longest = Duration::ZERO;
        let epoch = stream.window / u64::from(EPOCHS - 1);
        // Whole epochs, halves, tenths, and none at all, until every tag has been used again.
        let shares = [1, 2, 10, 1_000, 0, 1, 3, 0, 0, 0, 50];
        let mut burst = Burst::default();
        for round in 0..44 {
            let mut left = match shares[round % shares.len()] {
                0 => 0,
                share => epoch / share,
            };
            while left > 0 {
                let len = left.min((BATCH * BATCHES) as u64);
                left -= len;
                stream.fill(&mut burst, len as usize);
                let mut dropped = vec![false; burst.ids.len()];
                let _ = self.admit(&burst.ids, &mut dropped);
            }
            let start = Instant::now();
            if round % 3 == 2 {
                black_box(self.window.retire_through(self.window.oldest_epoch()));
            } else {
                black_box(self.window.advance_epoch());
            }
            longest = longest.max(start.elapsed());
        }
        Some(longest)
    }
}

/// What one contestant did.
#[derive(Default)]
struct Outcome {
    /// ns a tuple of each burst.
    asked: Vec<f64>,
    inserted: Vec<f64>,
    both: Vec<f64>,
    fresh: u64,
    dropped: u64,
    replays: u64,
    missed: u64,
}

impl Outcome {
    fn add(&mut self, times: [Duration; 2], burst: &Burst, dropped: &[bool]) {
        let each = |time: Duration| time.as_nanos() as f64 / dropped.len() as f64;
        self.asked.push(each(times[0]));
        self.inserted.push(each(times[1]));
        self.both.push(each(times[0] + times[1]));
        for (&replay, &dropped) in burst.replays.iter().zip(dropped) {
            if replay {
                self.replays += 1;
                self.missed += u64::from(!dropped);
            } else {
                self.fresh += 1;
                self.dropped += u64::from(dropped);
            }
        }
    }

    /// Panics unless the answers are what they must be.
    fn check(&self, name: &str, rate: f64) {
        let (fresh, dropped) = (self.fresh as f64, self.dropped as f64);
        let expected = fresh * rate;
        let off = (dropped - expected).abs();
        let within = 6.0 * expected.sqrt() + 0.02 * expected + 1.0;
        assert!(off <= within || rate == 0.0 && self.dropped == 0, "{name}: {dropped}, {expected}");
        // Of tuples dropped by mistake, and not remembered for that reason, replays may pass.
        let most = 2.0 * self.replays as f64 * rate + if rate > 0.0 { 6.0 } else { 0.0 };
        assert!(self.missed as f64 <= most, "{name}: {} of {}", self.missed, self.replays);
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

fn run(window: u64) {
    let mut contestants: Vec<Box<dyn Contestant>> = vec![Box::new(ExactSet::new(window))];
    for rate in [1e-3, 1e-6] {
        for load in LOADS {
            contestants.push(Box::new(Filter::new(window, rate, load)));
        }
    }
    let mut stream = Stream { window, position: 0, fresh: 0 };
    let mut burst = Burst::default();
    let len = BATCH * BATCHES;
    let mut dropped = vec![false; len];
    while stream.fresh < window + window / 7 {
        stream.fill(&mut burst, len);
        for contestant in &mut contestants {
            let _ = contestant.admit(&burst.ids, &mut dropped);
        }
    }
    let mut outcomes: Vec<Outcome> = contestants.iter().map(|_| Outcome::default()).collect();
    let mut bursts: Vec<Burst> = (0..BURSTS_A_TURN).map(|_| Burst::default()).collect();
    for _ in 0..TURNS {
        for burst in &mut bursts {
            stream.fill(burst, len);
        }
        for (contestant, outcome) in contestants.iter_mut().zip(&mut outcomes) {
            for burst in &bursts {
                let times = contestant.admit(black_box(&burst.ids), &mut dropped);
                outcome.add(times, burst, &dropped);
            }
        }
    }
    println!("### A window of {window} tuples, {EPOCHS} epochs; ns a tuple\n");
    println!(
        "| window | bits a tuple | rate | ask | insert | both | mean | times the set | retire |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let set = outcomes.first().map_or(f64::NAN, |outcome| median(&outcome.both));
    for (contestant, outcome) in contestants.iter_mut().zip(&outcomes) {
        let name = contestant.name();
        outcome.check(&name, contestant.rate());
        let bits = contestant.bits() as f64 / window as f64;
        let rate = outcome.dropped as f64 / outcome.fresh as f64;
        let (asked, inserted) = (median(&outcome.asked), median(&outcome.inserted));
        let (both, mean) = (median(&outcome.both), mean(&outcome.both));
        let ratio = set / both;
        let mut later = Stream { ..stream };
        let retire = contestant.retire(&mut later);
        let retire =
            retire.map_or("–".to_owned(), |time| format!("{:.3} ms", time.as_secs_f64() * 1e3));
        println!(
            "| {name} | {bits:.1} | {rate:.2e} | {asked:.1} | {inserted:.1} | {both:.1} | \
             {mean:.1} | {ratio:.2} | {retire} |"
        );
    }
    println!();
}

fn main() {
    let mut windows = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // What cargo adds.
            "--bench" => {}
            "--window" => windows.push(arguments.next().unwrap().parse::<u64>().unwrap()),
            other => {
                eprintln!("{other}: unknown; use --window N");
                std::process::exit(2);
            }
        }
    }
    if windows.is_empty() {
        windows.push(50_000_000);
    }
    windows.into_iter().for_each(run);
}
