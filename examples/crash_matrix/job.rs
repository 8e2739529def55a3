//! What an operator is told when it starts, and the guard that it asks for.

use std::path::PathBuf;

use hapax::replay::{ChannelKind, OnFull, Placement, Position, ReplayGuard, ReplayGuardBuilder};

use super::broken::Rule;
use super::link::Link;
use super::step::Step;
use super::upstream::{CHANNELS, IN_FLIGHT, Kind};
use super::{Error, after_output, broken, with_state};

/// Tuples between two checkpoints: k.
pub(crate) const CHECKPOINT_EVERY: u64 = 16;

/// Tuples that the guard remembers at least: more than upstream can send again, since replays are mixed
/// with new tuples.
pub(crate) const WINDOW: u64 = 128;

/// Expected number of tuples lost in a recovery, and the new tuples tested in it: X.
pub(crate) const LOST_PER_RECOVERY: f64 = 1e-6;
pub(crate) const TESTED: u64 = 256;

/// One life of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Where its output and its state are.
    pub(crate) folder: PathBuf,
    pub(crate) placement: Placement,
    pub(crate) kind: Kind,
    /// The rule that it breaks, if it does.
    pub(crate) broken: Option<Rule>,
    /// Where it is to die: at the step, after passing it so many times.
    pub(crate) death: Option<(Step, u64)>,
}

impl Job {
    /// The guard that every operator here asks for; the operator opens it on its state.
    pub(crate) fn guard(&self) -> ReplayGuardBuilder {
        let builder = ReplayGuard::builder(self.placement)
            .window(WINDOW)
            .epochs(7)
            .max_in_flight(IN_FLIGHT)
            .loss_per_recovery(LOST_PER_RECOVERY, TESTED);
        match self.kind {
            // Positions tell what upstream has truncated, so that is when to forget.
            Kind::Dense => builder.channels(ChannelKind::Dense).retire_on_truncation(),
            // Tags do not: a window of the last tuples.
            Kind::Flagged | Kind::IdsOnly => {
                builder.channels(ChannelKind::Unordered).on_full(OnFull::Rotate)
            }
        }
    }

    /// Tells a guard that was just opened where the log of each channel begins, and where it ended
    /// when the recovery began: a tuple beyond that is no replay.
    pub(crate) fn fence(&self, guard: &mut ReplayGuard, link: &mut Link) -> Result<(), Error> {
        if self.kind == Kind::Dense {
            (0..CHANNELS).for_each(|channel| guard.start(Position::new(channel, 0)));
        }
        link.heads()?.into_iter().for_each(|head| guard.fence(head));
        Ok(())
    }

    /// Lives.
    pub(crate) fn run(&self) -> Result<(), Error> {
        let mut link = Link::new(self.death);
        match (self.broken, self.placement) {
            (Some(rule), _) => broken::run(rule, self, &mut link),
            (None, Placement::WithState) => with_state::run(self, &mut link),
            (None, _) => after_output::run(self, &mut link),
        }
    }

    /// The arguments that make a process this operator.
    pub(crate) fn to_arguments(&self) -> Vec<String> {
        let placement = match self.placement {
            Placement::WithState => "with-state",
            _ => "after-output",
        };
        let mut arguments = vec![
            "operator".to_owned(),
            self.folder.display().to_string(),
            placement.to_owned(),
            self.kind.name().to_owned(),
            self.broken.map_or("none", Rule::name).to_owned(),
        ];
        if let Some((step, passes)) = self.death {
            arguments.extend([step.name().to_owned(), passes.to_string()]);
        }
        arguments
    }

    /// Reads what [`to_arguments`](Self::to_arguments) wrote.
    pub(crate) fn from_arguments(arguments: &[String]) -> Result<Self, Error> {
        let [_, folder, placement, kind, rule, death @ ..] = arguments else {
            return Err("an operator is started by the matrix".into());
        };
        Ok(Self {
            folder: folder.into(),
            placement: match placement.as_str() {
                "with-state" => Placement::WithState,
                _ => Placement::AfterOutput,
            },
            kind: Kind::parse(kind).ok_or("no such upstream")?,
            broken: Rule::parse(rule),
            death: match death {
                [step, passes] => Some((Step::parse(step).ok_or("no such step")?, passes.parse()?)),
                _ => None,
            },
        })
    }
}
