//! `hapax check`: what rows can look like, and which forms of them are asked for.

use crate::common::{Folder, Ran, check, numbered};
use hapax::screen::digest::{nt_of, sha1_of};
use serde_json::Value;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn nt(password: &str) -> String {
    hex(&nt_of(password.as_bytes()).unwrap())
}

fn answer(ran: &Ran) -> (Option<i32>, &str) {
    (ran.status, &ran.stdout)
}

#[test]
fn columns_of_csv_are_candidates_and_labels() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha", b"a,b", b"two words", b" space "]);
    let text = "user,password\r\nann,alpha\r\nbob,\"a,b\"\r\ncid,\"two words\"\r\n\
                dan,\" space \"\r\neve,unlisted\r\n\"f\u{1b}[2Jox\",alpha\r\n";
    let named = ["-i", "plain", "--csv", "--column", "password"];
    let ran = check(&named, &[&filter], text);
    let lines =
        "stdin:2: listed\nstdin:3: listed\nstdin:4: listed\nstdin:5: listed\nstdin:7: listed\n";
    assert_eq!(answer(&ran), (Some(0), lines));
    let labelled = [&named[..], &["--label", "user"]].concat();
    let ran = check(&labelled, &[&filter], text);
    let users = "ann: listed\nbob: listed\ncid: listed\ndan: listed\nf\\u{1b}[2Jox: listed\n";
    assert_eq!(answer(&ran), (Some(0), users));
    let numbered = ["-i", "plain", "--csv", "--column", "2", "--label", "1"];
    assert_eq!(answer(&check(&numbered, &[&filter], text)), (Some(0), users));
    let tabs = text.replace(',', "\t");
    let tabbed = [&labelled[..], &["-d", "\\t"]].concat();
    let without_b = users.replace("bob: listed\n", "");
    assert_eq!(answer(&check(&tabbed, &[&filter], tabs)), (Some(0), without_b.as_str()));

    let ran = check(&[&labelled[..], &["--json"]].concat(), &[&filter], text);
    let record: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&record["label"], &record["line"]), (&"ann".into(), &2.into()));
}

