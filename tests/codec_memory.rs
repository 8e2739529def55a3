//! No length in a file is believed before its bytes arrive: memory follows what is read.
//!
//! One test, alone in its process, because the allocator counts for all threads.

use std::alloc::System;
use std::io::{self, Read};

use hapax::codec::{Artefact, DecodeError, ReadError};
use hapax::prelude::*;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use xxhash_rust::xxh3::xxh3_64;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MIB: usize = 1 << 20;

fn allocated_by<T>(action: impl FnOnce() -> T) -> (T, usize) {
    let region = Region::new(ALLOCATOR);
    let result = action();
    (result, region.change().bytes_allocated)
}

/// The head of a file with sections of these types and lengths, all checksums of the head right.
fn head(sections: &[(u16, u64)]) -> Vec<u8> {
    let mut table = Vec::new();
    let mut end = 64 + 32 * sections.len() as u64;
    for (row, &(role, len)) in sections.iter().enumerate() {
        let offset = end.next_multiple_of(64);
        end = offset + len;
        table.extend(role.to_le_bytes());
        table.extend((row as u16).to_le_bytes());
        table.extend([0; 4]);
        table.extend(offset.to_le_bytes());
        table.extend(len.to_le_bytes());
        table.extend([0; 8]);
    }
    let mut head = b"\x89HAPAX\r\n\x01\0\x01\0".to_vec();
    head.extend((sections.len() as u32).to_le_bytes());
    head.extend((end.next_multiple_of(64) + 16).to_le_bytes());
    head.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    head.extend([0; 16]);
    head.extend(xxh3_64(&table).to_le_bytes());
    head.extend(xxh3_64(&head).to_le_bytes());
    head.extend(table);
    head.resize(head.len().next_multiple_of(64), 0);
    head
}

#[test]
fn memory_follows_what_arrives() {
    const BODY: u16 = 2;
    let shapes: [(&str, Vec<(u16, u64)>); 5] = [
        ("a body of 2⁴⁰ bytes", vec![(BODY, 1 << 40)]),
        ("a body of 2⁶³ bytes", vec![(BODY, 1 << 63)]),
        ("parameters of 1 MiB", vec![(1, 1 << 20)]),
        ("64 bodies of 2⁵⁰ bytes", vec![(BODY, 1 << 50); 64]),
        ("64 provenances of 1 MiB", vec![(3, 1 << 20); 64]),
    ];
    for (name, sections) in &shapes {
        let bytes = [head(sections), vec![0; 1000]].concat();
        let (result, allocated) = allocated_by(|| Artefact::<BloomFilter>::from_bytes(&bytes));
        assert!(matches!(result, Err(DecodeError::Truncated { .. })), "{name}: {result:?}");
        assert!(allocated < 2 * MIB + MIB / 8, "{name}: {allocated} bytes");
    }

    // A stream that ends just before 8 MiB of the 1 TiB it promises: 1, 2, 4 and 8 MiB are taken,
    // each asked for beforehand, so that the allocator counts it twice.
    let mut stream = head(&shapes[0].1).chain_zeros(8 * MIB as u64 - 1);
    let (result, allocated) = allocated_by(|| Artefact::<BloomFilter>::read_from(&mut stream));
    assert!(matches!(result, Err(ReadError::Decode(DecodeError::Truncated { .. }))));
    assert!(allocated < 2 * 15 * MIB + MIB, "{allocated} bytes for 8 MiB that came");

    // A whole file of 16 MiB: as much again, and no more than its own size at the end.
    let filter = BloomFilter::builder().byte_len(16 * MIB as u64).capacity(1000).build().unwrap();
    let bytes = Artefact { filter, provenance: hapax::codec::Provenance::default() }.to_bytes();
    let (result, allocated) = allocated_by(|| Artefact::<BloomFilter>::from_bytes(&bytes));
    assert!(result.is_ok());
    assert!(allocated < 2 * 31 * MIB + MIB, "{allocated} bytes for a body of 16 MiB");
}

trait ChainZeros {
    fn chain_zeros(self, len: u64) -> impl Read;
}

impl ChainZeros for Vec<u8> {
    fn chain_zeros(self, len: u64) -> impl Read {
        io::Cursor::new(self).chain(io::repeat(0).take(len))
    }
}
