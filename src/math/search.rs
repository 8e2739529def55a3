//! Where a condition that turns once turns, in O(log n) questions.

/// The least number from 1 to `max` that fits, where all above one that fits do. `None` if none does.
pub(super) fn least(max: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    // Doubling first: the answer is often small against `max`, and questions cost more there.
    let mut high = 1;
    while !fits(high) {
        if high >= max {
            return None;
        }
        high = (high * 2).min(max);
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The most up to `max` that fits, where all below one that fits do. 0 if none does.
pub(super) fn most(max: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, max);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_every_turning_point() {
        for max in [1, 2, 3, 7, 8, 9, 100] {
            for turn in 1..=max {
                assert_eq!(least(max, |x| x >= turn), Some(turn), "of {max}");
                assert_eq!(most(max, |x| x <= turn), turn, "of {max}");
            }
            assert_eq!(least(max, |_| false), None);
            assert_eq!(most(max, |_| false), 0);
        }
    }
}
