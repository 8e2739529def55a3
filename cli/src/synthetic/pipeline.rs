//! Pieces of text made by several threads and written in order.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::trouble::Trouble;

/// Pieces of each thread that wait to be written.
const WAITING: usize = 2;

/// Makes the pieces from 0 on with so many threads, and hands them to `write` in order. `make`
/// appends a piece to a buffer and says how many rows it has; the sum is returned.
///
/// # Errors
///
/// What `write` returns; then the threads stop.
pub(super) fn run(
    pieces: u64,
    threads: usize,
    make: impl Fn(u64, &mut Vec<u8>) -> u64 + Sync,
    mut write: impl FnMut(&[u8]) -> Result<(), Trouble>,
) -> Result<u64, Trouble> {
    type Made = (Vec<u8>, u64);
    let threads = threads.max(1);
    thread::scope(|scope| {
        let mut made: Vec<(Receiver<Made>, Sender<Vec<u8>>)> = Vec::new();
        for first in 0..threads {
            let (out, waiting): (SyncSender<Made>, _) = sync_channel(WAITING);
            let (emptied, returning) = channel::<Vec<u8>>();
            let make = &make;
            scope.spawn(move || {
                for piece in (first as u64..pieces).step_by(threads) {
                    let mut text = returning.try_recv().unwrap_or_default();
                    text.clear();
                    let rows = make(piece, &mut text);
                    // Nobody waits for it if writing has failed.
                    if out.send((text, rows)).is_err() {
                        return;
                    }
                }
            });
            made.push((waiting, emptied));
        }
        let mut rows = 0;
        for (waiting, emptied) in made.iter().cycle() {
            // A thread that has no more ends all: the next piece is past the last one.
            let Ok((text, more)) = waiting.recv() else { break };
            rows += more;
            write(&text)?;
            // It may have made its last piece.
            let _ = emptied.send(text);
        }
        Ok(rows)
    })
}
