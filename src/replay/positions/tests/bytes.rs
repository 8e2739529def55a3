//! The bytes of positions: golden ones, and every way to damage them.

use super::*;

fn sample() -> Positions {
    let mut positions = Positions::new(ChannelKind::Dense, 8);
    positions.start(7, 1);
    for sequence in [1, 2, 5] {
        positions.processed(Position::new(7, sequence));
    }
    positions.set_kind(2, ChannelKind::Monotone);
    positions.truncated(Position::new(2, 9));
    positions.seen(Position::new(2, 300));
    positions
}

#[test]
fn bytes_are_stable() {
    let words: [u64; 20] = [
        // Default kind Dense, two channels, at most 8 intervals.
        2 << 32,
        8,
        // Channel 2, Monotone, truncated and highest; one interval.
        2 | 1 << 32 | 0b10010 << 40,
        1,
        0,
        9,
        0,
        0,
        300,
        0,
        9,
        // Channel 7, Dense, start and highest; two intervals.
        7 | 0b10001 << 40,
        2,
        1,
        0,
        0,
        0,
        5,
        1,
        2,
    ];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend([5u64, 5].iter().flat_map(|word| word.to_le_bytes()));
    assert_eq!(sample().encode(), bytes);
    assert_eq!(Positions::decode(&bytes).unwrap().encode(), bytes);
}

#[test]
fn every_cut_is_refused_and_so_is_a_byte_more() {
    let mut bytes = sample().encode();
    for len in 0..bytes.len() {
        assert!(Positions::decode(&bytes[..len]).is_err(), "{len}");
    }
    bytes.push(0);
    assert!(Positions::decode(&bytes).is_err());
}

/// Whatever a flipped bit leaves is refused, or is the one form of another content.
#[test]
fn every_flipped_bit_is_refused_or_another_content() {
    let bytes = sample().encode();
    let mut refused = 0;
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match Positions::decode(&damaged) {
            Err(_) => refused += 1,
            Ok(positions) => assert_eq!(positions.encode(), damaged, "bit {bit}"),
        }
    }
    assert!(refused > bytes.len(), "{refused}");
}

#[test]
fn contradictions_are_refused_with_their_reason() {
    let bytes = sample().encode();
    // Where and what is written, and a part of the reason.
    for (offset, byte, reason) in [
        (0, 3, "kind of a channel: expected 0, 1 or 2, found 3"),
        (1, 1, "reserved bytes in the positions"),
        (4, 3, "expected more bytes"),
        (4, 1, "expected no more bytes"),
        (8, 3, "limit of intervals: expected 4 or more, found 3"),
        (16, 8, "channels: expected ascending numbers, found 7"),
        (20, 2, "expected none in an unordered channel"),
        (21, 0b11_0010, "reserved bytes"),
        (21, 0b10000, "reserved bytes"),
        (24, 9, "intervals of a channel: expected 8 at most, found 9"),
        (40, 10, "expected everything truncated among what was processed"),
        (64, 8, "expected none above the highest position"),
        (72, 10, "expected ascending ones with gaps, found 10 to 9"),
        (160, 3, "expected ascending ones with gaps, found 3 to 5"),
    ] {
        let mut wrong = bytes.clone();
        wrong[offset] = byte;
        if offset == 64 {
            wrong[65] = 0;
        }
        let error = Positions::decode(&wrong).unwrap_err().to_string();
        assert!(error.contains(reason), "{offset}: {error}");
    }
    // A length beyond what is there takes no memory.
    let mut huge = bytes;
    huge[8..16].fill(0x7f);
    huge[24..32].fill(0x7f);
    assert!(Positions::decode(&huge).is_err());
}
