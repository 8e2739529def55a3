//! Lines in plain Rust: the reference for the other paths.

use super::{
    LANES, LINE_WORDS, MULTIPLIERS, Prefetch, Probe, Rounds, is_large, pipelined, word_of_round,
};

/// The bits of a key in its line.
#[inline]
fn mask(rounds: Rounds, probe: Probe) -> [u64; LINE_WORDS] {
    let mut mask = [0; LINE_WORDS];
    let mut add = |round: usize, lanes: &[u32; LANES]| {
        let word = word_of_round(probe.bits, round);
        for (lane, (multiplier, chosen)) in MULTIPLIERS.iter().zip(lanes).enumerate() {
            let field = word.wrapping_mul(*multiplier) >> 26;
            let (half, bit) = (field as usize / 32, field % 32);
            // Two words of 32 bits to one of 64.
            let place = 4 * half + lane / 2;
            mask[place] |= u64::from(chosen & 1 << bit) << (lane % 2 * 32);
        }
    };
    for round in 0..rounds.full {
        add(round, &[u32::MAX; LANES]);
    }
    if rounds.partial > 0 {
        add(rounds.full, rounds.lane_sets().choose(probe.bits, rounds.full));
    }
    mask
}

#[inline]
pub(super) fn contains(words: &[u64], rounds: Rounds, probe: Probe) -> bool {
    let Some(line) = words.as_chunks::<LINE_WORDS>().0.get(probe.line) else { return false };
    let mask = mask(rounds, probe);
    // No early exit: it would be a branch that strangers make unpredictable.
    line.iter().zip(mask).fold(0, |missing, (word, mask)| missing | mask & !word) == 0
}

#[inline]
pub(super) fn insert(words: &mut [u64], rounds: Rounds, probe: Probe) -> u32 {
    let Some(line) = words.as_chunks_mut::<LINE_WORDS>().0.get_mut(probe.line) else { return 0 };
    let mask = mask(rounds, probe);
    let mut new_bits = 0;
    for (word, mask) in line.iter_mut().zip(mask) {
        new_bits += (mask & !*word).count_ones();
        *word |= mask;
    }
    new_bits
}

pub(super) fn contains_all(
    words: &[u64],
    rounds: Rounds,
    len: usize,
    probe: impl Fn(usize) -> Probe,
    mut answer: impl FnMut(usize, bool),
) {
    let (place, ahead) = (Prefetch::of(words), is_large(words));
    pipelined(
        ahead,
        len,
        |i| place.line(probe(i)),
        |i, probe| answer(i, contains(words, rounds, probe)),
    );
}

pub(super) fn insert_all(
    words: &mut [u64],
    rounds: Rounds,
    len: usize,
    probe: impl Fn(usize) -> Probe,
    mut answer: impl FnMut(usize, u32),
) {
    let (place, ahead) = (Prefetch::of(words), is_large(words));
    pipelined(
        ahead,
        len,
        |i| place.line(probe(i)),
        |i, probe| answer(i, insert(words, rounds, probe)),
    );
}
