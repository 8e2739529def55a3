//! One by one or in batches: the same tuples get the same verdicts, counts and acknowledgements.

use std::time::Duration;

use hapax::replay::{
    Accounts, ChannelKind, Delivery, Fate, Judged, OnFull, OnProbable, OnStale, Position,
    ReplayGuard, Tuple,
};
use proptest::prelude::*;

use crate::subject::{Held, Time, assert_accounts, parts, sized};

/// What happens to tuples between one commit and the next.
#[derive(Clone, Debug)]
struct Step {
    /// Id, and what upstream says of it.
    tuples: Vec<(u64, Delivery)>,
    /// Which outputs become durable, by place: bits from the lowest on.
    durable: u64,
    seconds: u64,
    truncated: Option<u64>,
    recovers: bool,
}

/// Verdicts as they come, what may be acknowledged, and what was counted.
#[derive(Debug, PartialEq)]
struct Run {
    verdicts: Vec<Judged>,
    acks: Vec<Position>,
    counts: Accounts,
    remembered: u64,
}

#[derive(Clone, Copy, Debug)]
struct Policies {
    always_on: bool,
    on_probable: OnProbable,
    on_suspect: OnProbable,
    on_stale: OnStale,
    on_full: OnFull,
    kind: ChannelKind,
}

/// A rate at which a good part of the hits are false.
fn guard(policies: Policies, time: &Time) -> ReplayGuard {
    let Policies { always_on, on_probable, on_suspect, on_stale, on_full, kind } = policies;
    let builder = sized(60).max_in_flight(40).epochs(4).channels(kind).clock(time.clone());
    let builder = if always_on {
        builder.always_on(10.0, 100)
    } else {
        builder.loss_per_recovery(0.5, 10).tested_after_recovery(15)
    };
    let builder = builder.on_probable(on_probable).on_suspect(on_suspect).on_stale(on_stale);
    builder.on_full(on_full).retire_after(Duration::from_secs(100)).build().unwrap()
}

fn between(guard: &mut ReplayGuard, time: &Time, step: &Step, acks: &mut Vec<Position>) {
    time.pass(step.seconds);
    if let Some(sequence) = step.truncated {
        guard.truncated(Position::new(0, sequence));
    }
    if step.recovers {
        guard.begin_recovery();
        guard.fence(Position::new(1, 30));
    }
    acks.extend(guard.ackable());
    assert_accounts(guard);
}

fn finish(mut guard: ReplayGuard, verdicts: Vec<Judged>, acks: Vec<Position>) -> Run {
    let snapshot = guard.snapshot();
    Run { verdicts, acks, counts: snapshot.counts, remembered: snapshot.remembered }
}

/// What the exact store says of an id.
const fn is_known(id: u64) -> bool {
    id.is_multiple_of(3)
}

fn one_by_one(steps: &[Step], policies: Policies) -> Run {
    let time = Time::default();
    let mut guard = guard(policies, &time);
    let (mut verdicts, mut acks) = (Vec::new(), Vec::new());
    for step in steps {
        let mut held = Vec::new();
        for (place, (id, delivery)) in step.tuples.iter().enumerate() {
            let Ok(verdict) = guard.admit(id, id, *delivery) else { break };
            let (judged, rest) = parts(verdict);
            verdicts.push(judged);
            held.push((place, *id, rest));
        }
        // In the order in which a batch gives back: what was confirmed, aborted, committed.
        let mut tickets = Vec::new();
        for (place, id, held) in held {
            match held {
                Held::Ticket(ticket) => tickets.push((place, ticket)),
                Held::Unconfirmed(unconfirmed) if is_known(id) => unconfirmed.is_replay(),
                Held::Unconfirmed(unconfirmed) => tickets.push((place, unconfirmed.is_new())),
                Held::Nothing => {}
            }
        }
        let (durable, failed): (Vec<_>, Vec<_>) =
            tickets.into_iter().partition(|(place, _)| step.durable >> place & 1 == 1);
        drop(failed);
        for (_, ticket) in durable {
            ticket.commit();
        }
        between(&mut guard, &time, step, &mut acks);
    }
    finish(guard, verdicts, acks)
}

fn in_batches(steps: &[Step], policies: Policies) -> Run {
    let time = Time::default();
    let mut guard = guard(policies, &time);
    let (mut verdicts, mut acks, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        let tuple =
            |(id, delivery): &(u64, Delivery)| guard.tuple(id, Some(id), *delivery).unwrap();
        let tuples: Vec<Tuple> = step.tuples.iter().map(tuple).collect();
        let (mut batch, _) = guard.admit_batch(&tuples, &mut judged);
        verdicts.extend_from_slice(&judged);
        for (index, verdict) in judged.iter().enumerate() {
            if *verdict == Judged::Probable(Fate::Confirm) {
                batch.confirm(index, is_known(step.tuples[index].0));
            }
        }
        batch.commit_where(|index| step.durable >> index & 1 == 1);
        between(&mut guard, &time, step, &mut acks);
    }
    finish(guard, verdicts, acks)
}

fn delivery() -> impl Strategy<Value = Delivery> {
    let position = proptest::option::of((0u32..3, 0u64..40));
    let flag = proptest::option::weighted(0.3, any::<bool>());
    (position, flag).prop_map(|(position, flag)| {
        let bare = Delivery::default();
        let place = |(channel, at)| Delivery::from(Position::new(channel, at));
        let delivery = position.map_or(bare, place);
        flag.map_or(delivery, |flag| delivery.with_redelivered(flag))
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tuples = proptest::collection::vec((0u64..60, delivery()), 0..40);
    let step = (
        tuples,
        any::<u64>(),
        prop_oneof![4 => Just(0), 1 => 1u64..60],
        proptest::option::weighted(0.2, 0u64..40),
        proptest::bool::weighted(0.1),
    );
    let step = step.prop_map(|(tuples, durable, seconds, truncated, recovers)| Step {
        tuples,
        durable,
        seconds,
        truncated,
        recovers,
    });
    proptest::collection::vec(step, 1..20)
}

fn policies() -> impl Strategy<Value = Policies> {
    use OnProbable::{Confirm, Divert, Drop, Pass};
    (
        any::<bool>(),
        prop::sample::select(vec![Drop, Divert, Confirm, Pass]),
        prop::sample::select(vec![Divert, Confirm, Pass]),
        prop::sample::select(vec![OnStale::Pass, OnStale::Divert, OnStale::Drop]),
        prop::sample::select(vec![OnFull::Backpressure, OnFull::Divert, OnFull::Rotate]),
        prop::sample::select(vec![
            ChannelKind::Dense,
            ChannelKind::Monotone,
            ChannelKind::Unordered,
        ]),
    )
        .prop_map(|(always_on, on_probable, on_suspect, on_stale, on_full, kind)| Policies {
            always_on,
            on_probable,
            on_suspect,
            on_stale,
            on_full,
            kind,
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn batches_are_judged_as_their_tuples_one_by_one(steps in steps(), policies in policies()) {
        prop_assert_eq!(in_batches(&steps, policies), one_by_one(&steps, policies));
    }
}
