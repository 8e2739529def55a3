//! Parameters and body of each filter, as a pair of sections.

use super::artefact::{Decode, Encode};
use super::error::DecodeError;
use super::header::{Kind, SectionType, invalid};
use super::reader::{Fields, Sections};
use super::writer::Section;
use crate::filter::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, PastCapacity, Settings,
    WordBloomFilter,
};
use crate::hash::{HashIdentity, Salt, Seed};

/// Bytes of the parameter section, the same for every kind.
pub(super) const PARAMS_LEN: u64 = 64;

/// The parameter section.
pub(crate) struct Params {
    pub(crate) kind: Kind,
    pub(super) settings: Settings,
    /// Probes, or bits in a fingerprint.
    pub(super) per_key: u32,
    /// Or bits in the tag of a slot.
    pub(super) counter_bits: u32,
    /// Set bits, counters in use, or buckets.
    pub(super) first: u64,
    /// Saturated counters.
    pub(super) second: u64,
}

impl Params {
    pub(super) fn encode(&self) -> Vec<u8> {
        let policy = match self.settings.past_capacity {
            PastCapacity::Refuse => 0,
            PastCapacity::Degrade => 1,
        };
        let mut out = Vec::with_capacity(PARAMS_LEN as usize);
        out.extend_from_slice(&self.kind.code().to_le_bytes());
        out.extend_from_slice(&[policy, 0]);
        out.extend_from_slice(&self.per_key.to_le_bytes());
        out.extend_from_slice(&self.counter_bits.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        let words = [
            self.settings.salt.value(),
            self.settings.capacity,
            self.settings.len,
            self.first,
            self.second,
            0,
        ];
        for word in words {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// Takes the section of a filter.
    pub(crate) fn take<S>(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        let bytes = sections.take_small(SectionType::Params, index)?;
        Self::decode(&bytes, sections)
    }

    fn decode<S>(bytes: &[u8], sections: &Sections<S>) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("parameters", bytes);
        let kind = Kind::from_code(fields.u16()?.into())?;
        if sections.kind().is_filter() && sections.kind() != kind {
            return Err(invalid("kind in the parameters", sections.kind().to_string(), kind));
        }
        let past_capacity = match fields.u8()? {
            0 => PastCapacity::Refuse,
            1 => PastCapacity::Degrade,
            found => return Err(invalid("policy past the capacity", "0 or 1", found)),
        };
        fields.reserved(1)?;
        let per_key = fields.u32()?;
        let counter_bits = fields.u32()?;
        fields.reserved(4)?;
        let settings = Settings {
            seed: Seed::from_identity(sections.identity()),
            salt: Salt::new(fields.u64()?),
            capacity: fields.u64()?,
            past_capacity,
            len: fields.u64()?,
        };
        let (first, second) = (fields.u64()?, fields.u64()?);
        fields.reserved(8)?;
        fields.finish()?;
        if settings.capacity == 0 {
            return Err(invalid("capacity", "1 or more", 0));
        }
        Ok(Self { kind, settings, per_key, counter_bits, first, second })
    }

    /// Checks that the filters of two indices were built alike, as the generations of a window are.
    pub(crate) fn require_alike<S: AsRef<[u64]>>(
        sections: &Sections<S>,
        first: u16,
        second: u16,
    ) -> Result<(), DecodeError> {
        let shape = |index| -> Result<String, DecodeError> {
            let params = Self::decode(sections.peek_small(SectionType::Params, index)?, sections)?;
            Ok(params.shape(sections.peek_words(index)?.as_ref().len()))
        };
        let (expected, found) = (shape(first)?, shape(second)?);
        if expected == found {
            return Ok(());
        }
        Err(invalid("generations, which must be built alike", expected, found))
    }

    /// What two filters that were built alike agree on, as a text to compare and to show.
    fn shape(&self, words: usize) -> String {
        let Settings { capacity, past_capacity, .. } = &self.settings;
        let (kind, per_key, counter_bits) = (self.kind, self.per_key, self.counter_bits);
        let has_buckets = matches!(kind, Kind::Cuckoo | Kind::Retiring);
        let buckets = if has_buckets { self.first } else { 0 };
        format!(
            "{kind} for {capacity} keys ({past_capacity:?}; {per_key}, {counter_bits}, {buckets}; \
             {words} words)"
        )
    }

    pub(super) fn require(&self, kind: Kind, expected: &'static str) -> Result<(), DecodeError> {
        if self.kind == kind {
            return Ok(());
        }
        Err(DecodeError::WrongKind { expected, found: self.kind })
    }

    /// Checks that the fields of counting filters are 0 in a filter of another kind.
    pub(super) fn require_no_counters(&self) -> Result<(), DecodeError> {
        if self.counter_bits == 0 && self.second == 0 {
            return Ok(());
        }
        Err(DecodeError::Reserved { part: "parameters" })
    }
}

pub(super) fn pair<'a>(params: &Params, index: u16, words: &'a [u64]) -> Vec<Section<'a>> {
    vec![Section::small(SectionType::Params, index, params.encode()), Section::body(index, words)]
}

impl<S: AsRef<[u64]>> Encode for BloomFilter<S> {
    fn kind(&self) -> Kind {
        Kind::Bloom
    }

