//! Any objects where a guard's state should be, and whole states that say anything: an error or a
//! guard that goes on, never a panic.
#![cfg_attr(fuzzing, no_main)]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use hapax::replay::state::{Contents, MemoryStorage, StateStore, Storage};
use hapax::replay::{
    Delivery, KeyGroups, OnFull, Placement, Position, ReplayGuard, ReplayGuardBuilder, StateReport,
    Verdict,
};
use xxhash_rust::xxh3::xxh3_64;

type Objects = BTreeMap<String, Vec<u8>>;

#[derive(Debug, Arbitrary)]
struct Input {
    /// Whether the state of a guard is there before the changes.
    begun: bool,
    changes: Vec<Change>,
    /// What somebody else publishes then, all checksums right.
    published: Vec<Statement>,
}

#[derive(Debug, Arbitrary)]
enum Change {
    Put { name: Name, bytes: Vec<u8> },
    Overwrite { object: u8, at: u16, bytes: Vec<u8>, seal: bool },
    Cut { object: u8, len: u16, seal: bool },
    Delete { object: u8 },
    Copy { object: u8, name: Name },
}

#[derive(Debug, Arbitrary)]
enum Name {
    Manifest(u8),
    Segment(u8, u8),
    Newest(u64),
    Other(u8),
}

#[derive(Debug, Arbitrary)]
enum Statement {
    Parameters(Edit),
    Progress(Edit),
    Meta { epoch: u8, edit: Edit },
    Number { epoch: u8, number: u64 },
    DropEpoch { epoch: u8 },
    Range { first: u16, last: u16 },
}

#[derive(Debug, Arbitrary)]
enum Edit {
    All(Vec<u8>),
    Part { at: u16, bytes: Vec<u8> },
    Word { at: u8, word: u64 },
    Cut(u16),
}

impl Name {
    fn text(&self) -> String {
        match *self {
            Self::Manifest(number) => format!("manifest-{number:020}"),
            Self::Segment(writer, counter) => format!("segment-{writer:020}-{counter:020}"),
            Self::Newest(number) => format!("manifest-{number:020}"),
            Self::Other(number) => format!("other-{number}"),
        }
    }
}

fn builder() -> ReplayGuardBuilder {
    let groups = KeyGroups::new(4).expect("four groups");
    ReplayGuard::builder(Placement::AfterOutput)
        .window(60)
        .epochs(4)
        .max_in_flight(20)
        .loss_per_recovery(1e-3, 1_000)
        .retire_on_truncation()
        .retire_by_watermark(100, 1_000)
        .on_full(OnFull::Rotate)
        .key_groups(groups, groups.all())
}

/// Three manifests, the older segments of which are gone.
fn begun() -> &'static Objects {
    static OBJECTS: OnceLock<Objects> = OnceLock::new();
    OBJECTS.get_or_init(|| {
        let storage = MemoryStorage::default();
        let (mut guard, _) = builder().open(storage.clone()).expect("an empty place");
        for id in 0..50u64 {
            let delivery = Delivery::from(Position::new((id % 2) as u32, id / 2));
            match guard.admit(&id, &id, delivery.with_event_time(id)) {
                Ok(Verdict::First(ticket)) => ticket.commit(),
                other => panic!("{other:?}"),
            }
            if id % 13 == 12 {
                guard.checkpoint().expect("a checkpoint");
            }
        }
        let rows = storage.list().expect("objects");
        rows.into_iter()
            .map(|row| {
                let bytes = storage.get(&row.name, row.len).expect("an object");
                (row.name, bytes)
            })
            .collect()
    })
}

fn storage(objects: &Objects) -> MemoryStorage {
    let storage = MemoryStorage::default();
    for (name, bytes) in objects {
        storage.put_new(name, bytes).expect("each name once");
    }
    storage
}

fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    let at = at % bytes.len().max(1);
    bytes[at..].iter_mut().zip(new).for_each(|(old, new)| *old = *new);
}

/// Makes the checksum of a manifest right.
fn seal(bytes: &mut [u8]) {
    if let Some((body, checksum)) = bytes.split_last_chunk_mut::<8>() {
        *checksum = xxh3_64(body).to_le_bytes();
    }
}

