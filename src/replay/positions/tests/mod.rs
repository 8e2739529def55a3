//! What positions tell in the stories they are for; their bytes; and a model of sets in `model`.

mod bytes;
mod model;

use std::ops::RangeInclusive;

use super::*;
use Evidence::{Expired, New, Processed, Unknown};

const CHANNEL: u32 = 3;

fn dense() -> Positions {
    let mut positions = Positions::new(ChannelKind::Dense, 64);
    positions.start(CHANNEL, 1);
    positions
}

fn monotone() -> Positions {
    Positions::new(ChannelKind::Monotone, 64)
}

fn at(sequence: u64) -> Position {
    Position::new(CHANNEL, sequence)
}

fn process(positions: &mut Positions, sequences: impl IntoIterator<Item = u64>) {
    sequences.into_iter().for_each(|sequence| positions.processed(at(sequence)));
}

fn evidence<const N: usize>(positions: &Positions, sequences: [u64; N]) -> [Evidence; N] {
    sequences.map(|sequence| positions.evidence(at(sequence)))
}

fn gaps(positions: &Positions) -> Vec<(u64, u64)> {
    positions.pending_gaps(CHANNEL).map(RangeInclusive::into_inner).collect()
}

#[test]
fn a_position_at_or_below_the_highest_seen_is_no_evidence_of_a_replay() {
    // A worker held 1 to 5 and died; another one has processed 6 to 10 when they come again.
    let mut positions = dense();
    (1..=10).for_each(|sequence| positions.seen(at(sequence)));
    process(&mut positions, 6..=10);
    assert_eq!((positions.watermark(CHANNEL), positions.highest(CHANNEL)), (None, Some(10)));
    for sequence in 1..=5 {
        assert_eq!(evidence(&positions, [sequence]), [New]);
        process(&mut positions, [sequence]);
    }
    assert_eq!(positions.watermark(CHANNEL), Some(10));

    // Where positions have holes, only a filter can tell.
    let mut positions = monotone();
    process(&mut positions, 6..=10);
    assert_eq!(
        evidence(&positions, [1, 5, 6, 10, 11]),
        [Unknown, Unknown, Processed, Processed, New]
    );
}

#[test]
fn a_gap_holds_the_watermark_and_passes_alone() {
    let mut positions = dense();
    process(&mut positions, [1, 2, 3, 5, 6, 7]);
    assert_eq!(positions.watermark(CHANNEL), Some(3));
    assert_eq!(
        evidence(&positions, [3, 4, 5, 6, 7, 8]),
        [Processed, New, Processed, Processed, Processed, New]
    );
    assert_eq!(gaps(&positions), [(4, 4)]);
    process(&mut positions, [4]);
    assert_eq!((positions.watermark(CHANNEL), positions.interval_count()), (Some(7), 1));
    assert_eq!(gaps(&positions), []);
}

#[test]
fn a_tuple_out_of_order_passes() {
    for mut positions in [dense(), monotone()] {
        process(&mut positions, [100, 102, 103]);
        assert_ne!(positions.evidence(at(101)), Processed);
        assert_eq!(positions.evidence(at(103)), Processed);
    }
    let mut positions = dense();
    process(&mut positions, [103]);
    assert_eq!(evidence(&positions, [101]), [New]);
}

#[test]
fn equal_positions_and_those_before_a_reconnect_are_replays() {
    let mut positions = dense();
    process(&mut positions, [1, 2, 3]);
    assert_eq!(evidence(&positions, [3, 1, 2]), [Processed; 3]);
    let restored = Positions::decode(&positions.encode()).unwrap();
    assert_eq!(evidence(&restored, [3, 1, 2, 4]), [Processed, Processed, Processed, New]);
}

#[test]
fn twelve_replays_of_a_tail_do_not_grow_the_state() {
    let mut positions = dense();
    process(&mut positions, (1..=1_000).filter(|sequence| sequence % 100 != 0));
    let (len, intervals) = (positions.encode().len(), positions.interval_count());
    assert_eq!(intervals, 10);
    for _ in 0..12 {
        for sequence in (500..=1_000).filter(|sequence| sequence % 100 != 0) {
            assert_eq!(positions.evidence(at(sequence)), Processed);
            positions.seen(at(sequence));
            positions.processed(at(sequence));
        }
        assert_eq!((positions.encode().len(), positions.interval_count()), (len, intervals));
    }
}

