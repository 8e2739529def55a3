//! Binary fuse filters: three cells a key, in three neighbouring segments of an array.
//!
//! Source: T. M. Graf, D. Lemire, *Binary fuse filters: fast and smaller than xor filters*, ACM JEA
//! 27 (2022). Segment length and size factor are fits of theirs, not theorems.

/// Cells of a key.
pub const ARITY: u64 = 3;

/// The longest segment, 2¹⁸ cells: the two positions inside a segment take 18 bits each of the word
/// that the first position takes the top bits of.
pub const MAX_SEGMENT_LOG2: u32 = 18;

/// The shortest fingerprint.
pub const MIN_FINGERPRINT_BITS: u32 = 4;

/// The longest fingerprint.
pub const MAX_FINGERPRINT_BITS: u32 = 32;

/// Binary logarithm of the segment length for n keys: 2^⌊ln n / ln 3.33 + 2.25⌋ cells, 4 to 2¹⁸.
///
/// Longer segments make less use of the array's two ends, where peeling starts; shorter ones have
/// more waste there, since the first and the last segments serve fewer keys.
#[must_use]
pub fn segment_log2(n: u64) -> u32 {
    if n < 2 {
        return 2;
    }
    let log2 = ((n as f64).ln() / 3.33f64.ln() + 2.25).floor() as u32;
    log2.min(MAX_SEGMENT_LOG2)
}

/// Cells per key of the published layout: max(1.125, 0.875 + 0.25 · ln 10⁶ / ln n).
///
/// Below about 1.09 no graph of three cells a key can be peeled, however large.
#[must_use]
pub fn size_factor(n: u64) -> f64 {
    (0.875 + 0.25 * 1e6f64.ln() / (n.max(2) as f64).ln()).max(1.125)
}

/// Attempts at a shard, each with its own salt and a layout a little wider.
pub const MAX_ATTEMPTS: u32 = 64;

/// The layout of one attempt at n keys: binary logarithm of the segment length, and number of
/// segments that a first position may fall into.
///
/// Two departures from the published layout, for shards of half a million keys (share of attempts
/// that succeed, from 6 to 100 each, for the nearest layouts that whole segments allow):
///
/// | n | published: length, cells a key | here |
/// |---|---|---|
/// | 11,500 | 2¹⁰, 1.247: 0 % | 2⁹, 1.247: 99 % |
/// | 12,340 | 2¹⁰, 1.245: 6 % | 2⁹, 1.245: 96 % |
/// | 37,440 | 2¹¹, 1.203: 5 % | 2¹⁰, 1.203: 98 % |
/// | 100,000 | 2¹¹, 1.188: 100 % | 2¹¹, 1.167: 100 % |
/// | 524,288 | 2¹³, 1.141: 100 % | 2¹², 1.133: 88 % |
///
/// Segments become longer a little later, since just after each step the published ones are too
/// long for their array: these are the sizes at which it hardly ever succeeds. And the first two
/// attempts are made in 0.005 cells a key less. Each pair of later ones takes more by 0.005, 0.01,
/// 0.015 and so on, the second of the two with segments of half the length.
#[must_use]
pub fn shard_layout(n: u64, attempt: u32) -> (u32, u64) {
    let log2 = if n < 2 { 2.0 } else { ((n as f64).ln() / 3.33f64.ln() + 2.0).floor() };
    let halved = attempt > 1 && attempt % 2 == 1;
    let log2 = (log2 as u32).clamp(3, MAX_SEGMENT_LOG2) - u32::from(halved);
    let pair = f64::from(attempt / 2);
    let factor = size_factor(n) - 0.005 + 0.005 * pair * (pair + 1.0) / 2.0;
    (log2, segments_for(n, log2, factor))
}

/// Number of segments that a first position may fall into, for n keys at so many cells per key.
/// The array has two more.
#[must_use]
pub fn segments_for(n: u64, segment_log2: u32, cells_per_key: f64) -> u64 {
    if n < 2 {
        return 1;
    }
    let cells = (n as f64 * cells_per_key).round() as u64;
    cells.div_ceil(1 << segment_log2).saturating_sub(ARITY - 1).max(1)
}

/// Cells of an array: two segments more than a first position may fall into. `None` on overflow.
#[must_use]
pub fn array_len(segments: u64, segment_log2: u32) -> Option<u64> {
    segments.checked_add(ARITY - 1)?.checked_mul(1 << segment_log2)
}

/// Rate of f-bit fingerprints: 2⁻ᶠ. The three cells of a stranger give f bits that have nothing to
/// do with its own.
#[must_use]
pub fn rate(fingerprint_bits: u32) -> f64 {
    0.5f64.powi(fingerprint_bits.cast_signed())
}
