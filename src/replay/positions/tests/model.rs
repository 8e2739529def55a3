//! Random histories beside a plain set, with the same answers after every step.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

/// Positions of a history are `base` and the following ones.
const SPAN: u64 = 40;
const MAX_INTERVALS: usize = 5;

/// A channel as a set of offsets from the base, with its rules spelled out naively.
#[derive(Clone, Debug, Default)]
struct Model {
    /// What is remembered, and all that ever was processed or truncated.
    kept: BTreeSet<u64>,
    all: BTreeSet<u64>,
    start: Option<u64>,
    truncated: Option<u64>,
    expired: Option<u64>,
    forgotten: Option<u64>,
    highest: Option<u64>,
}

impl Model {
    fn runs(&self) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &offset in &self.kept {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == offset => *last = offset,
                _ => runs.push((offset, offset)),
            }
        }
        runs
    }

    fn add(&mut self, offsets: impl IntoIterator<Item = u64>) {
        for offset in offsets {
            self.kept.insert(offset);
            self.all.insert(offset);
            self.highest = self.highest.max(Some(offset));
        }
        self.forget();
    }

    fn forget(&mut self) {
        loop {
            let runs = self.runs();
            let anchors = [self.start, self.truncated];
            let holds = |(first, last): (u64, u64)| {
                anchors.iter().flatten().any(|anchor| (first..=last).contains(anchor))
            };
            let Some(&(first, last)) = runs.iter().find(|run| !holds(**run)) else { return };
            if runs.len() <= MAX_INTERVALS {
                return;
            }
            (first..=last).for_each(|offset| assert!(self.kept.remove(&offset)));
            self.forgotten = self.forgotten.max(Some(last));
        }
    }

    fn evidence(&self, kind: ChannelKind, offset: u64) -> Evidence {
        let first = self.start.into_iter().chain(self.kept.first().copied()).min();
        let above_all = match self.highest {
            Some(highest) => offset > highest,
            None => self.start.is_some_and(|start| offset >= start),
        };
        match kind {
            _ if self.kept.contains(&offset) => Processed,
            _ if self.expired.is_some_and(|expired| offset <= expired) => Expired,
            _ if self.forgotten.is_some_and(|forgotten| offset <= forgotten) => Unknown,
            ChannelKind::Dense if first.is_some_and(|first| offset >= first) => New,
            ChannelKind::Monotone if above_all => New,
            _ => Unknown,
        }
    }

    fn watermark(&self) -> Option<u64> {
        let end = |anchor: &u64| (*anchor..=SPAN).take_while(|at| self.kept.contains(at)).last();
        [self.start, self.truncated].iter().flatten().filter_map(end).max()
    }

    fn merge(&mut self, other: &Self) {
        self.start = self.start.into_iter().chain(other.start).min();
        self.truncated = self.truncated.max(other.truncated);
        self.expired = self.expired.max(other.expired);
        self.forgotten = self.forgotten.max(other.forgotten);
        self.highest = self.highest.max(other.highest);
        self.kept.extend(&other.kept);
        self.all.extend(&other.all);
        self.forget();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Processed(u64),
    Run(u64, u64),
    Seen(u64),
    Truncated(u64),
    Expired(u64),
    Start(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let offset = 0..=SPAN;
    prop_oneof![
        8 => offset.clone().prop_map(Step::Processed),
        3 => (offset.clone(), 0..6u64).prop_map(|(first, more)| Step::Run(first, more)),
        2 => offset.clone().prop_map(Step::Seen),
        1 => (0..=SPAN / 2).prop_map(Step::Truncated),
        1 => (0..=SPAN / 2).prop_map(Step::Expired),
        1 => (0..6u64).prop_map(Step::Start),
    ]
}

fn apply(step: &Step, base: u64, model: &mut Model, positions: &mut Positions) {
    let at = |offset: u64| at(base + offset);
    match *step {
        Step::Processed(offset) => {
            model.add([offset]);
            positions.processed(at(offset));
        }
        Step::Run(first, more) => {
            for offset in first..=(first + more).min(SPAN) {
                model.add([offset]);
                positions.processed(at(offset));
            }
        }
        Step::Seen(offset) => {
            model.highest = model.highest.max(Some(offset));
            positions.seen(at(offset));
        }
        Step::Truncated(offset) => {
            model.truncated = model.truncated.max(Some(offset));
            model.add(0..=offset);
            positions.truncated(at(offset));
        }
        Step::Expired(offset) => {
            model.expired = model.expired.max(Some(offset));
            positions.expired(at(offset));
        }
        Step::Start(offset) => {
            model.start = Some(offset);
            positions.start(CHANNEL, base + offset);
        }
    }
}

fn compare(
    kind: ChannelKind,
    base: u64,
    model: &Model,
    positions: &Positions,
) -> Result<(), TestCaseError> {
    for offset in 0..=SPAN {
        let found = positions.evidence(at(base + offset));
        prop_assert_eq!(found, model.evidence(kind, offset), "{}", offset);
        // Whatever was forgotten, nothing is claimed that is not so.
        prop_assert!(found != Processed || model.all.contains(&offset));
        prop_assert!(found != New || !model.all.contains(&offset));
    }
    let watermark = positions.watermark(CHANNEL);
    prop_assert_eq!(watermark, model.watermark().map(|offset| base + offset));
    if let (Some(start), Some(watermark)) = (model.start, watermark) {
        let mut claimed = start..=watermark - base;
        prop_assert!(claimed.all(|offset| model.all.contains(&offset)));
    }
    prop_assert_eq!(positions.highest(CHANNEL), model.highest.map(|offset| base + offset));
    prop_assert_eq!(positions.interval_count(), model.runs().len());
    prop_assert!(positions.interval_count() <= MAX_INTERVALS);

    let first = model.start.into_iter().chain(model.kept.first().copied()).min();
    let pending = first.zip(model.highest).into_iter().flat_map(|(first, last)| first..=last);
    let expected: Vec<u64> = pending.filter(|offset| !model.kept.contains(offset)).collect();
    let gaps = gaps(positions);
    prop_assert!(gaps.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "{:?}", gaps);
    let found = gaps.iter().flat_map(|&(first, last)| (first - base)..=(last - base));
    prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    Ok(())
}

/// The copy that was saved and restored.
fn restored(positions: &Positions) -> Result<Positions, TestCaseError> {
    let bytes = positions.encode();
    let restored = Positions::decode(&bytes);
    let restored = restored.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(restored.encode(), bytes);
    Ok(restored)
}

fn kinds() -> impl Strategy<Value = ChannelKind> {
    prop_oneof![Just(ChannelKind::Dense), Just(ChannelKind::Monotone)]
}

fn bases() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1_000), Just(u64::MAX - SPAN)]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(0x9051),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn histories_give_the_answers_of_a_set(
        kind in kinds(),
        base in bases(),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut positions = Positions::new(kind, MAX_INTERVALS);
        let mut model = Model::default();
        for (i, step) in steps.iter().enumerate() {
            apply(step, base, &mut model, &mut positions);
            compare(kind, base, &model, &positions)?;
            let again = restored(&positions)?;
            compare(kind, base, &model, &again)?;
            // Half of the history is lived by copies.
            if i % 2 == 0 {
                positions = again;
            }
        }
    }

    #[test]
    fn merged_histories_give_the_answers_of_the_union(
        kind in kinds(),
        base in bases(),
        left in prop::collection::vec(step(), 0..40),
        right in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 0..10),
    ) {
        let live = |steps: &[Step]| {
            let mut model = Model::default();
            let mut positions = Positions::new(kind, MAX_INTERVALS);
            for step in steps {
                apply(step, base, &mut model, &mut positions);
            }
            (model, positions)
        };
        let (mut model, mut positions) = live(&left);
        let (other_model, other) = live(&right);
        model.merge(&other_model);
        positions.merge(&other);
        compare(kind, base, &model, &positions)?;
        for step in &after {
            apply(step, base, &mut model, &mut positions);
            compare(kind, base, &model, &restored(&positions)?)?;
        }
    }
}
