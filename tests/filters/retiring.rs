//! The retiring cuckoo filter over thousands of epochs, against an exact map of what is live; its
//! loads, its rates, and what each call promises.

use std::collections::BTreeMap;

use hapax::math::{cuckoo, retiring};
use hapax::{
    Advance, BuildError, Builder, FullReason, Insert, KeyHash, Membership, PastCapacity,
    RetiringCuckooFilter, Salt, Seen, Shape as PlanShape,
};

use crate::support::keys::scramble;
use crate::support::statistics::assert_rate;
use crate::support::{Shape, Subject};

fn builder() -> Builder<RetiringCuckooFilter> {
    RetiringCuckooFilter::builder()
}

fn key(index: u64) -> KeyHash {
    Shape::Sequential.hash(index)
}

/// What is live: of each key the epoch of its last admission or renewal.
#[derive(Default)]
struct Exact {
    epochs: BTreeMap<u64, u64>,
    oldest: u64,
    current: u64,
}

impl Exact {
    fn follow(&mut self, filter: &RetiringCuckooFilter) {
        (self.oldest, self.current) = (filter.oldest_epoch(), filter.current_epoch());
        let oldest = self.oldest;
        self.epochs.retain(|_, epoch| *epoch >= oldest);
    }
}

/// A filter and the map beside it, fed with the same steps.
struct Pair {
    filter: RetiringCuckooFilter,
    exact: Exact,
    refreshes: bool,
    /// Strangers asked, those reported, and the sum of the rates that the filter stated.
    asked: u64,
    reported: u64,
    expected: f64,
    /// Live tuples asked for.
    found: u64,
    refused: u64,
}

impl Pair {
    fn new(builder: &Builder<RetiringCuckooFilter>, refreshes: bool) -> Self {
        let builder = if refreshes { builder.clone().refresh_on_hit() } else { builder.clone() };
        Self {
            filter: builder.build().unwrap(),
            exact: Exact::default(),
            refreshes,
            asked: 0,
            reported: 0,
            expected: 0.0,
            found: 0,
            refused: 0,
        }
    }

    fn admit(&mut self, index: u64) {
        let before = (self.filter.stats(), self.filter.current_epoch());
        let known = self.exact.epochs.contains_key(&index);
        let positive = self.filter.contains_hash(key(index));
        let Ok(seen) = self.filter.insert_unique_hash(key(index)) else {
            assert!(!known, "{index} is live, found refused");
            assert_eq!((self.filter.stats(), self.filter.current_epoch()), before);
            self.refused += 1;
            return;
        };
        assert_eq!(seen == Seen::Maybe, positive, "insert and contains agree");
        assert!(seen == Seen::Maybe || !known, "{index} is live: Never is certain");
        self.exact.follow(&self.filter);
        if seen == Seen::Never || (self.refreshes && known) {
            self.exact.epochs.insert(index, self.exact.current);
        }
    }

    /// The caller passes the tuple whatever the filter said.
    fn renew(&mut self, index: u64) {
        let positive = self.filter.contains_hash(key(index));
        let len = self.filter.stats().len;
        let Ok(seen) = self.filter.renew_hash(key(index)) else {
            assert!(!positive, "a hit takes no slot");
            self.refused += 1;
            return;
        };
        assert_eq!(seen == Seen::Maybe, positive);
        assert!(seen == Seen::Never || self.filter.stats().len <= len, "stored twice");
        self.exact.follow(&self.filter);
        self.exact.epochs.insert(index, self.exact.current);
    }

    fn ask(&mut self, live: impl Iterator<Item = u64>) {
        for index in live {
            if self.exact.epochs.contains_key(&index) {
                assert!(self.filter.contains_hash(key(index)), "{index} is live, found denied");
                self.found += 1;
            }
        }
    }

    /// Asks for a key that is not live, be it new or long retired.
    fn ask_stranger(&mut self, index: u64) {
        if !self.exact.epochs.contains_key(&index) {
            self.asked += 1;
            self.expected += self.filter.false_positive_rate();
            self.reported += u64::from(self.filter.contains_hash(key(index)));
        }
    }

