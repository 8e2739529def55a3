//! Three sinks in a real database, fed by an upstream that replays: which of them need to tell
//! replays, and how.
//!
//! `cargo run --release -p sqlite_sink`
//!
//! | sink | what tells replays |
//! |---|---|
//! | `balances`: the newest balance by account, overwritten | nothing: a repeat writes the same |
//! | `totals` in one transaction with `processed` | the unique key of `processed`, at one lookup a tuple |
//! | `totals` behind a guard, `processed` to confirm hits | the filter, and the table for the few hits |
//!
//! The last two keep every id. The filter spares the lookups: most tuples are new, and of a new tuple
//! the filter is certain.

use hapax::replay::{
    Admitted, Confirm, Delivery, DropReplaysExt, OnFull, OnProbable, Placement, ReplayGuard,
    Verdict,
};
use rusqlite::{Connection, OptionalExtension, params};

type Failure = Box<dyn std::error::Error>;

/// Tuples of the stream, and how many of them upstream sends again after each failure.
const TUPLES: i64 = 200_000;
const FAILURE_EVERY: usize = 20_000;
const REPLAYED: usize = 1_500;

const ACCOUNTS: i64 = 100;

/// A change to an account: its id, the amount, and the balance after it.
#[derive(Clone, Copy, Debug)]
struct Change {
    id: i64,
    account: i64,
    amount: i64,
    balance: i64,
}

/// The stream as it arrives: after each failure the last tuples come again.
fn deliveries() -> impl Iterator<Item = (Change, bool)> {
    let mut balances = vec![0i64; ACCOUNTS as usize];
    let changes: Vec<_> = (0..TUPLES)
        .map(|id| {
            let account = id * 7_919 % ACCOUNTS;
            let amount = id % 199 - 99;
            let balance = &mut balances[account as usize];
            *balance += amount;
            Change { id, account, amount, balance: *balance }
        })
        .collect();
    let mut arrivals = Vec::new();
    for (sent, change) in changes.iter().enumerate() {
        arrivals.push((*change, false));
        if (sent + 1).is_multiple_of(FAILURE_EVERY) {
            let again = &changes[sent + 1 - REPLAYED..=sent];
            arrivals.extend(again.iter().map(|change| (*change, true)));
        }
    }
    arrivals.into_iter()
}

fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let database = Connection::open(folder.path().join("sink.db"))?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = NORMAL;
         CREATE TABLE balances (account INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
         CREATE TABLE totals (account INTEGER PRIMARY KEY, total INTEGER NOT NULL);
         CREATE TABLE processed (id INTEGER PRIMARY KEY);",
    )?;
    overwrite(&database)?;
    let expected = column(&database, "SELECT balance FROM balances ORDER BY account")?;

    let lookups = transaction(&database)?;
    let found = column(&database, "SELECT total FROM totals ORDER BY account")?;
    println!("unique key:   exact {}, {lookups} lookups", found == expected);
    let exact = found == expected;

    database.execute_batch("DELETE FROM totals; DELETE FROM processed;")?;
    let lookups = guarded(&database)?;
    let found = column(&database, "SELECT total FROM totals ORDER BY account")?;
    println!("guard:        exact {}, {lookups} lookups", found == expected);
    if exact && found == expected { Ok(()) } else { Err("a replay had an effect".into()) }
}

