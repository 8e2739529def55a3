//! Small lists, converted every way, against the same in a few lines.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use hapax::codec::Existing;

use super::*;
use crate::lists::{Input, open_all};
use crate::rows::{Compress, Format, LineEnd};

struct Bench {
    folder: tempfile::TempDir,
    request: ConvertRequest,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let request = ConvertRequest {
            reading: Reading::default(),
            target: Target {
                path: folder.path().join("out"),
                format: Format::Hibp,
                end: None,
                compress: Compress::None,
                existing: Existing::Refuse,
            },
            sort: None,
            merge: None,
            min_count: 1,
            top: None,
            memory: 0,
            tmp: folder.path().to_owned(),
        };
        Self { folder, request }
    }

    fn convert(&self, lists: &[&str]) -> Result<Converted, String> {
        let inputs: Vec<Input> = (0..)
            .zip(lists)
            .map(|(index, list)| {
                let path = self.folder.path().join(format!("list {index}"));
                fs::write(&path, list).unwrap();
                Input::File(path)
            })
            .collect();
        run(&self.request, open_all(&inputs).unwrap(), &|_| {}).map_err(|trouble| match trouble {
            Trouble::Message(message) => message,
            Trouble::BrokenPipe => unreachable!("nothing is printed"),
        })
    }

    fn output(&self) -> String {
        fs::read_to_string(&self.request.target.path).unwrap()
    }
}

fn row(number: u32) -> String {
    let word = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    format!("{word:032X}{number:08X}")
}

/// Rows in no order, some of them twice.
fn list() -> Vec<(String, u64)> {
    let rows = |times: u64| (0..500).map(move |i| (row(i), u64::from(i) % 37 * times + 1));
    rows(1).chain(rows(2).skip(400)).collect()
}

fn text(rows: &[(String, u64)]) -> String {
    rows.iter().map(|(hash, count)| [hash, ":", &count.to_string(), "\n"].concat()).collect()
}

fn by_count(rows: &mut [(String, u64)]) {
    rows.sort_by(|(hash, count), (other_hash, other)| other.cmp(count).then(hash.cmp(other_hash)));
}

