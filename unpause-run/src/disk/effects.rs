//! Pending effects: changes that processes can read, and that a crash may keep or lose.
//!
//! An effect sets one or several locations together. The id of an effect is its rank in the order of calls, so its
//! predecessors in the order of effects have lower ids. This order is not stored as edges, because their number would
//! be quadratic under a journal. Instead, it is derived from chains, one per location, and from [`Rules`].
//!
//! An effect is *clean* if a failed sync should have written it. The kernel considers a clean effect written, so no
//! later sync of the inode covers it. No effect is ordered after a clean effect any longer, except later versions of
//! its locations (Rebello et al., *Can Applications Recover from fsync Failures?*, ATC 2020).

use std::ops::Range;
use unpause_ordered::{Map, Set};

use super::location::{Ino, Location, Part, Value};
use super::rules::Rules;

#[derive(Clone, Debug)]
pub(super) struct Effect {
    /// The number of the call that caused the effect.
    pub(super) call: u64,
    pub(super) sets: Vec<(Location, Value)>,
    /// True for directory entries and lengths, which a journal keeps in order.
    pub(super) is_metadata: bool,
    /// The inodes with a failed sync that should have written this effect; not empty if the effect is clean. There are
    /// at most two, because a rename affects two directories. If the sync failed for one directory, a sync of the other
    /// directory still covers the effect.
    pub(super) failed: Vec<Ino>,
    /// True if the effect is ordered after the effect with the previous id, because it is the second half of a rename.
    pub(super) is_second_half: bool,
}

