//! `Serialize` and `Deserialize` for filters, through the bytes of a file.
//!
//! ```text
//!  filter ──to_bytes──▶ .hapax bytes ──serialize_bytes──▶ any format
//!  filter ◀─from_bytes, every check─── .hapax bytes ◀──── any format
//! ```
//!
//! Nothing is derived from the fields: a derive would store them without version or checksum, and
//! take back any combination of them. A filter inside a JSON document or a message is a whole
//! `.hapax` file there, and what is refused in a file is refused there with the same words. It
//! costs one copy of the filter each way.

use std::fmt;
use std::marker::PhantomData;

use ::serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use ::serde::ser::{Serialize, Serializer};

use crate::any::{AnyFilter, GrowingFilter};
use crate::codec::{Artefact, Decode, Encode, Provenance};
use crate::filter::{
    BinaryFuseFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter,
    RetiringCuckooFilter, WordBloomFilter,
};
use crate::replay::{GenerationWindow, ReplayFilter};
use crate::store::Words;

macro_rules! through_bytes {
    ($($filter:ident),*) => {$(
        impl<T> Serialize for $filter<T>
        where
            Self: Encode,
        {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(&to_bytes(self))
            }
        }

        impl<'de, T> Deserialize<'de> for $filter<T>
        where
            Self: Decode<Words>,
        {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_bytes(Bytes(PhantomData))
            }
        }
    )*};
}
through_bytes!(
    BlockedBloomFilter,
    BloomFilter,
    CountingBloomFilter,
    CuckooFilter,
    RetiringCuckooFilter,
    WordBloomFilter,
    BinaryFuseFilter,
    GrowingFilter,
    AnyFilter,
    GenerationWindow,
    ReplayFilter
);

fn to_bytes(filter: &impl Encode) -> Vec<u8> {
    Artefact { filter, provenance: Provenance::default() }.to_bytes()
}

/// Takes the bytes of a file that holds an `F`.
struct Bytes<F>(PhantomData<F>);

impl<'de, F: Decode<Words>> Visitor<'de> for Bytes<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bytes of a .hapax file that holds {}", F::EXPECTED)
    }

    /// Owned and borrowed bytes come here too.
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<F, E> {
        Ok(Artefact::from_bytes(bytes).map_err(E::custom)?.filter)
    }

    /// Formats without a type for bytes, such as JSON, have a list of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<F, A::Error> {
        /// A stated length is only believed so far; beyond it memory grows as bytes arrive.
        const BELIEVED: usize = 1 << 16;
        let mut bytes = Vec::with_capacity(list.size_hint().unwrap_or(0).min(BELIEVED));
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
