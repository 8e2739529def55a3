//! Sections of a retiring cuckoo filter: parameters, body, and its epochs.

use super::artefact::{Decode, Encode};
use super::error::DecodeError;
use super::filters::Params;
use super::header::{Kind, SectionType, invalid};
use super::reader::{Fields, Sections};
use super::writer::Section;
use crate::filter::{Advance, Epochs, OnHit, RetiringCuckooFilter};
use crate::hash::HashIdentity;

/// Bytes before the counts.
const FIXED_LEN: usize = 32;

impl<S: AsRef<[u64]>> Encode for RetiringCuckooFilter<S> {
    fn kind(&self) -> Kind {
        Kind::Retiring
    }

    fn identity(&self) -> HashIdentity {
        self.settings().seed.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let params = Params {
            kind: Kind::Retiring,
            settings: self.settings().clone(),
            per_key: self.fingerprint_bits(),
            counter_bits: self.tag_bits(),
            first: self.buckets(),
            second: 0,
        };
        let mut sections = params.with_body(index, self.words());
        let epochs = self.epochs_state();
        let mut state = Vec::with_capacity(FIXED_LEN + 8 * epochs.counts.len());
        for word in [epochs.current, epochs.oldest, epochs.swept] {
            state.extend_from_slice(&word.to_le_bytes());
        }
        state.extend_from_slice(&epochs.most.to_le_bytes());
        let advance = match self.advances() {
            Advance::ByCall => 0,
            Advance::ByCount => 1,
        };
        let on_hit = match self.on_hit() {
            OnHit::Keep => 0,
            OnHit::Refresh => 1,
        };
        state.extend_from_slice(&[advance, on_hit, 0, 0]);
        for count in &epochs.counts {
            state.extend_from_slice(&count.to_le_bytes());
        }
        sections.push(Section::small(SectionType::Epochs, index, state));
        sections
    }
}

impl<S: AsRef<[u64]>> Decode<S> for RetiringCuckooFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::Retiring];
    const EXPECTED: &'static str = "a retiring cuckoo filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        let params = Params::take(sections, index)?;
        let words = sections.take_words(index)?;
        Self::from_params(params, words, &sections.take_small(SectionType::Epochs, index)?)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_counts()?)
    }
}

impl<S: AsRef<[u64]>> RetiringCuckooFilter<S> {
    pub(crate) fn from_params(params: Params, words: S, state: &[u8]) -> Result<Self, DecodeError> {
        params.require(Kind::Retiring, Self::EXPECTED)?;
        if params.second != 0 {
            return Err(DecodeError::Reserved { part: "parameters" });
        }
        let mut fields = Fields::new("epochs", state);
        let (current, oldest, swept) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let most = fields.u32()?;
        let advance = match fields.u8()? {
            0 => Advance::ByCall,
            1 => Advance::ByCount,
            found => return Err(invalid("way to advance", "0 or 1", found)),
        };
        let on_hit = match fields.u8()? {
            0 => OnHit::Keep,
            1 => OnHit::Refresh,
            found => return Err(invalid("effect of a hit", "0 or 1", found)),
        };
        fields.reserved(2)?;
        // As many as there are bytes for; their number is compared with the tags.
        let counts = 0..state.len().saturating_sub(FIXED_LEN) / 8;
        let counts = counts.map(|_| fields.u64()).collect::<Result<_, _>>()?;
        fields.finish()?;
        let epochs = Epochs { most, current, oldest, swept, counts };
        let widths = (params.per_key, params.counter_bits);
        let (settings, buckets) = (params.settings, params.first);
        Ok(Self::from_parts(settings, words, widths, buckets, epochs, (advance, on_hit))?)
    }
}
