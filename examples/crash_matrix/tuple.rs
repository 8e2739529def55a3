//! What flows: orders of customers.

use std::fmt;
use std::str::FromStr;

use super::Error;

/// One order. Written as `id customer amount`, in the log of upstream as in the output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    /// Unique, and the same whenever the order is sent: by it the guard knows a replay.
    pub(crate) id: String,
    /// The route: all orders of a customer go the same way.
    pub(crate) customer: String,
    pub(crate) amount: u64,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.id, self.customer, self.amount)
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            [id, customer, amount] => {
                Ok(Self { id: id.into(), customer: customer.into(), amount: amount.parse()? })
            }
            _ => Err(format!("expected an id, a customer and an amount, found {line:?}").into()),
        }
    }
}

/// The generator of all that is drawn: SplitMix64, with a fixed seed for each run.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
