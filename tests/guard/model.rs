//! Random histories against a model of sets, which predicts every verdict.
//!
//! The filter's rate is so low that it is exact here. When an epoch ends is left to the guard, whose
//! snapshot says it; that epochs live as long as they must is asserted on its own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use hapax::replay::{
    AdmitError, Backpressure, ChannelKind, Delivery, Judged, OnFull, Position, ReplayGuard,
};
use proptest::prelude::*;

use crate::subject::{DROPPED, Held, NEVER, Time, assert_accounts, judge, sized};

/// Tuples that are remembered at least: 5 epochs of 5.
const WINDOW: u64 = 20;
const EPOCHS: u64 = 5;
const IN_FLIGHT: usize = 8;
/// New tuples tested after a recovery, if upstream says nothing of them.
const UNTOLD: u64 = 4;
/// Milliseconds that a tuple is remembered at least.
const LIFE: u64 = 60_000;

#[derive(Clone, Debug)]
enum Op {
    Admit(u64, Delivery),
    /// The ticket at a place among those out.
    Commit(usize),
    Abort(usize),
    Truncate(Position),
    Ack,
    Seal,
    Recover,
    EndRecovery,
    Fence(Position),
    CatchUp(u64),
    /// Milliseconds.
    Pass(u64),
}

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: ChannelKind,
    always_on: bool,
    on_full: OnFull,
    /// Where channel 0 begins, if that is told.
    start: Option<u64>,
    /// Without what ends epochs early: a window by count alone.
    plain: bool,
}

/// What a channel's positions say.
#[derive(Debug, Default)]
struct Channel {
    processed: BTreeSet<u64>,
    truncated: Option<u64>,
    highest: Option<u64>,
    start: Option<u64>,
    /// Up to here a position proves nothing new: the output's tail has tuples of unknown positions.
    doubtful: Option<u64>,
}

impl Channel {
    fn process(&mut self, sequence: u64) {
        self.processed.insert(sequence);
        self.highest = self.highest.max(Some(sequence));
    }

    /// Everything up to here is processed, from where the log is known to begin.
    fn watermark(&self) -> Option<u64> {
        let anchors = self.start.into_iter().chain(self.truncated);
        let known = anchors.filter(|anchor| self.processed.contains(anchor));
        let end = |from| (from..=u64::MAX).take_while(|at| self.processed.contains(at)).last();
        known.filter_map(end).max()
    }

    fn is_new(&self, kind: ChannelKind, sequence: u64) -> bool {
        if Some(sequence) <= self.doubtful {
            return false;
        }
        let lowest = self.processed.first().copied().into_iter().chain(self.start).min();
        match kind {
            ChannelKind::Dense => lowest.is_some_and(|lowest| lowest <= sequence),
            ChannelKind::Monotone => match self.highest {
                Some(highest) => highest < sequence,
                None => self.start.is_some_and(|start| start <= sequence),
            },
            _ => false,
        }
    }
}

/// When an id was recorded last.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    epoch: u64,
    /// Of all that were recorded.
    number: u64,
    time: u64,
    position: Option<Position>,
}

struct Out {
    id: u64,
    position: Option<Position>,
    held: Held,
}

struct Model {
    case: Case,
    guard: ReplayGuard,
    time: Time,
    now: u64,
    recorded: HashMap<u64, Recorded>,
    records: u64,
    out: Vec<Out>,
    caught_up: HashSet<u64>,
    caught_up_epoch: u64,
    channels: BTreeMap<u32, Channel>,
    /// The highest position by channel that was recorded at all: what expires is not above it.
    ends: BTreeMap<u32, u64>,
    untold: u64,
    fences: Vec<Position>,
    /// May be acknowledged, and was not taken.
    acks: Vec<Position>,
    oldest: u64,
}

