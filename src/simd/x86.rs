//! Lines by AVX2 and AVX-512.
#![expect(unsafe_code, reason = "intrinsics; see each block")]

use std::arch::x86_64::{
    __m256i, __m512i, _MM_HINT_T0, _mm_prefetch, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
    _mm256_loadu_si256, _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_or_si256, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srai_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_testz_si256, _mm512_and_si512,
    _mm512_andnot_si512, _mm512_broadcast_i64x4, _mm512_castsi256_si512, _mm512_inserti64x4,
    _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_sllv_epi32, _mm512_storeu_si512, _mm512_test_epi32_mask,
};

use super::{
    LANES, LINE_WORDS, LaneSets, MULTIPLIERS, Prefetch, Probe, Rounds, is_large, pipelined,
    word_of_round,
};

/// Asks for the cache line of an address.
#[inline]
pub(super) fn prefetch(address: *const i8) {
    // SAFETY: a prefetch reads nothing that the program could see and cannot fault, wherever the
    // address points.
    unsafe { _mm_prefetch(address, _MM_HINT_T0) }
}

/// Proof that the processor has AVX2 and POPCNT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Proof that the processor has AVX-512 F, AVX2 and POPCNT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let there = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        there.then_some(Self(()))
    }
}

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let there = is_x86_feature_detected!("avx512f");
        (there && Avx2::detect().is_some()).then_some(Self(()))
    }
}

/// Runs a block with the number of rounds as constants, so that it has no branch for a key to miss:
/// `FULL` whole rounds, and whether there is a partial one.
macro_rules! with_rounds {
    ($rounds:expr, $run:ident($($argument:expr),*)) => {
        match ($rounds.full, $rounds.partial > 0) {
            (0, _) => $run::<0, true>($($argument),*),
            (1, false) => $run::<1, false>($($argument),*),
            (1, true) => $run::<1, true>($($argument),*),
            (2, false) => $run::<2, false>($($argument),*),
            (2, true) => $run::<2, true>($($argument),*),
            _ => $run::<3, false>($($argument),*),
        }
    };
}

/// The four operations of a path, from its kernels for one line.
macro_rules! operations {
    ($path:ty, $features:literal, $contains:ident, $insert:ident) => {
        impl $path {
            #[inline]
            pub(super) fn contains(self, words: &[u64], rounds: Rounds, probe: Probe) -> bool {
                #[target_feature(enable = $features)]
                fn run(words: &[u64], rounds: Rounds, probe: Probe) -> bool {
                    let (sets, bits) = (rounds.lane_sets(), probe.bits);
                    line(words, probe)
                        .is_some_and(|line| with_rounds!(rounds, $contains(line, sets, bits)))
                }
                // SAFETY: a value of this type exists only where `detect` found the features.
                unsafe { run(words, rounds, probe) }
            }

            #[inline]
            pub(super) fn insert(self, words: &mut [u64], rounds: Rounds, probe: Probe) -> u32 {
                #[target_feature(enable = $features)]
                fn run(words: &mut [u64], rounds: Rounds, probe: Probe) -> u32 {
                    let (sets, bits) = (rounds.lane_sets(), probe.bits);
                    line_mut(words, probe)
                        .map_or(0, |line| with_rounds!(rounds, $insert(line, sets, bits)))
                }
                // SAFETY: a value of this type exists only where `detect` found the features.
                unsafe { run(words, rounds, probe) }
            }

            #[inline]
            pub(super) fn contains_all(
                self,
                words: &[u64],
                rounds: Rounds,
                len: usize,
                probe: impl Fn(usize) -> Probe,
                answer: impl FnMut(usize, bool),
            ) {
                #[target_feature(enable = $features)]
                fn run<const FULL: usize, const PARTIAL: bool>(
                    words: &[u64],
                    sets: &LaneSets,
                    len: usize,
                    probe: impl Fn(usize) -> Probe,
                    mut answer: impl FnMut(usize, bool),
                ) {
                    let place = Prefetch::of(words);
                    pipelined(
                        is_large(words),
                        len,
                        |i| place.line(probe(i)),
                        |i, probe| {
                            let found = line(words, probe).is_some_and(|line| {
                                $contains::<FULL, PARTIAL>(line, sets, probe.bits)
                            });
                            answer(i, found);
                        },
                    );
                }
                let sets = rounds.lane_sets();
                // SAFETY: a value of this type exists only where `detect` found the features.
                unsafe { with_rounds!(rounds, run(words, sets, len, probe, answer)) }
            }

            #[inline]
            pub(super) fn insert_all(
                self,
                words: &mut [u64],
                rounds: Rounds,
                len: usize,
                probe: impl Fn(usize) -> Probe,
                answer: impl FnMut(usize, u32),
            ) {
                #[target_feature(enable = $features)]
                fn run<const FULL: usize, const PARTIAL: bool>(
                    words: &mut [u64],
                    sets: &LaneSets,
                    len: usize,
                    probe: impl Fn(usize) -> Probe,
                    mut answer: impl FnMut(usize, u32),
                ) {
                    let place = Prefetch::of(words);
                    pipelined(
                        is_large(words),
                        len,
                        |i| place.line(probe(i)),
                        |i, probe| {
                            let new_bits = line_mut(words, probe)
                                .map_or(0, |line| $insert::<FULL, PARTIAL>(line, sets, probe.bits));
                            answer(i, new_bits);
                        },
                    );
                }
                let sets = rounds.lane_sets();
                // SAFETY: a value of this type exists only where `detect` found the features.
                unsafe { with_rounds!(rounds, run(words, sets, len, probe, answer)) }
            }
        }
    };
}
operations!(Avx2, "avx2,popcnt", contains_avx2, insert_avx2);
operations!(Avx512, "avx512f,avx2,popcnt", contains_avx512, insert_avx512);

