//! Filters inside documents and messages of other formats are whole files there.

use std::fmt::Debug;
use std::iter;

use hapax::Words;
use hapax::codec::{Artefact, Decode, Encode};
use hapax::prelude::*;
use hapax::replay::{GenerationWindow, ReplayFilter};
use serde::de::DeserializeOwned;
use serde::de::value::{BytesDeserializer, Error as ValueError, SeqDeserializer};
use serde::{Deserialize, Serialize};

use crate::samples::{file, sample};

fn round_trip<F>(name: &str)
where
    F: Encode + Decode<Words> + Serialize + DeserializeOwned + Debug,
{
    let bytes = (sample(name).make)();
    let filter = Artefact::<F>::from_bytes(&bytes).unwrap().filter;

    let json = serde_json::to_string(&filter).unwrap();
    assert!(json.starts_with("[137,72,65,80,65,88,13,10,1,0,"), "{json}");
    assert_eq!(file(serde_json::from_str::<F>(&json).unwrap()), file(&filter), "{name} by JSON");

    let binary = postcard::to_stdvec(&filter).unwrap();
    assert!(binary.ends_with(&file(&filter)), "{name} is not stored as bytes");
    assert_eq!(file(postcard::from_bytes::<F>(&binary).unwrap()), file(&filter), "{name} binary");

    let error = postcard::from_bytes::<F>(&binary[..binary.len() - 1]);
    assert!(error.is_err(), "{name} cut short");
}

#[test]
fn every_type_comes_back_from_text_and_binary_formats() {
    round_trip::<BloomFilter>("bloom");
    round_trip::<CountingBloomFilter>("counting-4");
    round_trip::<CuckooFilter>("cuckoo-13");
    round_trip::<CuckooFilter>("cuckoo-keyed");
    round_trip::<WordBloomFilter>("word");
    round_trip::<RetiringCuckooFilter>("retiring");
    round_trip::<BinaryFuseFilter>("fuse-shards");
    round_trip::<GrowingFilter>("cuckoo-8");
    round_trip::<GrowingFilter>("retiring");
    for name in
        ["word-low", "bloom", "fuse-8", "bloom-sha1", "counting-8", "cuckoo-32", "retiring-16"]
    {
        round_trip::<AnyFilter>(name);
    }
    round_trip::<GenerationWindow<BloomFilter>>("window-bloom");
    round_trip::<GenerationWindow<GrowingFilter>>("window-counting");
    round_trip::<ReplayFilter<GenerationWindow<CuckooFilter>>>("replay-cuckoo");
    round_trip::<ReplayFilter<BloomFilter>>("replay-whole");
    round_trip::<ReplayFilter<RetiringCuckooFilter>>("replay-retiring");
}

#[test]
fn a_filter_read_in_place_is_written_like_its_copy() {
    let bytes = (sample("bloom").make)();
    let aligned = crate::flips::Aligned::new(&bytes);
    let view = Artefact::<AnyFilter<&[u64]>>::open(aligned.bytes()).unwrap().filter;
    let copy = Artefact::<AnyFilter>::from_bytes(&bytes).unwrap().filter;
    assert_eq!(serde_json::to_value(&view).unwrap(), serde_json::to_value(&copy).unwrap());
}

fn error_of(bytes: &[u8]) -> String {
    let error = BloomFilter::deserialize(BytesDeserializer::<ValueError>::new(bytes)).unwrap_err();
    assert_eq!(
        error.to_string(),
        Artefact::<BloomFilter>::from_bytes(bytes).unwrap_err().to_string()
    );
    error.to_string()
}

#[test]
fn what_a_file_may_not_be_is_refused_with_the_same_words() {
    let bytes = (sample("bloom").make)();
    assert!(error_of(&[]).contains("it is empty"));
    assert!(error_of(&bytes[..300]).contains("truncated"));
    let mut damaged = bytes;
    damaged[256] ^= 1;
    assert!(error_of(&damaged).contains("the checksum of the body is"));
    assert!(
        error_of(&(sample("cuckoo-8").make)()).contains("expected a Bloom filter, found a cuckoo")
    );
}

#[test]
fn what_is_not_bytes_is_refused() {
    for json in ["\"bloom\"", "{}", "null", "7", "[1,2,300]", "[1,2,-1]", "[\"a\"]"] {
        let error = serde_json::from_str::<BloomFilter>(json).unwrap_err();
        assert!(error.is_data(), "{json}: {error}");
    }
    let error = serde_json::from_str::<BloomFilter>("{}").unwrap_err().to_string();
    assert!(
        error.contains("expected the bytes of a .hapax file that holds a Bloom filter"),
        "{error}"
    );
    let error = serde_json::from_str::<AnyFilter>("[1,2,3]").unwrap_err().to_string();
    assert!(error.contains("not a .hapax file"), "{error}");
}

/// A list that claims to be longer than memory.
#[test]
fn a_stated_length_is_not_believed() {
    struct Lying<I>(I);
    impl<I: Iterator> Iterator for Lying<I> {
        type Item = I::Item;
        fn next(&mut self) -> Option<I::Item> {
            self.0.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX, Some(usize::MAX))
        }
    }
    let list = |bytes: Vec<u8>| SeqDeserializer::<_, ValueError>::new(Lying(bytes.into_iter()));
    let bytes = (sample("bloom").make)();
    assert_eq!(file(BloomFilter::deserialize(list(bytes.clone())).unwrap()), bytes);
    let error = BloomFilter::deserialize(list(iter::repeat_n(7, 100).collect())).unwrap_err();
    assert!(error.to_string().contains("not a .hapax file"), "{error}");
}