impl Model {
    fn new(case: Case) -> Self {
        let time = Time::default();
        let builder = sized(WINDOW).max_in_flight(IN_FLIGHT as u64).epochs(EPOCHS as u32);
        let builder = builder.channels(case.kind).on_full(case.on_full).clock(time.clone());
        let builder = if case.always_on {
            builder.always_on(1.0, (1.0 / NEVER) as u64)
        } else {
            builder.false_positive_rate(NEVER)
        };
        let builder = builder.tested_after_recovery(UNTOLD);
        let builder = builder.retire_after(Duration::from_millis(LIFE));
        let builder = match case.kind {
            ChannelKind::Unordered => builder,
            _ => builder.retire_on_truncation(),
        };
        let mut guard = builder.build().unwrap();
        let mut channels = BTreeMap::<u32, Channel>::new();
        if let Some(start) = case.start.filter(|_| case.kind != ChannelKind::Unordered) {
            guard.start(Position::new(0, start));
            channels.entry(0).or_default().start = Some(start);
        }
        Self {
            case,
            guard,
            time,
            now: 0,
            recorded: HashMap::new(),
            records: 0,
            out: Vec::new(),
            caught_up: HashSet::new(),
            caught_up_epoch: 0,
            channels,
            ends: BTreeMap::new(),
            untold: 0,
            fences: Vec::new(),
            acks: Vec::new(),
            oldest: 0,
        }
    }

    fn channel(&mut self, channel: u32) -> &mut Channel {
        self.channels.entry(channel).or_default()
    }

    fn ordered(&self) -> bool {
        self.case.kind != ChannelKind::Unordered
    }

    /// Whether the tuple may be a replay; `None` if it stands where what expired may have been.
    fn is_at_risk(&mut self, delivery: &Delivery) -> Option<bool> {
        let kind = self.case.kind;
        if self.case.always_on {
            return Some(true);
        }
        if let Some(at) = delivery.position
            && self.channel(at.channel).is_new(kind, at.sequence)
        {
            let end = self.ends.get(&at.channel).copied();
            let may_be_expired = self.oldest > 0 && Some(at.sequence) <= end;
            return if may_be_expired { None } else { Some(false) };
        }
        Some(match (delivery.redelivered, delivery.position) {
            (Some(flag), _) => flag,
            (None, Some(at)) if self.ordered() => {
                let before =
                    |fence: &Position| fence.channel == at.channel && fence.sequence >= at.sequence;
                self.fences.iter().any(before)
            }
            (None, _) => self.untold > 0,
        })
    }

    fn admit(&mut self, id: u64, delivery: Delivery) {
        let Delivery { position, redelivered, .. } = delivery;
        self.retire_due();
        let processed = self.ordered()
            && position.is_some_and(|at| self.channel(at.channel).processed.contains(&at.sequence));
        let hit = self.recorded.get(&id).is_some_and(|last| last.epoch >= self.oldest);
        let at_risk = self.is_at_risk(&delivery);
        let in_flight = self.out.iter().any(|out| out.id == id);
        let before = self.guard.snapshot();
        let (judged, held) = match judge(&mut self.guard, &id, delivery) {
            Ok(answer) => answer,
            Err(AdmitError::Backpressure(why)) => {
                assert!(!in_flight && !processed && !self.caught_up.contains(&id));
                assert!(!(hit && at_risk == Some(true)), "a replay needs no room");
                match why {
                    Backpressure::Tickets { .. } => assert_eq!(self.out.len(), IN_FLIGHT),
                    Backpressure::Window { .. } => {
                        assert_eq!(self.case.on_full, OnFull::Backpressure);
                        // What was in flight may have made epochs longer than their share.
                        let full = before.epochs == EPOCHS || before.fill_ratio >= 1.0;
                        assert!(full, "{before:?}");
                    }
                    other => panic!("{other}"),
                }
                return;
            }
            Err(other) => panic!("{other}"),
        };
        let expected = if in_flight {
            Judged::InFlight
        } else if processed || self.caught_up.contains(&id) {
            Judged::Replay
        } else if hit && at_risk.unwrap_or(judged == DROPPED) {
            DROPPED
        } else {
            Judged::First
        };
        assert_eq!(judged, expected, "{id} {delivery:?}");
        match judged {
            Judged::First => {
                let untold = redelivered.is_none() && (position.is_none() || !self.ordered());
                if untold && at_risk == Some(true) && self.untold > 0 {
                    self.untold -= 1;
                    if self.untold == 0 && self.fences.is_empty() {
                        self.caught_up.clear();
                    }
                }
                if let Some(at) = position {
                    let channel = self.channel(at.channel);
                    channel.highest = channel.highest.max(Some(at.sequence));
                }
                self.out.push(Out { id, position, held });
            }
            Judged::Replay | DROPPED => self.processed(position),
            _ => {}
        }
    }

