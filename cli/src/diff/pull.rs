//! Rows of a list, one by one and in order, from a thread that reads them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use hapax::screen::PasswordDigest;

use crate::lists::{self, OpenList, Reading, Rows};
use crate::rows::Entry;
use crate::trouble::Trouble;

/// Batches under way.
const BATCHES: usize = 4;

/// The rows of one list, each with a higher hash than the one before.
pub(super) struct Pull<'scope> {
    arriving: Receiver<Vec<Entry>>,
    rows: std::vec::IntoIter<Entry>,
    /// Taken when all rows have come, to ask whether that was the end of the list.
    reader: Option<ScopedJoinHandle<'scope, Result<PasswordDigest, Trouble>>>,
    digest: Option<PasswordDigest>,
    digests: Receiver<PasswordDigest>,
}

impl<'scope> Pull<'scope> {
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        list: OpenList,
        reading: Reading,
        progress: &'env (dyn Fn(u64) + Sync),
    ) -> Self {
        let (send, arriving) = sync_channel(BATCHES);
        let (send_digest, digests) = sync_channel(1);
        let reader = scope.spawn(move || read(list, reading, progress, &send, &send_digest));
        Self { arriving, rows: Vec::new().into_iter(), reader: Some(reader), digest: None, digests }
    }

    /// The hash that the list is made of, once a row was read.
    pub(super) fn digest(&mut self) -> Option<PasswordDigest> {
        self.digest = self.digest.or_else(|| self.digests.try_recv().ok());
        self.digest
    }

    /// The next row; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Trouble> {
        loop {
            if let Some(entry) = self.rows.next() {
                return Ok(Some(entry));
            }
            if let Ok(rows) = self.arriving.recv() {
                self.rows = rows.into_iter();
                continue;
            }
            let Some(reader) = self.reader.take() else { return Ok(None) };
            reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
    }
}

/// Reads a list, makes sure of its order, and sends its rows.
fn read(
    list: OpenList,
    reading: Reading,
    progress: &(dyn Fn(u64) + Sync),
    send: &SyncSender<Vec<Entry>>,
    send_digest: &SyncSender<PasswordDigest>,
) -> Result<PasswordDigest, Trouble> {
    let mut last: Option<Entry> = None;
    let read = lists::read_all(vec![list], reading, &|bytes| progress(bytes), |rows| {
        if last.is_none() {
            // There is room for one, and it is the first.
            let _ = send_digest.send(rows.digest);
        }
        let mut entries = Vec::with_capacity(rows.batch.len());
        for row in rows.batch.rows() {
            let entry = Entry::of(row);
            if let Some(last) = last
                && (last.hash, last.tail) >= (entry.hash, entry.tail)
            {
                return Err(out_of_order(rows, &last, &entry, row.number, row.offset));
            }
            last = Some(entry);
            entries.push(entry);
        }
        // If nobody wants them, the comparison has failed elsewhere.
        send.send(entries).map_err(|_| Trouble::new("the comparison was given up"))
    })?;
    Ok(read.digest)
}

fn out_of_order(rows: Rows<'_>, last: &Entry, entry: &Entry, number: u64, offset: u64) -> Trouble {
    let name = rows.name;
    let what = if last.is_same_hash(entry) {
        "has the same hash as the row before: hapax convert --dedup max makes one of them"
    } else {
        "is not sorted by hash, and only sorted lists can be compared: hapax convert --sort hash \
         sorts them"
    };
    Trouble::new(format_args!("{name}: row {number} at byte {offset} {what}"))
}
