//! The chain of versions that are known to have happened, and the updates that may yet happen.

use std::collections::VecDeque;

use super::Id;
use crate::hash::Table;

/// The number of versions that are remembered after no open call can depend on them: for the evidence, and to
/// distinguish a stale read from a read of a version that never was.
pub(super) const KEPT: usize = 1024;

/// An update, which adds one version, has two events.
const FORGOTTEN_AT_ONCE: u64 = 4;

pub(super) struct Links<I> {
    /// The place of the first remembered version in the whole chain.
    base: u64,
    /// Never empty. Each version replaced the previous one.
    chain: VecDeque<ChainLink<I>>,
    /// The state of each version, in the chain or pending.
    versions: Table<I, Version<I>>,
    /// For each version the lost updates that would replace it.
    lost: Table<I, Vec<I>>,
}

/// A version that is known to have happened.
pub(super) struct ChainLink<I> {
    pub(super) id: I,
    /// The operation that wrote it, and the operation whose return showed the write. `None` for the
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
    /// It happened; its place in the whole chain.
    At(u64),
    /// It may happen, or have happened.
    Pending,
    /// It is unknown, forgotten, or its update failed.
    No,
}

/// The contradiction in a result.
pub(super) enum ChainFault<I> {
    /// The version at this place was read by a call that was invoked when the chain reached to `head`.
    Stale { place: u64, head: u64 },
    /// The version at this place was written by an update that failed.
    Aborted { place: u64 },
    /// A call returned an unknown version, or one (`after`) that builds on it.
    Unknown { id: I, after: Option<I> },
    /// This operation replaced the version at `place` by `id`, but another one had replaced it.
    Fork { place: u64, id: I, operation: u64 },
    /// Updates build on each other in a circle, this one among them.
    Circle { id: I },
}

impl<I: Id> Links<I> {
    pub(super) fn new(initial: I) -> Self {
        let mut versions = Table::default();
        versions.insert(initial.clone(), Version::At(0));
        let chain = VecDeque::from([ChainLink { id: initial, by: None }]);
        Links { base: 0, chain, versions, lost: Table::default() }
    }

    /// The place of the last version.
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

    /// An update is invoked.
    pub(super) fn open(&mut self, from: I, to: I, operation: u64) {
        self.versions.insert(to, Version::Pending(PendingUpdate { from, operation, lost: false }));
    }

    /// An open update failed: it is no version, and no lost update can build on it.
    pub(super) fn forget(&mut self, id: &I) {
        self.versions.remove(id);
        self.drop_lost_after(id, None);
    }

    /// An open update is lost: it may still happen while the version that it names is, or may become, the last.
    pub(super) fn mark_lost(&mut self, id: &I) {
        let last = self.last();
        let Some(Version::Pending(pending)) = self.versions.get_mut(id) else { return };
        pending.lost = true;
        let from = pending.from.clone();
        match self.find(&from) {
            VersionState::At(place) if place < last => self.forget(id),
            _ => self.lost.entry(from).or_default().push(id.clone()),
        }
    }

    /// `operation` returned and showed that the pending version `id` and all versions that it builds on
    /// happened.
    pub(super) fn reach(&mut self, id: &I, operation: u64) -> Result<(), ChainFault<I>> {
        let mut path: Vec<(I, u64)> = Vec::new();
        let mut at = id;
        loop {
            match self.versions.get(at) {
                Some(Version::Pending(pending)) => {
                    path.push((at.clone(), pending.operation));
                    at = &pending.from;
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
                    let after = path.pop().map(|(id, _)| id);
                    return Err(ChainFault::Unknown { id: at.clone(), after });
                }
            }
        }
        for (id, writer) in path.into_iter().rev() {
            let before = self.head().id.clone();
            self.chain.push_back(ChainLink { id: id.clone(), by: Some((writer, operation)) });
            self.versions.insert(id.clone(), Version::At(self.last()));
            self.drop_lost_after(&before, Some(&id));
        }
        Ok(())
    }

    /// Forgets some old versions, more than an event can add; `oldest` is the place of the last version at the
    /// invocation of the oldest open call.
    pub(super) fn forget_old(&mut self, oldest: Option<u64>) {
        let last = self.last();
        let first = oldest.unwrap_or(last).min((last + 1).saturating_sub(KEPT as u64));
        for _ in 0..first.saturating_sub(self.base).min(FORGOTTEN_AT_ONCE) {
            if let Some(link) = self.chain.pop_front() {
                self.versions.remove(&link.id);
            }
            self.base += 1;
        }
    }

    /// Drops the lost updates of this version, except `but`, and the updates that build on them: they can never
    /// happen.
    fn drop_lost_after(&mut self, id: &I, but: Option<&I>) {
        // Mostly no update is lost.
        if self.lost.is_empty() {
            return;
        }
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
