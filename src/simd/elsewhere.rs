//! In place of `x86.rs` on other architectures: no vector paths, and no prefetching.
//!
//! The types have no values, so nothing here ever runs.

use super::{Probe, Rounds};

/// Asks for nothing.
#[inline]
pub(super) const fn prefetch(_: *const i8) {}

/// There is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Avx2 {}

/// There is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Avx512 {}

macro_rules! no_path {
    ($path:ty) => {
        impl $path {
            pub(super) const fn detect() -> Option<Self> {
                None
            }

            pub(super) fn contains(self, _: &[u64], _: Rounds, _: Probe) -> bool {
                match self {}
            }

            pub(super) fn insert(self, _: &mut [u64], _: Rounds, _: Probe) -> u32 {
                match self {}
            }

            pub(super) fn contains_all(
                self,
                _: &[u64],
                _: Rounds,
                _: usize,
                _: impl Fn(usize) -> Probe,
                _: impl FnMut(usize, bool),
            ) {
                match self {}
            }

            pub(super) fn insert_all(
                self,
                _: &mut [u64],
                _: Rounds,
                _: usize,
                _: impl Fn(usize) -> Probe,
                _: impl FnMut(usize, u32),
            ) {
                match self {}
            }
        }
    };
}
no_path!(Avx2);
no_path!(Avx512);
