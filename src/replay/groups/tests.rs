//! Ranges, hashes, balance, and filters that see the keys of one group only.

use super::key_groups::murmur3_32;
use super::*;
use crate::filter::{BlockedBloomFilter, BloomFilter, CuckooFilter};
use crate::hash::{KeyHash, Seed};
use crate::membership::Insert;

const COUNTS: [u32; 3] = [16, 128, 32_768];

#[test]
fn ranges_partition_the_groups_and_agree_with_the_owner_of_each() {
    for count in COUNTS {
        let groups = KeyGroups::new(count).unwrap();
        for parallelism in 1..=16 {
            let mut next = 0;
            for subtask in 0..parallelism {
                let range = groups.range(subtask, parallelism).unwrap();
                assert_eq!(u32::from(range.first()), next, "{range} of {count} at {parallelism}");
                for group in &range {
                    assert_eq!(groups.subtask(group, parallelism), Ok(subtask), "{group}");
                }
                let least = count / parallelism;
                assert!((least..=least + 1).contains(&range.len()), "{range}");
                next += range.len();
            }
            assert_eq!(next, count, "at {parallelism}");
        }
    }
}

#[test]
fn every_rescaling_restores_each_group_once_from_its_owner() {
    for count in COUNTS {
        let groups = KeyGroups::new(count).unwrap();
        for (old, new) in (1..=16).flat_map(|old| (1..=16).map(move |new| (old, new))) {
            let mut next = 0;
            for subtask in 0..new {
                for (owner, piece) in groups.rescale(old, subtask, new).unwrap() {
                    assert_eq!(u32::from(piece.first()), next, "{count}: {old} to {new}");
                    let owned = groups.range(owner, old).unwrap();
                    assert_eq!(piece.intersect(&owned), Some(piece), "{count}: {old} to {new}");
                    let wanted = groups.range(subtask, new).unwrap();
                    assert_eq!(piece.intersect(&wanted), Some(piece), "{count}: {old} to {new}");
                    next += piece.len();
                }
            }
            assert_eq!(next, count, "{old} to {new}");
        }
    }
}

/// The ends of the number range, where products need 64 bits.
#[test]
fn as_many_subtasks_as_groups_own_one_each() {
    let groups = KeyGroups::new(KeyGroups::MAX).unwrap();
    for subtask in [0, 1, 16_384, 32_766, 32_767] {
        let range = groups.range(subtask, KeyGroups::MAX).unwrap();
        assert_eq!((u32::from(range.first()), range.len()), (subtask, 1));
        assert_eq!(groups.subtask(range.first(), KeyGroups::MAX), Ok(subtask));
    }
    assert_eq!(groups.all().len(), KeyGroups::MAX);
    assert_eq!(groups.rescale(KeyGroups::MAX, 0, 1).unwrap().len(), 32_768);
}

#[test]
fn documented_ranges_are_met() {
    let groups = KeyGroups::new(128).unwrap();
    let ranges = |parallelism| {
        let range = |subtask| groups.range(subtask, parallelism).unwrap().to_string();
        (0..parallelism).map(range).collect::<Vec<_>>()
    };
    assert_eq!(ranges(3), ["0-42", "43-85", "86-127"]);
    assert_eq!(ranges(5), ["0-25", "26-51", "52-76", "77-102", "103-127"]);

    let moved = |old, new| {
        let owner = |group, parallelism| groups.subtask(group, parallelism).unwrap();
        let moves = |group: &u16| owner(*group, old) != owner(*group, new);
        groups.all().iter().filter(moves).count()
    };
    assert_eq!([moved(2, 3), moved(4, 5), moved(4, 8)], [63, 62, 112]);
}

