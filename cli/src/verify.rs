//! `hapax verify`: does a filter hold what it promises?
//!
//! First every byte of the file is checked, and its counts against its bodies. Then, against a list,
//! every row is asked for: none may be missed. And strangers, if wanted: no more of them may be
//! reported present than was promised.

mod args;
mod measure;

use std::fmt;
use std::path::{Path, PathBuf};

use hapax::codec::{Artefact, DecodeError, FileError, Kind};
use hapax::replay::{GenerationWindow, ReplayFilter};
use hapax::screen::PasswordDigest;
use hapax::{AnyFilter, Digest, GrowingFilter, HashIdentity, Mapped, Membership};

pub(crate) use self::args::VerifyArgs;
use self::measure::Measured;
use crate::build::grouped;
use crate::dedup;
use crate::exit::Exit;
use crate::info::promised_rate;
use crate::lists::{self, Input, OpenList, Reading};
use crate::trouble::{Trouble, shown};

/// What is to be verified.
#[derive(Clone, Debug)]
pub(crate) struct VerifyRequest {
    /// The filter.
    pub(crate) filter: PathBuf,
    /// How the lists are read. `digest` and `min_count` come from the filter.
    pub(crate) reading: Reading,
    /// What chooses the strangers that the rate of false positives is measured with, if it is.
    pub(crate) strangers: Option<u64>,
}

/// What was found. (What cannot be read at all is a [`Trouble`].)
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verified {
    filter: PathBuf,
    /// Rows asked for; `None` if there was no list.
    pub(crate) against: Option<Against>,
    /// What asking for strangers found, if it was wanted.
    pub(crate) measured: Option<Measured>,
}

/// What asking for every row of the lists found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Against {
    /// Rows asked for.
    pub(crate) checked: u64,
    /// Rows that the filter denies.
    pub(crate) missed: u64,
    /// Rows that gave nothing to ask for: blank, padding, under the filter's minimum, tolerated.
    pub(crate) skipped: u64,
    /// The first row that was missed: its list, number and offset.
    pub(crate) first_missed: Option<(Input, u64, u64)>,
    /// What may be wrong with the lists.
    pub(crate) warnings: Vec<String>,
}

impl Verified {
    /// 0 if every promise holds, 1 if one is broken.
    pub(crate) fn exit(&self) -> Exit {
        let missed = self.against.as_ref().is_some_and(|against| against.missed > 0);
        let kept = self.measured.is_none_or(|measured| measured.holds());
        if missed || !kept { Exit::No } else { Exit::Yes }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: every checksum and count is right", shown(&self.filter))?;
        if let Some(measured) = &self.measured {
            write!(f, "\n  {measured}")?;
        }
        let Some(against) = &self.against else { return Ok(()) };
        write!(f, "\n  checked {}, missed {}", grouped(against.checked), grouped(against.missed))?;
        if against.skipped > 0 {
            write!(f, ", skipped {}", grouped(against.skipped))?;
        }
        if let Some((name, number, offset)) = &against.first_missed {
            write!(
                f,
                "\n  first missed: {name}: row {number} at byte {offset}. The filter was not made \
                 from this list, or not from all of it: build it again"
            )?;
        }
        for warning in &against.warnings {
            write!(f, "\n  note: {warning}")?;
        }
        Ok(())
    }
}

