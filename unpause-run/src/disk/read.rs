//! Reads of locations through the layers of crashed lives, changes of locations, and syncs.

use std::ops::Range;
use std::sync::Arc;
use unpause_ordered::Set;

use super::crash::{Crashed, Loss};
use super::effects::Effect;
use super::location::{Ino, Kind, Location, Name, Part, Value};
use super::{Call, Contents, Disk, Draw, Object, SyncFate};

/// The arguments for reading the layers below a life.
struct Below<'a> {
    sector: u64,
    draw: Draw<'a>,
    losses: &'a mut Vec<Loss>,
}

impl Below<'_> {
    /// Returns the value of `location` after the last power failure of `layers`.
    fn left(&mut self, layers: &mut [Crashed], location: &Location) -> Value {
        let Some((top, older)) = layers.split_last_mut() else {
            return location.blank();
        };
        if let Some(value) = top.read(location, self.draw, self.losses) {
            return value;
        }
        let value = self.seen(older, location);
        top.settle(location, value.clone());
        value
    }

    /// Returns the value with which the life after `layers` starts. Bytes after the end of the file are zeros, even if
    /// their sectors reached the disk. Without this rule, a later extension would show bytes of a lost append.
    fn seen(&mut self, layers: &mut [Crashed], location: &Location) -> Value {
        let Part::Sector(index) = location.part else {
            return self.left(layers, location);
        };
        if layers.is_empty() {
            return location.blank();
        }
        let size = self.left(layers, &Location::size(location.ino)).into_size();
        let keep = size.saturating_sub(index * self.sector).min(self.sector);
        if keep == 0 {
            return Value::Sector(None);
        }
        let bytes = self.left(layers, location).into_sector();
        Value::Sector(bytes.map(|bytes| zeroed_from(&bytes, keep as usize)))
    }
}

/// Returns the sector with zeros from byte `keep` on.
pub(super) fn zeroed_from(bytes: &Arc<[u8]>, keep: usize) -> Arc<[u8]> {
    if bytes[keep..].iter().all(|byte| *byte == 0) {
        return bytes.clone();
    }
    let kept = bytes[..keep].iter().copied();
    kept.chain(std::iter::repeat_n(0, bytes.len() - keep)).collect()
}

