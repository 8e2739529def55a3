//! The saved state of a replay filter: its window and its accounts in one file.

use super::filter::{Counts, ReplayFilter};
use crate::codec::{
    Decode, DecodeError, Encode, Fields, Kind, Section, SectionType, Sections, invalid,
};
use crate::hash::HashIdentity;
use crate::membership::Insert;

/// `filter.save(path)` is the checkpoint and `ReplayFilter::load(path)` the restore, from
/// [`Persist`](crate::codec::Persist). A file that does not verify is an error, never an empty
/// filter.
///
/// ```
/// use hapax::prelude::*;
/// use hapax::replay::{GenerationWindow, ReplayFilter};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state");
/// let builder = BloomFilter::builder().capacity(1_000).false_positive_rate(1e-6);
/// let mut filter = ReplayFilter::new(GenerationWindow::new(&builder)?);
/// assert_eq!(filter.admit("order 17")?, Seen::Never);
/// filter.save(&path)?;
///
/// let mut restored = ReplayFilter::<GenerationWindow<BloomFilter>>::load(&path)?;
/// assert_eq!(restored.counts().passed, 1);
/// assert_eq!(restored.admit("order 17")?, Seen::Maybe);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<W: Encode + Insert> Encode for ReplayFilter<W> {
    fn kind(&self) -> Kind {
        Kind::Replay
    }

    fn identity(&self) -> HashIdentity {
        self.window().identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let Counts { passed, dropped, estimated_lost } = self.counts();
        let mut counts = Vec::with_capacity(24);
        for word in [passed, dropped, estimated_lost.to_bits()] {
            counts.extend_from_slice(&word.to_le_bytes());
        }
        let mut sections = self.window().encode(index);
        sections.push(Section::small(SectionType::Counts, index, counts));
        sections
    }
}

impl<S, W: Decode<S> + Insert> Decode<S> for ReplayFilter<W> {
    const KINDS: &'static [Kind] = &[Kind::Replay];
    const EXPECTED: &'static str = "the state of a replay filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        let window = W::decode(sections, index)?;
        let counts = sections.take_small(SectionType::Counts, index)?;
        let mut fields = Fields::new("counts", &counts);
        let (passed, dropped, estimated_lost) = (fields.u64()?, fields.u64()?, fields.f64()?);
        fields.finish()?;
        // One content has one form: no negative zero.
        if !(estimated_lost.is_sign_positive() && estimated_lost.is_finite()) {
            return Err(invalid("estimate of lost tuples", "0 or more", estimated_lost));
        }
        Ok(Self::with_counts(window, Counts::new(passed, dropped, estimated_lost)))
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        self.window().check_body()
    }
}
