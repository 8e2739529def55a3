//! Inserting many keys one after the other, their memory asked for ahead.

use crate::hash::KeyHash;
use crate::membership::{BatchError, Insert, Seen, check_lengths};

/// Keys between asking for a key's lines and changing them. A key has several lines, and a core has
/// 10 to 22 misses in flight.
const AHEAD: usize = 8;

/// [`Insert::insert_batch`] by inserts one by one; if `ahead`, `fetch` is called for each key some
/// keys before, to ask for its memory.
///
/// An insert in the middle may be refused, so nothing is done for a key before its turn.
pub(super) fn insert_ahead<F: Insert>(
    filter: &mut F,
    ahead: bool,
    hashes: &[KeyHash],
    seen: &mut [Seen],
    fetch: impl Fn(KeyHash),
) -> Result<(), BatchError> {
    check_lengths(hashes.len(), seen.len())?;
    if ahead {
        hashes.iter().take(AHEAD).for_each(|hash| fetch(*hash));
    }
    for (inserted, (hash, seen)) in hashes.iter().zip(seen).enumerate() {
        if ahead && let Some(later) = hashes.get(inserted + AHEAD) {
            fetch(*later);
        }
        *seen = filter.insert_hash(*hash).map_err(|cause| BatchError::Full { inserted, cause })?;
    }
    Ok(())
}