    fn identity(&self) -> HashIdentity {
        self.settings().seed.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let params = Params {
            kind: Kind::Bloom,
            settings: self.settings().clone(),
            per_key: self.num_probes(),
            counter_bits: 0,
            first: self.ones(),
            second: 0,
        };
        pair(&params, index, self.words())
    }
}

impl<S: AsRef<[u64]>> Decode<S> for BloomFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::Bloom];
    const EXPECTED: &'static str = "a Bloom filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(Params::take(sections, index)?, sections.take_words(index)?)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_counts()?)
    }
}

impl<S: AsRef<[u64]>> BloomFilter<S> {
    pub(crate) fn from_params(params: Params, words: S) -> Result<Self, DecodeError> {
        params.require(Kind::Bloom, Self::EXPECTED)?;
        params.require_no_counters()?;
        Ok(Self::from_parts(params.settings, words, params.per_key, params.first)?)
    }
}

impl<S: AsRef<[u64]>> Encode for CountingBloomFilter<S> {
    fn kind(&self) -> Kind {
        Kind::Counting
    }

    fn identity(&self) -> HashIdentity {
        self.settings().seed.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let params = Params {
            kind: Kind::Counting,
            settings: self.settings().clone(),
            per_key: self.num_probes(),
            counter_bits: self.counter_bits(),
            first: self.used(),
            second: self.saturated(),
        };
        pair(&params, index, self.words())
    }
}

impl<S: AsRef<[u64]>> Decode<S> for CountingBloomFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::Counting];
    const EXPECTED: &'static str = "a counting Bloom filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(Params::take(sections, index)?, sections.take_words(index)?)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_counts()?)
    }
}

impl<S: AsRef<[u64]>> CountingBloomFilter<S> {
    pub(crate) fn from_params(params: Params, words: S) -> Result<Self, DecodeError> {
        params.require(Kind::Counting, Self::EXPECTED)?;
        let counts = (params.first, params.second);
        let (bits, probes) = (params.counter_bits, params.per_key);
        Ok(Self::from_parts(params.settings, words, bits, probes, counts)?)
    }
}

impl<S: AsRef<[u64]>> Encode for CuckooFilter<S> {
    fn kind(&self) -> Kind {
        Kind::Cuckoo
    }

    fn identity(&self) -> HashIdentity {
        self.settings().seed.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let params = Params {
            kind: Kind::Cuckoo,
            settings: self.settings().clone(),
            per_key: self.fingerprint_bits(),
            counter_bits: 0,
            first: self.buckets(),
            second: 0,
        };
        pair(&params, index, self.words())
    }
}

impl<S: AsRef<[u64]>> Decode<S> for CuckooFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::Cuckoo];
    const EXPECTED: &'static str = "a cuckoo filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(Params::take(sections, index)?, sections.take_words(index)?)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_counts()?)
    }
}

impl<S: AsRef<[u64]>> CuckooFilter<S> {
    pub(crate) fn from_params(params: Params, words: S) -> Result<Self, DecodeError> {
        params.require(Kind::Cuckoo, Self::EXPECTED)?;
        params.require_no_counters()?;
        Ok(Self::from_parts(params.settings, words, params.per_key, params.first)?)
    }
}

impl<S: AsRef<[u64]>> Encode for BlockedBloomFilter<S> {
    fn kind(&self) -> Kind {
        Kind::Blocked
    }

    fn identity(&self) -> HashIdentity {
        self.settings().seed.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let params = Params {
            kind: Kind::Blocked,
            settings: self.settings().clone(),
            per_key: self.num_probes(),
            counter_bits: 0,
            first: self.ones(),
            second: 0,
        };
        pair(&params, index, self.words())
    }
}

impl<S: AsRef<[u64]>> Decode<S> for BlockedBloomFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::Blocked];
    const EXPECTED: &'static str = "a blocked Bloom filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(Params::take(sections, index)?, sections.take_words(index)?)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_counts()?)
    }
}

impl<S: AsRef<[u64]>> BlockedBloomFilter<S> {
    pub(crate) fn from_params(params: Params, words: S) -> Result<Self, DecodeError> {
        params.require(Kind::Blocked, Self::EXPECTED)?;
        params.require_no_counters()?;
        Ok(Self::from_parts(params.settings, words, params.per_key, params.first)?)
    }
}

impl<S: AsRef<[u64]>> Encode for WordBloomFilter<S> {
    fn kind(&self) -> Kind {
        Kind::Word
    }

    fn identity(&self) -> HashIdentity {
        self.settings().seed.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let params = Params {
            kind: Kind::Word,
            settings: self.settings().clone(),
            per_key: self.num_probes(),
            counter_bits: 0,
            first: self.ones(),
            second: 0,
        };
        pair(&params, index, self.words())
    }
}

impl<S: AsRef<[u64]>> Decode<S> for WordBloomFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::Word];
    const EXPECTED: &'static str = "a word-blocked Bloom filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(Params::take(sections, index)?, sections.take_words(index)?)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_counts()?)
    }
}

impl<S: AsRef<[u64]>> WordBloomFilter<S> {
    pub(crate) fn from_params(params: Params, words: S) -> Result<Self, DecodeError> {
        params.require(Kind::Word, Self::EXPECTED)?;
        params.require_no_counters()?;
        Ok(Self::from_parts(params.settings, words, params.per_key, params.first)?)
    }
}
