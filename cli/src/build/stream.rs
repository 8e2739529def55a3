//! Building while the rows stream by: the filter of a list that does not change.
//!
//! The keys are never all in memory. Sorted lists are cut into shards as they are read; others are
//! sorted first, in temporary files, and which it is to be is seen from the first rows. A list that
//! turns out not to be sorted after all is read again, if it can be.

use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Instant;

use hapax::codec::{
    Artefact, FileError, FuseWriter, Order, Readers, SaveOptions, StreamError, StreamOptions,
};
use hapax::screen::PasswordDigest;
use hapax::{AnyFilter, BinaryFuseFilter, FuseBuilder, Mapped, Membership, Seed};

use super::{
    BuildRequest, Card, Size, forecast, grouped, output, provenance_of, read_keys, require_complete,
};
use crate::lists::{self, Input, OpenList, ReadLists};
use crate::trouble::{Trouble, shown};

/// Reads lists and writes the filter.
///
/// # Errors
///
/// Whatever kept the whole filter from being written; then nothing was.
pub(super) fn run(
    request: &BuildRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
) -> Result<Card, Trouble> {
    let start = Instant::now();
    let inputs: Vec<Input> = lists.iter().map(|list| list.name().clone()).collect();
    // Rows chosen by their counts come in that order.
    let order =
        if request.unsorted || request.top.is_some() { Order::Unsorted } else { Order::Detected };
    let read = match attempt(request, lists, progress, order) {
        Err(Failure::Disorder { .. }) if inputs.iter().all(Input::can_be_read_again) => {
            attempt(request, lists::open_all(&inputs)?, progress, Order::Unsorted)
        }
        attempted => attempted,
    };
    let read = read.map_err(|failure| failure.into_trouble(request, &inputs))?;
    let artefact = Artefact::<AnyFilter<Mapped>>::open_path(&request.output)
        .map_err(|error| Trouble::file(&error))?;
    let (stats, rate) = (artefact.filter.stats(), artefact.filter.false_positive_rate());
    Ok(Card::new(request, read, artefact.provenance, stats, rate, start.elapsed()))
}

/// Why no filter was written.
enum Failure {
    /// The rows were sorted at first, and then were not.
    Disorder {
        keys: u64,
    },
    /// The file could not be written.
    Output(FileError),
    /// The temporary file could not be.
    Temporary {
        folder: PathBuf,
        source: io::Error,
    },
    Other(Trouble),
}

impl Failure {
    fn into_trouble(self, request: &BuildRequest, inputs: &[Input]) -> Trouble {
        match self {
            Self::Other(trouble) => trouble,
            Self::Output(error) => output::failed(request, &error, || {
                forecast::needed(request, inputs).map(|(_, bytes)| bytes)
            }),
            Self::Temporary { folder, source } => {
                let rows = forecast::needed(request, inputs).map(|(rows, _)| rows);
                let all = rows.map(|rows| format!(", about {} in all", grouped(16 * rows)));
                Trouble::new(format_args!(
                    "{}: keys cannot be kept in a temporary file: {source}: they take 16 bytes a row{}: \
                     name another folder with --tmp, more memory with --memory, or sort the list \
                     (hapax convert --sort hash)",
                    shown(&folder),
                    all.unwrap_or_default(),
                ))
            }
            Self::Disorder { keys } => Trouble::new(format_args!(
                "the rows were sorted as far as row {keys}, and then were not; the input cannot be \
                 read again: give --unsorted, or a file"
            )),
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self::Other(trouble)
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Disorder { keys } => Self::Disorder { keys },
            StreamError::File(error) => Self::Output(error),
            StreamError::Temporary { folder, source } => Self::Temporary { folder, source },
            other => Self::Other(Trouble::new(other)),
        }
    }
}

fn attempt(
    request: &BuildRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
    order: Order,
) -> Result<ReadLists, Failure> {
    let mut target: Option<FuseWriter> = None;
    let mut restricted = false;
    let mut failure = None;
    let read = read_keys(request, lists, progress, &mut |digest, plain, hashes| {
        let pushed = (|| {
            let writer = match &mut target {
                Some(writer) => writer,
                None => target.insert(writer(request, digest, order)?),
            };
            // Whoever holds a filter of passwords can test guesses against it.
            if plain && !restricted {
                restricted = true;
                writer.restrict_to_owner();
            }
            Ok(writer.push_all(hashes)?)
        })();
        pushed.map_err(|error: Failure| {
            failure = Some(error);
            Trouble::new("stopped")
        })
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let read = read?;
    if request.require_complete {
        require_complete(&read)?;
    }
    let Some(writer) = target else { return Err(super::nothing_left().into()) };
    writer.finish(provenance_of(request, &read))?;
    Ok(read)
}

/// Starts the file, once it is known which hash the keys are.
fn writer(
    request: &BuildRequest,
    digest: PasswordDigest,
    order: Order,
) -> Result<FuseWriter, Failure> {
    let builder = builder(request)?.seed(Seed::uniform(digest.into()));
    let save = SaveOptions { existing: request.existing, readers: Readers::Umask };
    let options =
        StreamOptions { save, memory: request.memory, order, folder: request.tmp.clone() };
    Ok(FuseWriter::create(&request.output, &builder, &options)?)
}

/// The builder of the filter that is asked for.
///
/// # Errors
///
/// If a size in bytes was asked for.
pub(super) fn builder(request: &BuildRequest) -> Result<FuseBuilder, Trouble> {
    let Size::Rate(rate) = request.size else {
        return Err(Trouble::new(
            "the size of a fuse filter follows from its rate: give --false-positive-rate, or another \
             --kind with --bytes",
        ));
    };
    let builder = BinaryFuseFilter::builder().false_positive_rate(rate);
    Ok(match request.threads.and_then(NonZero::new) {
        Some(threads) => builder.threads(threads),
        None => builder,
    })
}