impl Change {
    fn apply(&self, objects: &mut Objects) {
        let nth =
            |object: u8| objects.keys().nth(usize::from(object) % objects.len().max(1)).cloned();
        match self {
            Self::Put { name, bytes } => {
                objects.insert(name.text(), bytes.clone());
            }
            Self::Overwrite { object, at, bytes, seal: sealed } => {
                if let Some(old) = nth(*object).and_then(|name| objects.get_mut(&name)) {
                    overwrite(old, usize::from(*at), bytes);
                    sealed.then(|| seal(old));
                }
            }
            Self::Cut { object, len, seal: sealed } => {
                if let Some(old) = nth(*object).and_then(|name| objects.get_mut(&name)) {
                    old.truncate(usize::from(*len));
                    sealed.then(|| seal(old));
                }
            }
            Self::Delete { object } => {
                nth(*object).and_then(|name| objects.remove(&name));
            }
            Self::Copy { object, name } => {
                if let Some(bytes) = nth(*object).and_then(|name| objects.get(&name).cloned()) {
                    objects.insert(name.text(), bytes);
                }
            }
        }
    }
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::All(new) => bytes.clone_from(new),
            Self::Part { at, bytes: new } => overwrite(bytes, usize::from(*at), new),
            Self::Word { at, word } => overwrite(bytes, usize::from(*at) * 8, &word.to_le_bytes()),
            Self::Cut(len) => bytes.truncate(usize::from(*len)),
        }
    }
}

impl Statement {
    fn apply(&self, contents: &mut Contents) {
        let epochs = contents.epochs.len().max(1);
        let nth = |epoch: u8| usize::from(epoch) % epochs;
        match self {
            Self::Parameters(edit) => edit.apply(&mut contents.parameters),
            Self::Progress(edit) => edit.apply(&mut contents.progress),
            Self::Meta { epoch, edit } => {
                contents.epochs.get_mut(nth(*epoch)).map(|epoch| edit.apply(&mut epoch.meta));
            }
            Self::Number { epoch, number } => {
                if let Some(epoch) = contents.epochs.get_mut(nth(*epoch)) {
                    epoch.number = *number;
                }
            }
            Self::DropEpoch { epoch } => {
                if !contents.epochs.is_empty() {
                    contents.epochs.remove(nth(*epoch));
                }
            }
            Self::Range { first, last } => {
                (contents.first_group, contents.last_group) = (*first, *last);
            }
        }
    }
}

/// Uses a guard in all ways that move it on, and has it written and read again.
fn goes_on(guard: &mut ReplayGuard) {
    for id in [3, 70, 1 << 40, u64::MAX] {
        for delivery in [
            Delivery::redelivered(true),
            Position::new(1, id).into(),
            Delivery::default().with_event_time(id),
        ] {
            if let Ok(Verdict::First(ticket)) = guard.admit(&id, &id, delivery) {
                ticket.commit();
            }
        }
        guard.seal();
        guard.truncated(Position::new(1, id));
        guard.advance_watermark(id);
    }
    let _ = guard.catch_up([(5u64, 5u64)]);
    guard.fence(Position::new(0, 100));
    assert!(guard.snapshot().counts.estimated_lost >= 0.0);
    let _ = guard.ackable().count();
    guard.checkpoint().expect("a guard that was opened can be saved");
}

fn run(input: Input) {
    let mut objects = if input.begun { begun().clone() } else { Objects::new() };
    input.changes.iter().for_each(|change| change.apply(&mut objects));
    let storage = storage(&objects);
    if !input.published.is_empty()
        && let Ok((mut store, _)) = StateStore::open(storage.clone())
    {
        let mut contents = store.contents().clone();
        input.published.iter().for_each(|statement| statement.apply(&mut contents));
        // What contradicts itself is refused before it is written.
        let _ = store.publish(contents);
    }

    let _ = StateReport::read(&storage);
    let part: &dyn Storage = &storage;
    for union in [false, true] {
        let into = MemoryStorage::default();
        let opened = if union {
            builder().open_union(&[part, part], into.clone())
        } else {
            builder().open_parts(&[part], into.clone())
        };
        match opened {
            Ok((mut guard, _)) => goes_on(&mut guard),
            Err(_) => assert_eq!(into.list().expect("a listing"), []),
        }
    }
    match builder().open(storage.clone()) {
        Ok((mut guard, _)) => {
            goes_on(&mut guard);
            drop(guard);
            builder().open(storage).expect("what was saved is opened");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

hapax_fuzz::target!(run: Input);