    #[track_caller]
    fn check_rate(&self, what: &str) {
        assert!(self.asked > 10_000, "{what}: {}", self.asked);
        assert_rate(what, self.reported, self.asked, self.expected / self.asked as f64, 0.0);
    }
}

/// A window by count: thousands of epochs, hundreds of rounds of the tags. No tuple of the guaranteed
/// length is denied, and what is older than the slack is a stranger like any other.
#[test]
fn window_by_count_holds_what_it_guarantees_over_thousands_of_epochs() {
    for (epochs, rate, refreshes) in
        [(15, 0.001, false), (2, 0.01, false), (3, 1e-9, true), (7, 0.05, true), (200, 0.02, false)]
    {
        let wanted = if epochs > 100 { 2_800 } else { 280 };
        let builder = builder().window(wanted, epochs).false_positive_rate(rate);
        let mut pair = Pair::new(&builder, refreshes);
        let guaranteed = pair.filter.guaranteed();
        let most = pair.filter.stats().capacity;
        assert!(guaranteed >= wanted);
        let (rounds, mut index) = (300_000, 0);
        let what = format!("{epochs} epochs at {rate}");
        while index < rounds {
            pair.admit(index);
            if scramble(index).is_multiple_of(5) {
                pair.admit(index.saturating_sub(scramble(index) % (2 * most)));
            }
            if scramble(index).is_multiple_of(7) {
                pair.renew(index.saturating_sub(scramble(!index) % most));
            }
            let back = scramble(!index) % guaranteed;
            pair.ask([index, index.saturating_sub(back)].into_iter());
            pair.ask_stranger(index + (1 << 40));
            // Retired for as long as it takes to be sure.
            if let Some(old) = index.checked_sub(3 * most + back) {
                pair.ask_stranger(old);
            }
            index += 1;
        }
        let live: Vec<u64> = pair.exact.epochs.keys().copied().collect();
        assert!(live.len() as u64 > guaranteed / 2, "{what}: {}", live.len());
        pair.ask(live.into_iter());
        pair.filter.assert_valid();
        assert_eq!(pair.refused, 0, "{what}");
        assert!(pair.filter.stats().len <= most, "{what}");
        let passed = pair.filter.current_epoch();
        assert!(passed >= 1_000 && passed >> pair.filter.tag_bits() >= 50, "{what}: {passed}");
        pair.check_rate(&what);
    }
}

/// The last (E − 1)/E of the capacity, counted in first sightings after a tuple's own.
#[test]
fn window_by_count_remembers_the_guaranteed_number_and_not_much_more() {
    for epochs in [2, 3, 15, 31] {
        let builder = builder().window(1_000, epochs).false_positive_rate(1e-9);
        let mut filter = builder.build().unwrap();
        let (guaranteed, capacity) = (filter.guaranteed(), filter.stats().capacity);
        for index in 0..10 * capacity {
            assert_eq!(filter.insert_hash(key(index)), Ok(Seen::Never));
            if let Some(last) = index.checked_sub(guaranteed) {
                assert!(filter.contains_hash(key(last)), "{epochs} epochs: {last} at {index}");
            }
            if let Some(gone) = index.checked_sub(capacity) {
                assert!(!filter.contains_hash(key(gone)), "{epochs} epochs: {gone} at {index}");
            }
        }
    }
}