#[test]
fn default_count_is_a_power_of_two_with_room_to_grow() {
    for (parallelism, count) in
        [(1, 128), (85, 128), (86, 256), (170, 256), (171, 256), (172, 512), (32_768, 32_768)]
    {
        let groups = KeyGroups::for_parallelism(parallelism).unwrap();
        assert_eq!(groups.count(), count, "{parallelism}");
    }
    for found in [0, 32_769, u32::MAX] {
        let groups = KeyGroups::MAX;
        let error = GroupsError::Parallelism { found, groups };
        assert_eq!(KeyGroups::for_parallelism(found), Err(error));
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let groups = KeyGroups::new(16).unwrap();
    for found in [0, 32_769, u32::MAX] {
        assert_eq!(KeyGroups::new(found), Err(GroupsError::Count { found }));
    }
    for found in [0, 17] {
        let error = GroupsError::Parallelism { found, groups: 16 };
        assert_eq!(groups.range(0, found), Err(error));
        assert_eq!(groups.subtask(0, found), Err(error));
        assert_eq!(groups.rescale(found, 0, 1), Err(error));
        assert_eq!(groups.rescale(1, 0, found), Err(error));
    }
    let error = GroupsError::Subtask { found: 3, parallelism: 3 };
    assert_eq!(groups.range(3, 3), Err(error));
    assert_eq!(groups.rescale(2, 3, 3), Err(error));
    let error = GroupsError::Group { found: 16, groups: 16 };
    assert_eq!(groups.subtask(16, 3), Err(error));
    assert_eq!(groups.groups(0, 16), Err(error));
    assert_eq!(groups.groups(4, 3), Err(GroupsError::Range { first: 4, last: 3 }));
    assert_eq!(
        groups.range(0, 17).unwrap_err().to_string(),
        "the parallelism must be from 1 to 16, the number of key groups, found 17: use fewer \
         subtasks, or start a new state with more groups"
    );
}

#[test]
fn ranges_intersect_and_print_as_their_ends() {
    let groups = KeyGroups::new(128).unwrap();
    let range = groups.groups(17, 34).unwrap();
    assert_eq!(format!("{range} {range:?}"), "17-34 GroupRange(17-34)");
    assert_eq!((range.len(), range.iter().count()), (18, 18));
    let inside = [17, 34].map(|group| range.contains(group));
    let outside = [16, 35].map(|group| range.contains(group));
    assert_eq!((inside, outside), ([true; 2], [false; 2]));

    let meets = |first, last| range.intersect(&groups.groups(first, last).unwrap());
    assert_eq!(meets(34, 127), Some(groups.groups(34, 34).unwrap()));
    assert_eq!(meets(20, 21), Some(groups.groups(20, 21).unwrap()));
    assert_eq!(range.intersect(&groups.all()), Some(range));
    assert_eq!((meets(0, 16), meets(35, 127)), (None, None));
}

/// The groups of keys never change: state lies where they say.
#[test]
fn groups_of_hashes_are_stable() {
    let found = |count| {
        let groups = KeyGroups::new(count).unwrap();
        let seed = Seed::default();
        ["", "alice", "bob", "order 17"].map(|key| groups.group_of(seed.hash(key).unwrap()))
    };
    assert_eq!(found(128), [76, 36, 0, 67]);
    assert_eq!(found(32_768), [19_669, 9_309, 175, 17_378]);
    assert_eq!(found(1), [0; 4]);

    let group = |hi: u64, count| {
        let hash = KeyHash::from_uniform(&(u128::from(hi) << 64).to_be_bytes());
        KeyGroups::new(count).unwrap().group_of(hash)
    };
    // The first and the last hash, and both sides of the border between groups 0 and 1.
    assert_eq!((group(0, 32_768), group(u64::MAX, 32_768)), (0, 32_767));
    assert_eq!((group((1 << 57) - 1, 128), group(1 << 57, 128)), (0, 1));
    // 2³² / 3 is no integer: the border is at 1,431,655,766 · 2³².
    assert_eq!((group(1_431_655_765 << 32, 3), group(1_431_655_766 << 32, 3)), (0, 1));
}

/// Published vectors of `MurmurHash3`, and hash codes of strings that Flink itself put into group 17.
#[test]
fn groups_of_flink_are_met() {
    let words = [0, 0x8765_4321, u32::MAX];
    assert_eq!(words.map(murmur3_32), [0x2362_f9de, 0xf55b_516b, 0x7629_3b50]);

    let groups = KeyGroups::new(128).unwrap();
    let hash_codes = [2_607_930, 3_409_489, 2_641_536, 2_227_510, 2_261_647, 2_736_576, 1_690_869];
    assert_eq!(hash_codes.map(|code| groups.flink_group(code)), [17; 7]);

    // The one hash code whose hash has no absolute value, and one whose hash is negative.
    assert_eq!(murmur3_32((-2_089_875_627i32).cast_unsigned()), 1 << 31);
    assert_eq!(groups.flink_group(-2_089_875_627), 0);
    assert_eq!(KeyGroups::new(1_000).unwrap().flink_group(0x8765_4321_u32.cast_signed()), 757);
}

/// Each group is Binomial(n, 1/M), and the sum of squared deviations about χ² with M − 1 degrees.
#[test]
fn a_million_keys_are_spread_evenly() {
    const KEYS: u32 = 1_000_000;
    let groups = KeyGroups::new(128).unwrap();
    let seed = Seed::default();
    let mut loads = [0u64; 128];
    for id in 0..KEYS {
        loads[usize::from(groups.group_of(seed.hash(&id).unwrap()))] += 1;
    }
    let mean = f64::from(KEYS) / 128.0;
    let deviation = (mean * (1.0 - 1.0 / 128.0)).sqrt();
    let mut chi_squared = 0.0;
    for (group, &load) in loads.iter().enumerate() {
        let away = (load as f64 - mean) / deviation;
        assert!(away.abs() < 4.5, "{group}: {load} keys, {away} standard deviations");
        chi_squared += (load as f64 - mean).powi(2) / mean;
    }
    let away = (chi_squared - 127.0) / (2.0 * 127.0f64).sqrt();
    assert!(away.abs() < 4.0, "{chi_squared}: {away} standard deviations");
}

/// By the binomial tail, 0.136 groups of a window of 10,000 keys are above the bound: 13.6 of 100
/// windows, with a standard deviation of 3.7.
#[test]
fn the_fullest_group_is_rarely_above_its_capacity() {
    let groups = KeyGroups::new(128).unwrap();
    let seed = Seed::default();
    let capacity = groups.capacity_per_group(10_000);
    let mut above = 0;
    for window in 0..100u32 {
        let mut loads = [0u64; 128];
        for id in 0..10_000u32 {
            loads[usize::from(groups.group_of(seed.hash(&(window, id)).unwrap()))] += 1;
        }
        above += loads.iter().filter(|&&load| load > capacity).count();
    }
    assert!((3..=24).contains(&above), "{above}");
}

#[test]
fn capacity_of_a_group_is_between_the_mean_and_all() {
    let capacity = |count, window| KeyGroups::new(count).unwrap().capacity_per_group(window);
    assert_eq!([capacity(128, 128_000), capacity(128, 12_800)], [1_099, 132]);
    for window in [0, 1, 17, u64::MAX - 1, u64::MAX] {
        assert_eq!(capacity(1, window), window);
        let of_many = capacity(32_768, window);
        assert!((window.div_ceil(32_768)..=window).contains(&of_many), "{window}: {of_many}");
    }
}

/// False positives of a filter that holds keys of `group` only, or of all groups for `None`, and
/// is asked for others of the same: standard deviations from its own rate.
fn deviation<F: Insert>(mut filter: F, group: Option<u16>) -> f64 {
    const MEMBERS: u32 = 20_000;
    const STRANGERS: u32 = 400_000;
    let groups = KeyGroups::new(128).unwrap();
    let hash = |id: u32| {
        let hash = Seed::default().hash(&id).unwrap();
        let Some(group) = group else { return hash };
        // With 128 groups the group is the top 7 bits.
        let bits = u128::from_be_bytes(hash.to_bytes());
        let moved = (bits & (u128::MAX >> 7)) | (u128::from(group) << 121);
        let hash = KeyHash::from_uniform(&moved.to_be_bytes());
        assert_eq!(groups.group_of(hash), group);
        hash
    };
    for id in 0..MEMBERS {
        let _ = filter.insert_hash(hash(id)).unwrap();
    }
    let rate = filter.false_positive_rate();
    let strangers = MEMBERS..MEMBERS + STRANGERS;
    let hits = strangers.filter(|&id| filter.contains_hash(hash(id))).count();
    let expected = f64::from(STRANGERS) * rate;
    (hits as f64 - expected) / (expected * (1.0 - rate)).sqrt()
}

#[test]
fn a_filter_of_one_group_has_the_rate_of_one_of_all() {
    for group in [None, Some(0), Some(17), Some(127)] {
        let bloom = BloomFilter::builder().capacity(20_000).false_positive_rate(0.01);
        let blocked = BlockedBloomFilter::builder().capacity(20_000).false_positive_rate(0.01);
        let cuckoo = CuckooFilter::builder().capacity(20_000).false_positive_rate(0.01);
        for (name, away) in [
            ("BloomFilter", deviation(bloom.build().unwrap(), group)),
            ("BlockedBloomFilter", deviation(blocked.build().unwrap(), group)),
            ("CuckooFilter", deviation(cuckoo.build().unwrap(), group)),
        ] {
            assert!(away.abs() < 4.0, "{name}, group {group:?}: {away} standard deviations");
        }
    }
}