    /// A tuple was committed or dropped.
    fn processed(&mut self, position: Option<Position>) {
        if let Some(at) = position {
            self.channel(at.channel).process(at.sequence);
            self.acks.push(at);
        }
    }

    fn record(&mut self, id: u64, position: Option<Position>) {
        let epoch = self.guard.snapshot().epoch;
        if let Some(at) = position {
            let end = self.ends.entry(at.channel).or_default();
            *end = at.sequence.max(*end);
        }
        self.records += 1;
        let number = self.records;
        self.recorded.insert(id, Recorded { epoch, number, time: self.now, position });
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Admit(id, delivery) => self.admit(id, delivery),
            Op::Commit(place) if !self.out.is_empty() => {
                let Out { id, position, held } = self.out.remove(place % self.out.len());
                held.commit();
                self.record(id, position);
                self.processed(position);
            }
            Op::Abort(place) if !self.out.is_empty() => {
                self.out.remove(place % self.out.len());
            }
            Op::Commit(_) | Op::Abort(_) => {}
            Op::Truncate(at) => {
                self.guard.truncated(at);
                if self.ordered() {
                    let channel = self.channel(at.channel);
                    channel.truncated = channel.truncated.max(Some(at.sequence));
                    (0..=at.sequence).for_each(|sequence| channel.process(sequence));
                }
            }
            Op::Ack => {
                let mut told: Vec<_> = self.guard.ackable().collect();
                told.sort_unstable();
                self.acks.sort_unstable();
                assert_eq!(told, self.acks);
                self.acks.clear();
            }
            Op::Seal => self.guard.seal(),
            Op::Recover => {
                self.guard.begin_recovery();
                self.fences.clear();
                self.untold = UNTOLD;
                self.caught_up.clear();
            }
            Op::EndRecovery => {
                self.guard.end_recovery();
                self.fences.clear();
                self.untold = 0;
                self.caught_up.clear();
            }
            Op::Fence(at) => {
                self.guard.fence(at);
                self.fences.retain(|old| old.channel != at.channel);
                self.fences.push(at);
                self.place_tail();
            }
            Op::CatchUp(id) => {
                let taken = self.guard.catch_up([(id, id)]).unwrap();
                assert_eq!(taken, u64::from(!self.caught_up.contains(&id)));
                if taken == 1 {
                    self.record(id, None);
                    // It may have retired an epoch, and what was caught up in it.
                    self.follow_caught_up();
                    self.caught_up.insert(id);
                    self.caught_up_epoch = self.guard.snapshot().epoch;
                }
                self.place_tail();
            }
            Op::Pass(milliseconds) => {
                self.now += milliseconds;
                self.time.pass_ms(milliseconds);
                self.retire_due();
            }
        }
        self.follow();
    }

    /// Of tuples read from the output's tail it is known that they were sent before the fences.
    fn place_tail(&mut self) {
        if self.caught_up.is_empty() || !self.ordered() {
            return;
        }
        for at in self.fences.clone() {
            let channel = self.channel(at.channel);
            channel.doubtful = channel.doubtful.max(Some(at.sequence));
            channel.highest = channel.highest.max(Some(at.sequence));
            let end = self.ends.entry(at.channel).or_default();
            *end = at.sequence.max(*end);
        }
    }

    /// Lets what is due retire, as every verdict does before it is given.
    fn retire_due(&mut self) {
        self.guard.advance_watermark(0);
        self.follow_caught_up();
    }

    /// Ids caught up are kept no longer than their newest epoch.
    fn follow_caught_up(&mut self) {
        self.oldest = self.guard.snapshot().oldest_epoch;
        if self.oldest > self.caught_up_epoch {
            self.caught_up.clear();
        }
    }

    /// What changed by the guard's own doing, and what must hold whatever happened.
    fn follow(&mut self) {
        let snapshot = self.guard.snapshot();
        assert!(snapshot.epochs <= EPOCHS);
        assert_eq!(snapshot.in_flight, self.out.len() as u64);
        self.follow_caught_up();
        if !self.fences.is_empty() {
            let channels = &self.channels;
            let mark = |at: &Position| channels.get(&at.channel).and_then(Channel::watermark);
            self.fences.retain(|fence| mark(fence) < Some(fence.sequence));
            if self.fences.is_empty() && self.untold == 0 {
                self.caught_up.clear();
            }
        }
        assert_eq!(snapshot.fences, self.fences.len() as u64);
        let alive = self.recorded.values().filter(|last| last.epoch >= self.oldest).count();
        assert_eq!(snapshot.remembered, alive as u64);
        for (id, last) in &self.recorded {
            let truncated = |at: Position| {
                self.channels.get(&at.channel).is_some_and(|of| of.truncated >= Some(at.sequence))
            };
            // An id without a position goes with the tuples next to it.
            let held = match last.position {
                Some(at) => !truncated(at),
                None => self.channels.values().all(|channel| channel.truncated.is_none()),
            };
            let by_count = self.case.plain && self.records - last.number < WINDOW;
            let by_time = self.case.on_full == OnFull::Backpressure && self.now - last.time < LIFE;
            if held && (by_count || by_time) {
                assert!(last.epoch >= self.oldest, "{id} was forgotten early: {last:?}");
            }
        }
        assert_accounts(&mut self.guard);
    }
}