/// A value of several lines is one, or it is rows that nobody asked for: who knows is told.
#[test]
fn records_of_several_lines_are_answered_and_told() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let args = ["-i", "plain", "--csv", "--column", "password", "--label", "user"];
    let text = "user,note,password\nann,\"one\n\"\"two\"\"\n\",alpha\nbob,\"x\ny\",secret\n";
    for quiet in [false, true] {
        let args = [&args[..], if quiet { &["-q"] } else { &[] }].concat();
        let ran = check(&args, &[&filter], text);
        let lines = if quiet { "" } else { "ann: listed\n" };
        assert_eq!(answer(&ran), (Some(0), lines), "{}", ran.stderr);
        let note = "hapax: stdin: note: 2 records go over several lines, from line 2 on: ";
        assert!(ran.stderr.contains(note), "{}", ran.stderr);
    }
    // A mark that is missing in a column nobody asked for, and the next one that is opened.
    let text =
        "user,note,password\nann,\"late,alpha\nbob,x,alpha\ncid,\"early\",secret\ndan,,alpha\n";
    let ran = check(&args, &[&filter], text);
    assert_eq!(answer(&ran), (Some(2), "dan: listed\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("stdin:2: unknown: text follows a closing"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("over several lines"), "{}", ran.stderr);
    let plain = "user,note,password\nann,\"one\",alpha\r\n\r\n";
    assert!(!check(&args, &[&filter], plain).stderr.contains("note:"));
}

#[test]
fn records_that_are_not_whole_have_no_answer() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    let args = ["-i", "plain", "--csv", "--column", "2", "--label", "1"];
    let ran = check(&args, &[&filter], "a,alpha\nb\nc,alpha\n");
    assert_eq!(answer(&ran), (Some(2), "a: listed\nc: listed\n"));
    assert!(ran.stderr.contains("stdin:2: unknown: the record does not have"), "{}", ran.stderr);
    // A quotation mark too many swallows rows, passwords and all: none of it is printed.
    let ran = check(&args, &[&filter], "a,alpha\n\"b,secret1\nc\",secret2\nd,alpha\n");
    assert_eq!(answer(&ran), (Some(2), "a: listed\nd: listed\n"));
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    for (swallowing, why) in [
        (
            "a,alpha\nb,\"secret1\nc,secret2\nd,alpha\n",
            "stdin:2: unknown: a quotation mark is opened",
        ),
        (
            "a,alpha\nb,\"secret1\nc,\"secret2\n",
            "stdin:2: unknown: text follows a closing quotation mark",
        ),
    ] {
        let ran = check(&args, &[&filter], swallowing);
        assert_eq!(answer(&ran), (Some(2), "a: listed\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains(why) && !ran.stderr.contains("secret"), "{}", ran.stderr);
    }
    for args in [
        &["-i", "plain", "--csv", "--column", "2", "--label", "2"][..],
        &["-i", "plain", "--csv", "--column", "none"],
        &["-i", "plain", "--column", "2"],
        &["-i", "plain", "--csv", "-0"],
        &["-i", "plain", "--csv", "-d", "\""],
    ] {
        let ran = check(args, &[&filter], "user,password\na,alpha\n");
        assert_eq!(answer(&ran), (Some(2), ""), "{args:?}");
    }
}

#[test]
fn accounts_are_named_by_their_users() {
    let folder = Folder::new();
    let filter = folder.nt("f.hapax", &[b"password", b"letmein"]);
    let (listed, other) = (nt("password"), nt("x"));
    let lm = "aad3b435b51404eeaad3b435b51404ee";
    let text = format!(
        "CORP\\ann:1103:{lm}:{listed}:::\r\nbob:1104:{lm}:{other}:::\r\ncid:{}\n\
         dan:1105:NO PASSWORD*********************:{listed}:::\neve:{other}\n",
        nt("letmein").to_uppercase()
    );
    let ran = check(&["-i", "nt", "--user-hash"], &[&filter], text.as_str());
    let users = "CORP\\ann: listed\ncid: listed\ndan: listed\n";
    assert_eq!(answer(&ran), (Some(0), users), "{}", ran.stderr);
    let ran = check(&["-i", "nt", "--user-hash", "-v"], &[&filter], text.as_str());
    assert_eq!(answer(&ran), (Some(0), "bob: not listed\neve: not listed\n"));

    // An account without a hash is no account with a good password.
    let text =
        format!("ann:{listed}\nbob:\ncid:500:{lm}:NO PASSWORD*********************:::\n{listed}\n");
    let ran = check(&["-i", "nt", "--user-hash"], &[&filter], text);
    assert_eq!(answer(&ran), (Some(2), "ann: listed\n"));
    assert_eq!(ran.stderr.matches("the account has no hash").count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("stdin:4: unknown: expected user:hash"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(&listed[..8]), "{}", ran.stderr);

    let sha1 = folder.sha1("sha1.hapax", &[b"password"]);
    let text = format!("ann:{}\n", hex(&sha1_of(b"password")));
    let ran = check(&["-i", "sha1", "--user-hash"], &[&sha1], text.as_str());
    assert_eq!(answer(&ran), (Some(0), "ann: listed\n"));
    let ran = check(&["-i", "plain", "--user-hash"], &[&sha1], text);
    assert_eq!(answer(&ran), (Some(2), ""));
}

#[test]
fn rows_that_end_in_nul_and_whole_inputs_are_exact() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"two\nlines", b"alpha\r", b"\xef\xbb\xbfmarked"]);
    let ran = check(&["-i", "plain", "-0"], &[&filter], b"two\nlines\0alpha\r\0\xef\xbb\xbfmarked");
    assert_eq!(answer(&ran), (Some(0), "stdin:1: listed\nstdin:2: listed\nstdin:3: listed\n"));
    for (input, status) in [
        (&b"two\nlines"[..], 0),
        (b"two\nlines\n", 0),
        (b"two\nlines\r\n", 0),
        (b"two\nlines\n\n", 1),
        (b"\xef\xbb\xbfmarked", 0),
        (b"", 2),
        (b"\n", 2),
    ] {
        let ran = check(&["-i", "plain", "--one"], &[&filter], input);
        assert_eq!(ran.status, Some(status), "{}", input.escape_ascii());
    }
}

/// A long password hangs nothing.
#[test]
fn ten_megabytes_are_one_candidate() {
    let folder = Folder::new();
    let long = vec![b'x'; 10_000_000];
    let filter = folder.sha1("f.hapax", &[&long]);
    assert_eq!(check(&["-i", "plain", "--one"], &[&filter], long.clone()).status, Some(0));
    assert_eq!(check(&["-i", "plain", "--one"], &[&filter], &long[1..]).status, Some(1));
    let too_long = vec![b'x'; (16 << 20) + 1];
    let ran = check(&["-i", "plain", "--one"], &[&filter], too_long);
    assert_eq!(answer(&ran), (Some(2), ""));
}

