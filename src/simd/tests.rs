//! Every path of this machine against the portable one, and the portable one against its drawing.

use super::{LANE_SETS, LINE_WORDS, MULTIPLIERS, Path, Probe, Rounds};

fn word(index: u64) -> u64 {
    let mut z = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 27
}

fn probe(index: u64, lines: usize) -> Probe {
    Probe { line: (word(index) >> 32) as usize % lines, bits: word(index ^ 1 << 40) }
}

/// The positions of a probe's bits, read off the drawing.
fn positions(rounds: Rounds, probe: Probe) -> Vec<usize> {
    let mut positions = Vec::new();
    let remixed = probe.bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let choice = if rounds.full == 0 { probe.bits } else { remixed };
    let words = [probe.bits as u32, (probe.bits >> 32) as u32, (remixed >> 16) as u32];
    for (round, word) in words.iter().enumerate().take(rounds.full + 1) {
        for (lane, multiplier) in MULTIPLIERS.iter().enumerate() {
            let chosen = round < rounds.full || {
                let sets: Vec<u32> = (0..255)
                    .filter(|set: &u32| set.count_ones() as usize == rounds.partial)
                    .collect();
                let set = sets[(choice >> 48) as usize * sets.len() / 65_536];
                set >> lane & 1 == 1
            };
            let product = word.wrapping_mul(*multiplier);
            let (half, bit) = (product >> 31, product >> 26 & 31);
            if chosen {
                positions.push(256 * half as usize + 32 * lane + bit as usize);
            }
        }
    }
    positions
}

#[test]
fn there_are_as_many_sets_as_binomials() {
    let counts = LANE_SETS.each_ref().map(|sets| sets.len);
    assert_eq!(counts, [1, 8, 28, 56, 70, 56, 28, 8]);
}

#[test]
fn the_portable_path_sets_the_bits_of_the_drawing() {
    for num_probes in 1..=24 {
        let rounds = Rounds::new(num_probes);
        assert_eq!(rounds.num_probes(), num_probes);
        for index in 0..200 {
            let probe = probe(index, 1);
            let mut words = [0u64; LINE_WORDS];
            let new_bits = Path::Portable.insert(&mut words, rounds, probe);
            let mut expected = [0u64; LINE_WORDS];
            let positions = positions(rounds, probe);
            assert_eq!(positions.len(), num_probes as usize);
            for position in positions {
                expected[position / 64] |= 1 << (position % 64);
            }
            assert_eq!(words, expected, "{num_probes} probes");
            assert_eq!(new_bits, words.iter().map(|word| word.count_ones()).sum::<u32>());
            assert!(Path::Portable.contains(&words, rounds, probe));
            // Without any one of its bits the key is not there.
            for position in 0..512 {
                let mut less = words;
                less[position / 64] &= !(1 << (position % 64));
                assert_eq!(Path::Portable.contains(&less, rounds, probe), less == words);
            }
        }
    }
}

#[test]
fn every_path_gives_the_same_bits_and_answers() {
    const LINES: usize = 50;
    const KEYS: usize = 1_500;
    for path in Path::available() {
        for num_probes in 1..=24 {
            let rounds = Rounds::new(num_probes);
            let probes: Vec<Probe> = (0..KEYS as u64).map(|i| probe(i, LINES)).collect();
            let [mut one_by_one, mut batch, mut portable] =
                [(); 3].map(|()| vec![0u64; LINES * LINE_WORDS]);
            let mut new_bits = vec![0; KEYS];
            path.insert_all(&mut batch, rounds, KEYS, |i| probes[i], |i, new| new_bits[i] = new);
            for (i, probe) in probes.iter().enumerate() {
                let expected = Path::Portable.insert(&mut portable, rounds, *probe);
                assert_eq!(path.insert(&mut one_by_one, rounds, *probe), expected, "{path:?}");
                assert_eq!(new_bits[i], expected, "{path:?}, batch");
            }
            assert_eq!(one_by_one, portable, "{path:?}");
            assert_eq!(batch, portable, "{path:?}, batch");

            let asked: Vec<Probe> = (0..2 * KEYS as u64).map(|i| probe(i, LINES)).collect();
            let mut found = vec![false; asked.len()];
            path.contains_all(&batch, rounds, asked.len(), |i| asked[i], |i, yes| found[i] = yes);
            for (i, probe) in asked.iter().enumerate() {
                let expected = Path::Portable.contains(&portable, rounds, *probe);
                assert!(expected || i >= KEYS, "{path:?} denies a member");
                assert_eq!(path.contains(&batch, rounds, *probe), expected, "{path:?}");
                assert_eq!(found[i], expected, "{path:?}, batch");
            }
        }
    }
}

#[test]
fn a_line_past_the_end_has_no_bits_and_takes_none() {
    for path in Path::available() {
        let rounds = Rounds::new(6);
        let mut words = vec![u64::MAX; 2 * LINE_WORDS + 7];
        for line in [2, 3, usize::MAX / 8, usize::MAX] {
            let probe = Probe { line, ..probe(1, 1) };
            assert!(!path.contains(&words, rounds, probe));
            assert_eq!(path.insert(&mut words, rounds, probe), 0);
            path.contains_all(&words, rounds, 3, |_| probe, |_, found| assert!(!found));
            path.insert_all(&mut words, rounds, 3, |_| probe, |_, new| assert_eq!(new, 0));
        }
    }
}
