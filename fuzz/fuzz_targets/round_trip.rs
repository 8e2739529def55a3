//! Any filter, written and read by both doors: the same bytes and the same answers.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use hapax::codec::{Artefact, Decode, Encode, Provenance, verify};
use hapax::filter::{Buildable, Builder};
use hapax::replay::{GenerationWindow, ReplayFilter};
use hapax::{
    AnyFilter, BinaryFuseFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
    CuckooFilter, Digest, Insert, KeyHash, Membership, PastCapacity, Restart, Salt, SecretKey,
    Seed, WordBloomFilter, Words,
};

#[derive(Debug, Arbitrary)]
struct Input {
    kind: Kind,
    around: Around,
    seed: Hash,
    salt: u64,
    capacity: u8,
    rate: u8,
    wide: bool,
    degrade: bool,
    keys: Vec<u16>,
    texts: [String; 4],
    counts: [u64; 5],
    set_digest: u128,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Kind {
    Bloom,
    Counting,
    Cuckoo,
    BinaryFuse,
    Blocked,
    Word,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Around {
    Nothing,
    Window,
    Replay,
    ReplayWindow,
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Hash {
    Xxh3(u64),
    Sha1,
    Nt,
    Unspecified,
    Secret([u8; 16]),
}

impl Hash {
    fn seed(self) -> Seed {
        match self {
            Self::Xxh3(seed) => Seed::new(seed),
            Self::Sha1 => Seed::uniform(Digest::Sha1),
            Self::Nt => Seed::uniform(Digest::Nt),
            Self::Unspecified => Seed::uniform(Digest::Unspecified),
            Self::Secret(secret) => Seed::secret(SecretKey::new(secret)),
        }
    }
}

/// Filters are asked and filled by hash, so that locked and uniform ones take part.
fn hash(key: u16) -> KeyHash {
    let word = u128::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    KeyHash::from_uniform(&(word ^ word >> 61).to_be_bytes())
}

fn fill(filter: &mut impl Insert, keys: &[u16]) {
    for &key in keys {
        if filter.insert_hash(hash(key)).is_ok() {
            assert!(filter.contains_hash(hash(key)), "a member is denied");
        }
    }
}

fn answers(filter: &impl Membership, input: &Input) -> Vec<bool> {
    (0..256).chain(input.keys.iter().copied()).map(|key| filter.contains_hash(hash(key))).collect()
}

/// Writes, reads and compares; gives the bytes.
fn round_trip<F: Encode + Decode<Words>>(filter: F, input: &Input) -> (F, Vec<u8>) {
    let [name, source, date, tool] = input.texts.clone();
    let [min_count, rows_read, rows_added, rows_duplicate, rows_skipped] = input.counts;
    let set_digest = input.set_digest;
    let provenance = Provenance {
        name,
        source,
        date,
        tool,
        min_count,
        rows_read,
        rows_added,
        rows_duplicate,
        rows_skipped,
        set_digest,
    };
    let bytes = Artefact { filter, provenance: provenance.clone() }.to_bytes();
    assert_eq!(verify(&bytes), Ok(()));
    let back = Artefact::<F>::from_bytes(&bytes).expect("what was written is read");
    assert_eq!(back.provenance, provenance);
    assert!(back.to_bytes() == bytes, "written again, it is another file");
    (back.filter, bytes)
}

/// A filter by both doors; a window by the copying one.
fn run_with<F>(builder: Builder<F>, input: &Input)
where
    F: Buildable + Restart + Encode + Decode<Words> + Into<AnyFilter> + Clone,
{
    let builder = builder
        .capacity(u64::from(input.capacity) + 1)
        .false_positive_rate((f64::from(input.rate) + 0.5) / 256.0)
        .salt(Salt::new(input.salt))
        .seed(input.seed.seed())
        .past_capacity(if input.degrade { PastCapacity::Degrade } else { PastCapacity::Refuse });
    let filter = || {
        let mut filter = builder.build().expect("every such filter can be built");
        fill(&mut filter, &input.keys);
        filter
    };
    let window = || {
        let mut window = GenerationWindow::new(&builder).expect("every such window can be built");
        fill(&mut window, &input.keys);
        window
    };
    match input.around {
        Around::Nothing => by_both_doors(&filter(), input),
        Around::Window => {
            let expected = answers(&window(), input);
            let (back, _) = round_trip(window(), input);
            assert_eq!(answers(&back, input), expected);
            assert_eq!(back.generation(), window().generation());
        }
        Around::Replay => round_trip_of_replay(ReplayFilter::new(filter()), input),
        Around::ReplayWindow => round_trip_of_replay(ReplayFilter::new(window()), input),
    }
}

/// One filter, copied and in place.
fn by_both_doors<F>(filter: &F, input: &Input)
where
    F: Membership + Encode + Decode<Words> + Into<AnyFilter> + Clone,
{
    let expected = answers(filter, input);
    let (back, bytes) = round_trip(filter.clone(), input);
    assert_eq!(answers(&back, input), expected);
    // A vector of bytes may start anywhere: its words are copied to where they can be read.
    let mut words = vec![0u64; bytes.len() / 8];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes);
    let view = Artefact::<AnyFilter<&[u64]>>::open(bytemuck::cast_slice(&words));
    assert_eq!(answers(&view.expect("what was written is opened").filter, input), expected);
    round_trip::<AnyFilter>(filter.clone().into(), input);
}

/// A filter of all keys at once; the given rate becomes a width.
fn run_static(input: &Input) {
    let built = BinaryFuseFilter::builder()
        .fingerprint_bits(4 + u32::from(input.rate) % 29)
        .salt(Salt::new(input.salt))
        .seed(input.seed.seed())
        .build_from(input.keys.iter().map(|&key| hash(key)))
        .expect("every set of hashes can be built");
    assert_eq!(built.report.keys + built.report.duplicates, input.keys.len() as u64);
    assert!(input.keys.iter().all(|&key| built.filter.contains_hash(hash(key))));
    by_both_doors(&built.filter, input);
}

fn round_trip_of_replay<W>(mut filter: ReplayFilter<W>, input: &Input)
where
    W: Insert + Encode + Decode<Words> + Clone,
{
    for &key in &input.keys {
        let _ = filter.admit_hash(hash(key.wrapping_add(7)));
    }
    let (back, _) = round_trip(filter.clone(), input);
    assert_eq!(back.counts(), filter.counts());
    assert_eq!(answers(back.window(), input), answers(filter.window(), input));
}

fn run(input: Input) {
    match input.kind {
        Kind::Bloom => run_with(BloomFilter::builder(), &input),
        Kind::Counting => {
            let bits = if input.wide { 8 } else { 4 };
            run_with(CountingBloomFilter::builder().counter_bits(bits), &input);
        }
        Kind::Cuckoo => {
            let builder = CuckooFilter::builder();
            let wide = builder.clone().fingerprint_bits(29);
            run_with(if input.wide { wide } else { builder }, &input);
        }
        Kind::BinaryFuse => run_static(&input),
        Kind::Blocked => run_with(BlockedBloomFilter::builder(), &input),
        Kind::Word => run_with(WordBloomFilter::builder(), &input),
    }
}

hapax_fuzz::target!(run: Input);
