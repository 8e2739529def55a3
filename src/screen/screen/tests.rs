//! Every kind of filter, every form of password, with and without a list.

use super::super::digest::{NotUtf8, nt_of, sha1_of};
use super::*;
use crate::codec::Persist;
use crate::filter::{BloomFilter, CuckooFilter};
use crate::hash::{HashError, SecretKey, Seed};
use crate::membership::Insert;

const PASSWORD: &[u8] = "mañana".as_bytes();

/// A screen of one password.
fn screen(seed: Seed, key: Option<KeyHash>) -> Screen<BloomFilter> {
    let builder = BloomFilter::builder().capacity(100).false_positive_rate(1e-9).seed(seed);
    let mut filter = builder.build().unwrap();
    let key = key.unwrap_or_else(|| filter.seed().hash(PASSWORD).unwrap());
    let _ = filter.insert_hash(key).unwrap();
    Screen::new(filter)
}

fn uniform(digest: PasswordDigest) -> Screen<BloomFilter> {
    screen(Seed::uniform(digest.into()), digest.key_of(PASSWORD).ok())
}

#[test]
fn each_kind_of_key_answers_what_it_can_and_refuses_the_rest() {
    use PasswordForm::{Nt, Plain, Sha1};
    let (sha1, nt) = (sha1_of(PASSWORD), nt_of(PASSWORD).unwrap());
    let unspecified = Seed::uniform(Digest::Unspecified);
    for (screen, answers) in [
        (uniform(PasswordDigest::Sha1), &[Plain, Sha1][..]),
        (uniform(PasswordDigest::Nt), &[Plain, Nt]),
        (screen(Seed::new(7), None), &[Plain]),
        (screen(Seed::secret(SecretKey::new([1; 16])), None), &[Plain]),
        (screen(unspecified, Some(sha1_key(&sha1))), &[]),
    ] {
        for (form, found) in [
            (Plain, screen.check(PASSWORD)),
            (Sha1, screen.check_sha1(&sha1)),
            (Nt, screen.check_nt(&nt)),
        ] {
            let holds = screen.filter().seed().identity();
            let unanswerable = ScreenError::Unanswerable { asked: form, holds };
            let expected =
                if answers.contains(&form) { Ok(Verdict::Listed) } else { Err(unanswerable) };
            assert_eq!(found, expected, "{form} asked of {holds:?}");
        }
        if answers.contains(&Plain) {
            assert_eq!(screen.check(b"a stranger"), Ok(Verdict::NotListed));
        }
    }
}

#[test]
fn bytes_without_an_nt_hash_are_unknown_not_unlisted() {
    let screen = uniform(PasswordDigest::Nt);
    assert_eq!(screen.check(b"ma\xf1ana"), Err(ScreenError::NotUtf8(NotUtf8)));
}

#[test]
fn a_locked_filter_is_unknown_not_unlisted() {
    let seed = Seed::secret(SecretKey::new([1; 16]));
    let locked = Seed::from_identity(seed.identity());
    let screen = screen(locked, Some(sha1_key(&sha1_of(PASSWORD))));
    assert!(matches!(screen.check(PASSWORD), Err(ScreenError::Hash(HashError::Locked { .. }))));
}

#[test]
fn a_password_is_neither_trimmed_nor_folded_nor_taken_for_a_hash() {
    let screen =
        screen(Seed::uniform(Digest::Sha1), PasswordDigest::Sha1.key_of(b"Password1").ok());
    assert_eq!(screen.check(b"Password1"), Ok(Verdict::Listed));
    for other in ["password1", "Password1 ", " Password1", "Password1\n", "Password1\0", ""] {
        assert_eq!(screen.check(other.as_bytes()), Ok(Verdict::NotListed), "{other:?}");
    }
    let digits = b"70CCD9007338D6D81DD3B6271621B9CF9A97EA00";
    assert_eq!(screen.check(digits), Ok(Verdict::NotListed));
    let sha1 = super::super::digest::bytes_from_hex(digits).unwrap();
    assert_eq!(screen.check_sha1(&sha1), Ok(Verdict::Listed));
}

/// A list of the numbers below this, with counts, and a screen that confirms with it.
fn confirming(folder: &tempfile::TempDir, numbers: u32) -> Screen<BloomFilter> {
    let mut rows: Vec<_> =
        (0..numbers).map(|number| (sha1_of(number.to_string().as_bytes()), number)).collect();
    rows.sort_unstable();
    let row = |(sha1, count): &([u8; 20], u32)| {
        let digits: Vec<String> = sha1.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}:{}\n", digits.concat(), count + 1)
    };
    let path = folder.path().join("list.txt");
    std::fs::write(&path, rows.iter().map(row).collect::<Vec<_>>().concat()).unwrap();
    let builder = BloomFilter::builder().capacity(u64::from(numbers)).false_positive_rate(0.1);
    let mut filter = builder.seed(Seed::uniform(Digest::Sha1)).build().unwrap();
    for (sha1, _) in rows {
        let _ = filter.insert_hash(sha1_key(&sha1)).unwrap();
    }
    let list = ConfirmList::open(path, PasswordDigest::Sha1).unwrap();
    Screen::new(filter).with_confirm(list).unwrap()
}

