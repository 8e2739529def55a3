//! Range reduction without a division.

/// Maps a uniform 64-bit word to `0..range` by the high half of a 128-bit product.
///
/// Costs one multiplication. `range` may be anything up to 2⁶⁴ − 1; the values are off from
/// uniform by less than `range` / 2⁶⁴. It is monotone in `word`, so words in order visit a table
/// in order. It consumes the *top* bits of `word`: derive anything else that must be independent
/// from another word. A `range` of 0 gives 0.
///
/// The 64-bit width is the point: with 32-bit hashes the same trick cannot reach positions past
/// 2³² and lifts the false positive rate long before that.
///
/// Source: D. Lemire, *Fast random integer generation in an interval*, ACM TOMACS 29 (2019).
///
/// ```
/// assert_eq!(hapax::hash::reduce(u64::MAX, 1_000), 999);
/// assert_eq!(hapax::hash::reduce(1 << 63, 1_000), 500);
/// ```
#[must_use]
#[inline]
pub const fn reduce(word: u64, range: u64) -> u64 {
    ((word as u128 * range as u128) >> 64) as u64
}
