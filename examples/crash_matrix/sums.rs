//! The state of an operator: a sum for each customer, saved together with the number of the guard's
//! checkpoint that knows exactly the orders in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::Error;
use super::tuple::Order;

/// What was ordered by a customer: how often, and for how much (modulo 2⁶⁴).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    pub(crate) orders: u64,
    pub(crate) amount: u64,
}

/// The totals of all customers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(pub(crate) BTreeMap<String, Total>);

const NAME: &str = "sums";

impl Sums {
    pub(crate) fn add(&mut self, order: &Order) {
        let total = self.0.entry(order.customer.clone()).or_default();
        total.orders += 1;
        total.amount = total.amount.wrapping_add(order.amount);
    }

    /// Saves the totals and the number of the checkpoint in one file, which is replaced whole or not at
    /// all.
    pub(crate) fn save(&self, folder: &Path, checkpoint: u64) -> Result<(), Error> {
        let mut file = NamedTempFile::new_in(folder)?;
        writeln!(file, "{checkpoint}")?;
        for (customer, Total { orders, amount }) in &self.0 {
            writeln!(file, "{customer} {orders} {amount}")?;
        }
        file.as_file().sync_all()?;
        file.persist(folder.join(NAME))?;
        Ok(File::open(folder)?.sync_all()?)
    }

    /// The newest saved totals and the checkpoint that belongs to them, if any were ever saved.
    pub(crate) fn load(folder: &Path) -> Result<Option<(Self, u64)>, Error> {
        let text = match fs::read_to_string(folder.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let mut lines = text.lines();
        let checkpoint = lines.next().unwrap_or_default().parse()?;
        let mut sums = Self::default();
        for line in lines {
            let [customer, orders, amount] = line.split(' ').collect::<Vec<_>>()[..] else {
                return Err(format!("not a total: {line:?}").into());
            };
            let total = Total { orders: orders.parse()?, amount: amount.parse()? };
            sums.0.insert(customer.to_owned(), total);
        }
        Ok(Some((sums, checkpoint)))
    }
}
