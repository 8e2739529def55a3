//! Pure formulas on `f64`, each with its source. No filter in sight.
//!
//! Notation: n keys, m bits or counters, k probes a key, f fingerprint bits, α load factor,
//! ε false positive rate. Everything is evaluated through `ln_1p` and `exp_m1`, so that values
//! near 0 and 1 keep their digits.

pub mod blocked;
pub mod bloom;
pub mod cuckoo;
pub mod fuse;
pub mod groups;
pub mod retiring;
pub mod word;

mod search;