fn column(database: &Connection, query: &str) -> Result<Vec<i64>, Failure> {
    let mut statement = database.prepare(query)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// An update in place: whatever comes twice is written twice, and nothing else happens.
fn overwrite(database: &Connection) -> Result<(), Failure> {
    let mut current = vec![0i64; ACCOUNTS as usize];
    let transaction = database.unchecked_transaction()?;
    let mut upsert = transaction.prepare(
        "INSERT INTO balances VALUES (?1, ?2)
         ON CONFLICT (account) DO UPDATE SET balance = excluded.balance",
    )?;
    for (change, _) in deliveries() {
        upsert.execute(params![change.account, change.balance])?;
        if let Some(balance) = current.get_mut(change.account as usize) {
            *balance = change.balance;
        }
    }
    drop(upsert);
    transaction.commit()?;
    let found = column(database, "SELECT balance FROM balances ORDER BY account")?;
    println!("overwriting:  exact {}, no lookups and no filter", found == current);
    Ok(())
}

/// The effect of a tuple and its id in one transaction. Gives the number of lookups of ids.
fn transaction(database: &Connection) -> Result<u64, Failure> {
    let mut lookups = 0;
    let transaction = database.unchecked_transaction()?;
    let mut remember = transaction.prepare("INSERT OR IGNORE INTO processed VALUES (?1)")?;
    for (change, _) in deliveries() {
        lookups += 1;
        if remember.execute([change.id])? == 1 {
            add(&transaction, &change)?;
        }
    }
    drop(remember);
    transaction.commit()?;
    Ok(lookups)
}

fn add(database: &Connection, change: &Change) -> Result<(), Failure> {
    database
        .prepare_cached(
            "INSERT INTO totals VALUES (?1, ?2)
             ON CONFLICT (account) DO UPDATE SET total = total + excluded.total",
        )?
        .execute(params![change.account, change.amount])?;
    Ok(())
}

/// The table of processed ids, asked for hits only.
struct Processed<'a> {
    database: &'a Connection,
    lookups: u64,
}

impl Confirm<i64> for Processed<'_> {
    type Error = rusqlite::Error;

    fn is_processed(&mut self, id: &i64) -> Result<bool, rusqlite::Error> {
        self.lookups += 1;
        let mut query = self.database.prepare_cached("SELECT 1 FROM processed WHERE id = ?1")?;
        Ok(query.query_row([id], |_| Ok(())).optional()?.is_some())
    }
}

/// The same behind a guard. Gives the number of lookups of ids.
///
/// The rate is high on purpose, 1 %, so that false positives occur: the table tells them.
fn guarded(database: &Connection) -> Result<u64, Failure> {
    let mut guard = ReplayGuard::builder(Placement::AfterOutput)
        .window(100_000)
        .max_in_flight(1_000)
        .always_on(0.01, 1)
        .on_probable(OnProbable::Confirm)
        .on_full(OnFull::Rotate)
        .build()?;
    let mut processed = Processed { database, lookups: 0 };
    let transaction = database.unchecked_transaction()?;
    let mut remember = transaction.prepare("INSERT INTO processed VALUES (?1)")?;
    let mut effect = |change: &Change| -> Result<(), Failure> {
        // It was not there: the unique key would refuse it otherwise, and the whole example fail.
        remember.execute([change.id])?;
        add(&transaction, change)
    };

    // One by one, with the store at hand.
    let mut arrivals = deliveries();
    for (change, redelivered) in arrivals.by_ref().take(TUPLES as usize / 2) {
        let delivery = Delivery::redelivered(redelivered);
        let verdict = guard.admit_confirmed(&mut processed, &change.id, &change.id, delivery)?;
        if let Verdict::First(ticket) = verdict {
            effect(&change)?;
            ticket.commit();
        }
    }
    // The rest as an iterator, which leaves hits to whoever consumes it.
    for admitted in arrivals.drop_replays(&mut guard, |(change, _)| change.id) {
        let (change, ticket) = match admitted? {
            Admitted::First((change, _), ticket) => (change, ticket),
            Admitted::Unconfirmed((change, _), hit) if processed.is_processed(&change.id)? => {
                hit.is_replay();
                continue;
            }
            Admitted::Unconfirmed((change, _), hit) => (change, hit.is_new()),
            Admitted::Diverted(..) | Admitted::InFlight(_) => continue,
        };
        effect(&change)?;
        ticket.commit();
    }
    drop(remember);
    transaction.commit()?;
    let counts = guard.snapshot().counts;
    println!(
        "              {} new, {} replays confirmed, {} false positives refuted",
        counts.committed, counts.confirmed_replay, counts.confirmed_false_positive
    );
    Ok(processed.lookups)
}
