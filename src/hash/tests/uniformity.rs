//! Words are uniform and independent where filters rely on it.
//!
//! Every test is a χ² test with fixed keys. Of d degrees of freedom, χ² has mean d and standard
//! deviation √(2d); it must lie within [`SIGMAS`] of them on *both* sides, since words that are too
//! even are not random either. Each assertion misses by chance once in 16 thousand.

use crate::hash::{KeyHash, Salt, Seed, reduce};

const SIGMAS: f64 = 4.0;
const KEYS: u64 = 1 << 18;
const CELLS: u64 = 1 << 10;

/// Checks that words fall evenly into 1,024 cells.
fn assert_even(what: &str, cells: impl Iterator<Item = u64>) {
    let mut counts = vec![0u32; CELLS as usize];
    let mut total = 0u32;
    for cell in cells {
        counts[cell as usize] += 1;
        total += 1;
    }
    let expected = f64::from(total) / CELLS as f64;
    let chi_square: f64 =
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let freedom = CELLS as f64 - 1.0;
    let sigmas = (chi_square - freedom) / (2.0 * freedom).sqrt();
    assert!(sigmas.abs() < SIGMAS, "{what}: χ² is {sigmas:.2} standard deviations off");
}

/// Sequential integers: the least random keys there are.
fn hashes() -> impl Iterator<Item = KeyHash> {
    (0..KEYS).map(|key| Seed::default().hash(&key).unwrap())
}

/// Hashes of one key group of 128: the top 7 bits of `hi` are all the same.
fn hashes_of_group(group: u64) -> impl Iterator<Item = KeyHash> {
    hashes().map(move |hash| {
        let hi = hash.hi() >> 7 | group << 57;
        KeyHash::from_halves(hi, hash.lo())
    })
}

#[test]
fn halves_of_the_hash_fall_evenly() {
    assert_even("hi", hashes().map(|hash| reduce(hash.hi(), CELLS)));
    assert_even("lo", hashes().map(|hash| reduce(hash.lo(), CELLS)));
    assert_even("low bits of hi", hashes().map(|hash| hash.hi() % CELLS));
    assert_even("low bits of lo", hashes().map(|hash| hash.lo() % CELLS));
    assert_even("both", hashes().map(|hash| hash.hi() >> 59 << 5 | hash.lo() >> 59));
}

#[test]
fn reduce_falls_evenly_for_small_and_large_ranges() {
    let words = || hashes().map(|hash| hash.mix(Salt::default()).a);
    // A range of a few cells more than a power of two, folded to 1,024 cells of equal width.
    for range in [CELLS, 1_000 * CELLS, (1 << 40) + 3 * CELLS, 1 << 63] {
        let width = range / CELLS;
        assert_even(&format!("range {range}"), words().map(|word| reduce(word, range) / width));
    }
    // Positions modulo 1,024: the low digits of a position are even as well.
    assert_even("low digits", words().map(|word| reduce(word, CELLS << 30) % CELLS));
}

#[test]
fn both_mixed_words_fall_evenly_under_every_salt() {
    for salt in [0, 1, 2, u64::MAX] {
        let mixed = || hashes().map(move |hash| hash.mix(Salt::new(salt)));
        assert_even(&format!("a, salt {salt}"), mixed().map(|mixed| mixed.a >> 54));
        assert_even(&format!("b, salt {salt}"), mixed().map(|mixed| mixed.b >> 54));
        assert_even(&format!("low a, salt {salt}"), mixed().map(|mixed| mixed.a % CELLS));
        assert_even(&format!("low b, salt {salt}"), mixed().map(|mixed| mixed.b % CELLS));
    }
}

#[test]
fn fingerprint_is_even_given_the_bucket() {
    for salt in [0, 7] {
        let mixed = || hashes().map(move |hash| hash.mix(Salt::new(salt)));
        // All pairs of 32 buckets and 32 fingerprints, so each bucket's fingerprints too.
        let pair = |bucket: u64, fingerprint: u64| bucket << 5 | fingerprint;
        assert_even("pairs", mixed().map(|mixed| pair(mixed.a >> 59, mixed.b >> 59)));
        // Even given twenty more bits of the position than the table of a small filter uses.
        assert_even("deep", mixed().map(|mixed| pair(mixed.a >> 39 & 31, mixed.b >> 59)));
    }
}

/// The bits that chose a group are used up: inside it words are as even as everywhere.
#[test]
fn words_inside_a_key_group_fall_evenly() {
    for group in [0, 1, 64, 127] {
        let mixed = || hashes_of_group(group).map(|hash| hash.mix(Salt::new(3)));
        assert_even(&format!("a, group {group}"), mixed().map(|mixed| mixed.a >> 54));
        assert_even(&format!("b, group {group}"), mixed().map(|mixed| mixed.b >> 54));
        assert_even(
            &format!("fingerprint given the bucket, group {group}"),
            mixed().map(|mixed| mixed.a >> 59 << 5 | mixed.b >> 59),
        );
    }
}

/// Neighbouring salts (generations of a window) give words that know nothing of each other.
#[test]
fn salts_are_independent() {
    for (one, other) in [(0, 1), (1, 2), (41, 42), (0, 1 << 63), (0, u64::MAX)] {
        let both =
            || hashes().map(move |hash| (hash.mix(Salt::new(one)), hash.mix(Salt::new(other))));
        let name = format!("salts {one} and {other}");
        assert_even(&name, both().map(|(x, y)| x.a >> 59 << 5 | y.a >> 59));
        assert_even(&name, both().map(|(x, y)| x.b >> 59 << 5 | y.b >> 59));
        assert_even(&name, both().map(|(x, y)| x.a >> 59 << 5 | y.b >> 59));
    }
}

/// Differences, too: that two keys are close under one salt says nothing about another salt. A
/// false positive of a cuckoo filter is such a pair.
#[test]
fn closeness_of_two_keys_does_not_carry_over_to_another_salt() {
    let pairs = || hashes().zip(hashes().skip(1));
    let differences = |salt| {
        pairs().map(move |(x, y)| {
            let (x, y) = (x.mix(Salt::new(salt)), y.mix(Salt::new(salt)));
            (x.a.wrapping_sub(y.a) >> 59, x.b.wrapping_sub(y.b) >> 59)
        })
    };
    let both = || differences(5).zip(differences(6));
    assert_even("positions", both().map(|(one, other)| one.0 << 5 | other.0));
    assert_even("fingerprints", both().map(|(one, other)| one.1 << 5 | other.1));
}