/// Checks a filter and, if there are any, asks it for every row of the lists.
///
/// # Errors
///
/// If the filter is damaged or cannot be read, if it cannot be asked for rows of lists, and as
/// [`lists::read_all`].
pub(crate) fn run(
    request: &VerifyRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
) -> Result<Verified, Trouble> {
    let path = &request.filter;
    if path.is_dir() {
        return verify_state(request, &lists);
    }
    if lists.is_empty() && request.strangers.is_none() {
        check_file(path)?;
        return Ok(Verified { filter: path.clone(), against: None, measured: None });
    }
    let artefact = Artefact::<AnyFilter<Mapped>>::open_path_checked(path, u64::MAX);
    let artefact = artefact.map_err(|error| Trouble::file(&error))?;
    let measure = |seed| {
        let filter = &artefact.filter;
        let promised = promised_rate(filter).unwrap_or_else(|| filter.false_positive_rate());
        Measured::new(filter, promised, seed).map_err(Trouble::new)
    };
    let measured = request.strangers.map(measure).transpose()?;
    if lists.is_empty() {
        return Ok(Verified { filter: path.clone(), against: None, measured });
    }
    let reading = Reading {
        digest: Some(digest_of(path, &artefact.filter)?),
        min_count: artefact.provenance.min_count,
        ..request.reading
    };
    let mut against = Against::default();
    let mut present = Vec::new();
    let read = lists::read_all(lists, reading, progress, |lists::Rows { name, batch, .. }| {
        present.resize(batch.len(), false);
        let answered = artefact.filter.contains_batch(batch.hashes(), &mut present);
        answered.map_err(Trouble::new)?;
        against.checked += batch.len() as u64;
        against.missed += present.iter().filter(|present| !**present).count() as u64;
        let first = present.iter().position(|present| !present).and_then(|at| batch.get(at));
        if let (Some(row), None) = (first, &against.first_missed) {
            against.first_missed = Some((name.clone(), row.number, row.offset));
        }
        Ok(())
    })?;
    against.skipped = read.counts.skipped();
    against.warnings = read.counts.warnings().collect();
    if against.checked == 0 {
        return Err(Trouble::new(
            "no row of the lists could be asked for, so nothing was verified",
        ));
    }
    Ok(Verified { filter: path.clone(), against: Some(against), measured })
}

/// Checks every byte of a state of `hapax dedup`.
fn verify_state(request: &VerifyRequest, lists: &[OpenList]) -> Result<Verified, Trouble> {
    if !lists.is_empty() || request.strangers.is_some() {
        return Err(Trouble::new(format_args!(
            "{}: a state of hapax dedup is checked byte by byte; it promises nothing that a list or \
             strangers could show",
            shown(&request.filter)
        )));
    }
    dedup::verify(&request.filter)?;
    Ok(Verified { filter: request.filter.clone(), against: None, measured: None })
}

/// Checks every byte of a file, and what it says of its bodies, whatever kind of artefact it holds.
fn check_file(path: &Path) -> Result<(), Trouble> {
    let checked = match Artefact::<AnyFilter<Mapped>>::open_path_checked(path, u64::MAX) {
        Err(FileError::Decode { source: DecodeError::WrongKind { found, .. }, .. }) => {
            check_compound(path, found)
        }
        loaded => loaded.map(drop),
    };
    checked.map_err(|error| Trouble::file(&error))
}

/// Checks what is made of filters.
fn check_compound(path: &Path, kind: Kind) -> Result<(), FileError> {
    type Window = GenerationWindow<GrowingFilter>;
    if kind != Kind::Replay {
        return Artefact::<Window>::load(path).map(drop);
    }
    // A replay filter usually has a window, and may have one filter in its place.
    Artefact::<ReplayFilter<Window>>::load(path).map(drop).or_else(|error| {
        match Artefact::<ReplayFilter<GrowingFilter>>::load(path) {
            Ok(_) => Ok(()),
            Err(_) => Err(error),
        }
    })
}

/// Which hash the filter's keys are.
fn digest_of(path: &Path, filter: &impl Membership) -> Result<PasswordDigest, Trouble> {
    match filter.seed().identity() {
        HashIdentity::Uniform(Digest::Sha1) => Ok(PasswordDigest::Sha1),
        HashIdentity::Uniform(Digest::Nt) => Ok(PasswordDigest::Nt),
        _ => Err(Trouble::new(format_args!(
            "{}: expected a filter of SHA-1 or NT hashes, found one of other keys: it was not made \
             from a list of passwords, and cannot be verified against one",
            shown(path)
        ))),
    }
}

#[cfg(test)]
mod tests;