impl Effect {
    fn size_of(&self) -> Option<Ino> {
        let mut sizes = self.sets.iter().filter(|(location, _)| location.part == Part::Size);
        sizes.next().map(|(location, _)| location.ino)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pending {
    rules: Rules,
    next: u64,
    effects: Map<u64, Effect>,
    /// For each location, the effects on it, in the order of calls. No chain is empty.
    chains: Map<Location, Vec<u64>>,
    /// The effects on entries and lengths. Invariant: empty if no rule concerns them.
    metadata: Set<u64>,
    /// The number of clean effects.
    clean: usize,
    /// All effects with lower ids are clean.
    dirty_from: u64,
}

impl Pending {
    pub(super) fn new(rules: Rules) -> Pending {
        let (effects, chains, metadata) = (Map::new(), Map::new(), Set::new());
        Pending { rules, next: 0, effects, chains, metadata, clean: 0, dirty_from: 0 }
    }

    #[cfg(any(test, feature = "planted"))]
    pub(super) fn len(&self) -> usize {
        self.effects.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    pub(super) fn effect(&self, id: u64) -> &Effect {
        &self.effects[&id]
    }

    /// Returns the number of effects that are not clean.
    pub(super) fn dirty(&self) -> usize {
        self.effects.len() - self.clean
    }

    /// Returns the oldest effect that is not clean, and its predecessors in the order. These predecessors are all
    /// clean, so they are older versions of locations or first halves of renames.
    pub(super) fn oldest_dirty(&mut self) -> Set<u64> {
        let mut dirty = self.effects.range(self.dirty_from..).filter(|(id, _)| self.orders(**id));
        let Some((&oldest, _)) = dirty.next() else { return Set::new() };
        self.dirty_from = oldest;
        let (mut closed, mut open) = (Set::new(), vec![oldest]);
        while let Some(id) = open.pop() {
            if !closed.insert(id) {
                continue;
            }
            let effect = &self.effects[&id];
            for (location, _) in &effect.sets {
                let chain = &self.chains[location];
                let at = chain.binary_search(&id).expect("a pending effect is in its chains");
                open.extend(at.checked_sub(1).map(|at| chain[at]));
            }
            if effect.is_second_half {
                open.extend(id.checked_sub(1).filter(|id| self.effects.contains_key(id)));
            }
        }
        closed
    }

    pub(super) fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.effects.values()
    }

    /// Returns the effects on `location`, in the order of calls.
    pub(super) fn chain(&self, location: &Location) -> Option<&[u64]> {
        self.chains.get(location).map(Vec::as_slice)
    }

    /// Returns the locations within `bounds` that an effect sets.
    pub(super) fn locations(&self, bounds: Range<Location>) -> impl Iterator<Item = &Location> {
        self.chains.range(bounds).map(|(location, _)| location)
    }

    /// Returns the value of `location` after effect `id`, which sets this location.
    pub(super) fn value(&self, id: u64, location: &Location) -> Value {
        let mut sets = self.effects[&id].sets.iter();
        let (_, value) = sets.find(|(set, _)| set == location).expect("the effect is in the chain");
        value.clone()
    }

    pub(super) fn push(&mut self, effect: Effect) {
        let id = self.next;
        self.next += 1;
        for (location, _) in &effect.sets {
            self.chains.entry(location.clone()).or_default().push(id);
        }
        let matters = self.rules.metadata_in_order || self.rules.sync_covers_journal;
        if effect.is_metadata && matters {
            self.metadata.insert(id);
        }
        self.effects.insert(id, effect);
    }

    /// Returns the effects that a sync of the locations within `bounds` covers, without their predecessors in the
    /// order. All these locations belong to one inode.
    pub(super) fn on(&self, bounds: Range<Location>) -> Set<u64> {
        let ino = bounds.start.ino;
        let chains = self.chains.range(bounds);
        let ids = chains.flat_map(|(_, chain)| chain.iter().copied());
        ids.filter(|id| !self.effects[id].failed.contains(&ino)).collect()
    }

    /// Returns the effects on entries and lengths of all inodes. The result includes inodes with failed syncs, because
    /// a journal contains all these effects.
    pub(super) fn of_journal(&self) -> impl Iterator<Item = u64> {
        self.metadata.iter().copied()
    }

    /// Records that a sync of `ino`, which should have written `ids`, failed.
    pub(super) fn mark_clean(&mut self, ids: &Set<u64>, ino: Ino) {
        for id in ids {
            let failed = &mut self.effects.get_mut(id).expect("pending").failed;
            self.clean += usize::from(failed.is_empty());
            failed.push(ino);
        }
    }

    /// Removes `ids`. Returns their effects, in the order of calls.
    pub(super) fn take(&mut self, ids: &Set<u64>) -> Vec<Effect> {
        let mut taken = Vec::with_capacity(ids.len());
        for id in ids {
            let effect = self.effects.remove(id).expect("pending");
            self.clean -= usize::from(!effect.failed.is_empty());
            self.metadata.remove(id);
            for (location, _) in &effect.sets {
                let chain =
                    self.chains.get_mut(location).expect("a pending effect is in its chains");
                let at = chain.binary_search(id).expect("a pending effect is in its chains");
                chain.remove(at);
                if chain.is_empty() {
                    self.chains.remove(location);
                }
            }
            taken.push(effect);
        }
        taken
    }

    /// Adds `more` and all their predecessors in the order to `kept`, which is closed. Returns the added ids.
    ///
    /// Effects are visited from last to first. So a rule about all earlier effects is applied at the first effect that
    /// it concerns.
    pub(super) fn close_down(
        &self,
        more: impl IntoIterator<Item = u64>,
        kept: &mut Set<u64>,
    ) -> Vec<u64> {
        let mut open: Set<u64> = more.into_iter().filter(|id| !kept.contains(id)).collect();
        let mut added = Vec::new();
        let (mut in_order, mut sized) = (false, Set::new());
        while let Some(id) = open.pop_last() {
            let effect = &self.effects[&id];
            added.push(id);
            for (location, _) in &effect.sets {
                let chain = &self.chains[location];
                let at = chain.binary_search(&id).expect("a pending effect is in its chains");
                open.extend(at.checked_sub(1).map(|at| chain[at]).filter(|id| !kept.contains(id)));
            }
            if effect.is_second_half {
                open.extend(id.checked_sub(1).filter(|id| self.is_missing(*id, kept)));
            }
            if self.rules.everything_in_order && !in_order {
                in_order = true;
                self.earlier(self.effects.range(..id).map(|(id, _)| *id), kept, &mut open);
            } else if self.rules.metadata_in_order && effect.is_metadata && !in_order {
                in_order = true;
                self.earlier(self.metadata.range(..id).copied(), kept, &mut open);
            }
            let size_of = effect.size_of().filter(|_| self.rules.data_before_size);
            if let Some(ino) = size_of.filter(|ino| sized.insert(*ino)) {
                for (_, chain) in self.chains.range(Location::sectors_of(ino)) {
                    let before = chain.partition_point(|other| *other < id);
                    let ordering = chain[..before].iter().rev().find(|id| self.orders(**id));
                    open.extend(ordering.filter(|id| !kept.contains(*id)).copied());
                }
            }
        }
        kept.extend(added.iter().copied());
        added
    }

    /// Adds `first` and all its successors in the order to `lost`, which is closed. Returns the added ids.
    pub(super) fn close_up(&self, first: u64, lost: &mut Set<u64>) -> Vec<u64> {
        let mut open = Set::from([first]);
        let mut added = Vec::new();
        let mut in_order = false;
        while let Some(id) = open.pop_first() {
            if lost.contains(&id) {
                continue;
            }
            let effect = &self.effects[&id];
            added.push(id);
            for (location, _) in &effect.sets {
                let chain = &self.chains[location];
                let at = chain.binary_search(&id).expect("a pending effect is in its chains");
                open.extend(chain.get(at + 1).copied());
            }
            if self.effects.get(&(id + 1)).is_some_and(|next| next.is_second_half) {
                open.insert(id + 1);
            }
            if !self.orders(id) {
                continue;
            }
            if self.rules.everything_in_order && !in_order {
                in_order = true;
                self.later(self.effects.range(id + 1..).map(|(id, _)| *id), lost, &mut open);
            } else if self.rules.metadata_in_order && effect.is_metadata && !in_order {
                in_order = true;
                self.later(self.metadata.range(id + 1..).copied(), lost, &mut open);
            }
            if self.rules.data_before_size {
                let sectors =
                    effect.sets.iter().filter(|(at, _)| matches!(at.part, Part::Sector(_)));
                for ino in sectors.map(|(at, _)| at.ino).collect::<Set<Ino>>() {
                    let chain = self.chains.get(&Location::size(ino));
                    open.extend(
                        chain.and_then(|chain| chain.iter().find(|size| **size > id)).copied(),
                    );
                }
            }
        }
        lost.extend(added.iter().copied());
        added
    }

    /// Adds to `open` the effects among `before` that must also be kept. The search ends at the first kept effect,
    /// because its predecessors are already kept.
    fn earlier(
        &self,
        before: impl DoubleEndedIterator<Item = u64>,
        kept: &Set<u64>,
        open: &mut Set<u64>,
    ) {
        let ordering = before.rev().filter(|id| self.orders(*id));
        open.extend(ordering.take_while(|id| !kept.contains(id)));
    }

    /// Adds to `open` the effects among `after` that are also lost. The search ends at the first lost effect, because
    /// its successors are already lost.
    fn later(&self, after: impl Iterator<Item = u64>, lost: &Set<u64>, open: &mut Set<u64>) {
        open.extend(after.take_while(|id| !(lost.contains(id) && self.orders(*id))));
    }

    /// Returns `true` if rules order other effects after `id`.
    fn orders(&self, id: u64) -> bool {
        self.effects[&id].failed.is_empty()
    }

    fn is_missing(&self, id: u64, kept: &Set<u64>) -> bool {
        self.effects.contains_key(&id) && !kept.contains(&id)
    }
}
