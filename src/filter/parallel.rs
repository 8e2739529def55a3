//! Filling a blocked filter by several threads, to the bit as one thread would.
//!
//! ```text
//!  hashes, in blocks of 16 million          ranges of lines, 1 MiB each
//!  ┌───────────────┐   by their line, in    ┌────┐   one thread a range
//!  │ thread 0's    │──────────────────────▶ │ 0  │──▶ lines 0 …        inserted in order,
//!  │ thread 1's    │──────────────────────▶ │ 1  │──▶ lines 16,384 …   while they are in the
//!  │ ...           │   their order          │ …  │                      thread's own cache
//!  └───────────────┘                        └────┘
//! ```
//!
//! A key's answer depends on the keys before it in the same line only, and within a range they keep
//! their order. So the lines, the counts and the answers are those of the serial build, whatever the
//! number of threads, and no two threads write to one cache line. Sorting the keys into ranges costs
//! two passes over them and saves a cache miss a key.
//!
//! Source of the partitioning: the radix joins of C. Balkesen et al., *Main-memory hash joins on
//! multi-core CPUs*, ICDE 2013.

use rayon::prelude::*;

use super::blocked::{BlockedBloomFilter, Inserted, Prober};
use crate::hash::KeyHash;
use crate::membership::{BatchError, Insert, Seen};
use crate::simd::Probe;
use crate::store::Words;

/// Lines of a range: 1 MiB. Ranges that fit the second-level cache are four times as many, and sorting
/// into them writes to more places at once; at a hundred million keys that took 3 % longer.
const RANGE_LINES: usize = 16_384;

/// Keys sorted at a time; their probes take 256 MiB.
const BLOCK: usize = 1 << 24;

/// Fewest keys worth the threads.
const LEAST_KEYS: usize = 1 << 16;

impl<S: AsRef<[u64]> + AsMut<[u64]> + Send> BlockedBloomFilter<S> {
    /// Inserts many keys on all threads of the current `rayon` pool. The filter is then, to the bit,
    /// what [`insert_batch`](Insert::insert_batch) would have made of it, `len` included.
    ///
    /// Needs 16 bytes of memory a key, for 16 million keys at a time. Returns how many keys were
    /// answered [`Seen::Never`].
    ///
    /// # Errors
    ///
    /// [`BatchError::Full`] as `insert_batch`, which does the work once the keys that are left might
    /// not fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    /// use rayon::prelude::*;
    ///
    /// let builder = BlockedBloomFilter::builder().capacity(1_000_000).false_positive_rate(0.01);
    /// let (mut parallel, mut serial) = (builder.build()?, builder.build()?);
    /// let seed = Seed::default();
    /// let hashes: Vec<KeyHash> =
    ///     (0..300_000u64).into_par_iter().map(|id| seed.hash(&id)).collect::<Result<_, _>>()?;
    /// let new = parallel.insert_parallel(&hashes)?;
    /// serial.insert_batch(&hashes, &mut vec![Seen::Maybe; hashes.len()])?;
    /// assert_eq!(new, serial.stats().len);
    /// assert_eq!(parallel.stats(), serial.stats());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_parallel(&mut self, hashes: &[KeyHash]) -> Result<u64, BatchError> {
        let before = self.settings().len;
        let mut done = 0;
        // On huge pages, and used again: a page fault for each 4 KiB would cost as much as the sort.
        let mut scratch = Words::zeroed(2 * hashes.len().min(BLOCK) as u64);
        for block in hashes.chunks(BLOCK) {
            let fits = block.len() as u64 <= self.settings().room();
            match &mut scratch {
                Some(scratch) if fits && block.len() >= LEAST_KEYS => {
                    self.insert_block(block, scratch.as_mut().as_chunks_mut().0);
                }
                _ => self.insert_serial(block).map_err(|error| error.after(done))?,
            }
            done += block.len();
        }
        Ok(self.settings().len - before)
    }

    fn insert_serial(&mut self, hashes: &[KeyHash]) -> Result<(), BatchError> {
        const AT_ONCE: usize = 1 << 12;
        let mut seen = [Seen::Maybe; AT_ONCE];
        for (index, hashes) in hashes.chunks(AT_ONCE).enumerate() {
            let seen = seen.get_mut(..hashes.len()).unwrap_or(&mut []);
            self.insert_batch(hashes, seen).map_err(|error| error.after(index * AT_ONCE))?;
        }
        Ok(())
    }

    /// Inserts what a parallel iterator gives, in its order; as [`insert_parallel`](Self::insert_parallel),
    /// with 16 bytes more of memory a key.
    ///
    /// # Errors
    ///
    /// As `insert_parallel`.
    pub fn insert_par_iter<I>(&mut self, hashes: I) -> Result<u64, BatchError>
    where
        I: IntoParallelIterator<Item = KeyHash>,
    {
        // Collecting keeps the order, on which the counts depend.
        let hashes: Vec<KeyHash> = hashes.into_par_iter().collect();
        self.insert_parallel(&hashes)
    }

    /// Inserts keys that all fit; `scratch` has room for their probes.
    fn insert_block(&mut self, hashes: &[KeyHash], scratch: &mut [Sorted]) {
        let prober = self.prober();
        let len = hashes.len().div_ceil(4 * rayon::current_num_threads());
        let shares: Vec<Share<'_>> = hashes
            .par_chunks(len)
            .zip(scratch.par_chunks_mut(len))
            .map(|(hashes, scratch)| Share::sort(prober, hashes, scratch))
            .collect();
        let inserted = self
            .lines_mut()
            .par_ranges_mut(RANGE_LINES)
            .enumerate()
            .map(|(range, mut lines)| {
                let mut inserted = Inserted::default();
                for share in &shares {
                    let sorted = share.range(range);
                    let probe = |i: usize| {
                        let [line, bits] = sorted[i];
                        Probe { line: line as usize, bits }
                    };
                    lines.insert_all(sorted.len(), probe, |_, new| inserted.add_key(new));
                }
                inserted
            })
            .reduce(Inserted::default, Inserted::plus);
        self.account(inserted);
    }
}

