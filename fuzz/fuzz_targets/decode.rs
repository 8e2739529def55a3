//! Any bytes, as they come and with their checksums made right: never a panic, and the doors agree.
//!
//! Seeds: `cargo +nightly fuzz run decode corpus/decode ../tests/golden/v1`.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::{Arbitrary, Result, Unstructured};
use hapax::codec::{Artefact, Decode, Encode, verify};
use hapax::replay::{GenerationWindow, ReplayFilter};
use hapax::{
    AnyFilter, BinaryFuseFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
    CuckooFilter, GrowingFilter, Insert, KeyHash, Membership, WordBloomFilter, Words,
};

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/codec/reseal.rs"]
mod reseal;

/// The input itself, so that files are inputs.
#[derive(Debug)]
struct Raw(Vec<u8>);

impl<'a> Arbitrary<'a> for Raw {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self(u.bytes(u.len())?.to_vec()))
    }
}

/// A few hashes to ask for and to insert.
fn hashes() -> impl Iterator<Item = KeyHash> {
    (0..20u8).map(|i| KeyHash::from_uniform(&[i.wrapping_mul(151); 16]))
}

/// Reads an `F`, and checks that what was read is whole, can be used, and is written as it was.
fn read<F: Encode + Decode<Words>>(bytes: &[u8], used: impl FnOnce(F)) -> bool {
    match Artefact::<F>::from_bytes(bytes) {
        Ok(artefact) => {
            assert!(artefact.to_bytes() == bytes, "the same content in other bytes");
            assert_eq!(verify(bytes), Ok(()), "read but not verified");
            used(artefact.filter);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

fn insert(mut filter: impl Insert) {
    for hash in hashes() {
        if filter.insert_hash(hash).is_ok() {
            assert!(filter.contains_hash(hash), "a member is denied");
        }
    }
    let _ = filter.stats();
}

/// Asks one by one and all at once.
fn ask(filter: &impl Membership) {
    let hashes: Vec<_> = hashes().collect();
    let mut present = vec![false; hashes.len()];
    filter.contains_batch(&hashes, &mut present).expect("as many answers as hashes");
    assert!(hashes.iter().zip(present).all(|(&hash, yes)| filter.contains_hash(hash) == yes));
    let _ = filter.stats();
}

fn check(bytes: &[u8]) {
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    let bytes = &bytemuck::cast_slice::<_, u8>(&words)[..bytes.len()];

    // In place, what reading accepts is what opening, verifying and comparing the counts accept.
    macro_rules! both_doors {
        ($($filter:ident: $use:expr),*) => {$(
            let was_read = read::<$filter>(bytes, $use);
            match Artefact::<$filter<&[u64]>>::open(bytes) {
                Ok(Artefact { filter, .. }) => {
                    // Answers of an unverified file may be wrong; asking is safe.
                    let _ = hashes().filter(|hash| filter.contains_hash(*hash)).count();
                    let _ = filter.stats();
                    let whole = verify(bytes).is_ok() && filter.check_body().is_ok();
                    assert_eq!(whole, was_read, "the two doors differ");
                }
                Err(_) => assert!(!was_read, "read but not opened"),
            }
        )*};
    }
    both_doors!(
        AnyFilter: |filter| ask(&filter),
        BinaryFuseFilter: |filter| ask(&filter),
        GrowingFilter: insert,
        BloomFilter: insert,
        CountingBloomFilter: insert,
        CuckooFilter: insert,
        BlockedBloomFilter: insert,
        WordBloomFilter: insert
    );
    read::<GenerationWindow<GrowingFilter>>(bytes, insert);
    read::<ReplayFilter<GrowingFilter>>(bytes, admit);
    read::<ReplayFilter<GenerationWindow<GrowingFilter>>>(bytes, admit);
}

fn admit<W: Insert>(mut filter: ReplayFilter<W>) {
    for hash in hashes() {
        let _ = filter.admit_hash(hash);
    }
    assert!(filter.counts().estimated_lost.is_finite());
    let _ = filter.counts().judged();
}

fn run(Raw(bytes): Raw) {
    check(&bytes);
    check(&reseal::reseal(bytes));
}

hapax_fuzz::target!(run: Raw);
