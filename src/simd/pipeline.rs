//! Memory latency hidden: what a key needs is asked for some keys before it is used.

/// Keys between asking for memory and using it. A core has 10 to 22 misses in flight; 8 and 32 were
/// slower or no faster than 16 at every size out of cache.
const AHEAD: usize = 16;

/// Runs `work(i, item)` for i from 0 to `len` − 1, in order, on what `start(i)` made [`AHEAD`] keys
/// before; `start` computes a key's positions and asks for their memory.
///
/// Every `start` runs before the `work` of the `AHEAD` keys before it, so it must not look at what
/// `work` changes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "must take on the vector features of its caller")]
pub(crate) fn pipelined<P: Copy + Default>(
    len: usize,
    mut start: impl FnMut(usize) -> P,
    mut work: impl FnMut(usize, P),
) {
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
