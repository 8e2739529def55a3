//! Zeroed memory that is refused rather than aborted on.

/// `len` zeroed words, or `None` if the memory cannot be had.
///
/// The pages come zeroed from the operating system and are touched only when used. Asking first
/// by `try_reserve` turns the abort of a failed allocation into an answer: more than the machine
/// has is refused under Linux's default overcommit policy.
pub(crate) fn zeroed(len: u64) -> Option<Vec<u64>> {
    let len = usize::try_from(len).ok()?;
    Vec::<u64>::new().try_reserve_exact(len).ok()?;
    Some(vec![0; len])
}
