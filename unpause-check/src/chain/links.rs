//! The chain of versions known to have happened, and the updates that may still happen.

use std::collections::VecDeque;

use super::Id;
use crate::hash::Table;

/// The number of versions that are remembered although no pending call can depend on them. These versions are used for
/// evidence: they distinguish a stale read from a read of a version that was never written.
pub(super) const KEPT: usize = 1024;

/// The maximum number of versions to forget per event. An update adds one version in two events, so this is enough.
const FORGOTTEN_AT_ONCE: u64 = 4;

pub(super) struct Links<I> {
    /// The position of the first remembered version in the whole chain.
    base: u64,
    /// The remembered chain, never empty. Each version replaced the previous version.
    chain: VecDeque<ChainLink<I>>,
    /// The state of each version, in the chain or pending.
    versions: Table<I, Version<I>>,
    /// For each version, the lost updates that would replace it.
    lost: Table<I, Vec<I>>,
}

/// A version that is known to have happened.
pub(super) struct ChainLink<I> {
    pub(super) id: I,
    /// The operation that wrote this version, and the operation that proved the write by its return. `None` for the
    /// first version.
    pub(super) by: Option<(u64, u64)>,
}

enum Version<I> {
    At(u64),
    Pending(PendingUpdate<I>),
}

/// An update that may have happened.
struct PendingUpdate<I> {
    from: I,
    operation: u64,
    lost: bool,
}

/// The state of a version.
pub(super) enum VersionState {
    /// The version happened; the number is its position in the whole chain.
    At(u64),
    /// The version may happen later, or may already have happened.
    Pending,
    /// The version is unknown or forgotten, or its update failed.
    No,
}

/// The contradiction in a result.
pub(super) enum ChainFault<I> {
    /// A call read the version at `place`, but the chain already ended at `head` when the call was invoked.
    Stale { place: u64, head: u64 },
    /// The version at this place was written by an update that failed.
    Aborted { place: u64 },
    /// A call returned the unknown version `id`, or the version `after`, which builds on `id`.
    Unknown { id: I, after: Option<I> },
    /// This operation replaces the version at `place` by `id`, but another update had already replaced this version.
    Fork { place: u64, id: I, operation: u64 },
    /// Updates build on each other in a circle that contains this version.
    Circle { id: I },
}

impl<I: Id> Links<I> {
    pub(super) fn new(initial: I) -> Self {
        let mut versions = Table::default();
        versions.insert(initial.clone(), Version::At(0));
        let chain = VecDeque::from([ChainLink { id: initial, by: None }]);
        Links { base: 0, chain, versions, lost: Table::default() }
    }

    /// Returns the position of the last version.
    pub(super) fn last(&self) -> u64 {
        self.base + self.chain.len() as u64 - 1
    }

    pub(super) fn head(&self) -> &ChainLink<I> {
        self.chain.back().expect("it holds at least the first version")
    }

    pub(super) fn at(&self, place: u64) -> Option<&ChainLink<I>> {
        self.chain.get(place.checked_sub(self.base)? as usize)
    }

    pub(super) fn find(&self, id: &I) -> VersionState {
        match self.versions.get(id) {
            Some(Version::At(place)) => VersionState::At(*place),
            Some(Version::Pending(_)) => VersionState::Pending,
            None => VersionState::No,
        }
    }

    pub(super) fn is_new(&self, id: &I) -> bool {
        !self.versions.contains_key(id)
    }

    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }

    /// Adds the pending update of an invocation.
    pub(super) fn open(&mut self, from: I, to: I, operation: u64) {
        // `Chain::invoke` has refused known ids, so this insertion replaces no entry.
        self.versions.insert(to, Version::Pending(PendingUpdate { from, operation, lost: false }));
    }

    /// Removes a failed pending update. Lost updates that build on its version stay, because a later update may write a
    /// version with the same id.
    pub(super) fn forget(&mut self, id: &I) {
        self.versions.remove(id);
    }

    /// Marks a pending update as lost. The update may still happen as long as the version that it names is, or may
    /// become, the last version.
    pub(super) fn mark_lost(&mut self, id: &I) {
        let last = self.last();
        let Some(Version::Pending(pending)) = self.versions.get_mut(id) else { return };
        pending.lost = true;
        let from = pending.from.clone();
        match self.find(&from) {
            // Another update has replaced the version that this update names. So this update can never happen, and the
            // lost updates that build on it cannot happen either. A lost update did not fail, so no other update has
            // its id.
            VersionState::At(place) if place < last => {
                self.versions.remove(id);
                self.drop_lost_after(id, None);
            }
            _ => self.lost.entry(from).or_default().push(id.clone()),
        }
    }

    /// Records the return of `operation`, which proves the pending version `id` and all versions on which it builds.
    pub(super) fn reach(&mut self, id: &I, operation: u64) -> Result<(), ChainFault<I>> {
        let mut path: Vec<(I, u64)> = Vec::new();
        let mut at = id;
        loop {
            match self.versions.get(at) {
                Some(Version::Pending(pending)) => {
                    path.push((at.clone(), pending.operation));
                    at = &pending.from;
                    // A path that is longer than the table contains some version twice.
                    if path.len() > self.versions.len() {
                        return Err(ChainFault::Circle { id: id.clone() });
                    }
                }
                Some(Version::At(place)) if *place == self.last() => break,
                Some(Version::At(place)) => {
                    let (id, operation) = path.pop().expect("a pending version begins the path");
                    return Err(ChainFault::Fork { place: *place, id, operation });
                }
                None => {
                    // If the path is empty, the version itself is unknown. If the path is not empty, a pending version
                    // builds on an unknown version.
                    let after = path.pop().map(|(id, _)| id);
                    return Err(ChainFault::Unknown { id: at.clone(), after });
                }
            }
        }
        // The path leads back from the newest version. Nothing changes before this loop, so evidence shows the chain
        // before the fault.
        for (id, writer) in path.into_iter().rev() {
            let before = self.head().id.clone();
            self.chain.push_back(ChainLink { id: id.clone(), by: Some((writer, operation)) });
            self.versions.insert(id.clone(), Version::At(self.last()));
            self.drop_lost_after(&before, Some(&id));
        }
        Ok(())
    }

    /// Forgets some old versions, more than an event can add. `oldest` is the position of the last version at the
    /// invocation of the oldest pending call.
    pub(super) fn forget_old(&mut self, oldest: Option<u64>) {
        let last = self.last();
        // A pending call may still return every version from `oldest` on. The last `KEPT` versions stay for evidence.
        let first = oldest.unwrap_or(last).min((last + 1).saturating_sub(KEPT as u64));
        for _ in 0..first.saturating_sub(self.base).min(FORGOTTEN_AT_ONCE) {
            if let Some(link) = self.chain.pop_front() {
                self.versions.remove(&link.id);
            }
            self.base += 1;
        }
    }

    /// Drops the lost updates of this version, except `but`, because they can never happen. Also drops the updates that
    /// build on a dropped update.
    fn drop_lost_after(&mut self, id: &I, but: Option<&I>) {
        // Usually no update is lost.
        if self.lost.is_empty() {
            return;
        }
        // Only lost updates are listed. An update in flight shows the contradiction itself if it returns `true`.
        let mut dropped = vec![id.clone()];
        while let Some(id) = dropped.pop() {
            for id in self.lost.remove(&id).unwrap_or_default() {
                if Some(&id) == but {
                    continue;
                }
                let version = self.versions.get(&id);
                if matches!(version, Some(Version::Pending(pending)) if pending.lost) {
                    self.versions.remove(&id);
                    dropped.push(id);
                }
            }
        }
    }
}