/// Epochs that end by call after any number of tuples, none among them, and retire one by one or
/// many at a time: what a clock or acknowledgements do.
#[test]
fn epochs_by_call_agree_with_the_exact_map() {
    for (epochs, bits, buckets_for) in [(1, 12, 300), (3, 8, 900), (6, 29, 500), (15, 13, 2_000)] {
        for salt in 0..6 {
            let sized = builder().capacity(buckets_for).false_positive_rate(0.9);
            let sized = sized.epochs(epochs).fingerprint_bits(bits).salt(Salt::new(salt));
            let mut pair = Pair::new(&sized, salt % 3 == 2);
            let mut index = 0;
            for step in 0..3_000u64 {
                let chance = |salt: u64| scramble(step << 8 | salt);
                // Some epochs stay empty, some take more than their share.
                let share = buckets_for / u64::from(epochs);
                let tuples = [0, 1, share / 3, share, 2 * share][chance(1) as usize % 5];
                for _ in 0..tuples.min(120) {
                    pair.admit(index);
                    if scramble(index).is_multiple_of(3) {
                        pair.renew(index - scramble(index) % (index + 1).min(200));
                    }
                    pair.ask_stranger(index + (1 << 40));
                    index += 1;
                }
                let (current, oldest) = (pair.exact.current, pair.exact.oldest);
                match chance(2) % 8 {
                    0 => {
                        let through = oldest + chance(3) % 3;
                        let live = pair.filter.stats().len;
                        let freed = pair.filter.retire_through(through);
                        assert_eq!(pair.filter.stats().len + freed, live);
                        assert!(pair.filter.oldest_epoch() > through.min(current));
                    }
                    1 if oldest > 0 => {
                        // Acknowledged again, or late: nothing happens.
                        let before = pair.filter.bytes();
                        assert_eq!(pair.filter.retire_through(oldest - 1), 0);
                        assert!(pair.filter.bytes() == before);
                    }
                    _ => assert_eq!(pair.filter.advance_epoch(), current + 1),
                }
                pair.exact.follow(&pair.filter);
                assert!(pair.exact.current - pair.exact.oldest < u64::from(epochs));
                if step % 50 == 0 {
                    let live: Vec<u64> = pair.exact.epochs.keys().copied().collect();
                    pair.ask(live.into_iter());
                    pair.filter.assert_valid();
                }
            }
            assert!(pair.found > 500, "{epochs} epochs: {}", pair.found);
            pair.check_rate(&format!("{epochs} epochs of {bits} bits, salt {salt}"));
        }
    }
}

/// A state that was saved goes on as the one that was not, and a retired epoch stays retired.
#[test]
fn a_saved_filter_goes_on_where_it_was() {
    use hapax::codec::{Artefact, Provenance};

    let mut filter = builder().window(700, 7).false_positive_rate(0.01).build().unwrap();
    for index in 0..50_000 {
        let _ = filter.insert_hash(key(index)).unwrap();
        if index % 997 == 0 {
            filter.retire_through(filter.oldest_epoch() + index % 3);
        }
        if index % 331 == 0 {
            let saved = Artefact { filter: &filter, provenance: Provenance::default() }.to_bytes();
            let back = Artefact::<RetiringCuckooFilter>::from_bytes(&saved).unwrap().filter;
            assert_eq!(back.oldest_epoch(), filter.oldest_epoch());
            assert_eq!(back.stats(), filter.stats());
            for asked in index.saturating_sub(2_000)..index + 500 {
                assert_eq!(back.contains_hash(key(asked)), filter.contains_hash(key(asked)));
            }
            filter = back;
        }
    }
}

