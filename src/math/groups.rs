//! Balls in bins: how far the fullest of many key groups is above the mean.
//!
//! Source: M. Raab, A. Steger, *"Balls into bins": a simple and tight analysis*, RANDOM 1998, for
//! means well above ln M.

/// Load of the fullest of M groups at n̄ keys a group: n̄ + √(2 n̄ ln M).
///
/// About 1/√(4π ln M) groups are expected above it, by little: at M = 128 one fill in eight has such a
/// group. What a group built for the mean would pay at that load, with a Bloom filter of 10 probes and
/// M = 128:
///
/// | n̄ | largest load | rate, in multiples of the one planned |
/// |---|---|---|
/// | 100 | 1.31 n̄ | 5.9 |
/// | 1,000 | 1.10 n̄ | 1.9 |
/// | 10,000 | 1.03 n̄ | 1.2 |
/// | 100,000 | 1.01 n̄ | 1.1 |
///
/// One group takes everything: M = 1 gives n̄.
#[must_use]
pub fn largest_load(mean: f64, groups: f64) -> f64 {
    mean + (2.0 * mean * groups.ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::bloom::rate_at_fill;

    const GROUPS: f64 = 128.0;

    #[test]
    fn the_table_of_overload_is_met() {
        for (mean, load, rate) in
            [(1e2, 1.31, 5.9), (1e3, 1.10, 1.9), (1e4, 1.03, 1.2), (1e5, 1.01, 1.1)]
        {
            let found = largest_load(mean, GROUPS) / mean;
            assert!((found - load).abs() < 0.005, "{mean}: {found}");
            // A Bloom filter is half full at its capacity.
            let overfull = rate_at_fill(1.0 - 2f64.powf(-found), 10) / rate_at_fill(0.5, 10);
            assert!((overfull - rate).abs() < 0.05, "{mean}: {overfull}");
        }
        assert!((largest_load(1e6, 1.0) - 1e6).abs() < f64::EPSILON);
    }

    /// Each group is about Poisson with the mean; the tail is summed.
    #[test]
    fn as_many_groups_lie_above_as_is_stated() {
        for mean in [1e2, 1e3, 1e4] {
            let bound = largest_load(mean, GROUPS).ceil() as u32;
            let ln_factorial: f64 = (1..=bound).map(|i| f64::from(i).ln()).sum();
            let mut term = (f64::from(bound) * f64::ln(mean) - mean - ln_factorial).exp();
            let mut tail = 0.0;
            for load in bound + 1..bound + 10_000 {
                term *= mean / f64::from(load);
                tail += term;
            }
            let above = GROUPS * tail;
            assert!((above * 8.0 - 1.0).abs() < 0.1, "{mean}: {above}");
        }
    }
}
