//! Turns, bursts and clocks.

use std::hint::black_box;
use std::time::Instant;

use crate::keys::{Ask, Burst};

/// Operations between two looks at the clock.
pub(crate) const BURST: u64 = 4_096;

/// Timed bursts of a turn.
const BURSTS_A_TURN: u64 = 4;

/// Bursts of inserts of a turn.
const INSERT_BURSTS: u64 = 8;

/// Turns of each contestant for each question.
const TURNS: u64 = 60;

/// How a filter is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Single,
    Batch,
}

/// A filter under test.
pub(crate) trait Contestant {
    fn name(&self) -> String;

    /// Size in bits.
    fn bits(&self) -> u64;

    /// The ways it can be used.
    fn modes(&self) -> &'static [Mode] {
        &[Mode::Single]
    }

    fn insert(&mut self, mode: Mode, keys: &Burst);

    /// Called when all keys are in; static filters build here.
    fn finish(&mut self) {}

    /// How many of the keys are reported.
    fn count(&mut self, mode: Mode, keys: &Burst) -> u64;

    /// Whether it answers at all; a floor does not.
    fn answers(&self) -> bool {
        true
    }
}

/// Nanoseconds per operation of the bursts of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    fn add(&mut self, start: Instant, operations: u64) {
        self.0.push(start.elapsed().as_nanos() as f64 / operations as f64);
    }

    /// The value that such a share of the bursts stay below.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let index = (share * sorted.len() as f64) as usize;
        sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    }

    /// The bursts of a part of the fill.
    pub(crate) fn part(&self, from: f64, to: f64) -> Self {
        let at = |share: f64| (share * self.0.len() as f64) as usize;
        Self(self.0.get(at(from)..at(to)).unwrap_or(&[]).to_vec())
    }
}

/// What one contestant did in one mode.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) mode: Mode,
    pub(crate) bits_per_key: f64,
    pub(crate) rate: Option<f64>,
    pub(crate) insert: Times,
    /// In the order of [`Ask::ALL`].
    pub(crate) asked: [Times; 3],
}

/// Fills and asks the contestants of a group in turns.
pub(crate) fn run(n: u64, mut group: Vec<Box<dyn Contestant>>) -> Vec<Outcome> {
    let mut outcomes: Vec<Vec<Outcome>> = group
        .iter()
        .map(|contestant| {
            let outcome = |&mode| Outcome {
                name: contestant.name(),
                mode,
                bits_per_key: 0.0,
                rate: None,
                insert: Times::default(),
                asked: [const { Times(Vec::new()) }; 3],
            };
            contestant.modes().iter().map(outcome).collect()
        })
        .collect();
    fill(n, &mut group, &mut outcomes);
    for (contestant, outcomes) in group.iter_mut().zip(&mut outcomes) {
        contestant.finish();
        for outcome in outcomes {
            outcome.bits_per_key = contestant.bits() as f64 / n as f64;
        }
    }
    ask(n, &mut group, &mut outcomes);
    outcomes.into_iter().flatten().collect()
}

/// Inserts all members; modes take the bursts of a filter by turns.
fn fill(n: u64, group: &mut [Box<dyn Contestant>], outcomes: &mut [Vec<Outcome>]) {
    // Several bursts a turn: a filter that another one has just evicted pays for it once.
    let turn = BURST * INSERT_BURSTS;
    for (round, start) in (0..n).step_by(turn as usize).enumerate() {
        let starts = (start..n.min(start + turn)).step_by(BURST as usize);
        let bursts: Vec<Burst> =
            starts.map(|start| Burst::of(start..n.min(start + BURST))).collect();
        for (contestant, outcomes) in group.iter_mut().zip(outcomes.iter_mut()) {
            let mode = round % outcomes.len();
            let Some(outcome) = outcomes.get_mut(mode) else { continue };
            for burst in &bursts {
                let clock = Instant::now();
                contestant.insert(outcome.mode, black_box(burst));
                outcome.insert.add(clock, burst.len() as u64);
            }
        }
    }
}

fn ask(n: u64, group: &mut [Box<dyn Contestant>], outcomes: &mut [Vec<Outcome>]) {
    let mut found = vec![[0; 3]; group.len()];
    let (mut next, mut asked) = (0, 0);
    for _ in 0..TURNS {
        for (kind, ask) in Ask::ALL.into_iter().enumerate() {
            let turn: Vec<Burst> =
                (0..=BURSTS_A_TURN).map(|i| ask.burst(n, next + i, BURST)).collect();
            let Some((warm_up, timed)) = turn.split_first() else { continue };
            for ((contestant, outcomes), found) in
                group.iter_mut().zip(outcomes.iter_mut()).zip(&mut found)
            {
                for outcome in outcomes.iter_mut() {
                    let mut yes = contestant.count(outcome.mode, warm_up);
                    for burst in timed {
                        let clock = Instant::now();
                        yes += black_box(contestant.count(outcome.mode, black_box(burst)));
                        outcome.asked[kind].add(clock, BURST);
                    }
                    found[kind] += yes;
                }
            }
        }
        next += BURSTS_A_TURN + 1;
        asked += (BURSTS_A_TURN + 1) * BURST;
    }
    for ((contestant, outcomes), found) in group.iter().zip(outcomes).zip(found) {
        if !contestant.answers() {
            continue;
        }
        let asked = asked * outcomes.len() as u64;
        assert_eq!(found[0], asked, "{} denies a member", contestant.name());
        for outcome in outcomes {
            outcome.rate = Some(found[1] as f64 / asked as f64);
        }
    }
}