/// In a large table epochs are ended before inserts have swept it, thousands of times, and the sweep
/// is left over. Then an epoch goes on: nothing is forgotten early, every epoch ends in the end, and
/// what has retired is a stranger.
#[test]
fn epochs_that_end_early_leave_the_sweep_over_and_forget_nothing() {
    for (epochs, load) in [(15, 95), (3, 80)] {
        let builder = builder().capacity(300_000).false_positive_rate(1e-3).epochs(epochs);
        let mut filter = builder.load_percent(load).build().unwrap();
        let calls = filter.buckets().div_ceil(1 << 15);
        assert!(calls > 2, "{calls}: one call must not be enough");
        // Of each live epoch, its first tuple.
        let mut starts = std::collections::VecDeque::from([(0, 0)]);
        let (mut index, mut waiting, mut longest, mut expected) = (0, 0, 0, 0.0);
        let (mut asked, mut reported) = (0, 0);
        for step in 0..9_000 {
            for _ in 0..[0, 3, 40, 250][scramble(step) as usize % 4] {
                let _ = filter.insert_hash(key(index)).unwrap();
                index += 1;
            }
            let (current, oldest) = (filter.current_epoch(), filter.oldest_epoch());
            if scramble(!step).is_multiple_of(9) {
                let through = oldest + scramble(step) % 4;
                let before = filter.stats().len;
                let freed = filter.retire_through(through);
                assert_eq!(filter.stats().len + freed, before);
                let least = filter.current_epoch().min(through + 1);
                assert!(filter.oldest_epoch() >= least);
            } else {
                assert_eq!(filter.advance_epoch(), filter.current_epoch());
            }
            let ended = filter.current_epoch() - current;
            waiting =
                if ended > 0 { 0 } else { waiting + u64::from(filter.oldest_epoch() == oldest) };
            longest = longest.max(waiting);
            assert!(ended <= 1 && waiting <= calls, "{waiting} calls");
            if ended == 1 {
                starts.push_back((filter.current_epoch(), index));
            }
            while starts.front().is_some_and(|&(epoch, _)| epoch < filter.oldest_epoch()) {
                starts.pop_front();
            }
            let &(oldest, first) = starts.front().unwrap();
            assert_eq!(oldest, filter.oldest_epoch());
            for salt in 0..8 {
                let random = scramble(step * 8 + salt);
                if index > first {
                    let live = first + random % (index - first);
                    // Unless it was a false positive when it came, and has no slot of its own.
                    asked += 1;
                    reported += u64::from(!filter.contains_hash(key(live)));
                }
                if first > 0 {
                    let retired = filter.contains_hash(key(random % first));
                    expected += f64::from(u8::from(retired)) - filter.false_positive_rate();
                }
            }
        }
        filter.assert_valid();
        let passed = filter.current_epoch();
        assert!(passed > 2_000 && longest > 0, "{passed} epochs, {longest} calls");
        assert!(reported * 1_000 < asked, "{reported} of {asked} live tuples denied");
        assert!(expected.abs() < 60.0, "retired tuples reported: {expected} more than by the rate");
    }
}

/// A tuple that shares a slot and was passed all the same outlives the tuple whose slot it was.
#[test]
fn renewed_tuples_do_not_retire_with_the_slot_they_share() {
    // Fingerprints of 4 bits: every second stranger is a false positive.
    let builder = builder().capacity(400).false_positive_rate(0.9).epochs(15);
    let mut filter = builder.build().unwrap();
    for index in 0..300 {
        let _ = filter.insert_hash(key(index)).unwrap();
    }
    filter.advance_epoch();
    let shared: Vec<u64> =
        (1_000..1_500).filter(|&index| filter.contains_hash(key(index))).collect();
    assert!(shared.len() > 50);
    let len = filter.stats().len;
    for &index in &shared {
        assert_eq!(filter.renew_hash(key(index)), Ok(Seen::Maybe));
    }
    assert_eq!(filter.stats().len, len, "no copy is stored");
    filter.retire_through(0);
    assert!(shared.iter().all(|&index| filter.contains_hash(key(index))));
    assert!(filter.stats().len < len && filter.stats().len > 0);
}

/// Without the option a hit leaves every bit as it was; with it an id that keeps coming stays.
#[test]
fn a_hit_extends_a_life_only_if_asked_to() {
    for refresh in [false, true] {
        let mut builder = builder().capacity(1_000).false_positive_rate(1e-6).epochs(3);
        if refresh {
            builder = builder.refresh_on_hit();
        }
        let mut filter = builder.build().unwrap();
        assert_eq!(filter.insert_hash(key(0)), Ok(Seen::Never));
        let mut denied = None;
        for epoch in 1..20 {
            filter.advance_epoch();
            if !filter.contains_hash(key(0)) {
                denied = Some(epoch);
                break;
            }
            let before = filter.bytes();
            assert_eq!(filter.insert_hash(key(0)), Ok(Seen::Maybe));
            assert_eq!(filter.bytes() == before, !refresh);
        }
        assert_eq!(denied, if refresh { None } else { Some(3) });
    }
}