#[test]
fn threads_sharing_a_screen_agree_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let screen = confirming(&folder, 2_000);
    let ask = |i: u32| screen.find((i % 4_000).to_string().as_bytes());
    let serial: Vec<_> = (0..4_000).map(ask).collect();
    let alarms = screen.false_alarms();
    // 2,000 strangers at 1 in 10.
    assert!((150..250).contains(&alarms), "{alarms}");
    std::thread::scope(|scope| {
        for thread in 0..64 {
            let (serial, ask) = (&serial, &ask);
            scope.spawn(move || {
                for i in 0..1_000 {
                    let i = (i * 7 + thread * 61) % 4_000;
                    assert_eq!(ask(i), serial[i as usize]);
                }
            });
        }
    });
    assert!(screen.false_alarms() > alarms);
}

#[test]
fn what_is_confirmed_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let screen = confirming(&folder, 2_000);
    let keys: Vec<_> =
        (0..4_000).map(|i: u32| screen.key_of(i.to_string().as_bytes()).unwrap()).collect();
    let (mut findings, mut scratch) = (Vec::new(), Scratch::default());
    screen.find_batch(&keys, &mut findings, &mut scratch).unwrap();
    for ((number, key), finding) in (0..).zip(&keys).zip(&findings) {
        assert_eq!(screen.find_key(*key), Ok(*finding));
        if number < 2_000 {
            let count = Some(number + 1);
            assert_eq!(*finding, Finding::Confirmed { count });
            assert_eq!((finding.verdict(), finding.count()), (Verdict::Listed, count));
        } else {
            assert!(matches!(finding, Finding::NotListed | Finding::Refuted));
            assert_eq!(finding.verdict(), Verdict::NotListed);
        }
    }
}

#[test]
fn a_list_that_fails_makes_the_answer_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let screen = confirming(&folder, 20_000);
    std::fs::write(folder.path().join("list.txt"), "").unwrap();
    let error = screen.find(b"7").unwrap_err();
    assert!(error.to_string().contains("found it shorter"), "{error}");
    assert_eq!(screen.check(b"7"), Err(error.clone()));
    let keys = [screen.key_of(b"7").unwrap()];
    let mut findings = vec![Finding::NotListed];
    let found = screen.find_batch(&keys, &mut findings, &mut Scratch::default());
    assert_eq!((found, findings.len()), (Err(error), 0));
    // What the filter denies is certain without the list.
    assert!((0..1_000).any(|i| screen.check(format!("x{i}").as_bytes()).is_ok()));
}

#[test]
fn a_list_of_other_hashes_or_too_few_rows_confirms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let hundred = confirming(&folder, 100).into_inner();
    let path = folder.path().join("few.txt");
    std::fs::write(&path, format!("{}:1\n", "AB".repeat(20))).unwrap();
    let fault = |screen: Screen<BloomFilter>, digest| {
        let list = ConfirmList::open(&path, digest).unwrap();
        screen.with_confirm(list).unwrap_err().fault
    };
    // Some of the hundred were false positives when they were inserted.
    let keys = hundred.stats().len;
    let too_few = fault(Screen::new(hundred), PasswordDigest::Sha1);
    assert_eq!(too_few, ConfirmFault::TooFewRows { keys, rows: 1 });
    let (expected, found) = (PasswordDigest::Nt, PasswordDigest::Sha1);
    let other = fault(uniform(PasswordDigest::Nt), PasswordDigest::Sha1);
    assert_eq!(other, ConfirmFault::OtherDigest { expected, found });
    let own = fault(screen(Seed::new(7), None), PasswordDigest::Sha1);
    assert_eq!(own, ConfirmFault::NotOfHashes);
}

#[test]
fn a_file_without_keys_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.hapax");
    let builder = CuckooFilter::builder().capacity(100).false_positive_rate(0.01);
    builder.seed(Seed::uniform(Digest::Sha1)).build().unwrap().save(&path).unwrap();
    let error = Screen::open(&path).unwrap_err().to_string();
    assert!(error.contains("invalid number of keys: expected at least 1, found 0"), "{error}");
    // Named as the file that was really tried, whatever the working directory.
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count());
    let relative = format!("{up}{}", path.display());
    let Err(FileError::Decode { path, .. }) = Screen::open(&relative) else { panic!("opened") };
    assert_eq!(path, here.join(relative));
    assert!(matches!(Screen::open(folder.path().join("none")), Err(FileError::Io { .. })));
}

#[test]
fn debug_shows_neither_bits_nor_hashes() {
    let shown = format!("{:?}", uniform(PasswordDigest::Sha1));
    assert!(shown.starts_with("Screen { identity: Uniform(Sha1), stats: Stats {"), "{shown}");
    assert!(shown.len() < 400, "{shown}");
}
