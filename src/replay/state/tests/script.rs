//! A life of a state, operation by operation: what the tests of crashes and of damage run.

use super::super::*;
use super::{at, contents, epoch};

/// What a life was about to publish at each step and whether it learned that it was.
#[derive(Debug, Default)]
pub(in super::super) struct Told {
    /// Progress of the last state that was told to be published.
    pub(in super::super) done: Option<String>,
    /// Progress of a state whose publishing was begun and did not return.
    pub(in super::super) begun: Option<String>,
}

impl Told {
    fn publish<S: Storage>(
        &mut self,
        store: &mut StateStore<S>,
        contents: Contents,
    ) -> Result<(), StateError> {
        let progress = String::from_utf8(contents.progress.clone()).unwrap();
        self.begun = Some(progress.clone());
        store.publish(contents)?;
        self.done = Some(progress);
        self.begun = None;
        Ok(())
    }
}

/// Create, publish, seal, collect, begin the next epoch, retire, open again, go on. Each state has
/// its own progress.
pub(in super::super) fn live(
    storage: &(impl Storage + Clone),
    told: &mut Told,
) -> Result<(), StateError> {
    told.begun = Some("at 0".into());
    let mut store = StateStore::create(storage.clone(), contents())?;
    told.done = told.begun.take();

    let first = store.put_segment(1, Phase::Active, &[(2, &[21, 22]), (9, &[91])])?;
    let mut next = at(&store, "at 3");
    next.epochs.push(epoch(1, Phase::Active, 3, vec![first]));
    told.publish(&mut store, next)?;

    let second = store.put_segment(1, Phase::Active, &[(2, &[23]), (5, &[51])])?;
    let mut next = at(&store, "at 5");
    next.epochs[0] = epoch(1, Phase::Active, 5, vec![first, second]);
    told.publish(&mut store, next)?;

    let sealed = store.seal(&store.contents().epochs[0].clone())?;
    let third = store.put_segment(2, Phase::Active, &[(3, &[31])])?;
    let mut next = at(&store, "at 6");
    next.epochs = vec![sealed, epoch(2, Phase::Active, 1, vec![third])];
    told.publish(&mut store, next)?;
    store.collect()?;
    drop(store);

    let (mut store, _) = StateStore::open(storage.clone())?;
    let sealed = store.seal(&store.contents().epochs[1].clone())?;
    let mut next = at(&store, "at 6, epoch 1 retired");
    next.epochs = vec![sealed];
    told.publish(&mut store, next)?;
    store.collect()?;
    Ok(())
}

/// The digests that belong to a progress.
pub(in super::super) fn digests(progress: &str) -> Vec<(u64, u16, Vec<u64>)> {
    let first = [(1, 2, vec![21, 22]), (1, 9, vec![91])];
    match progress {
        "at 0" => vec![],
        "at 3" => first.into(),
        "at 5" => [&first[..], &[(1, 2, vec![23]), (1, 5, vec![51])]].concat(),
        "at 6" => {
            vec![(1, 2, vec![21, 22, 23]), (1, 5, vec![51]), (1, 9, vec![91]), (2, 3, vec![31])]
        }
        "at 6, epoch 1 retired" => vec![(2, 3, vec![31])],
        other => panic!("no such state: {other}"),
    }
}
