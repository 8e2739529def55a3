//! The two tables.

use hapax::replay::Placement;

use super::broken::{Cost, Rule};
use super::job::{CHECKPOINT_EVERY, LOST_PER_RECOVERY, TESTED, WINDOW};
use super::trial::{Outcome, Trial};
use super::upstream::IN_FLIGHT;

/// Trials with what came of them.
type Results<'a> = &'a [(Trial, Outcome)];

/// What is measured.
pub(crate) fn head(trials: &[Trial], kills: u64, tuples: u64) {
    println!(
        "\
Each trial is an upstream and an operator, two processes. The operator is killed with SIGKILL
whenever it stands at the boundary that the row names, {kills} times, and started again. Upstream then
sends once more whatever was not acknowledged, out of order and mixed with new tuples. In the end
the output (guard after output) or the saved state (guard with state) is compared with upstream's
log, in which each tuple is once. {} trials of {tuples} tuples.

  {IN_FLIGHT} tuples in flight at most (P), on 2 channels   a checkpoint every {CHECKPOINT_EVERY} tuples (k)
  a window of {WINDOW} tuples                         rate of the filter f = {:.1e}
  new tuples tested in a recovery X ≤ {TESTED}        so C crashes lose C·X·f = {LOST_PER_RECOVERY:.0e}·C at most, by expectation
",
        trials.len(),
        LOST_PER_RECOVERY / TESTED as f64,
    );
}

/// Operators that keep the rules.
pub(crate) fn kept(results: Results<'_>) {
    println!(
        "{:<12}  {:<16}  {:<14}  {:>5}  {:>6}  {:>6}  {:>4}  {:>8}  {:>5}  {:>8}",
        "guard",
        "upstream",
        "killed after",
        "kills",
        "tuples",
        "resent",
        "lost",
        "expected",
        "twice",
        "expected",
    );
    for (trial, outcome) in results {
        println!(
            "{:<12}  {:<16}  {:<14}  {:>5}  {:>6}  {:>6}  {:>4}  {:>8}  {:>5}  {:>8}  {}",
            guard(trial.placement),
            trial.kind.name(),
            trial.step,
            outcome.kills,
            trial.tuples,
            outcome.resent,
            outcome.found.lost,
            match trial.expected_lost() {
                0.0 => "0".to_owned(),
                bound => format!("≤ {bound:.0e}"),
            },
            outcome.found.duplicated,
            0,
            sign(trial, outcome),
        );
    }
    let sum = |of: fn(&Outcome) -> u64| results.iter().map(|(_, outcome)| of(outcome)).sum::<u64>();
    println!(
        "\n{} kills, {} tuples sent again, {} lost, {} twice; the guards retired {} epochs and estimate that\n\
         they lost {:.0e} tuples\n",
        sum(|outcome| outcome.kills),
        sum(|outcome| outcome.resent),
        sum(|outcome| outcome.found.lost),
        sum(|outcome| outcome.found.duplicated),
        sum(|outcome| outcome.retired),
        results.iter().map(|(_, outcome)| outcome.estimated_lost).sum::<f64>(),
    );
}

/// Operators that break a rule.
pub(crate) fn broken(results: Results<'_>) {
    println!(
        "\
The same with one rule broken on purpose. At risk: what that must cost, counted by the operator at
each death; k = {CHECKPOINT_EVERY} tuples at most. Where it cannot know, up to P = {IN_FLIGHT} come out twice.

{:<25}  {:<16}  {:<14}  {:>5}  {:>7}  {:>4}  {:>8}  {:>5}  {:>8}",
        "rule broken",
        "upstream",
        "killed after",
        "kills",
        "at risk",
        "lost",
        "expected",
        "twice",
        "expected",
    );
    for (trial, outcome) in results {
        let Some(rule) = trial.broken else { continue };
        let (lost, twice) = expected(rule, outcome);
        println!(
            "{:<25}  {:<16}  {:<14}  {:>5}  {:>7}  {:>4}  {lost:>8}  {:>5}  {twice:>8}  {}",
            rule.name(),
            trial.kind.name(),
            trial.step,
            outcome.kills,
            match rule.cost() {
                Cost::Lost | Cost::Duplicated => outcome.exposed.to_string(),
                Cost::SomeDuplicated | Cost::Stall => "–".to_owned(),
            },
            outcome.found.lost,
            outcome.found.duplicated,
            sign(trial, outcome),
        );
    }
}

/// What breaking the rule must cost: lost, twice.
fn expected(rule: Rule, outcome: &Outcome) -> (String, String) {
    let exposed = outcome.exposed.to_string();
    let none = || "0".to_owned();
    match rule.cost() {
        Cost::Lost => (exposed, none()),
        Cost::Duplicated => (none(), exposed),
        Cost::SomeDuplicated => (none(), format!("1 to {}", outcome.kills * IN_FLIGHT)),
        Cost::Stall => ("stalls".to_owned(), none()),
    }
}

fn guard(placement: Placement) -> &'static str {
    match placement {
        Placement::WithState => "with state",
        _ => "after output",
    }
}

fn sign(trial: &Trial, outcome: &Outcome) -> &'static str {
    match (trial.is_met(outcome), outcome.stalled) {
        (true, true) => "ok, stalled",
        (true, false) => "ok",
        (false, true) => "FAIL, stalled",
        (false, false) if outcome.found.amounts_wrong => "FAIL, amounts",
        (false, false) => "FAIL",
    }
}
