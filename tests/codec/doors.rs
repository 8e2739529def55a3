//! The ways into a file, under one face for every kind.

use std::path::Path;

use hapax::codec::{Artefact, DecodeError, FileError};
use hapax::replay::{GenerationWindow, ReplayFilter};
use hapax::{
    AnyFilter, BinaryFuseFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
    CuckooFilter, GrowingFilter, KeyHash, Membership, RetiringCuckooFilter, WordBloomFilter,
};

type Open = fn(&[u8]) -> Result<(), DecodeError>;
type Ask = fn(&[u8], &[KeyHash]) -> Vec<bool>;

/// The ways into the files of one type.
#[derive(Clone, Copy)]
pub(crate) struct Doors {
    /// Checks everything, and gives the bytes of what was read when written again.
    pub(crate) rewrite: fn(&[u8]) -> Result<Vec<u8>, DecodeError>,
    pub(crate) load: fn(&Path) -> Result<(), FileError>,
    /// In place. Windows cannot be read in place: they are for going on with.
    pub(crate) open: Option<Open>,
    pub(crate) answers: Ask,
    /// Answers of the same bytes read in place.
    pub(crate) answers_in_place: Option<Ask>,
}

fn ask(filter: &dyn Membership, hashes: &[KeyHash]) -> Vec<bool> {
    let mut present = vec![false; hashes.len()];
    filter.contains_batch(hashes, &mut present).unwrap();
    present
}

macro_rules! doors {
    ($name:ident, $filter:ty $(, in place $view:ty)?) => {
        pub(crate) const $name: Doors = Doors {
            rewrite: |bytes| Ok(Artefact::<$filter>::from_bytes(bytes)?.to_bytes()),
            load: |path| Artefact::<$filter>::load(path).map(drop),
            open: doors!(@open $($view)?),
            answers: |bytes, hashes| {
                ask(&doors!(@membership Artefact::<$filter>::from_bytes(bytes), $name), hashes)
            },
            answers_in_place: doors!(@answers $($view)?),
        };
    };
    (@membership $artefact:expr, REPLAY) => { $artefact.unwrap().filter.window().clone() };
    (@membership $artefact:expr, REPLAY_WHOLE) => { $artefact.unwrap().filter.window().clone() };
    (@membership $artefact:expr, $name:ident) => { $artefact.unwrap().filter };
    (@open) => { None };
    (@open $view:ty) => { Some(|bytes| Artefact::<$view>::open(bytes).map(drop)) };
    (@answers) => { None };
    (@answers $view:ty) => {
        Some(|bytes, hashes| ask(&Artefact::<$view>::open(bytes).unwrap().filter, hashes))
    };
}

doors!(BLOOM, BloomFilter, in place BloomFilter<&[u64]>);
doors!(COUNTING, CountingBloomFilter, in place CountingBloomFilter<&[u64]>);
doors!(BLOCKED, BlockedBloomFilter, in place BlockedBloomFilter<&[u64]>);
doors!(CUCKOO, CuckooFilter, in place CuckooFilter<&[u64]>);
doors!(WORD, WordBloomFilter, in place WordBloomFilter<&[u64]>);
doors!(RETIRING, RetiringCuckooFilter, in place RetiringCuckooFilter<&[u64]>);
doors!(FUSE, BinaryFuseFilter, in place BinaryFuseFilter<&[u64]>);
doors!(GROWING, GrowingFilter, in place GrowingFilter<&[u64]>);
doors!(ANY, AnyFilter, in place AnyFilter<&[u64]>);
doors!(WINDOW, GenerationWindow<GrowingFilter>);
doors!(REPLAY, ReplayFilter<GenerationWindow<GrowingFilter>>);
doors!(REPLAY_WHOLE, ReplayFilter<GrowingFilter>);
