//! Memory of a replay guard's window, beside what a program would use instead; and a long stream
//! through it, which must stay within the plan.
//!
//! `cargo run --release --example replay_memory [TUPLES] [WINDOW]`
//!
//! Bytes are counted by the allocator, not computed; those of a filter that lies in huge pages, which no
//! allocator sees, are the length of its mapping. TUPLES is 50,000,000 and WINDOW 10,000,000 without
//! arguments; a billion tuples take some minutes.

use std::alloc::System;
use std::collections::HashSet;
use std::time::Instant;

use hapax::replay::{Delivery, Judged, OnFull, Placement, ReplayGuard, Tuple};
use hapax::{KeyHash, Seed};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

type Failure = Box<dyn std::error::Error>;

/// One of so many tuples is a replay.
const REPLAYS: u64 = 100;

const BATCH: u64 = 1_024;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (tuples, window) = (argument(50_000_000)?, argument(10_000_000)?);
    if window <= 100_000 || tuples < 2 * window {
        return Err("expected a WINDOW above 100,000, and TUPLES of twice that or more".into());
    }
    table(window)?;
    stream(tuples, window)
}

/// Bits that live allocations made in `make` take for each tuple.
fn bits<T>(window: u64, make: impl FnOnce() -> Result<T, Failure>) -> Result<f64, Failure> {
    let region = Region::new(ALLOCATOR);
    let made = make()?;
    let live = live(&region) as f64;
    drop(made);
    Ok(live * 8.0 / window as f64)
}

/// Bytes allocated since the region began and not freed.
fn live(region: &Region<'_, System>) -> u64 {
    let change = region.change();
    (change.bytes_allocated - change.bytes_deallocated) as u64
}

/// Bytes of a guard with so many live ones in the allocator.
fn with_mapping(live: u64, guard: &mut ReplayGuard) -> u64 {
    let filters = guard.snapshot().byte_len;
    if live < filters { live + filters } else { live }
}

/// Prints what remembering the last `window` tuples takes.
fn table(window: u64) -> Result<(), Failure> {
    println!("bits per tuple of a window of {window}, live allocations counted:");
    let seed = Seed::default();
    let ids = || (0..window).map(|id| seed.hash(&id).map(KeyHash::to_bytes));
    let set = bits(window, || Ok(ids().collect::<Result<HashSet<[u8; 16]>, _>>()?))?;
    println!("  {:<44} {set:>6.1}", "HashSet<[u8; 16]>");
    let fingerprints = bits(window, || {
        let halves = ids().map(|id| Ok::<_, Failure>(u64::from_be_bytes(id?[8..].try_into()?)));
        halves.collect::<Result<HashSet<u64>, _>>()
    })?;
    println!("  {:<44} {fingerprints:>6.1}", "HashSet<u64>, 64-bit fingerprints");
    for (rate, most) in [(1e-3, 19.3), (1e-6, 30.6), (1e-9, 41.9)] {
        let region = Region::new(ALLOCATOR);
        let mut guard = builder(window, rate).build()?;
        let bytes = with_mapping(live(&region), &mut guard);
        let guard = bytes as f64 * 8.0 / window as f64;
        let verdict = if guard <= most { "" } else { "  MORE THAN PLANNED" };
        let what = format!("ReplayGuard, 15 epochs, rate {rate:e}");
        println!("  {what:<44} {guard:>6.1}  (at most {most}){verdict}");
        if guard > most {
            return Err("the window takes more than it should".into());
        }
    }
    Ok(())
}

fn builder(window: u64, rate: f64) -> hapax::replay::ReplayGuardBuilder {
    ReplayGuard::builder(Placement::AfterOutput)
        .window(window)
        .always_on(rate, 1)
        .on_full(OnFull::Rotate)
}

/// Sends tuples through a guard, some of them twice, and watches its memory.
fn stream(tuples: u64, window: u64) -> Result<(), Failure> {
    let rate = 1e-6;
    let region = Region::new(ALLOCATOR);
    let mut guard = builder(window, rate).build()?;
    let planned = builder(window, rate).plan()?.byte_len;
    let seed = Seed::default();
    let tuple = |id: u64| -> Result<Tuple, Failure> {
        let id = Some(seed.hash(&id)?);
        Ok(Tuple { group: 0, id, delivery: Delivery::default() })
    };
    let (mut batch, mut judged) = (Vec::new(), Vec::new());
    let (mut passed_replays, mut dropped, mut new, mut peak) = (0u64, 0u64, 0u64, 0u64);
    let start = Instant::now();
    let mut next = 0;
    while next < tuples {
        batch.clear();
        let end = (next + BATCH).min(tuples);
        for id in next..end {
            batch.push(tuple(id)?);
        }
        // The oldest tuples that must still be known.
        let mut replays = 0;
        for id in (next..end).filter(|id| id % REPLAYS == 0) {
            if let Some(old) = id.checked_sub(window - BATCH) {
                batch.push(tuple(old)?);
                replays += 1;
            }
        }
        let (ticket, outcome) = guard.admit_batch(&batch, &mut judged);
        outcome?;
        ticket.commit();
        let fresh = batch.len() - replays;
        passed_replays +=
            judged[fresh..].iter().filter(|judged| **judged == Judged::First).count() as u64;
        dropped += judged[..fresh].iter().filter(|judged| **judged != Judged::First).count() as u64;
        new += fresh as u64;
        peak = peak.max(live(&region));
        next = end;
    }
    let seconds = start.elapsed().as_secs_f64();
    let peak = with_mapping(peak, &mut guard);
    let snapshot = guard.snapshot();
    let estimated = snapshot.counts.estimated_lost;
    println!(
        "{new} new tuples in {seconds:.0} s ({:.1} million a second): {peak} bytes at most, {planned} \
         planned for the filter",
        new as f64 / seconds / 1e6
    );
    println!(
        "replays that passed: {passed_replays}; new tuples dropped: {dropped}, estimated {estimated:.1}"
    );
    // Tickets, scratch space and the table of the snapshot beside the filter.
    let slack = 1 << 20;
    if peak > planned + slack {
        return Err("more memory than planned".into());
    }
    if passed_replays > 0 {
        return Err("a replay within the window passed".into());
    }
    let deviation = (dropped as f64 - estimated) / estimated.sqrt().max(1.0);
    if deviation.abs() > 4.0 {
        return Err(format!("the estimate is off by {deviation:.1} standard deviations").into());
    }
    Ok(())
}
