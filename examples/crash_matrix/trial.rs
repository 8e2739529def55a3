//! One trial: an upstream, and an operator that is killed again and again until it may finish.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use hapax::replay::Placement;

use super::Error;
use super::broken::{Cost, Rule};
use super::job::{CHECKPOINT_EVERY, Job, LOST_PER_RECOVERY};
use super::judge::{Verdict, judge};
use super::step::Step;
use super::tuple::Random;
use super::upstream::{IN_FLIGHT, Kind, Upstream};
use super::wire::{Reply, Request};

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub(crate) placement: Placement,
    pub(crate) kind: Kind,
    pub(crate) broken: Option<Rule>,
    pub(crate) step: Step,
    pub(crate) kills: u64,
    pub(crate) tuples: u64,
    pub(crate) seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) kills: u64,
    /// Sends of tuples that were sent before.
    pub(crate) resent: u64,
    /// What the broken rule should have cost, counted by the operator before it died.
    pub(crate) exposed: u64,
    pub(crate) stalled: bool,
    /// The guard's own estimate of tuples lost, and the epochs that it has let go.
    pub(crate) estimated_lost: f64,
    pub(crate) retired: u64,
    pub(crate) found: Verdict,
}

/// How a life of the operator ended.
enum End {
    Killed { exposed: u64 },
    Finished { lost: f64, retired: u64 },
    Stalled,
}

impl Trial {
    pub(crate) fn run(&self) -> Result<Outcome, Error> {
        let folder = tempfile::tempdir()?;
        let mut random = Random(self.seed);
        let mut upstream = Upstream::create(folder.path(), self.kind, self.tuples, random.clone())?;
        let mut outcome = Outcome {
            kills: 0,
            resent: 0,
            exposed: 0,
            stalled: false,
            estimated_lost: 0.0,
            retired: 0,
            found: Verdict::default(),
        };
        loop {
            let death = (outcome.kills < self.kills).then(|| (self.step, self.passes(&mut random)));
            let job = Job {
                folder: folder.path().to_owned(),
                placement: self.placement,
                kind: self.kind,
                broken: self.broken,
                death,
            };
            match live(&job, &mut upstream)? {
                End::Killed { exposed } => {
                    outcome.kills += 1;
                    outcome.exposed += exposed;
                    upstream.reconnect();
                }
                End::Finished { lost, retired } => {
                    outcome.estimated_lost = lost;
                    outcome.retired = retired;
                    break;
                }
                End::Stalled => {
                    outcome.stalled = true;
                    break;
                }
            }
        }
        outcome.resent = upstream.resent;
        outcome.found = judge(folder.path(), self.placement)?;
        Ok(outcome)
    }

    /// How often the operator passes the step before it dies there.
    fn passes(&self, random: &mut Random) -> u64 {
        let span = match self.broken {
            // So that as much as can be is in flight.
            Some(Rule::ForgetsEarly) => return IN_FLIGHT / CHECKPOINT_EVERY - 1,
            Some(Rule::AckBeforeState) => 24,
            _ if self.step.is_per_tuple(self.placement) => 24,
            _ => 2,
        };
        random.below(span) as u64
    }

    /// The number of tuples that a filter is expected to lose at most, where it is asked: C · X · f.
    /// With dense positions it is asked as well, about those up to the fence, once an output's tail was
    /// read: that has ids and no positions.
    pub(crate) fn expected_lost(&self) -> f64 {
        match (self.kind, self.placement) {
            (Kind::Dense, Placement::WithState) => 0.0,
            _ => self.kills as f64 * LOST_PER_RECOVERY,
        }
    }

    /// Whether it came out as it must.
    pub(crate) fn is_met(&self, outcome: &Outcome) -> bool {
        let Outcome { kills, exposed, stalled, found, .. } = *outcome;
        let Verdict { lost, duplicated, amounts_wrong } = found;
        let is_over = kills == self.kills && !stalled;
        // At least one, or the trial shows nothing; at most what the theory says.
        let is_bounded = (1..=kills * CHECKPOINT_EVERY).contains(&exposed);
        match self.broken.map(Rule::cost) {
            // An expected number far below one: not even one may be lost.
            None => is_over && lost == 0 && duplicated == 0 && !amounts_wrong,
            Some(Cost::Lost) => is_over && is_bounded && lost == exposed && duplicated == 0,
            Some(Cost::Duplicated) => is_over && is_bounded && lost == 0 && duplicated == exposed,
            Some(Cost::SomeDuplicated) => {
                is_over && lost == 0 && (1..=kills * IN_FLIGHT).contains(&duplicated)
            }
            Some(Cost::Stall) => stalled && duplicated == 0,
        }
    }
}

/// Starts an operator, serves it, and kills it where it is to die.
fn live(job: &Job, upstream: &mut Upstream) -> Result<End, Error> {
    let mut operator = Command::new(std::env::current_exe()?)
        .args(job.to_arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let end = serve(&mut operator, upstream);
    if !matches!(end, Ok(End::Finished { .. })) {
        // SIGKILL on Unix.
        operator.kill()?;
    }
    let status = operator.wait()?;
    match end {
        Ok(End::Finished { .. }) if !status.success() => Err(format!("{job:?}: {status}").into()),
        Ok(End::Killed { .. }) if status.code().is_some() && cfg!(unix) => {
            Err(format!("{job:?} was not killed: {status}").into())
        }
        Err(error) => Err(format!("{job:?}: {error} ({status})").into()),
        Ok(end) => Ok(end),
    }
}

/// Answers an operator until it is to be killed or has finished.
fn serve(operator: &mut Child, upstream: &mut Upstream) -> Result<End, Error> {
    let (Some(mut to), Some(from)) = (operator.stdin.as_ref(), operator.stdout.as_mut()) else {
        return Err("the operator has no pipes".into());
    };
    for line in BufReader::new(from).lines() {
        let replies = match line?.parse()? {
            Request::Heads => list(upstream.heads()),
            Request::Next => match upstream.next() {
                Some(reply) => vec![reply],
                None => return Ok(End::Stalled),
            },
            Request::Ack(at) => {
                upstream.ack(at);
                continue;
            }
            Request::Confirm => list(upstream.truncate()),
            Request::Reached { exposed } => return Ok(End::Killed { exposed }),
            Request::Finished { lost, retired } => return Ok(End::Finished { lost, retired }),
        };
        for reply in replies {
            writeln!(to, "{reply}")?;
        }
    }
    Err("the operator has ended by itself".into())
}

fn list(mut replies: Vec<Reply>) -> Vec<Reply> {
    replies.push(Reply::Done);
    replies
}
