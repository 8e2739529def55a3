//! Memory latency hidden: what a key needs is asked for some keys before it is used.

/// Keys between asking for memory and using it. A core has 10 to 22 misses in flight.
///
/// Measured with blocked filters, ns per miss at 16 million and 100 million keys on a Zen 1: 16.4 and
/// 20.2 for 8 keys ahead, 14.6 and 16.5 for 16, 14.2 and 15.9 for 32, which would
/// be 64 misses in flight where a key has two lines.
const AHEAD: usize = 16;

/// From how many bytes on asking ahead pays.
///
/// Measured with 16-bit cuckoo filters on a Zen 1 (512 KiB of L2 a core), ns per miss, plain loop and
/// ahead: 17.7 and 18.0 at 0.5 MB, 18.8 and 18.5 at 1 MB, 25.5 and 18.5 at 2 MB, 67 and 25 at 8 MB.
const LARGE: usize = 1 << 20;

/// Whether the words are so many that their lines should be asked for ahead of use.
#[inline]
pub(crate) const fn is_large(words: &[u64]) -> bool {
    size_of_val(words) >= LARGE
}

/// Runs `work(i, item)` for i from 0 to `len` − 1, in order, on what `start(i)` made; `start`
/// computes a key's positions and asks for their memory.
///
/// If `ahead`, every `start` runs before the `work` of the [`AHEAD`] keys before it, so it must not
/// look at what `work` changes. Otherwise it runs just before its own.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must take on the vector features of its caller")]
pub(crate) fn pipelined<P: Copy + Default>(
    ahead: bool,
    len: usize,
    mut start: impl FnMut(usize) -> P,
    mut work: impl FnMut(usize, P),
) {
    if !ahead {
        for i in 0..len {
            let item = start(i);
            work(i, item);
        }
        return;
    }
    let mut ring = [P::default(); AHEAD];
    for (i, slot) in ring.iter_mut().enumerate().take(len) {
        *slot = start(i);
    }
    for i in 0..len {
        let slot = &mut ring[i % AHEAD];
        let item = *slot;
        if i + AHEAD < len {
            *slot = start(i + AHEAD);
        }
        work(i, item);
    }
}
