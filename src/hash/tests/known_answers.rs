//! Pinned outputs. A change here is a new format version.
//!
//! Values come from a second implementation, not from this crate: XXH3 from the C library (through
//! Python's `xxhash` 4.1), `SipHash` from a transcript of the paper that also gives the authors'
//! 2-4-128 vectors, the remix from a transcript of its formulas in Python's integers.

use std::borrow::Cow;

use crate::hash::{
    Digest, HashError, HashIdentity, Key, KeyHash, Mixed, Salt, SecretKey, Seed, reduce,
};

/// The buffer of xxHash's own sanity check.
fn published_buffer(len: usize) -> Vec<u8> {
    let mut word = 2_654_435_761u64;
    let mut next = || {
        let byte = (word >> 56) as u8;
        word = word.wrapping_mul(11_400_714_785_074_694_797);
        byte
    };
    (0..len).map(|_| next()).collect()
}

fn as_word(hash: KeyHash) -> u128 {
    u128::from_be_bytes(hash.to_bytes())
}

/// Length, seed, XXH3-128: one row on each side of every change of algorithm (0, 3, 8, 16, 128,
/// 240 bytes, a stripe, a block). Lengths 0 and 12 are also in the published set.
const XXH3: &[(usize, u64, u128)] = &[
    (0, 0, 0x99aa_06d3_0147_98d8_6001_c324_468d_497f),
    (0, 0x9e37_79b1_85eb_ca8d, 0x00fe_aa73_2a3c_e25e_a986_dfc5_d760_5bfe),
    (1, 0, 0xa6cd_5e93_9200_0f6a_c44b_dff4_074e_ecdb),
    (1, 0x9e37_79b1_85eb_ca8d, 0x20e4_9abc_c53b_3842_032b_e332_dd76_6ef8),
    (3, 0, 0x20ef_c49f_f024_22ea_5424_7382_a8d6_b94d),
    (3, 0x9e37_79b1_85eb_ca8d, 0x1c7e_cf6a_308c_f00e_634b_8990_b497_6373),
    (4, 0, 0x970d_585a_c632_bf8e_2e7d_8d68_76a3_9fe9),
    (4, 0x9e37_79b1_85eb_ca8d, 0x3d53_e5df_d837_d927_bfaf_51f1_e67e_0b0f),
    (8, 0, 0x47a7_f080_d82b_b456_64c6_9cab_4bb2_1dc5),
    (8, 0x9e37_79b1_85eb_ca8d, 0xf50c_ec14_5bcd_5c5a_7b29_471d_c729_b5ff),
    (9, 0, 0x564e_f607_8950_d457_ed7c_cbc5_01eb_7501),
    (9, 0x9e37_79b1_85eb_ca8d, 0x6b38_0b43_ffa6_1042_aef5_dfc0_ac9f_9044),
    (12, 0, 0x6e3e_fd8f_c780_2b18_061a_1927_13f6_9ad9),
    (12, 0x9e37_79b1_85eb_ca8d, 0xff0d_60ac_d02e_d401_5d92_b5d7_190b_12d1),
    (16, 0, 0xc68c_368e_cf8a_9c05_5629_8025_8a99_8629),
    (16, 0x9e37_79b1_85eb_ca8d, 0x6ffc_b80c_d330_85c8_0346_d13a_7a54_98c7),
    (17, 0, 0x955f_a786_43ed_3669_abbc_12d1_1973_d7db),
    (17, 0x9e37_79b1_85eb_ca8d, 0xd776_8121_9e46_4828_980a_1411_9985_a7df),
    (64, 0, 0x6d90_e81a_9b0f_d622_efdb_6a44_6907_21a9),
    (64, 0x9e37_79b1_85eb_ca8d, 0x37b7_3896_8d40_bda5_9405_ba2a_ffa9_5ceb),
    (128, 0, 0x3999_2220_e045_260a_ebb1_5e34_a7fb_5ab1),
    (128, 0x9e37_79b1_85eb_ca8d, 0xa0f7_ccb6_8ee0_2add_8394_f5c5_1f1d_8246),
    (129, 0, 0x0381_5fc9_1f1b_30b6_86c9_e3bc_8f0a_3b5c),
    (129, 0x9e37_79b1_85eb_ca8d, 0xad55_9266_067c_0bf3_d4aa_e26f_cec7_dc03),
    (240, 0, 0xaa42_02da_a276_9dc8_5c9a_ae94_c8eb_e5a0),
    (240, 0x9e37_79b1_85eb_ca8d, 0x29d2_133d_6ea5_8c5b_604e_98db_085c_1864),
    (241, 0, 0x99a8_0ecf_0ecf_c647_c5a6_39ec_d203_0e5e),
    (241, 0x9e37_79b1_85eb_ca8d, 0xec64_afae_6a13_7582_dda9_b0a1_61d4_829a),
    (1024, 0, 0x0d30_d240_71c6_4c57_dd85_c9b5_c110_9c5c),
    (1024, 0x9e37_79b1_85eb_ca8d, 0x1760_0efe_2b49_3a18_ef36_8a8a_2eba_baef),
    (1025, 0, 0xfd3e_e4fe_7f29_54c6_d870_c0fa_1321_1c6a),
    (1025, 0x9e37_79b1_85eb_ca8d, 0x2c38_3949_f57b_f7e1_9679_2bcf_9af8_8519),
    (4096, 0, 0xb9cf_aea2_ca56_26a4_e912_0642_9d1f_48f9),
    (4096, 0x9e37_79b1_85eb_ca8d, 0x8fbc_8fd4_d526_d1bd_2a3b_bb20_a543_9dcd),
];

