//! Word-blocked Bloom filters: all k bits of a key, each another one, lie in one word of 64.
//!
//! The words hold different numbers of keys, and a word is small: a key costs 11.8 bits at 1 % where
//! a classic filter takes 9.6, 23.1 at 0.1 % (14.4), and 71 at 2⁻¹⁶ (23.1). If bits could coincide
//! it were 12.1, 24.0 and 77, so they are drawn without replacement.
//!
//! Sources: F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*, JEA
//! 14 (2009), for the model of the blocks; the sums below are inclusion and exclusion over the bits.

use super::bloom::MAX_BITS;
use super::search;

/// Bits in a word.
pub const WORD_BITS: u32 = 64;

/// The most bits per key: 64 bits of hash choose so many, and more are never the best down to
/// [`LOWEST_RATE`].
pub const MAX_PROBES: u32 = 10;

/// The lowest rate a filter is planned for. Here it takes three times the bits of other filters.
pub const LOWEST_RATE: f64 = 1.0 / 65_536.0;

/// Expected rate after n keys in so many words.
///
/// A given set of j bits stays clear of one key with probability 1 − (1 − qⱼ)/words, where
/// qⱼ = C(64−j, k)/C(64, k); so all k bits of a stranger are covered with probability
/// Σⱼ (−1)ʲ C(k, j) (1 − (1 − qⱼ)/words)ⁿ. Exact for every number of words, keys and bits.
#[must_use]
pub fn expected_rate(words: f64, k: u32, n: f64) -> f64 {
    if n <= 0.0 {
        return 0.0;
    }
    let (mut sum, mut ways, mut spared) = (1.0, 1.0, 1.0);
    // One member with the same bits is enough. In a nearly empty filter that is all there is, and the
    // sum below has lost its digits.
    let mut same = -(n * (-1.0 / words).ln_1p()).exp_m1();
    for j in 1..=k {
        same *= f64::from(j) / f64::from(WORD_BITS - k + j);
        let (i, bits, k) = (f64::from(j - 1), f64::from(WORD_BITS), f64::from(k));
        ways *= -(k - i) / (i + 1.0);
        spared *= (bits - k - i) / (bits - i);
        sum += ways * (n * (-(1.0 - spared) / words).ln_1p()).exp();
    }
    sum.clamp(same, 1.0)
}

/// Number of keys that leaves such a share of the bits set. Infinite when all are.
#[must_use]
pub fn estimated_len(words: f64, k: u32, fill: f64) -> f64 {
    let hit = f64::from(k) / f64::from(WORD_BITS) / words;
    (-fill).ln_1p() / (-hit).ln_1p()
}

/// The number of bits per key with the lowest expected rate, and that rate.
#[must_use]
pub fn best_probes(words: f64, n: f64) -> (u32, f64) {
    let mut best = (1, expected_rate(words, 1, n));
    for k in 2..=MAX_PROBES {
        let rate = expected_rate(words, k, n);
        if rate < best.1 {
            best = (k, rate);
        }
    }
    best
}

/// The least number of words at which n keys stay within the rate, with the bits per key. `None`
/// if that is more than [`MAX_BITS`], or if the rate lies below [`LOWEST_RATE`].
#[must_use]
pub fn least_words(n: f64, rate: f64) -> Option<(u64, u32)> {
    if rate < LOWEST_RATE {
        return None;
    }
    let max = MAX_BITS as u64 / u64::from(WORD_BITS);
    let words = search::least(max, |words| best_probes(words as f64, n).1 <= rate)?;
    Some((words, best_probes(words as f64, n).0))
}

/// The most keys that so many words hold within the rate, with the bits per key. 0 if none.
#[must_use]
pub fn most_keys(words: f64, rate: f64) -> (u64, u32) {
    // More keys than bits fit at rates close to 1.
    let max = (words * f64::from(WORD_BITS) * 64.0) as u64;
    let keys = search::most(max, |n| best_probes(words, n as f64).1 <= rate);
    (keys, best_probes(words, keys.max(1) as f64).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the documentation states: bits per key.
    #[test]
    fn bits_per_key_are_as_documented() {
        for (rate, bits, probes) in
            [(0.01, 11.84, 5), (0.001, 23.09, 7), (1e-4, 42.82, 8), (LOWEST_RATE, 70.76, 9)]
        {
            let (words, k) = least_words(1e7, rate).expect("reachable");
            let found = words as f64 * 64.0 / 1e7;
            assert!((found - bits).abs() < 0.01, "{rate}: {found} bits");
            assert_eq!(k, probes, "{rate}");
        }
        assert_eq!(least_words(1e7, LOWEST_RATE / 1.001), None);
        assert_eq!(least_words(1e14, 0.01), None);
    }

    /// Against the chain of covered bits: from c bits, a key of k bits covers d more with the
    /// hypergeometric probability, and a stranger's k bits are all among c with C(c, k)/C(64, k).
    #[test]
    fn rate_is_that_of_the_chain_of_covered_bits() {
        let choose = |n: u32, k: u32| -> f64 {
            (0..k).map(|i| (f64::from(n) - f64::from(i)) / f64::from(k - i)).product()
        };
        for k in 1..=MAX_PROBES {
            let mut covered = [0.0; 65];
            covered[0] = 1.0;
            for keys in 1..=12 {
                let mut next = [0.0; 65];
                for (c, weight) in covered.iter().enumerate() {
                    let c = c as u32;
                    for more in 0..=k.min(64 - c) {
                        let ways = choose(c, k - more) * choose(64 - c, more) / choose(64, k);
                        next[(c + more) as usize] += weight * ways;
                    }
                }
                covered = next;
                let exact: f64 = covered
                    .iter()
                    .enumerate()
                    .map(|(c, weight)| weight * choose(c as u32, k) / choose(64, k))
                    .sum();
                let found = expected_rate(1.0, k, f64::from(keys));
                // The alternating sum loses digits, far below any rate that is planned.
                assert!((found - exact).abs() < 1e-12 + 1e-9 * exact, "{k} {keys}: {found}");
            }
        }
    }

    #[test]
    fn most_keys_inverts_least_words() {
        for n in [1.0, 10.0, 1e3, 1e6, 1e9] {
            for rate in [0.9, 0.1, 0.01, 1e-4] {
                let (words, _) = least_words(n, rate).expect("reachable");
                let (keys, k) = most_keys(words as f64, rate);
                assert!(keys as f64 >= n, "{n} at {rate}: {words} words, {keys} keys");
                assert!(expected_rate(words as f64, k, keys as f64) <= rate);
            }
        }
    }

    #[test]
    fn rate_is_monotone_and_bounded() {
        for k in 1..=MAX_PROBES {
            let mut last = 0.0;
            for n in (0..5_000).map(f64::from).chain([1e6, 1e18, f64::INFINITY]) {
                let rate = expected_rate(100.0, k, n);
                assert!((last - 1e-13..=1.0).contains(&rate), "k {k} n {n}: {rate} after {last}");
                last = rate;
            }
            assert!((last - 1.0).abs() < 1e-15);
        }
        assert!((estimated_len(100.0, 5, 1.0)).is_infinite());
    }
}
