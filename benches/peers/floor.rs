//! What memory allows: a hash, and one word of each of some random lines.

use hapax::Salt;
use hapax::hash::reduce;
use memmap2::MmapMut;

use crate::contest::{Contestant, Mode};
use crate::keys::Burst;

pub(crate) struct Floor {
    lines: u64,
    touched: u32,
    map: MmapMut,
    start: usize,
}

/// As filters of 8 MiB and more take their memory.
const HUGE_PAGE: usize = 1 << 21;
const HUGE_FROM: usize = 4 * HUGE_PAGE;

/// Keys between asking for a line and reading it.
const AHEAD: usize = 16;

impl Floor {
    /// A table of so many bytes, of which each operation touches some lines.
    pub(crate) fn new(touched: u32, bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap();
        let map = MmapMut::map_anon(bytes + HUGE_PAGE).unwrap();
        let start = map.as_ptr().addr().next_multiple_of(HUGE_PAGE) - map.as_ptr().addr();
        let advice =
            if bytes < HUGE_FROM { memmap2::Advice::NoHugePage } else { memmap2::Advice::HugePage };
        map.advise_range(advice, start, bytes).unwrap();
        let mut floor = Self { lines: bytes as u64 / 64, touched, map, start };
        floor.map.fill(1);
        floor
    }

    fn places(&self, keys: &Burst, index: usize) -> [usize; 2] {
        let mixed = keys.hashes[index].mix(Salt::default());
        [mixed.a, mixed.b].map(|word| self.start + reduce(word, self.lines) as usize * 64)
    }

    fn read(&self, places: [usize; 2]) -> u64 {
        let touched = places.iter().take(self.touched as usize);
        touched.map(|&place| u64::from(self.map[place])).sum()
    }

    fn prefetch(&self, places: [usize; 2]) -> [usize; 2] {
        #[cfg(target_arch = "x86_64")]
        for place in places.iter().take(self.touched as usize) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a prefetch reads nothing that the program could see and cannot fault.
            #[expect(unsafe_code, reason = "the only way to prefetch")]
            unsafe {
                _mm_prefetch(self.map.as_ptr().wrapping_add(*place).cast(), _MM_HINT_T0);
            }
        }
        places
    }
}

impl Contestant for Floor {
    fn name(&self) -> String {
        format!("floor of {} line{}", self.touched, if self.touched == 1 { "" } else { "s" })
    }

    fn bits(&self) -> u64 {
        self.lines * 512
    }

    fn modes(&self) -> &'static [Mode] {
        &[Mode::Single, Mode::Batch]
    }

    fn insert(&mut self, _: Mode, _: &Burst) {}

    fn answers(&self) -> bool {
        false
    }

    fn count(&mut self, mode: Mode, keys: &Burst) -> u64 {
        let len = keys.len();
        if mode == Mode::Single {
            return (0..len).map(|i| self.read(self.places(keys, i))).sum();
        }
        let mut ring: [[usize; 2]; AHEAD] =
            std::array::from_fn(|i| self.prefetch(self.places(keys, i)));
        let mut sum = 0;
        for i in 0..len {
            let places = ring[i % AHEAD];
            if i + AHEAD < len {
                ring[i % AHEAD] = self.prefetch(self.places(keys, i + AHEAD));
            }
            sum += self.read(places);
        }
        sum
    }
}