#[test]
fn the_ends_of_the_numbers_are_positions_like_others() {
    let mut positions = Positions::new(ChannelKind::Dense, 64);
    positions.start(CHANNEL, 0);
    process(&mut positions, [u64::MAX]);
    assert_eq!(evidence(&positions, [0, u64::MAX - 1, u64::MAX]), [New, New, Processed]);
    assert_eq!(gaps(&positions), [(0, u64::MAX - 1)]);
    process(&mut positions, [0, u64::MAX - 2, u64::MAX - 1]);
    assert_eq!(positions.watermark(CHANNEL), Some(0));
    assert_eq!(evidence(&positions, [0, 1, u64::MAX - 1]), [Processed, New, Processed]);
    assert_eq!((gaps(&positions), positions.interval_count()), (vec![(1, u64::MAX - 3)], 2));

    positions.truncated(at(u64::MAX));
    assert_eq!((positions.watermark(CHANNEL), positions.interval_count()), (Some(u64::MAX), 1));
    assert_eq!((gaps(&positions), evidence(&positions, [5])), (vec![], [Processed]));
}

#[test]
fn what_is_truncated_is_processed_and_what_has_expired_is_not_known() {
    let mut positions = dense();
    process(&mut positions, [1, 2, 6, 7, 12]);
    positions.truncated(at(4));
    assert_eq!(
        evidence(&positions, [0, 3, 4, 5, 6]),
        [Processed, Processed, Processed, New, Processed]
    );
    assert_eq!(positions.watermark(CHANNEL), Some(4));

    positions.expired(at(9));
    assert_eq!(
        evidence(&positions, [4, 5, 7, 8, 9, 10]),
        [Processed, Expired, Processed, Expired, Expired, New]
    );
    // Marks do not go back, and what has expired cannot be acknowledged for that.
    positions.truncated(at(2));
    positions.expired(at(3));
    assert_eq!(evidence(&positions, [4, 9]), [Processed, Expired]);
    assert_eq!(positions.watermark(CHANNEL), Some(4));
    positions.truncated(at(5));
    assert_eq!((positions.watermark(CHANNEL), gaps(&positions)), (Some(7), vec![(8, 11)]));
}

#[test]
fn nothing_is_claimed_below_the_first_known_position_nor_of_unknown_channels() {
    let mut positions = Positions::new(ChannelKind::Dense, 64);
    assert_eq!(evidence(&positions, [0, 7]), [Unknown; 2]);
    process(&mut positions, [7, 8]);
    assert_eq!(evidence(&positions, [6, 7, 9]), [Unknown, Processed, New]);
    // The first to arrive need not be the first of the log.
    assert_eq!(positions.watermark(CHANNEL), None);
    positions.start(CHANNEL, 5);
    assert_eq!(evidence(&positions, [4, 5, 6]), [Unknown, New, New]);
    assert_eq!(positions.watermark(CHANNEL), None);
    process(&mut positions, [5, 6]);
    assert_eq!(positions.watermark(CHANNEL), Some(8));

    assert_eq!(positions.evidence(Position::new(4, 5)), Unknown);
    assert_eq!((positions.watermark(4), positions.highest(4)), (None, None));
    assert_eq!(positions.pending_gaps(4).count(), 0);
}

#[test]
fn positions_with_holes_are_new_above_all_that_was_seen() {
    let mut positions = monotone();
    assert_eq!(evidence(&positions, [10]), [Unknown]);
    positions.start(CHANNEL, 10);
    assert_eq!(evidence(&positions, [9, 10, 20]), [Unknown, New, New]);
    positions.seen(at(20));
    assert_eq!(evidence(&positions, [15, 20, 21]), [Unknown, Unknown, New]);
    process(&mut positions, [20]);
    assert_eq!(evidence(&positions, [15, 20, 21]), [Unknown, Processed, New]);
}

#[test]
fn unordered_tags_are_no_evidence_and_cost_nothing() {
    let mut positions = dense();
    process(&mut positions, 1..=5);
    positions.set_kind(CHANNEL, ChannelKind::Unordered);
    process(&mut positions, (1..=1_000).step_by(2));
    positions.truncated(at(50));
    positions.expired(at(60));
    positions.seen(at(70));
    positions.start(CHANNEL, 1);
    assert_eq!(evidence(&positions, [1, 2, 55, 2_000]), [Unknown; 4]);
    assert_eq!((positions.watermark(CHANNEL), positions.highest(CHANNEL)), (None, None));
    assert_eq!(positions.interval_count(), 0);
}

