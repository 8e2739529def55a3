//! Streams a synthetic list into a binary fuse filter, asks it, and prints what that took.
//!
//! ```text
//! cargo run --release --example static_list -- [KEYS] [BITS] [THREADS] [sorted|unsorted] [MIB]
//! ```

use std::error::Error;
use std::fs;
use std::num::NonZero;
use std::time::{Duration, Instant};

use hapax::codec::{Artefact, FuseWriter, Provenance, StreamOptions};
use hapax::{BinaryFuseFilter, KeyHash, Membership, Seed};

/// Key `index` of `n`, in order: first halves at even distances, each with a part that is not.
fn key(index: u64, n: u64) -> Result<KeyHash, Box<dyn Error>> {
    let noise = Seed::default().hash(&index)?;
    let gap = u64::MAX / n;
    let first = gap * index + ((u128::from(noise.hi()) * u128::from(gap)) >> 64) as u64;
    let bytes = (u128::from(first) << 64 | u128::from(noise.lo())).to_be_bytes();
    Ok(KeyHash::from_uniform(&bytes))
}

/// Bytes of memory used at most so far, as Linux tells it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

/// CPU time of all threads so far, in user mode and in the kernel, as Linux tells it.
fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (keys, bits, threads) = (number(10_000_000)?, number(8)? as u32, number(2)? as usize);
    let unsorted = std::env::args().nth(4).is_some_and(|order| order == "unsorted");
    let memory = std::env::args().nth(5).map_or(Ok(256), |text| text.parse::<u64>())? << 20;
    // An odd step that has no factor in common with the number of keys visits each of them once.
    let step = if unsorted { (0x9e37_79b9_7f4a_7c15 % keys) | 1 } else { 1 };
    let step = (step..).step_by(2).find(|&step| gcd(step, keys) == 1).unwrap_or(1);

    let folder = tempfile::tempdir_in(".")?;
    let path = folder.path().join("list.hapax");
    let threads = NonZero::new(threads).ok_or("give at least one thread")?;
    let builder = BinaryFuseFilter::builder().fingerprint_bits(bits).threads(threads);
    let options =
        StreamOptions { memory, folder: folder.path().to_owned(), ..StreamOptions::default() };

    let made = Instant::now();
    for i in 0..keys {
        std::hint::black_box(key(
            (u128::from(i) * u128::from(step) % u128::from(keys)) as u64,
            keys,
        )?);
    }
    let made = made.elapsed();
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut writer = FuseWriter::create(&path, &builder, &options)?;
    for i in 0..keys {
        writer.push(key((u128::from(i) * u128::from(step) % u128::from(keys)) as u64, keys)?)?;
    }
    let report = writer.finish(Provenance::default())?;
    let per_key = |time: Duration| time.as_nanos() as f64 / keys as f64;
    println!("{} keys, {} shards, {} at most", report.keys, report.shards, report.largest_shard);
    println!(
        "wall {:.1} ns a key, of which making keys {:.1}",
        per_key(start.elapsed()),
        per_key(made)
    );
    if let (Some(before), Some(after)) = (cpu, cpu_time()) {
        println!(
            "CPU {:.1} ns a key without making them",
            per_key(after.saturating_sub(before).saturating_sub(made))
        );
    }
    let len = fs::metadata(&path)?.len();
    println!("{len} bytes, {:.3} bits a key", len as f64 * 8.0 / keys as f64);
    if let Some(peak) = peak_memory() {
        println!("peak memory {:.1} MiB", peak as f64 / f64::from(1 << 20));
    }

    let filter = Artefact::<BinaryFuseFilter>::load(&path)?.filter;
    for (what, seed) in [("members", 0), ("strangers", 1)] {
        let asked: Vec<KeyHash> = (0..1_000_000u64)
            .map(|i| {
                let index = (u128::from(i) * 0x9e37_79b9_7f4a_7c15 % u128::from(keys)) as u64;
                if seed == 0 { key(index, keys) } else { Ok(Seed::new(seed).hash(&i)?) }
            })
            .collect::<Result<_, _>>()?;
        let start = Instant::now();
        let found = asked.iter().filter(|&&hash| filter.contains_hash(hash)).count();
        let one_by_one = start.elapsed();
        let mut present = vec![false; asked.len()];
        let start = Instant::now();
        filter.contains_batch(&asked, &mut present)?;
        let batch = start.elapsed();
        assert_eq!(found, present.iter().filter(|&&yes| yes).count());
        println!(
            "{what}: {found} of a million listed, {:.1} ns one by one, {:.1} ns in a batch",
            one_by_one.as_nanos() as f64 / 1e6,
            batch.as_nanos() as f64 / 1e6
        );
    }
    Ok(())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
