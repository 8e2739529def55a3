//! The lines of `--json`. Fields may be added, and none is taken away or changes its meaning.

use serde::Serialize;

/// What was found out about a row.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    /// The source: a path, `stdin` or `prompt`.
    pub(super) input: &'a str,
    /// The row, from 1.
    pub(super) line: u64,
    /// What the row is called, if it was said where to find that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<&'a str>,
    pub(super) listed: bool,
    /// What the answer rests on: `filter`, `confirmed` (by the list), `refuted` (by the list).
    pub(super) basis: &'static str,
    /// How often it was seen, if the list was asked and says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u64>,
    /// The list in which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) list: Option<&'a str>,
    /// The form that is listed, if it is not the candidate as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) form: Option<&'static str>,
    /// Probability that the filters list what is in no list.
    pub(super) false_positive_rate: f64,
}

/// What has no answer, so that it is not taken for "not listed".
#[derive(Debug, Serialize)]
pub(super) struct Unanswered<'a> {
    pub(super) input: &'a str,
    /// The row, from 1; null for the rest of an input that cannot be read.
    pub(super) line: Option<u64>,
    /// As in [`Record`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<&'a str>,
    /// Always null.
    pub(super) listed: Option<bool>,
    /// Why. Holds nothing of the row.
    pub(super) error: &'a str,
}
