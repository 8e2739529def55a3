//! Iterators and streams without replays.

mod replays;
#[cfg(feature = "stream")]
mod stream;
mod unique;

pub use replays::{Admitted, DropReplays, DropReplaysExt, NotAdmitted};
#[cfg(feature = "stream")]
pub use stream::{DropReplaysStream, DropReplaysStreamExt};
pub use unique::{Refused, UniqueWithin, UniqueWithinExt};