#[test]
fn other_forms_are_asked_for_and_named() {
    let folder = Folder::new();
    let passwords: [&[u8]; 4] =
        ["mañana".as_bytes(), b"password1", b"plain", b"Ma\xf1ana".to_ascii_lowercase().leak()];
    let filter = folder.sha1("f.hapax", &passwords);
    let input = [
        "man\u{303}ana\nPassword1\n ｐlain\n plain\nplain\nPASSWORD1 \nother\n".as_bytes(),
        b"Ma\xf1ana\n",
    ]
    .concat();
    let ran = check(&["-i", "plain"], &[&filter], input.as_slice());
    assert_eq!(answer(&ran), (Some(0), "stdin:5: listed\n"));
    let ran =
        check(&["-i", "plain", "--also", "nfc,nfkc,lower,trim"], &[&filter], input.as_slice());
    let expected = "stdin:1: listed (as nfc)\nstdin:2: listed (as lower)\n\
                    stdin:4: listed (as trim)\nstdin:5: listed\nstdin:8: listed (as lower)\n";
    assert_eq!(answer(&ran), (Some(0), expected));
    let ran = check(&["-i", "plain", "--also", "lower", "--json"], &[&filter], "Password1");
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&record["form"], &record["listed"]), (&"lower".into(), &true.into()));

    // Under a list that was not folded, a folded question is one more question, not another.
    let unfolded = folder.sha1("g.hapax", &[b"Password1"]);
    for (input, status) in [("Password1", 0), ("password1", 1), ("PASSWORD1", 1)] {
        let ran = check(&["-i", "plain", "--also", "lower"], &[&unfolded], input);
        assert_eq!(ran.status, Some(status), "{input}");
    }
    let ran = check(&["-i", "sha1", "--also", "lower"], &[&filter], hex(&sha1_of(b"plain")));
    assert_eq!(answer(&ran), (Some(2), ""));
}

/// The password of a form that has no NT hash is unknown, whatever its other forms say.
#[test]
fn forms_do_not_make_an_unknown_row_known() {
    let folder = Folder::new();
    let filter = folder.nt("f.hapax", &[b"plain"]);
    let ran = check(&["-i", "plain", "--also", "lower,trim"], &[&filter], b" Ma\xf1ana");
    assert_eq!(answer(&ran), (Some(2), ""));
}

#[test]
fn what_is_not_listed_is_printed_on_request_and_the_status_stays() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha"]);
    for (args, stdout) in [
        (&["-i", "plain", "-v"][..], "stdin:2: not listed\nstdin:4: not listed\n"),
        (&["-i", "plain", "-v", "-c"], "2\n"),
        (&["-i", "plain", "-c"], "1\n"),
    ] {
        let ran = check(args, &[&filter], "alpha\nbeta\n\ngamma\n");
        assert_eq!(answer(&ran), (Some(0), stdout), "{args:?}");
    }
    let ran = check(&["-i", "plain", "-v", "--json"], &[&filter], "alpha\nbeta\n");
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&record["line"], &record["listed"]), (&2.into(), &false.into()));
    assert_eq!(check(&["-i", "plain", "-v"], &[&filter], "beta\n").status, Some(1));
}

#[test]
fn any_number_of_threads_gives_the_same_rows_in_the_same_order() {
    let folder = Folder::new();
    let listed: Vec<String> = (0..900).map(|i| (i * 331).to_string()).collect();
    let listed: Vec<&[u8]> = listed.iter().map(String::as_bytes).collect();
    let filter = folder.sha1("f.hapax", &listed);
    // Blank, long and ordinary rows, so that batches end anywhere.
    let mut rows = numbered(300_000);
    rows.insert_str(1_000, &format!("\n{}\n\r\n", "x".repeat(70_000)));
    rows.push_str(&("y".repeat(300_000) + "\n0\n"));
    let one = check(&["-i", "plain", "--threads", "1"], &[&filter], rows.as_str());
    assert_eq!(one.status, Some(2));
    assert_eq!(one.stdout.lines().count(), 901, "{}", one.stderr);
    for threads in ["2", "3", "16"] {
        for output in [&[][..], &["--json"]] {
            let args = [&["-i", "plain", "--threads", threads][..], output].concat();
            let ran = check(&args, &[&filter], rows.as_str());
            if output.is_empty() {
                assert!(ran.stdout == one.stdout, "{threads} threads");
            } else {
                let lines: Vec<u64> = ran
                    .stdout
                    .lines()
                    .map(|line| {
                        serde_json::from_str::<Value>(line).unwrap()["line"].as_u64().unwrap()
                    })
                    .collect();
                assert!(lines.is_sorted() && lines.len() == 903, "{threads}: {}", lines.len());
            }
            assert!(ran.stderr.contains(", 2 unknown, 1 blank"), "{}", ran.stderr);
        }
    }
}
