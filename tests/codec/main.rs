//! The `.hapax` file: what is pinned, what is refused, and what a crash leaves behind.

mod atomic;
mod doors;
mod flips;
mod golden;
mod keyed;
mod malformed;
mod reseal;
mod samples;
