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

    /// The two sections of a filter.
    pub(super) fn with_body<'a>(&self, index: u16, words: &'a [u64]) -> Vec<Section<'a>> {
        let params = Section::small(SectionType::Params, index, self.encode());
        vec![params, Section::body(index, words)]
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

/// Writes and reads a filter of the kind as its parameters and its words.
///
/// The first closure says what the fields of [`Params`] hold, and the second puts the filter together
/// from them and its words.
macro_rules! persist {
    (
        $filter:ident, $kind:ident, $expected:literal,
        |$this:ident| {
            per_key: $per_key:expr,
            counter_bits: $bits:expr,
            first: $first:expr,
            second: $second:expr
        },
        |$params:ident, $words:ident| $from_parts:expr
    ) => {
        impl<S: AsRef<[u64]>> Encode for $filter<S> {
            fn kind(&self) -> Kind {
                Kind::$kind
            }

            fn identity(&self) -> HashIdentity {
                self.settings().seed.identity()
            }

            fn encode(&self, index: u16) -> Vec<Section<'_>> {
                let $this = self;
                let params = Params {
                    kind: Kind::$kind,
                    settings: self.settings().clone(),
                    per_key: $per_key,
                    counter_bits: $bits,
                    first: $first,
                    second: $second,
                };
                params.with_body(index, self.words())
            }
        }

        impl<S: AsRef<[u64]>> Decode<S> for $filter<S> {
            const KINDS: &'static [Kind] = &[Kind::$kind];
            const EXPECTED: &'static str = $expected;

            fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
                Self::from_params(Params::take(sections, index)?, sections.take_words(index)?)
            }

            fn check_body(&self) -> Result<(), DecodeError> {
                Ok(self.check_counts()?)
            }
        }

        impl<S: AsRef<[u64]>> $filter<S> {
            pub(crate) fn from_params($params: Params, $words: S) -> Result<Self, DecodeError> {
                $params.require(Kind::$kind, Self::EXPECTED)?;
                Ok($from_parts?)
            }
        }
    };
    // A kind without counters, by what `per_key` and `first` are called in it.
    ($filter:ident, $kind:ident, $expected:literal, $per_key:ident, $first:ident) => {
        persist!(
            $filter, $kind, $expected,
            |this| { per_key: this.$per_key(), counter_bits: 0, first: this.$first(), second: 0 },
            |params, words| {
                params.require_no_counters()?;
                Self::from_parts(params.settings, words, params.per_key, params.first)
            }
        );
    };
}

persist!(BloomFilter, Bloom, "a Bloom filter", num_probes, ones);
persist!(BlockedBloomFilter, Blocked, "a blocked Bloom filter", num_probes, ones);
persist!(WordBloomFilter, Word, "a word-blocked Bloom filter", num_probes, ones);
persist!(CuckooFilter, Cuckoo, "a cuckoo filter", fingerprint_bits, buckets);
persist!(
    CountingBloomFilter, Counting, "a counting Bloom filter",
    |this| {
        per_key: this.num_probes(),
        counter_bits: this.counter_bits(),
        first: this.used(),
        second: this.saturated()
    },
    |params, words| {
        let counts = (params.first, params.second);
        Self::from_parts(params.settings, words, params.counter_bits, params.per_key, counts)
    }
);
