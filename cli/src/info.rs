//! `hapax info`: what a filter is, how full it is, and where its keys came from; or what a state of
//! `hapax dedup` has counted.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use hapax::codec::{Artefact, Encode, FORMAT_VERSION};
use hapax::{AnyFilter, Digest, GrowingFilter, HashIdentity, Membership, math};
use serde::Serialize;

use crate::builtin;
use crate::dedup::StateInfo;
use crate::exit::{self, Exit};
use crate::filters;
use crate::trouble::Trouble;

/// Show what a filter is and where it came from
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::SHOWING))]
pub(crate) struct InfoArgs {
    /// The filter, or folder with a state of `hapax dedup`, to describe; without one, the built-in list
    #[arg(value_name = "FILTER")]
    filter: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// What is shown. As JSON, fields may be added, and none is taken away or changes its meaning.
#[derive(Debug, Serialize)]
struct Info {
    format_version: u16,
    kind: &'static str,
    /// What hashes the keys.
    hash: &'static str,
    /// Seed of `xxh3-128`, or id of the secret key of `siphash-1-3-128`, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash_parameter: Option<String>,
    salt: u64,
    capacity: u64,
    len: u64,
    estimated_len: f64,
    fill_ratio: f64,
    bit_len: u64,
    bits_per_key: f64,
    /// At the capacity, as planned.
    promised_false_positive_rate: Option<f64>,
    /// Now, from the fill.
    false_positive_rate: f64,
    file_len: u64,
    name: String,
    source: String,
    date: String,
    tool: String,
    min_count: u64,
    rows_read: u64,
    rows_added: u64,
    rows_duplicate: u64,
    rows_skipped: u64,
    /// In hexadecimal: the same for the same set of keys, whatever the order and the file.
    set_digest: String,
}

/// Describes a filter.
///
/// # Errors
///
/// If it cannot be opened, or standard output cannot be written.
pub(crate) fn run(args: &InfoArgs) -> Result<Exit, Trouble> {
    let Some(path) = &args.filter else {
        let file_len = builtin::BYTES.len() as u64;
        let info = Info::of(filters::builtin()?, file_len);
        return print(&info, &info.table(), args.json);
    };
    let file_len = filters::existing_len("FILTER", 0, path)?;
    if path.is_dir() {
        let info = StateInfo::read(path)?;
        return print(&info, &info.table(), args.json);
    }
    let artefact = Artefact::load(path).map_err(|error| Trouble::file(&error))?;
    let info = Info::of(artefact, file_len);
    print(&info, &info.table(), args.json)
}

/// Prints a JSON object, or a table of labels and values.
fn print(info: &impl Serialize, table: &[(&str, String)], json: bool) -> Result<Exit, Trouble> {
    let mut out = io::stdout().lock();
    let printed = if json {
        serde_json::to_writer(&mut out, info).map_err(io::Error::from).and_then(|()| writeln!(out))
    } else {
        table.iter().try_for_each(|(label, value)| writeln!(out, "{label:<22}{value}"))
    };
    printed.map_err(|error| Trouble::stdout(&error))?;
    Ok(Exit::Yes)
}

impl Info {
    fn of(artefact: Artefact<AnyFilter>, file_len: u64) -> Self {
        let Artefact { filter, provenance } = artefact;
        let stats = filter.stats();
        let (hash, hash_parameter) = match filter.identity() {
            HashIdentity::Xxh3(seed) => ("xxh3-128", Some(format!("{seed:016x}"))),
            HashIdentity::Siphash(id) => ("siphash-1-3-128", Some(id.to_string())),
            HashIdentity::Uniform(Digest::Sha1) => ("sha1", None),
            HashIdentity::Uniform(Digest::Nt) => ("nt", None),
            HashIdentity::Uniform(_) => ("uniform", None),
            _ => ("other", None),
        };
        Self {
            format_version: FORMAT_VERSION,
            kind: match filter {
                AnyFilter::Growing(GrowingFilter::Bloom(_)) => "bloom",
                AnyFilter::Growing(GrowingFilter::Counting(_)) => "counting",
                AnyFilter::Growing(GrowingFilter::Cuckoo(_)) => "cuckoo",
                AnyFilter::Growing(GrowingFilter::Blocked(_)) => "blocked",
                AnyFilter::Growing(GrowingFilter::Word(_)) => "word",
                AnyFilter::Growing(GrowingFilter::Retiring(_)) => "retiring",
                AnyFilter::BinaryFuse(_) => "fuse",
                _ => "other",
            },
            hash,
            hash_parameter,
            salt: filter.salt().value(),
            capacity: stats.capacity,
            len: stats.len,
            estimated_len: stats.estimated_len,
            fill_ratio: stats.fill_ratio,
            bit_len: stats.bit_len,
            bits_per_key: stats.bits_per_key(),
            promised_false_positive_rate: promised_rate(&filter),
            false_positive_rate: stats.false_positive_rate,
            file_len,
            name: provenance.name,
            source: provenance.source,
            date: provenance.date,
            tool: provenance.tool,
            min_count: provenance.min_count,
            rows_read: provenance.rows_read,
            rows_added: provenance.rows_added,
            rows_duplicate: provenance.rows_duplicate,
            rows_skipped: provenance.rows_skipped,
            set_digest: format!("{:032x}", provenance.set_digest),
        }
    }

