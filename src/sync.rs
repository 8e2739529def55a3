//! The atomics in use, from one place, so that the checker of interleavings can put its own there:
//! `scripts/loom` builds with `--cfg loom`.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
