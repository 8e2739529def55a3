//! The judge: what came out, against what is in the log.

use std::collections::BTreeMap;
use std::path::Path;

use hapax::replay::Placement;

use super::Error;
use super::output::Output;
use super::sums::{Sums, Total};
use super::tuple::Order;
use super::upstream::Upstream;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Orders of the log that did not come out.
    pub(crate) lost: u64,
    /// Times that an order came out after the first.
    pub(crate) duplicated: u64,
    /// Something came out that is not in the log, or the amounts are not those of the orders.
    pub(crate) amounts_wrong: bool,
}

/// Judges the output, or the state, in a folder against the log there.
pub(crate) fn judge(folder: &Path, placement: Placement) -> Result<Verdict, Error> {
    let log = Upstream::read_log(folder)?;
    match placement {
        Placement::WithState => {
            let (sums, _) = Sums::load(folder)?.unwrap_or_default();
            Ok(judge_state(&log, &sums))
        }
        _ => Ok(judge_output(&log, Output::open(folder)?.found())),
    }
}

/// The output is a multiset of orders; the log has each of them once.
fn judge_output(log: &[Order], output: &[Order]) -> Verdict {
    let mut times: BTreeMap<&Order, u64> = log.iter().map(|order| (order, 0)).collect();
    let mut verdict = Verdict::default();
    for order in output {
        match times.get_mut(order) {
            Some(times) => *times += 1,
            None => verdict.amounts_wrong = true,
        }
    }
    verdict.lost = times.values().filter(|times| **times == 0).count() as u64;
    verdict.duplicated = times.values().map(|times| times.saturating_sub(1)).sum();
    verdict
}

/// The state has a number of orders and a sum for each customer. A lost order and a duplicated one of
/// the same customer cancel in the number and show in the sum.
fn judge_state(log: &[Order], found: &Sums) -> Verdict {
    let mut expected = Sums::default();
    for order in log {
        expected.add(order);
    }
    let mut verdict =
        Verdict { amounts_wrong: found.0.keys().ne(expected.0.keys()), ..Verdict::default() };
    for (customer, total) in &expected.0 {
        let Total { orders, amount } = found.0.get(customer).copied().unwrap_or_default();
        verdict.lost += total.orders.saturating_sub(orders);
        verdict.duplicated += orders.saturating_sub(total.orders);
        verdict.amounts_wrong |= amount != total.amount;
    }
    verdict
}
