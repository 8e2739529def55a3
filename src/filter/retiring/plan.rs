//! Options and shape.

use super::{Epochs, RetiringCuckooFilter};
use crate::error::BuildError;
use crate::filter::buckets::Sizes;
use crate::filter::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use crate::math::cuckoo::MAX_LOAD;
use crate::math::retiring::{
    MAX_EPOCHS, MAX_SLOT_BITS, capacity_for, load_at_rate, min_fingerprint_bits, rate_at_load,
    tag_bits,
};
use crate::store::{TaggedSlots, Words, words_for};

/// When the next epoch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advance {
    /// When [`advance_epoch`](RetiringCuckooFilter::advance_epoch) is called: on a clock, or at a
    /// checkpoint. A filter whose live epochs are full refuses. The default.
    #[default]
    ByCall,
    /// Also by itself when an epoch has its share of the capacity, capacity / epochs: a window of the
    /// last tuples, which never refuses for its capacity.
    ByCount,
}

/// What a hit does to the slot that it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum OnHit {
    /// Nothing: a tuple is remembered from its first sighting on.
    #[default]
    Keep,
    /// Its life begins anew.
    Refresh,
}

/// Options of the builder.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct RetiringOptions {
    epochs: u32,
    fingerprint_bits: Option<u32>,
    load_percent: u32,
    advance: Advance,
    on_hit: OnHit,
}

/// Live epochs unless something else is asked for: tags of 4 bits, and a fifteenth of the window as
/// slack.
const DEFAULT_EPOCHS: u32 = 15;

/// The percentages of the slots that can be asked to be filled at most.
const LEAST_PERCENT: u32 = 50;
const MOST_PERCENT: u32 = (MAX_LOAD * 100.0) as u32;

impl Default for RetiringOptions {
    fn default() -> Self {
        Self {
            epochs: DEFAULT_EPOCHS,
            fingerprint_bits: None,
            load_percent: MOST_PERCENT,
            advance: Advance::default(),
            on_hit: OnHit::default(),
        }
    }
}

impl Builder<RetiringCuckooFilter> {
    /// Epochs that can be live at once, the current one included: 1 to 255; 15 without it. A tag has
    /// ⌈log₂(epochs + 1)⌉ bits, so 3, 7, 15 and 31 make the most of theirs.
    pub const fn epochs(mut self, epochs: u32) -> Self {
        self.options.epochs = epochs;
        self
    }

    /// When the next epoch begins. The default is by call alone.
    pub const fn advance(mut self, advance: Advance) -> Self {
        self.options.advance = advance;
        self
    }

    /// A window that remembers the last `guaranteed` tuples at least, in epochs that advance by
    /// count: sets the capacity to `guaranteed` · epochs / (epochs − 1), the epochs, 2 or more, and
    /// [`Advance::ByCount`].
    ///
    /// ```
    /// use hapax::prelude::*;
    ///
    /// let builder = RetiringCuckooFilter::builder().window(1_400_000, 15).false_positive_rate(0.001);
    /// let filter = builder.build()?;
    /// assert_eq!((filter.guaranteed(), filter.stats().capacity), (1_400_000, 1_500_000));
    /// assert!(builder.plan()?.bit_len as f64 / 1_400_000.0 < 19.2);
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub fn window(self, guaranteed: u64, epochs: u32) -> Self {
        let capacity = capacity_for(guaranteed, epochs);
        self.capacity(capacity).epochs(epochs).advance(Advance::ByCount)
    }

    /// A hit makes the tuple's life begin anew, so that an id that comes again and again is dropped
    /// for ever. Without it an id is remembered from its first sighting on, and comes out once a
    /// window.
    pub const fn refresh_on_hit(mut self) -> Self {
        self.options.on_hit = OnHit::Refresh;
        self
    }

