//! Where closed shards go: to the threads, and from them in order to the file.

use std::io::{self, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::StreamError;
use super::workers::{Done, Workers};
use crate::codec::atomic::Draft;
use crate::codec::filters::PARAMS_LEN;
use crate::codec::fuse::{encode_rows, params};
use crate::codec::header::{Kind, SectionType};
use crate::codec::provenance::Provenance;
use crate::codec::writer::{Layout, padding, word_bytes};
use crate::filter::{FuseBuilder, FuseReport, Row, SHARD_KEYS};
use crate::hash::{KeyHash, Salt, Seed};

/// Sections of the file.
const SECTIONS: usize = 4;

/// The file, as far as it is written.
pub(super) struct Sink {
    draft: Draft,
    seed: Seed,
    salt: Salt,
    fingerprint_bits: u32,
    workers: Workers,
    rows: Vec<Row>,
    body_len: u64,
    checksum: Box<Xxh3>,
    spare: Vec<Vec<KeyHash>>,
    pub(super) report: FuseReport,
}

/// The numbers, and no content.
impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("body_len", &self.body_len).finish_non_exhaustive()
    }
}

impl Sink {
    /// A file without shards. What comes before the body is written last.
    pub(super) fn new(
        mut draft: Draft,
        builder: &FuseBuilder,
        fingerprint_bits: u32,
        threads: usize,
    ) -> Result<Self, StreamError> {
        let seek = draft.file().seek(SeekFrom::Start(body_offset()));
        seek.map_err(|error| draft.error(error))?;
        Ok(Self {
            draft,
            seed: builder.planned_seed().clone(),
            salt: builder.planned_salt(),
            fingerprint_bits,
            workers: Workers::new(fingerprint_bits, builder.planned_salt(), threads),
            rows: Vec::new(),
            body_len: 0,
            checksum: Box::new(Xxh3::new()),
            spare: Vec::new(),
            report: FuseReport::default(),
        })
    }

    /// Closes the file to all but its owner.
    pub(super) fn restrict(&mut self) {
        self.draft.restrict();
    }

    /// Empty memory for the keys of a shard.
    pub(super) fn spare(&mut self) -> Vec<KeyHash> {
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(SHARD_KEYS + 1))
    }

    /// Has a shard built, after waiting for an older one if all threads are at work.
    pub(super) fn build(&mut self, start: u16, hashes: Vec<KeyHash>) -> Result<(), StreamError> {
        while self.workers.are_busy() {
            self.take()?;
        }
        self.workers.give(start, hashes).map_err(|error| self.draft.error(error).into())
    }

    /// Writes the next shard; `false` if all are written.
    fn take(&mut self) -> Result<bool, StreamError> {
        let Some(done) = self.workers.take() else {
            // A shard that was given and did not come back is a hole in the file.
            return if self.workers.gave_all_back() { Ok(false) } else { Err(StreamError::Failed) };
        };
        let Done { shard, report, memory } = done?;
        let bytes = word_bytes(&shard.words);
        self.draft.file().write_all(&bytes).map_err(|error| self.draft.error(error))?;
        self.checksum.update(&bytes);
        self.body_len += bytes.len() as u64;
        self.rows.push(shard.row);
        self.report.merge(&report);
        self.spare.push(memory);
        Ok(true)
    }

    /// Writes what is in work, and then all but the body.
    pub(super) fn finish(mut self, mut provenance: Provenance) -> Result<FuseReport, StreamError> {
        while self.take()? {}
        let report = self.report;
        provenance.rows_added = report.keys;
        provenance.rows_duplicate = report.duplicates;
        provenance.set_digest = report.set_digest;
        let written = self.write_rest(&provenance.encode());
        written.map_err(|error| self.draft.error(error))?;
        self.draft.publish()?;
        Ok(report)
    }

    fn write_rest(&mut self, provenance: &[u8]) -> io::Result<()> {
        let params =
            params(&self.seed, self.salt, self.fingerprint_bits, self.report.keys).encode();
        let rows = encode_rows(self.rows.iter());
        let mut layout = Layout::new(SECTIONS);
        layout.push(SectionType::Params, 0, params.len() as u64, xxh3_64(&params));
        layout.push(SectionType::Body, 0, self.body_len, self.checksum.digest());
        layout.push(SectionType::Shards, 0, rows.len() as u64, xxh3_64(&rows));
        layout.push(SectionType::Provenance, 0, provenance.len() as u64, xxh3_64(provenance));
        let (mut head, tail) = layout.frame(Kind::BinaryFuse, self.seed.identity());

        let mut end = padding(self.body_len).to_vec();
        end.extend_from_slice(&rows);
        end.extend_from_slice(padding(rows.len() as u64));
        end.extend_from_slice(provenance);
        head.extend_from_slice(&params);
        let file = self.draft.file();
        file.write_all(&end)?;
        let complete = file.stream_position()?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&head)?;
        file.seek(SeekFrom::Start(complete))?;
        file.write_all(&tail)
    }
}

/// Where the body begins: after the parameters.
fn body_offset() -> u64 {
    let mut layout = Layout::new(SECTIONS);
    layout.push(SectionType::Params, 0, PARAMS_LEN, 0);
    layout.next_offset()
}