#[test]
fn every_choice_of_steps_gives_what_it_says() {
    let rows = list();
    for merge in [None, Some(Merge::Sum), Some(Merge::Max)] {
        for min_count in [1, 20] {
            for top in [None, Some(30), Some(0), Some(10_000)] {
                for sort in [None, Some(Order::Hash), Some(Order::Count)] {
                    let mut expected = rows.clone();
                    if let Some(merge) = merge {
                        let mut merged = BTreeMap::new();
                        for (hash, count) in expected {
                            let entry = merged.entry(hash).or_insert(0);
                            *entry = match merge {
                                Merge::Sum => *entry + count,
                                Merge::Max => count.max(*entry),
                            };
                        }
                        expected = merged.into_iter().collect();
                    }
                    expected.retain(|(_, count)| *count >= min_count);
                    if let Some(top) = top {
                        by_count(&mut expected);
                        expected.truncate(top as usize);
                    }
                    match sort {
                        None => {}
                        Some(Order::Hash) => {
                            expected.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
                        }
                        Some(Order::Count) => by_count(&mut expected),
                    }
                    let mut bench = Bench::new();
                    bench.request = ConvertRequest { sort, merge, min_count, top, ..bench.request };
                    let converted = bench.convert(&[&text(&rows)]).unwrap();
                    let what = format!("{merge:?} {min_count} {top:?} {sort:?}");
                    assert_eq!(bench.output(), text(&expected), "{what}");
                    let accounted = converted.written + converted.duplicate + converted.left_out;
                    assert_eq!(accounted, rows.len() as u64, "{what}");
                    assert_eq!(converted.written, expected.len() as u64, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_file_becomes_a_folder_of_ranges_and_a_file_again() {
    for (compress, end) in [
        (Compress::None, None),
        (Compress::None, Some(LineEnd::Lf)),
        (Compress::Gz, None),
        (Compress::Bz2, None),
        (Compress::Zst, None),
    ] {
        let mut rows = list();
        rows.truncate(500);
        let mut bench = Bench::new();
        bench.request.sort = Some(Order::Hash);
        bench.request.target.format = Format::HibpDir;
        bench.request.target.compress = compress;
        bench.request.target.end = end;
        bench.convert(&[&text(&rows)]).unwrap();
        rows.sort();
        let folder = bench.request.target.path.clone();
        if compress == Compress::None {
            let (hash, count) = &rows[0];
            let range = fs::read_to_string(folder.join(format!("{}.txt", &hash[..5]))).unwrap();
            let first = format!("{}:{count}", &hash[5..]);
            assert!(range.starts_with(&first), "{range}");
            // As the service has it.
            assert_eq!(range.ends_with('\n'), end == Some(LineEnd::Lf), "{range:?}");
        }
        let back = Bench::new();
        let lists = open_all(&[Input::File(folder)]).unwrap();
        run(&back.request, lists, &|_| {}).unwrap();
        assert_eq!(back.output(), text(&rows), "{compress:?}");
    }
}

#[test]
fn rows_of_a_folder_must_be_sorted_and_nothing_stays_of_what_fails() {
    let mut bench = Bench::new();
    bench.request.target.format = Format::HibpDir;
    let mut rows = list();
    rows.sort();
    rows.reverse();
    // Within a range too.
    let within =
        ["5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD9", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"];
    for list in [text(&rows), within.join("\n")] {
        let message = bench.convert(&[&list]).unwrap_err();
        assert!(message.contains("--sort hash"), "{message}");
    }
    // The list and nothing else.
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 1);
    fs::create_dir(&bench.request.target.path).unwrap();
    bench.request.target.existing = Existing::Replace;
    let message = bench.convert(&[&text(&rows)]).unwrap_err();
    assert!(message.contains("a folder is never replaced"), "{message}");
}

#[test]
fn a_list_of_passwords_becomes_hashes_with_their_frequencies() {
    let mut bench = Bench::new();
    bench.request.merge = Some(Merge::Sum);
    bench.request.sort = Some(Order::Count);
    bench.convert(&["password\n123456\npassword\n", "\npassword"]).unwrap();
    assert_eq!(
        bench.output(),
        "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:3\n7C4A8D09CA3762AF61E59520943DC26494F8941B:1\n"
    );
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Whoever holds hashes of passwords can test guesses.
    assert_eq!(mode(&bench.request.target.path), 0o600);
    let bench = Bench::new();
    bench.convert(&["password\n123456\n"]).unwrap();
    assert_eq!(mode(&bench.request.target.path), 0o600);
    let bench = Bench::new();
    bench.convert(&[&text(&list())]).unwrap();
    assert_eq!(mode(&bench.request.target.path), mode(&bench.folder.path().join("list 0")));
}

#[test]
fn a_row_without_a_count_is_no_row_to_choose_by_its_count() {
    let mut bench = Bench::new();
    bench.request.top = Some(1);
    bench.request.reading.needs_counts = true;
    let message = bench.convert(&[&format!("{}:3\n{}\n", row(1), row(2))]).unwrap_err();
    assert!(message.contains("row 2 at byte 43: expected a count"), "{message}");
    assert!(!bench.request.target.path.exists());
}

#[test]
fn an_output_that_is_there_or_is_a_list_is_kept() {
    let mut bench = Bench::new();
    fs::write(&bench.request.target.path, "old").unwrap();
    assert!(bench.convert(&[&text(&list())]).unwrap_err().contains("exists"));
    bench.request.target.existing = Existing::Replace;
    assert!(bench.convert(&["not\na list\nof 5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"]).is_err());
    assert_eq!(bench.output(), "old");
    bench.convert(&[&text(&list())]).unwrap();
    assert_eq!(bench.output(), text(&list()));
    bench.request.target.path = bench.folder.path().join("list 0");
    assert!(bench.convert(&[&text(&list())]).unwrap_err().contains("one of the lists"));
}