impl Call<'_> {
    fn value(&mut self, location: &Location) -> Value {
        let disk = &mut *self.disk;
        if let Some(value) = disk.now.get(location) {
            return value.clone();
        }
        let value = match disk.pending.chain(location).and_then(<[u64]>::last) {
            Some(newest) => disk.pending.value(*newest, location),
            None => match disk.durable.get(location) {
                Some(value) => value.clone(),
                None if disk.crashed.is_empty() => return location.blank(),
                None => {
                    let mut draw = |bound| {
                        self.accesses.decides = true;
                        (self.draw)(bound)
                    };
                    let (sector, losses) = (disk.settings.sector, &mut self.losses);
                    let mut below = Below { sector, draw: &mut draw, losses };
                    below.seen(&mut disk.crashed, location)
                }
            },
        };
        disk.now.insert(location.clone(), value.clone());
        value
    }

    pub(super) fn size(&mut self, ino: Ino) -> u64 {
        self.value(&Location::size(ino)).into_size()
    }

    pub(super) fn sector(&mut self, ino: Ino, index: u64) -> Option<Arc<[u8]>> {
        self.value(&Location::sector(ino, index)).into_sector()
    }

    pub(super) fn entry(&mut self, dir: Ino, name: &Name) -> Option<Ino> {
        self.value(&Location::entry(dir, name)).into_entry()
    }

    /// Returns the locations within `bounds` that some call has set, in this life or in an earlier life.
    fn locations(&self, bounds: Range<Location>) -> impl Iterator<Item = &Location> {
        let disk = &*self.disk;
        let durable = disk.durable.range(bounds.clone()).map(|(location, _)| location);
        let here = durable.chain(disk.pending.locations(bounds.clone()));
        here.chain(disk.crashed.iter().flat_map(move |life| life.locations(bounds.clone())))
    }

    /// Returns the names that `dir` may have, in order.
    pub(super) fn possible_names(&self, dir: Ino) -> Set<Name> {
        let names = self.locations(Location::all_of(dir)).filter_map(|location| {
            let Part::Entry(name) = &location.part else { return None };
            Some(name.clone())
        });
        names.collect()
    }

    /// Returns the sectors of `ino` within `bounds` that some call wrote.
    pub(super) fn written_sectors(&self, ino: Ino, bounds: Range<u64>) -> Set<u64> {
        let bounds = Location::sector(ino, bounds.start)..Location::sector(ino, bounds.end);
        let indices = self.locations(bounds).filter_map(|location| {
            let Part::Sector(index) = location.part else { return None };
            Some(index)
        });
        indices.collect()
    }

    /// Changes locations together, in one effect.
    pub(super) fn apply(&mut self, sets: Vec<(Location, Value)>, is_metadata: bool) {
        self.apply_effect(sets, is_metadata, false);
    }

    /// Changes locations together, in one effect that is ordered after the previous effect.
    pub(super) fn apply_second_half(&mut self, sets: Vec<(Location, Value)>) {
        self.apply_effect(sets, true, true);
    }

    fn apply_effect(
        &mut self,
        sets: Vec<(Location, Value)>,
        is_metadata: bool,
        is_second_half: bool,
    ) {
        for (location, _) in &sets {
            self.accesses.update(Object::Inode(location.ino));
        }
        self.push_effect(sets, is_metadata, is_second_half);
    }

    /// Changes a sector through a store of a map.
    pub(super) fn apply_store(&mut self, ino: Ino, index: u64, bytes: Arc<[u8]>) {
        self.accesses.contents = Some(Contents::Stored(ino));
        self.accesses.update(Object::Sector(ino, index));
        let set = (Location::sector(ino, index), Value::Sector(Some(bytes)));
        self.push_effect(vec![set], false, false);
    }

    fn push_effect(
        &mut self,
        sets: Vec<(Location, Value)>,
        is_metadata: bool,
        is_second_half: bool,
    ) {
        self.accesses.changes = true;
        let rules = self.disk.settings.rules;
        if rules.everything_in_order || (rules.has_journal() && is_metadata) {
            self.accesses.update(Object::Journal);
        }
        for (location, value) in &sets {
            self.disk.now.insert(location.clone(), value.clone());
        }
        let call = self.disk.calls;
        let effect = Effect { call, sets, is_metadata, failed: Vec::new(), is_second_half };
        self.disk.pending.push(effect);
        if self.disk.pending.dirty() > self.disk.settings.pending_max {
            let oldest = self.disk.pending.oldest_dirty();
            self.disk.fold(&oldest);
        }
    }

    /// Makes `covered` and all its predecessors in the order durable.
    fn make_durable(&mut self, covered: Set<u64>) {
        let mut closed = Set::new();
        self.disk.pending.close_down(covered, &mut closed);
        self.touch_for_sync(&closed);
        self.disk.fold(&closed);
    }

    /// Syncs the locations within `bounds`, which all belong to one inode.
    pub(super) fn sync_locations(&mut self, bounds: Range<Location>, fate: SyncFate) {
        let ino = bounds.start.ino;
        if !self.accesses.is_by_map || fate != SyncFate::Succeeds {
            self.accesses.update(Object::Inode(ino));
        }
        if self.disk.settings.rules.has_journal() {
            self.accesses.update(Object::Journal);
        }
        let mut covered = self.disk.pending.on(bounds);
        match fate {
            SyncFate::Succeeds => {
                if self.disk.settings.rules.sync_covers_journal {
                    covered.extend(self.disk.pending.of_journal());
                }
                self.make_durable(covered);
            }
            SyncFate::FailsAndKeeps | SyncFate::FindsNoRoom => {
                self.touch_for_sync(&covered);
                self.disk.pending.mark_clean(&covered, ino);
            }
            SyncFate::FailsAndReverts => {
                self.touch_for_sync(&covered);
                self.accesses.changes |= !covered.is_empty();
                self.revert(&covered);
            }
        }
    }

    /// Makes the contents of `ino` durable before a rename puts this file in the place of another file.
    pub(super) fn flush_for_rename(&mut self, ino: Ino) {
        let covered = self.disk.pending.on(Location::all_of(ino));
        if self.disk.kinds[ino.0 as usize] == Kind::File && !covered.is_empty() {
            self.accesses.update(Object::Inode(ino));
            self.make_durable(covered);
        }
    }

    /// Discards `effects`, so that processes read the previous values.
    fn revert(&mut self, effects: &Set<u64>) {
        for effect in self.disk.pending.take(effects) {
            for (location, _) in effect.sets {
                self.disk.now.remove(&location);
            }
        }
    }

    /// Records the accesses of a sync, which changes the fate of effects. The effects of a rename concern two
    /// directories.
    fn touch_for_sync(&mut self, effects: &Set<u64>) {
        self.accesses.syncs |= !effects.is_empty();
        let mut last = None;
        for id in effects {
            for (location, _) in &self.disk.pending.effect(*id).sets {
                // A sync of a map records its sectors. If it covers more, it is a sync of the whole file.
                let is_named = match location.part {
                    Part::Sector(index) if self.accesses.is_by_map => {
                        self.accesses.updates(Object::Sector(location.ino, index))
                    }
                    _ => false,
                };
                if is_named {
                    continue;
                }
                if last.replace(location.ino) != Some(location.ino) {
                    self.accesses.update(Object::Inode(location.ino));
                }
            }
        }
    }
}

impl Disk {
    /// Moves `effects`, which are closed downwards, to the durable values. A synced location then costs only the memory
    /// of its value.
    fn fold(&mut self, effects: &Set<u64>) {
        for effect in self.pending.take(effects) {
            for (location, value) in effect.sets {
                self.durable.insert(location, value);
            }
        }
    }

    pub(super) fn add_inode(&mut self, kind: Kind) -> Ino {
        let ino = Ino(self.kinds.len() as u64);
        self.kinds.push(kind);
        self.room.add_inode();
        ino
    }
}