    /// Labels and values for people; what is unknown is left out.
    fn table(&self) -> Vec<(&'static str, String)> {
        let hash = match &self.hash_parameter {
            Some(parameter) => format!("{} ({parameter})", self.hash),
            None => self.hash.into(),
        };
        let mut table = vec![
            ("kind", self.kind.into()),
            ("format version", self.format_version.to_string()),
            ("hash", hash),
            ("salt", format!("{:#x}", self.salt)),
            ("capacity", format!("{} keys", self.capacity)),
            ("keys", format!("{} (about {:.0} distinct)", self.len, self.estimated_len)),
            ("fill", format!("{:.1} %", 100.0 * self.fill_ratio)),
            ("size", format!("{} bits, {:.2} per key", self.bit_len, self.bits_per_key)),
            ("file", format!("{} bytes", self.file_len)),
        ];
        if let Some(rate) = self.promised_false_positive_rate {
            table.push(("false positives", format!("{rate:.3e} at capacity")));
        }
        table.push(("", format!("{:.3e} now", self.false_positive_rate)));
        for (label, text) in [
            ("list", &self.name),
            ("source", &self.source),
            ("date", &self.date),
            ("built by", &self.tool),
        ] {
            if !text.is_empty() {
                table.push((label, text.escape_debug().to_string()));
            }
        }
        if self.min_count > 0 {
            table.push(("minimum count", self.min_count.to_string()));
        }
        let rows = format!(
            "{} read, {} added, {} duplicate, {} skipped",
            self.rows_read, self.rows_added, self.rows_duplicate, self.rows_skipped
        );
        table.push(("rows", rows));
        table.push(("set digest", self.set_digest.clone()));
        table
    }
}

/// The rate when the filter holds as many keys as it was built for.
pub(crate) fn promised_rate<S: AsRef<[u64]>>(filter: &AnyFilter<S>) -> Option<f64> {
    let stats = filter.stats();
    let (bits, keys) = (stats.bit_len as f64, stats.capacity as f64);
    match filter {
        AnyFilter::Growing(GrowingFilter::Bloom(filter)) => {
            Some(math::bloom::expected_rate(bits, filter.num_probes(), keys))
        }
        AnyFilter::Growing(GrowingFilter::Counting(filter)) => {
            let counters = bits / f64::from(filter.counter_bits());
            Some(math::bloom::expected_rate(counters, filter.num_probes(), keys))
        }
        AnyFilter::Growing(GrowingFilter::Cuckoo(filter)) => {
            let slots = (math::cuckoo::SLOTS_PER_BUCKET * filter.buckets()) as f64;
            Some(math::cuckoo::rate_at_load(filter.fingerprint_bits(), keys / slots))
        }
        AnyFilter::Growing(GrowingFilter::Blocked(filter)) => {
            let lines = bits / math::blocked::LINE_BITS as f64;
            Some(math::blocked::expected_rate(lines, filter.num_probes(), keys))
        }
        AnyFilter::Growing(GrowingFilter::Word(filter)) => {
            let words = bits / f64::from(math::word::WORD_BITS);
            Some(math::word::expected_rate(words, filter.num_probes(), keys))
        }
        AnyFilter::Growing(GrowingFilter::Retiring(filter)) => {
            let slots = (math::cuckoo::SLOTS_PER_BUCKET * filter.buckets()) as f64;
            Some(math::retiring::rate_at_load(filter.fingerprint_bits(), keys / slots))
        }
        AnyFilter::BinaryFuse(filter) => Some(math::fuse::rate(filter.fingerprint_bits())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hapax::codec::{Artefact, Provenance};
    use hapax::{
        BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, RetiringCuckooFilter,
        WordBloomFilter,
    };

    use super::*;

    #[test]
    fn the_promised_rate_is_the_planned_one() {
        let bloom = BloomFilter::builder().capacity(5_000).false_positive_rate(1e-3);
        let counting = CountingBloomFilter::builder().capacity(5_000).false_positive_rate(1e-3);
        let cuckoo = CuckooFilter::builder().capacity(5_000).false_positive_rate(1e-3);
        let blocked = BlockedBloomFilter::builder().capacity(5_000).false_positive_rate(1e-3);
        let word = WordBloomFilter::builder().capacity(5_000).false_positive_rate(1e-3);
        let retiring = RetiringCuckooFilter::builder().window(5_000, 15).false_positive_rate(1e-3);
        let planned = [
            (bloom.plan().unwrap(), AnyFilter::from(bloom.build().unwrap())),
            (counting.plan().unwrap(), AnyFilter::from(counting.build().unwrap())),
            (cuckoo.plan().unwrap(), AnyFilter::from(cuckoo.build().unwrap())),
            (blocked.plan().unwrap(), AnyFilter::from(blocked.build().unwrap())),
            (word.plan().unwrap(), AnyFilter::from(word.build().unwrap())),
            (retiring.plan().unwrap(), AnyFilter::from(retiring.build().unwrap())),
        ];
        for (plan, filter) in planned {
            let promised = promised_rate(&filter).unwrap();
            let ratio = promised / plan.false_positive_rate;
            assert!((ratio - 1.0).abs() < 1e-9, "{plan:?} {promised}");
        }
    }

    #[test]
    fn control_characters_of_a_provenance_are_escaped_in_the_table() {
        let filter = BloomFilter::builder().capacity(9).false_positive_rate(0.1).build().unwrap();
        let provenance = Provenance { name: "a\u{1b}[2Jb".into(), ..Provenance::default() };
        let artefact = Artefact { filter: filter.into(), provenance };
        let info = Info::of(artefact, 1);
        let shown: String = info.table().iter().map(|(_, value)| value.as_str()).collect();
        assert!(shown.contains("a\\u{1b}[2Jb"), "{shown}");
    }
}
