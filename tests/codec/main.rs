//! The `.hapax` file: what is pinned, what is refused, and what a crash leaves behind.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a premise that fails is a test that fails"
)]

mod atomic;
mod doors;
mod flips;
mod fuse;
mod golden;
mod keyed;
mod malformed;
mod mapped;
mod parameters;
mod reseal;
mod retiring;
mod samples;
#[cfg(feature = "serde")]
mod serde;
mod stream;