/// A probe in two words: its line, from the start of its range, and its bits.
type Sorted = [u64; 2];

/// The probes of some keys, sorted by range and in order within each.
struct Share<'a> {
    sorted: &'a [Sorted],
    /// Where each range ends.
    ends: Vec<usize>,
}

impl<'a> Share<'a> {
    fn sort(prober: Prober, hashes: &[KeyHash], sorted: &'a mut [Sorted]) -> Self {
        let ranges = usize::try_from(prober.lines).unwrap_or(usize::MAX).div_ceil(RANGE_LINES);
        let mut ends = vec![0; ranges];
        for hash in hashes {
            ends[prober.probe(*hash).line / RANGE_LINES] += 1;
        }
        // From counts to starts; filling each range moves its start to its end.
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        for hash in hashes {
            let Probe { line, bits } = prober.probe(*hash);
            let next = &mut ends[line / RANGE_LINES];
            sorted[*next] = [(line % RANGE_LINES) as u64, bits];
            *next += 1;
        }
        Self { sorted, ends }
    }

    fn range(&self, range: usize) -> &[Sorted] {
        let start = range.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.sorted[start..self.ends[range]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::PastCapacity;
    use crate::hash::Seed;
    use crate::membership::Membership;

    fn hashes(keys: std::ops::Range<u64>) -> Vec<KeyHash> {
        // Every seventh key is one of the keys before it.
        let key = |i: u64| if i % 7 == 6 { i / 2 } else { i };
        keys.map(|i| Seed::default().hash(&key(i)).unwrap()).collect()
    }

    fn in_pool<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
    }

    #[test]
    fn any_number_of_threads_makes_the_serial_filter() {
        for (capacity, keys) in [(1, 0), (1_000, 900), (400_000, 300_000), (2_000_000, 70_000)] {
            let builder = BlockedBloomFilter::builder().capacity(capacity);
            let builder = builder.false_positive_rate(0.01);
            let hashes = hashes(0..keys);
            let mut serial = builder.build().unwrap();
            serial.insert_serial(&hashes).unwrap();
            for threads in [1, 2, 3, 8] {
                let mut parallel = builder.build().unwrap();
                let new = in_pool(threads, || parallel.insert_par_iter(hashes.clone())).unwrap();
                assert_eq!(new, serial.stats().len, "{threads} threads");
                assert_eq!(parallel.words(), serial.words(), "{threads} threads");
                assert_eq!(parallel.stats(), serial.stats(), "{threads} threads");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_where_the_serial_build_refuses_it() {
        let builder = BlockedBloomFilter::builder().capacity(150_000).false_positive_rate(0.01);
        let hashes = hashes(0..200_000);
        let (mut serial, mut parallel) = (builder.build().unwrap(), builder.build().unwrap());
        let refused = serial.insert_serial(&hashes).unwrap_err();
        assert_eq!(in_pool(2, || parallel.insert_parallel(&hashes)), Err(refused));
        assert_eq!(parallel.words(), serial.words());

        let builder = builder.past_capacity(PastCapacity::Degrade);
        let (mut serial, mut parallel) = (builder.build().unwrap(), builder.build().unwrap());
        serial.insert_serial(&hashes).unwrap();
        let new = in_pool(2, || parallel.insert_parallel(&hashes)).unwrap();
        assert_eq!((new, parallel.words()), (serial.stats().len, serial.words()));
    }
}