/// Past the last slot every refusal leaves each bit as it was, in the middle of an epoch and at its
/// end, and retiring makes room again.
#[test]
fn a_refusal_changes_nothing_and_retiring_makes_room() {
    for advance in [Advance::ByCall, Advance::ByCount] {
        for bits in [8, 12, 13, 28, 60] {
            let builder = builder().capacity(90).false_positive_rate(0.9).fingerprint_bits(bits);
            let builder = builder.epochs(15).past_capacity(PastCapacity::Degrade);
            let mut filter = builder.advance(advance).build().unwrap();
            let (mut refused, mut members) = (0, Vec::new());
            for index in 0..4_000 {
                let before = filter.bytes();
                match filter.insert_hash(key(index)) {
                    Ok(Seen::Never) => members.push(index),
                    Ok(Seen::Maybe) => assert!(filter.bytes() == before),
                    Err(full) => {
                        assert_eq!(full.reason, FullReason::Evictions);
                        assert!(filter.bytes() == before, "{bits} bits, {advance:?}");
                        refused += 1;
                    }
                }
                if refused == 0 && advance == Advance::ByCall {
                    let live = members.iter().all(|&member| filter.contains_hash(key(member)));
                    assert!(live, "{bits} bits at {index}");
                }
            }
            // By count there is always room at the planned load.
            assert_eq!(refused > 0, advance == Advance::ByCall, "{bits} bits: {refused}");
            filter.assert_valid();
            filter.retire_through(filter.current_epoch());
            assert_eq!(filter.stats().len, 0);
            let again = (0..80).map(|index| filter.insert_hash(key(index + 10_000)));
            assert!(again.filter(|seen| *seen == Ok(Seen::Never)).count() > 50);
        }
    }
}

/// Every planned capacity is reached, and held for three rounds of the tags, at the shortest
/// fingerprints and at common ones.
#[test]
fn planned_capacities_are_reached_and_held() {
    for (capacity, salts) in [(15, 60), (40, 60), (200, 20), (1_500, 10), (30_000, 3), (300_000, 1)]
    {
        for (rate, salt) in
            [0.9, 0.2, 0.001].into_iter().flat_map(|r| (0..salts).map(move |s| (r, s)))
        {
            let builder = builder().capacity(capacity).false_positive_rate(rate);
            let builder = builder.advance(Advance::ByCount).salt(Salt::new(salt));
            let mut filter = builder.build().unwrap();
            let mut index = 0;
            while filter.current_epoch() < 48 {
                if let Err(full) = filter.insert_hash(key(index)) {
                    panic!("{capacity} at {rate}, salt {salt}, {}: {full}", filter.current_epoch());
                }
                index += 1;
            }
            let live = filter.stats().len;
            // All epochs but the one that has just begun.
            assert!((live + 15) * 15 > capacity * 14, "{live} of {capacity}");
        }
    }
}

/// At the planned load the rate is 8α / (2^f − 1), for keys of every shape.
#[test]
fn rate_is_as_computed_at_every_width() {
    for (fingerprint_bits, epochs) in [(4, 15), (5, 7), (8, 15), (9, 100), (12, 15), (13, 15)] {
        for shape in Shape::ALL {
            let builder = builder().capacity(30_000).false_positive_rate(0.9).epochs(epochs);
            let builder = builder.fingerprint_bits(fingerprint_bits).advance(Advance::ByCount);
            let mut filter = builder.build().unwrap();
            // The last epoch is nearly full.
            for key in shape.members(200_000) {
                let _ = filter.insert_hash(key).unwrap();
            }
            let load = filter.stats().len as f64 / (4 * filter.buckets()) as f64;
            let rate = retiring::rate_at_load(fingerprint_bits, load);
            assert!((rate - filter.false_positive_rate()).abs() < 1e-12);
            let found = shape.strangers(400_000).filter(|&key| filter.contains_hash(key)).count();
            let what = format!("{fingerprint_bits} bits, {epochs} epochs, {shape:?}");
            assert_rate(&what, found as u64, 400_000, rate, 0.0);
        }
    }
}

