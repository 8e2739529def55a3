//! Vectors of secrets that leave nothing behind when they get larger.

use zeroize::{Zeroize, Zeroizing};

/// Makes room for so many more elements. A vector that grows by itself gives its old memory back as it
/// is; here the old one is wiped. Allocates twice what is needed, so that it happens rarely.
pub(super) fn make_room<T: Zeroize + Copy>(secrets: &mut Zeroizing<Vec<T>>, more: usize) {
    let needed = secrets.len() + more;
    if needed > secrets.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(2 * needed));
        larger.extend_from_slice(secrets);
        *secrets = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_stays_and_there_is_room() {
        let mut secrets: Zeroizing<Vec<u64>> = Zeroizing::default();
        for number in 0..1_000 {
            make_room(&mut secrets, 1);
            let before = secrets.as_ptr();
            secrets.push(number);
            assert_eq!(secrets.as_ptr(), before, "moved by itself");
        }
        assert!(secrets.iter().copied().eq(0..1_000));
    }
}