#[test]
fn xxh3_128_of_the_published_buffer_is_as_published() {
    for &(len, seed, expected) in XXH3 {
        let hash = Seed::new(seed).hash(&published_buffer(len)).unwrap();
        assert_eq!(as_word(hash), expected, "{len} bytes, seed {seed:#x}");
    }
}

/// XXH3-64 is the low half of XXH3-128 up to 3 bytes only; the rest of the published 64-bit set
/// checks that the crate underneath is the published function at every length class.
#[test]
fn xxh3_64_of_the_published_buffer_is_as_published() {
    let published = [
        (0, 0x2d06_8005_38d3_94c2),
        (1, 0xc44b_dff4_074e_ecdb),
        (6, 0x27b5_6a84_cd2d_7325),
        (12, 0xa713_daf0_dfbb_77e7),
        (24, 0xa3fe_70bf_9d35_10eb),
        (48, 0x397d_a259_ecba_1f11),
        (80, 0xbcde_fbbb_2c47_c90a),
    ];
    for (len, expected) in published {
        assert_eq!(xxhash_rust::xxh3::xxh3_64(&published_buffer(len)), expected, "{len} bytes");
    }
}

#[test]
fn siphash_1_3_128_under_the_counting_key_is_pinned() {
    let key = SecretKey::new(std::array::from_fn(|i| i as u8));
    assert_eq!(key.id().0, 0x87b4_c067_ea39_f5c3);
    let seed = Seed::secret(key);
    for (len, expected) in [
        (0u8, 0x0130_30dd_6adb_62fd_bea5_8827_b2bc_7ee7u128),
        (1, 0x63f0_2f2b_cc73_055e_a8ed_d360_0437_6ffc),
        (7, 0x77ab_4808_c82e_2fa6_c3e0_aaf2_23b9_8410),
        (8, 0x99c7_f935_ab16_4f72_b4da_e3d5_e1fe_12aa),
        (15, 0x0901_7e1e_eccd_2129_6c52_bdb2_0555_7ec1),
        (16, 0x9317_9e3d_f8b0_13b5_eb8e_5115_57d9_a8d0),
        (17, 0xecf7_bdfe_e812_5197_8d66_bb3f_f926_4123),
        (63, 0xad60_52a7_0a6b_9f07_6f42_fe4e_e300_584c),
    ] {
        let message: Vec<u8> = (0..len).collect();
        assert_eq!(as_word(seed.hash(&message).unwrap()), expected, "{len} bytes");
    }
}