fn position() -> impl Strategy<Value = Position> {
    (0u32..2, 0u64..30).prop_map(|(channel, sequence)| Position::new(channel, sequence))
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (proptest::option::weighted(0.7, position()), proptest::option::weighted(0.3, any::<bool>()))
        .prop_map(|(position, flag)| {
            let delivery = position.map_or_else(Delivery::default, Delivery::from);
            flag.map_or(delivery, |flag| delivery.with_redelivered(flag))
        })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => (0u64..40, delivery()).prop_map(|(id, delivery)| Op::Admit(id, delivery)),
        25 => (0usize..IN_FLIGHT).prop_map(Op::Commit),
        4 => (0usize..IN_FLIGHT).prop_map(Op::Abort),
        1 => position().prop_map(Op::Truncate),
        3 => Just(Op::Ack),
        1 => Just(Op::Seal),
        1 => Just(Op::Recover),
        1 => Just(Op::EndRecovery),
        2 => position().prop_map(Op::Fence),
        2 => (0u64..40).prop_map(Op::CatchUp),
        2 => (0u64..30_000).prop_map(Op::Pass),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let kinds = vec![ChannelKind::Dense, ChannelKind::Monotone, ChannelKind::Unordered];
    (
        prop::sample::select(kinds),
        any::<bool>(),
        prop::sample::select(vec![OnFull::Backpressure, OnFull::Rotate]),
        proptest::option::of(0u64..5),
        any::<bool>(),
    )
        .prop_map(|(kind, always_on, on_full, start, plain)| Case {
            kind,
            always_on,
            on_full,
            start,
            plain,
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        max_shrink_iters: 20_000,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_verdict_is_the_one_of_exact_sets(
        case in case(),
        ops in proptest::collection::vec(op(), 1..200),
    ) {
        let mut model = Model::new(case);
        for op in &ops {
            if !(case.plain && matches!(op, Op::Seal | Op::Pass(_) | Op::Truncate(_))) {
                model.apply(op);
            }
        }
        model.apply(&Op::Ack);
    }
}
