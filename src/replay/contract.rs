//! What the windows of a stream share, whatever they are made of.

use crate::filter::RetiringCuckooFilter;
use crate::membership::Insert;

/// A filter that forgets by age: an [`Insert`] whose keys live in numbered epochs, the oldest of which
/// it drops.
///
/// Its check-and-insert is [`insert_unique_hash`](Insert::insert_unique_hash). [`Seen::Never`] is
/// certain for what was not seen since the [`horizon`](Self::horizon).
///
/// | | [`GenerationWindow`](super::GenerationWindow) | [`RetiringCuckooFilter`] |
/// |---|---|---|
/// | made of | any filter, twice | one table |
/// | remembers beyond the guarantee, at most | as much again | 1 / (epochs − 1) of it |
/// | bits per guaranteed tuple at 0.1 % | 30.8 (Bloom) | 19.2 (15 epochs) |
/// | dropping an epoch | clears memory | moves a mark |
///
/// [`Seen::Never`]: crate::Seen::Never
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
/// use hapax::replay::{GenerationWindow, Window};
///
/// let bloom = BloomFilter::builder().capacity(1_400).false_positive_rate(0.001);
/// let cuckoo = RetiringCuckooFilter::builder().window(1_400, 15).false_positive_rate(0.001);
/// let windows: [Box<dyn Window>; 2] =
///     [Box::new(GenerationWindow::new(&bloom)?), Box::new(cuckoo.build()?)];
/// for mut window in windows {
///     assert_eq!(window.guaranteed(), 1_400);
///     for id in 0..100_000u64 {
///         let _ = window.insert_unique(&id)?;
///     }
///     assert!(window.contains(&98_600u64)?);
///     assert!(window.horizon() > 0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Window: Insert {
    /// The number of the epoch that is being filled; the first is 0.
    #[must_use]
    fn epoch(&self) -> u64;

    /// The oldest epoch of which nothing is forgotten.
    #[must_use]
    fn horizon(&self) -> u64;

    /// Keys that are remembered at least while epochs end by count: a key is found for so many
    /// first sightings after its own.
    #[must_use]
    fn guaranteed(&self) -> u64;

    /// Ends the current epoch and begins the next; the oldest is dropped if there are as many as
    /// the window keeps.
    fn advance(&mut self);
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Window for RetiringCuckooFilter<S> {
    fn epoch(&self) -> u64 {
        self.current_epoch()
    }

    fn horizon(&self) -> u64 {
        self.oldest_epoch()
    }

    fn guaranteed(&self) -> u64 {
        self.guaranteed()
    }

    fn advance(&mut self) {
        self.advance_epoch();
    }
}