#[test]
fn intervals_beyond_the_limit_become_unknown_and_stall_the_watermark() {
    let mut positions = Positions::new(ChannelKind::Dense, 8);
    positions.start(CHANNEL, 1);
    // Every third one is missing: 1-2, 4-5, 7-8, ... 298-299.
    process(&mut positions, (1..300).filter(|sequence| sequence % 3 != 0));
    assert_eq!((positions.interval_count(), positions.watermark(CHANNEL)), (8, Some(2)));
    // Kept: the watermark's interval and the seven highest, from 280 on.
    for sequence in 1..=300 {
        let expected = match sequence {
            1 | 2 => Processed,
            3..=278 => Unknown,
            _ if sequence % 3 == 0 => New,
            279 => New,
            _ => Processed,
        };
        assert_eq!(positions.evidence(at(sequence)), expected, "{sequence}");
    }
    // What comes again closes the gap, and the watermark goes on.
    process(&mut positions, 3..=278);
    assert_eq!(positions.watermark(CHANNEL), Some(278));
    assert_eq!(evidence(&positions, [0, 100, 279]), [Unknown, Processed, New]);
    positions.truncated(at(290));
    assert_eq!((positions.watermark(CHANNEL), positions.interval_count()), (Some(290), 4));
}

/// Ten thousand positions with holes stay within the limit, and the highest are kept.
#[test]
fn a_channel_with_holes_keeps_the_highest_exactly() {
    let mut positions = Positions::new(ChannelKind::Monotone, 100);
    process(&mut positions, (0..10_000).map(|i| 10 * i));
    assert_eq!(positions.interval_count(), 100);
    let kept = (0..10_000).filter(|i| positions.evidence(at(10 * i)) == Processed).count();
    assert_eq!(kept, 100);
    assert_eq!(evidence(&positions, [99_000, 98_990, 99_001]), [Processed, Unknown, Unknown]);
    assert_eq!(evidence(&positions, [99_990, 99_991]), [Processed, New]);
}

#[test]
fn merging_knows_what_either_knew_and_claims_no_more() {
    let mut left = dense();
    process(&mut left, [1, 2, 3, 8]);
    left.expired(at(4));
    let mut right = dense();
    process(&mut right, [4, 5, 10]);
    right.processed(Position::new(9, 77));
    right.truncated(at(2));
    right.set_kind(11, ChannelKind::Unordered);

    let mut both = left.clone();
    both.merge(&right);
    assert_eq!((both.watermark(CHANNEL), gaps(&both)), (Some(5), vec![(6, 7), (9, 9)]));
    assert_eq!(
        evidence(&both, [0, 4, 6, 8, 10, 11]),
        [Processed, Processed, New, Processed, Processed, New]
    );
    assert_eq!(both.evidence(Position::new(9, 77)), Processed);
    assert_eq!(both.channels().collect::<Vec<_>>(), [3, 9, 11]);

    let mut reversed = right.clone();
    reversed.merge(&left);
    assert_eq!(reversed.encode(), both.encode());
    let once = both.encode();
    both.merge(&right);
    assert_eq!(both.encode(), once, "merging again changes nothing");

    // A channel is what the more careful of the two takes it for.
    right.set_kind(CHANNEL, ChannelKind::Monotone);
    both.merge(&right);
    assert_eq!(evidence(&both, [6, 8, 11]), [Unknown, Processed, New]);
    right.set_kind(CHANNEL, ChannelKind::Unordered);
    both.merge(&right);
    assert_eq!((evidence(&both, [8]), both.watermark(CHANNEL)), ([Unknown], None));
}

#[test]
fn channels_know_nothing_of_each_other() {
    let mut positions = Positions::new(ChannelKind::Dense, 64);
    for (round, channel) in (1..=100).flat_map(|round| (0..10).map(move |channel| (round, channel)))
    {
        positions.start(channel, 1);
        if round % 10 != u64::from(channel) {
            positions.processed(Position::new(channel, round));
        }
    }
    for channel in 0..10 {
        let gap = if channel == 0 { 10 } else { channel.into() };
        let watermark = (gap > 1).then_some(gap - 1);
        assert_eq!(positions.watermark(channel), watermark, "channel {channel}");
        assert_eq!(positions.evidence(Position::new(channel, gap)), New);
    }
    assert_eq!(positions.channels().count(), 10);
}

#[test]
fn debug_shows_watermark_gaps_and_horizons() {
    let mut positions = dense();
    process(&mut positions, [1, 2, 3, 5, 6, 9]);
    positions.expired(at(1));
    assert_eq!(
        format!("{positions:?}"),
        "{3: Channel { kind: Dense, watermark: Some(3), gaps: [4..=4, 7..=8], highest: Some(9), \
         truncated: None, expired: Some(1), forgotten: None, .. }}"
    );
}