    /// Share of the slots that are filled at most, in percent: 50 to 95; 95 without it. What is left
    /// free spares inserts the moves that make room.
    ///
    /// Bits per guaranteed tuple at 15 epochs, and what a tuple of a full window of 50 million at 0.1 %
    /// costs, asked and inserted in batches of 1,024 (`cargo bench --bench replay`, Sapphire Rapids;
    /// an exact set that forgets by age takes 238 ns and 310 bits):
    ///
    /// | percent | 0.1 % | 10⁻⁶ | 10⁻⁹ | ask | insert |
    /// |---|---|---|---|---|---|
    /// | 95 | 19.2 | 30.5 | 41.8 | 40 ns | 240 ns |
    /// | 90 | 20.2 | 32.1 | 44.1 | 41 ns | 174 ns |
    /// | 80 | 22.8 | 36.2 | 49.6 | 44 ns | 133 ns |
    /// | 70 | 26.0 | 41.4 | 56.7 | 50 ns | 103 ns |
    pub const fn load_percent(mut self, percent: u32) -> Self {
        self.options.load_percent = percent;
        self
    }

    /// Bits in a fingerprint, at least: 4 to 63, and with the tag 8 to 64. Without it the builder
    /// takes the fewest that keep the rate; with it slots of 16, 32 or 64 bits can be had for their
    /// alignment.
    pub const fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.options.fingerprint_bits = Some(bits);
        self
    }
}

impl sealed::Sealed for RetiringCuckooFilter {}

impl Buildable for RetiringCuckooFilter {
    type Options = RetiringOptions;

    fn plan(target: Target, options: &RetiringOptions) -> Result<Plan, BuildError> {
        let RetiringOptions { epochs, fingerprint_bits: wanted, load_percent, advance, .. } =
            *options;
        let least = match advance {
            Advance::ByCall => 1,
            Advance::ByCount => 2,
        };
        let refused =
            |expected| BuildError::Option { name: "epochs", expected, found: epochs.into() };
        if !(least..=MAX_EPOCHS).contains(&epochs) {
            return Err(refused(if least == 1 { "1 to 255" } else { "2 to 255 by count" }));
        }
        let tag_bits = tag_bits(epochs);
        let (least, most) = (min_fingerprint_bits(tag_bits), MAX_SLOT_BITS - tag_bits);
        if let Some(found) = wanted
            && !(least..=most).contains(&found)
        {
            return Err(BuildError::Option {
                name: "fingerprint_bits",
                expected: "4 to 63, and with the tag 8 to 64",
                found: found.into(),
            });
        }
        if !(LEAST_PERCENT..=MOST_PERCENT).contains(&load_percent) {
            return Err(BuildError::Option {
                name: "load_percent",
                expected: "50 to 95",
                found: load_percent.into(),
            });
        }
        let sizes = Sizes {
            tag_bits,
            max_load: f64::from(load_percent) / 100.0,
            bits: wanted.unwrap_or(least)..=most,
            rate: rate_at_load,
            load: load_at_rate,
            // No combination of a fingerprint and its buckets is stored twice, so none can overflow.
            least: |_| least,
        };
        let layout = sizes.find(target)?;
        if advance == Advance::ByCount && layout.keys < epochs.into() {
            return Err(refused("by count, at most the capacity"));
        }
        let (fingerprint_bits, buckets) = (layout.fingerprint_bits, layout.buckets);
        let shape = Shape::Retiring { fingerprint_bits, tag_bits, buckets, epochs };
        Ok(Plan::new(layout.keys, layout.rate, layout.words * 64, shape))
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Retiring { fingerprint_bits, tag_bits, buckets, epochs } = plan.shape else {
            unreachable!("planned above")
        };
        let bits = fingerprint_bits + tag_bits;
        let words = words_for(buckets, bits)
            .and_then(Words::zeroed)
            .ok_or(BuildError::OutOfMemory { byte_len: plan.byte_len() })?;
        let slots = TaggedSlots::new(words, buckets, bits, tag_bits);
        let on = (Advance::default(), OnHit::default());
        Ok(Self::of_parts(settings.0, slots, Epochs::new(epochs), on))
    }

    fn configure(self, options: &RetiringOptions) -> Self {
        Self { advance: options.advance, on_hit: options.on_hit, ..self }
    }
}