#[test]
fn canonical_bytes_of_every_type_are_pinned() {
    fn bytes<K: Key + ?Sized>(key: &K) -> Vec<u8> {
        key.canonical_bytes().as_ref().to_vec()
    }
    // Text and bytes: as they are.
    assert_eq!(bytes("añ"), [0x61, 0xc3, 0xb1]);
    assert_eq!(bytes(&String::from("añ")), [0x61, 0xc3, 0xb1]);
    assert_eq!(bytes(&b"\0\xff"[..]), [0, 0xff]);
    assert_eq!(bytes(&vec![0u8, 0xff]), [0, 0xff]);
    assert_eq!(bytes(&[0u8, 0xff]), [0, 0xff]);
    assert_eq!(bytes(&&"a"), b"a");
    assert_eq!(bytes(&Box::<str>::from("a")), b"a");
    assert_eq!(bytes(&Cow::Borrowed("a")), b"a");
    assert_eq!(bytes(""), b"");
    // Integers: fixed width, little-endian, two's complement.
    assert_eq!(bytes(&0x01u8), [1]);
    assert_eq!(bytes(&0x0102u16), [2, 1]);
    assert_eq!(bytes(&0x0102_0304u32), [4, 3, 2, 1]);
    assert_eq!(bytes(&0x0102_0304_0506_0708u64), [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes(&0x0102u128), [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes(&-1i8), [0xff]);
    assert_eq!(bytes(&-2i16), [0xfe, 0xff]);
    assert_eq!(bytes(&-2i32), [0xfe, 0xff, 0xff, 0xff]);
    assert_eq!(bytes(&i64::MIN), [0, 0, 0, 0, 0, 0, 0, 0x80]);
    assert_eq!(bytes(&-2i128)[..2], [0xfe, 0xff]);
    assert_eq!(bytes(&-2i128).len(), 16);
    // Tuples: each part after its length as a little-endian u64.
    assert_eq!(
        bytes(&("ab", 7u16)),
        [2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 2, 0, 0, 0, 0, 0, 0, 0, 7, 0]
    );
    assert_eq!(bytes(&("", "", "")), [0; 24]);
    assert_eq!(bytes(&("", "", "", 1u8))[24..], [1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes(&(("", ""), ""))[..8], [16, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn hashes_of_keys_are_pinned() {
    fn check<K: Key + ?Sized>(key: &K, expected: u128) {
        let hash = Seed::default().hash(key).unwrap();
        assert_eq!(as_word(hash), expected, "{:x?}", key.canonical_bytes().as_ref());
    }
    check("abc", 0x06b0_5ab6_733a_6185_78af_5f94_892f_3950);
    check("", 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    check(&258u32, 0x1280_2ab2_a639_3dca_1770_93ee_2e4c_6e74);
    check(&-2i16, 0x2d75_4872_8059_3f52_00e7_cbba_5da9_e337);
    check(
        &0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10u128,
        0xffa2_e6b5_226c_e2bc_ef77_0fff_e2bc_0736,
    );
    check(&("ab", "c"), 0xf2ed_a270_8bcf_d51c_c05c_0ee4_c9f6_0440);
    check(&("a", 1u8, 2u64), 0xe23d_4696_b437_bffa_1e3a_23c8_a965_09a3);
}

#[test]
fn keys_of_unequal_bytes_hash_apart_and_of_equal_bytes_alike() {
    let seed = Seed::new(9);
    let hash = |key: &dyn Fn(&Seed) -> Result<KeyHash, HashError>| key(&seed).unwrap();
    assert_eq!(hash(&|s| s.hash("abc")), hash(&|s| s.hash(b"abc")));
    assert_eq!(hash(&|s| s.hash("abc")), hash(&|s| s.hash(&Cow::<[u8]>::Owned(b"abc".to_vec()))));
    assert_eq!(hash(&|s| s.hash(&5u32)), hash(&|s| s.hash(&[5u8, 0, 0, 0])));
    assert_ne!(hash(&|s| s.hash(&5u32)), hash(&|s| s.hash(&5u64)));
    assert_ne!(hash(&|s| s.hash(&("ab", "c"))), hash(&|s| s.hash(&("a", "bc"))));
    assert_ne!(hash(&|s| s.hash(&("a", "b"))), hash(&|s| s.hash(&("a", "b", ""))));
}

#[test]
fn key_hash_of_uniform_bytes_is_big_endian_and_sorts_like_them() {
    let bytes = std::array::from_fn(|i| i as u8);
    let hash = KeyHash::from_uniform(&bytes);
    assert_eq!(hash.hi(), 0x0001_0203_0405_0607);
    assert_eq!(hash.lo(), 0x0809_0a0b_0c0d_0e0f);
    assert_eq!(hash.to_bytes(), bytes);
    assert_eq!(format!("{hash:?}"), "KeyHash(..)");

    let mut list: Vec<[u8; 16]> =
        (0..1_000u32).map(|i| Seed::default().hash(&i).unwrap().to_bytes()).collect();
    list.sort_unstable();
    assert!(list.iter().map(KeyHash::from_uniform).is_sorted());
}

/// `hi` and `lo` as one word, salt, `a`, `b`.
const MIX: &[(u128, u64, u64, u64)] = &[
    (0, 0, 0x4ff4_762b_294a_30c8, 0x35de_4861_0060_5e7d),
    (0, 1, 0xc7cc_eb91_3266_36ad, 0x5c5f_2473_041b_4cc1),
    (0, u64::MAX, 0x59c6_d4c3_9ce2_0aae, 0x22bf_3075_b557_7466),
    (1, 0, 0x4ff4_762b_294a_30c9, 0xf535_f1f4_258b_3034),
    (1, 1, 0xc7cc_eb91_3266_36ac, 0x9ca7_7cc4_2136_3288),
    (1 << 64, 0, 0xae3c_cce2_a8bc_b4d5, 0xe79f_74cf_5586_1404),
    (1 << 64, u64::MAX, 0xff8f_5289_1c38_8eba, 0x9250_c54a_af50_2690),
    (u128::MAX, 0, 0x701a_896d_da94_f7ef, 0x9299_ee38_835d_5d56),
    (u128::MAX, u64::MAX, 0x6227_372c_630a_f2b1, 0xbe06_fcb8_b9e8_37a5),
    (0x0123_4567_89ab_cdef_fedc_ba98_7654_3210, 0, 0x451a_7384_66c2_d4d4, 0xc1d4_86ef_5913_6d75),
    (0x0123_4567_89ab_cdef_fedc_ba98_7654_3210, 1, 0xe351_916f_c799_8a57, 0xadf9_0e3f_7f7c_ec64),
];

#[test]
fn mix_value_stability() {
    for &(word, salt, a, b) in MIX {
        let mixed = KeyHash::from_uniform(&word.to_be_bytes()).mix(Salt::new(salt));
        assert_eq!(mixed, Mixed { a, b }, "{word:#034x} under salt {salt:#x}");
    }
    assert_eq!(Salt::default(), Salt::new(0));
    assert_eq!(Salt::new(77).value(), 77);
}

#[test]
fn reduce_is_the_high_product_for_every_size_of_range() {
    // ⌊word · range / 2⁶⁴⌋ where it can be said without a product: powers of two and 2⁶³.
    let words = [0, 1, 0x0123_4567_89ab_cdef, 1 << 63, u64::MAX - 1, u64::MAX];
    for word in words {
        for shift in 1..=40 {
            assert_eq!(reduce(word, 1 << shift), word >> (64 - shift), "{word:#x} to 2^{shift}");
        }
        assert_eq!(reduce(word, 1 << 63), word >> 1);
        assert_eq!(reduce(word, 1), 0);
        assert_eq!(reduce(word, 0), 0);
        for range in [3, 1_000, (1 << 40) - 1, (1 << 40) + 1, u64::MAX] {
            assert!(reduce(word, range) < range);
        }
    }
    assert_eq!(reduce(u64::MAX, u64::MAX), u64::MAX - 1);
    assert_eq!(reduce(u64::MAX, (1 << 40) + 1), 1 << 40);
}

#[test]
fn seeds_that_cannot_hash_say_why() {
    let secret = |byte| SecretKey::new([byte; 16]);
    let uniform = Seed::uniform(Digest::Sha1);
    assert_eq!(uniform.hash("a"), Err(HashError::AlreadyHashed { digest: Digest::Sha1 }));

    let keyed = Seed::secret(secret(1));
    let mut locked = Seed::from_identity(keyed.identity());
    assert_eq!(keyed.identity(), HashIdentity::Siphash(secret(1).id()));
    assert_eq!(locked.hash("a"), Err(HashError::Locked { key_id: secret(1).id() }));
    assert!(locked.identity() == keyed.identity());
    let wrong = HashError::WrongKey { expected: secret(1).id(), found: secret(2).id() };
    assert_eq!(locked.unlock(secret(2)), Err(wrong));
    assert_eq!(locked.unlock(secret(1)), Ok(()));
    assert_eq!(locked.hash("a"), keyed.hash("a"));
    assert_eq!(Seed::new(1).unlock(secret(1)), Err(HashError::NotKeyed));
}

#[test]
fn debug_of_a_secret_shows_only_its_id() {
    let key = SecretKey::new(*b"canary-canary-16");
    let shown = format!("{key:?} {:?}", Seed::secret(key.clone()));
    assert!(shown.contains(&key.id().to_string()) && !shown.contains("canary"), "{shown}");
    assert!(!shown.contains("99, 97, 110"), "{shown}");
}