type Line = [u64; LINE_WORDS];

#[inline]
fn line(words: &[u64], probe: Probe) -> Option<&Line> {
    words.as_chunks().0.get(probe.line)
}

#[inline]
fn line_mut(words: &mut [u64], probe: Probe) -> Option<&mut Line> {
    words.as_chunks_mut().0.get_mut(probe.line)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_lanes(lanes: &[u32; LANES]) -> __m256i {
    // SAFETY: eight words of 32 bits are 32 readable bytes; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

/// The products of a round's word in the eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn products(word: u32) -> __m256i {
    _mm256_mullo_epi32(_mm256_set1_epi32(word.cast_signed()), load_lanes(&MULTIPLIERS))
}

/// The bit in each lane, not said in which half.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(products: __m256i) -> __m256i {
    let count = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<1>(products));
    _mm256_sllv_epi32(_mm256_set1_epi32(1), count)
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(line: &Line) -> [__m256i; 2] {
    // SAFETY: a line is 64 readable bytes, each half of it 32; the loads ask for no alignment.
    unsafe {
        [_mm256_loadu_si256(line.as_ptr().cast()), _mm256_loadu_si256(line[4..].as_ptr().cast())]
    }
}

/// Of each lane the half that its product asks for: the sign chooses.
#[inline]
#[target_feature(enable = "avx2")]
fn select([low, high]: [__m256i; 2], products: __m256i) -> __m256i {
    let [low, high, signs] = [low, high, products].map(|v| _mm256_castsi256_ps(v));
    _mm256_castps_si256(_mm256_blendv_ps(low, high, signs))
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn contains_avx2<const FULL: usize, const PARTIAL: bool>(
    line: &Line,
    sets: &LaneSets,
    bits_of_key: u64,
) -> bool {
    let halves = halves(line);
    let mut missing = _mm256_setzero_si256();
    for round in 0..FULL {
        let products = products(word_of_round(bits_of_key, round));
        let absent = _mm256_andnot_si256(select(halves, products), bits(products));
        missing = _mm256_or_si256(missing, absent);
    }
    if PARTIAL {
        let products = products(word_of_round(bits_of_key, FULL));
        let lanes = load_lanes(sets.choose(bits_of_key, FULL));
        let bits = _mm256_and_si256(bits(products), lanes);
        missing = _mm256_or_si256(missing, _mm256_andnot_si256(select(halves, products), bits));
    }
    _mm256_testz_si256(missing, missing) == 1
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn insert_avx2<const FULL: usize, const PARTIAL: bool>(
    line: &mut Line,
    sets: &LaneSets,
    bits_of_key: u64,
) -> u32 {
    let mut halves = halves(line);
    let mut new_bits = 0;
    let mut add = |products: __m256i, bits: __m256i| {
        let missing = _mm256_andnot_si256(select(halves, products), bits);
        // A lane has one bit in a round, so the lanes that miss something are the new bits.
        let there = _mm256_cmpeq_epi32(missing, _mm256_setzero_si256());
        let there = _mm256_movemask_ps(_mm256_castsi256_ps(there));
        new_bits += LANES as u32 - there.count_ones();
        let high = _mm256_srai_epi32::<31>(products);
        halves = [
            _mm256_or_si256(halves[0], _mm256_andnot_si256(high, bits)),
            _mm256_or_si256(halves[1], _mm256_and_si256(high, bits)),
        ];
    };
    for round in 0..FULL {
        let products = products(word_of_round(bits_of_key, round));
        add(products, bits(products));
    }
    if PARTIAL {
        let products = products(word_of_round(bits_of_key, FULL));
        let lanes = load_lanes(sets.choose(bits_of_key, FULL));
        add(products, _mm256_and_si256(bits(products), lanes));
    }
    // SAFETY: a line is 64 writable bytes, each half of it 32; the stores ask for no alignment.
    unsafe {
        _mm256_storeu_si256(line.as_mut_ptr().cast(), halves[0]);
        _mm256_storeu_si256(line[4..].as_mut_ptr().cast(), halves[1]);
    }
    new_bits
}

/// The bits of a round in both halves. A shift by 32 or more gives 0, and so does one by a negative
/// number, which is large without its sign: the field less 32 is in 0..32 for the high half only.
#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn bits_of_round(word: u32) -> __m512i {
    let low = _mm256_srli_epi32::<26>(products(word));
    let high = _mm256_sub_epi32(low, _mm256_set1_epi32(32));
    let counts = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
    _mm512_sllv_epi32(_mm512_set1_epi32(1), counts)
}

#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn load_line(line: &Line) -> __m512i {
    // SAFETY: a line is 64 readable bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx2,popcnt")]
fn contains_avx512<const FULL: usize, const PARTIAL: bool>(
    line: &Line,
    sets: &LaneSets,
    bits_of_key: u64,
) -> bool {
    let mut bits = _mm512_setzero_si512();
    for round in 0..FULL {
        bits = _mm512_or_si512(bits, bits_of_round(word_of_round(bits_of_key, round)));
    }
    if PARTIAL {
        let lanes = _mm512_broadcast_i64x4(load_lanes(sets.choose(bits_of_key, FULL)));
        let round = bits_of_round(word_of_round(bits_of_key, FULL));
        bits = _mm512_or_si512(bits, _mm512_and_si512(round, lanes));
    }
    let missing = _mm512_andnot_si512(load_line(line), bits);
    _mm512_test_epi32_mask(missing, missing) == 0
}

#[inline]
#[target_feature(enable = "avx512f,avx2,popcnt")]
fn insert_avx512<const FULL: usize, const PARTIAL: bool>(
    line: &mut Line,
    sets: &LaneSets,
    bits_of_key: u64,
) -> u32 {
    let mut words = load_line(line);
    let mut new_bits = 0;
    let mut add = |bits: __m512i| {
        let missing = _mm512_andnot_si512(words, bits);
        // A word has at most one bit in a round.
        new_bits += _mm512_test_epi32_mask(missing, missing).count_ones();
        words = _mm512_or_si512(words, bits);
    };
    for round in 0..FULL {
        add(bits_of_round(word_of_round(bits_of_key, round)));
    }
    if PARTIAL {
        let lanes = _mm512_broadcast_i64x4(load_lanes(sets.choose(bits_of_key, FULL)));
        add(_mm512_and_si512(bits_of_round(word_of_round(bits_of_key, FULL)), lanes));
    }
    // SAFETY: a line is 64 writable bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), words) };
    new_bits
}
