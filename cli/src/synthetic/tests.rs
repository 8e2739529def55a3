//! Lists that were made, against what they promise.

use super::*;

fn text(request: &GenRequest) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    let target = Target { path: path.clone(), ..request.target.clone() };
    let rows = run(&GenRequest { target, ..request.clone() }).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text.lines().count() as u64, rows);
    text
}

fn request(kind: Kind, rows: u64, seed: u64) -> GenRequest {
    GenRequest {
        kind,
        rows,
        seed,
        digest: PasswordDigest::Sha1,
        threads: 1,
        target: Target {
            path: "list".into(),
            format: Format::Hibp,
            end: None,
            compress: crate::rows::Compress::None,
            existing: hapax::codec::Existing::Refuse,
        },
    }
}

#[test]
fn hashes_are_sorted_distinct_and_the_same_with_any_number_of_threads() {
    let one = text(&request(Kind::Hashes, 300_000, 7));
    for threads in [2, 3, 8] {
        let more = GenRequest { threads, ..request(Kind::Hashes, 300_000, 7) };
        assert!(text(&more) == one, "{threads} threads");
    }
    let rows: Vec<&str> = one.lines().map(|row| &row[..40]).collect();
    assert!(rows.is_sorted_by(|first, second| first < second));
    let other = text(&request(Kind::Hashes, 300_000, 8));
    assert!(other.lines().all(|row| rows.binary_search(&&row[..40]).is_err()), "another seed");
}

/// Rows, their spread over prefixes and their counts, within 5 standard deviations either way.
#[test]
fn rows_and_counts_are_distributed_as_in_genuine_lists() {
    // 2^20 cells of one row, and 2^21 of 2.5.
    for rows in [1 << 20, 5 << 20] {
        let cells = Cells::new(rows, 1, PasswordDigest::Sha1);
        let (mut total, mut often, mut ones) = (0_u64, 0_u64, 0_u64);
        let mut per_prefix = vec![0_u32; 1 << 20];
        let mut bits = [0_u64; 128];
        for piece in 0..cells.pieces() {
            cells.piece(piece, |entry| {
                total += 1;
                often += u64::from(entry.count >= 100);
                ones += u64::from(entry.count == 1);
                per_prefix[(entry.hash.hi() >> 44) as usize] += 1;
                for (half, word) in [entry.hash.hi(), entry.hash.lo()].into_iter().enumerate() {
                    for bit in 0..64 {
                        bits[half * 64 + bit] += (word >> bit) & 1;
                    }
                }
            });
        }
        let within = |found: u64, expected: f64, variance: f64| {
            let deviations = (found as f64 - expected) / variance.sqrt();
            assert!(deviations.abs() < 5.0, "{found} of {expected}: {deviations} deviations");
        };
        let n = total as f64;
        within(total, rows as f64, rows as f64);
        within(often, n * 0.01, n * 0.01);
        within(ones, n * 0.5, n * 0.25);
        for ones in bits {
            within(ones, n * 0.5, n * 0.25);
        }
        // The variance of Poisson numbers is their mean; of the sample variance, 2·mean²/prefixes
        // and a little more.
        let mean = n / per_prefix.len() as f64;
        let squares: f64 = per_prefix.iter().map(|&k| (f64::from(k) - mean).powi(2)).sum();
        let ratio = squares / n;
        let deviation = ((2.0 + 1.0 / mean) / per_prefix.len() as f64).sqrt();
        assert!((ratio - 1.0).abs() < 5.0 * deviation, "variance over mean: {ratio}");
    }
}

#[test]
fn plain_rows_are_the_numbers_asked_for() {
    assert_eq!(text(&request(Kind::Plain { start: 8 }, 3, 0)), "8\n9\n10\n");
    let many = text(&GenRequest { threads: 3, ..request(Kind::Plain { start: 5 }, 200_000, 0) });
    assert!(many.lines().enumerate().all(|(index, row)| row == (index + 5).to_string()));
    assert_eq!(text(&request(Kind::Plain { start: 5 }, 0, 0)), "");
    let beyond = run(&request(Kind::Plain { start: u64::MAX }, 1, 0));
    assert!(beyond.is_err());
}