/// The figures of the documentation: bits per guaranteed tuple, and the slots they come from.
#[test]
fn windows_of_fifteen_epochs_cost_what_is_documented() {
    for (rate, width, most) in [
        (1e-2, 14, 15.8),
        (1e-3, 17, 19.2),
        (2f64.powi(-16), 23, 26.0),
        (1e-6, 27, 30.5),
        (1e-9, 37, 41.8),
    ] {
        let plan = builder().window(10_000_000, 15).false_positive_rate(rate).plan().unwrap();
        let PlanShape::Retiring { fingerprint_bits, tag_bits, epochs, .. } = plan.shape else {
            panic!("{plan:?}")
        };
        assert_eq!((fingerprint_bits + tag_bits, epochs), (width, 15), "{plan:?}");
        let guaranteed = retiring::guaranteed(plan.capacity, epochs);
        let bits = plan.bit_len as f64 / guaranteed as f64;
        assert!(guaranteed >= 10_000_000 && bits <= most && bits > most - 0.1, "{bits} at {rate}");
        assert!(plan.false_positive_rate <= rate);
        let planned = retiring::rate_at_load(fingerprint_bits, cuckoo::MAX_LOAD);
        assert!((plan.false_positive_rate / planned - 1.0).abs() < 1e-4, "{plan:?}");
    }
}

/// What a lower load costs, as documented, and that it is kept.
#[test]
fn lower_loads_cost_what_is_documented() {
    for (percent, bits) in [
        (95, [19.2, 30.5, 41.8]),
        (90, [20.3, 32.2, 44.1]),
        (80, [22.8, 36.2, 49.6]),
        (70, [26.1, 41.4, 56.7]),
    ] {
        for (rate, most) in [1e-3, 1e-6, 1e-9].into_iter().zip(bits) {
            let builder = builder().window(10_000_000, 15).load_percent(percent);
            let plan = builder.false_positive_rate(rate).plan().unwrap();
            let each = plan.bit_len as f64 / 10_000_000.0;
            assert!(each <= most && each > most - 0.1, "{each} bits at {percent} % and {rate}");
        }
    }
    for percent in [50, 80, 95] {
        let sized = || builder().load_percent(percent).false_positive_rate(0.01);
        for plan in [sized().capacity(10_000).plan(), sized().byte_len(20_000).plan()] {
            let plan = plan.unwrap();
            let PlanShape::Retiring { buckets, .. } = plan.shape else { panic!("{plan:?}") };
            let load = plan.capacity as f64 / (4 * buckets) as f64;
            let most = f64::from(percent) / 100.0;
            assert!(load <= most && load > most - 0.01, "{load} at {percent} %");
        }
    }
}

#[test]
fn impossible_options_are_refused_by_name() {
    let sized = || builder().capacity(1_000).false_positive_rate(0.01);
    let option = |name, expected, found| Err(BuildError::Option { name, expected, found });
    for epochs in [0, 256, u32::MAX] {
        let expected = option("epochs", "1 to 255", epochs.into());
        assert_eq!(sized().epochs(epochs).plan(), expected);
    }
    for epochs in [0, 1, 256] {
        let expected = option("epochs", "2 to 255 by count", epochs.into());
        assert_eq!(builder().window(100, epochs).false_positive_rate(0.1).plan(), expected);
    }
    let few = builder().capacity(14).false_positive_rate(0.1).advance(Advance::ByCount);
    assert_eq!(few.plan(), option("epochs", "by count, at most the capacity", 15));
    for percent in [0, 49, 96, 100, u32::MAX] {
        let expected = option("load_percent", "50 to 95", percent.into());
        assert_eq!(sized().load_percent(percent).plan(), expected);
    }
    for (epochs, bits) in [(15, 3), (15, 61), (1, 6), (1, 64), (255, 57), (15, u32::MAX)] {
        let expected = option("fingerprint_bits", "4 to 63, and with the tag 8 to 64", bits.into());
        assert_eq!(sized().epochs(epochs).fingerprint_bits(bits).plan(), expected);
    }
}
