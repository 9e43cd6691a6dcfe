//! The shared objects of the program, and their rows in a run.
//!
//! A primitive contains an [`Object`]: its identity. The run has a row for it. The object stores
//! the index of the row, with the number of the run in which the index is valid.
//!
//! There are two kinds of objects. *Local* ones (a mutex) belong to the run that created or first used them;
//! their use in a second run is an error. *Shared* ones (an atomic, a cell) may be in a
//! `static` and be used by several workers at once, each with a row and a value of its own. Such an
//! object also has a process-wide number, by which a worker finds its row again after another
//! worker's run overwrote the stored index.
//!
//! In a run with nodes, an object for statics has a row for each life of a node, and one for the tasks outside of
//! nodes.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::Vacancy;
use super::now;
use super::numbers::Numbers;
use super::state::RunState;
use crate::run::board::Life;
use crate::run::event::ValueKind;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Access;
use crate::run::{Holder, ObjectRecord};

/// Bits of a slot that hold the index; the rest hold the number of the run.
const INDEX_BITS: u32 = 24;
const INDEX_MAX: u64 = (1 << INDEX_BITS) - 1;
/// Set in a slot if the object got its name after its first use in a run. No run has so high a number, so the next
/// use takes the slow path, which reads the name.
const NAMED: u64 = 1 << 63;

/// A number for the place of an object. Two places may have the same.
fn place_key(place: Place) -> u64 {
    let position = u64::from(place.line()) << 20 | u64::from(place.column());
    (position ^ (place.file().len() as u64) << 52) & !MADE
}

/// Marks the keys of objects that were made in the run.
const MADE: u64 = 1 << 63;

/// The key of the `nth` object that a task makes.
fn made_key((task, nth): (TaskId, u32)) -> u64 {
    MADE | u64::from(task.0) << 32 | u64::from(nth)
}

/// The key of a node's own object, computed from the object's key and the node's name with its life
/// (FNV-1a).
pub(super) fn key_by_node(key: u64, name: &str) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    (key ^ name.bytes().fold(0xcbf2_9ce4_8422_2325, hash)) & !MADE
}

/// Set in a slot of an object that has a row for each node. The run that such a slot is of has another number for them,
/// so that the same load and comparison finds the row of other objects; see [`now::statics`].
pub(super) const BY_NODE: u64 = 1 << (62 - INDEX_BITS);

/// The nodes of a run to which an object belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// To its creator. If the run does not know the creator: to the first node that uses it.
    Creator,
    /// To none: all may use it.
    Nobody,
    /// Each life of a node has an object of its own, and so have the tasks outside of nodes.
    Each,
}

/// The identity of a primitive, kept inside it.
#[derive(Debug)]
pub(crate) struct Object {
    /// The kind of primitive.
    kind: &'static str,
    /// The place of its creation.
    place: Place,
    /// The name that the user gave it.
    name: Option<&'static str>,
    /// True if several runs may use it.
    shared: bool,
    owner: Owner,
    /// Number of the run and index of its row there; 0 before its first use in a run.
    slot: AtomicU64,
    /// Process-wide number of a shared object; 0 before its first use in a run. The key of foreign memory.
    number: AtomicU64,
}

impl Object {
    pub(crate) const fn new(kind: &'static str, place: Place, shared: bool) -> Object {
        Object::owned(kind, place, shared, Owner::Creator)
    }

    /// An object for a static. Each node has its own.
    pub(crate) const fn of_static(kind: &'static str, place: Place) -> Object {
        Object::owned(kind, place, true, Owner::Each)
    }

    const fn owned(kind: &'static str, place: Place, shared: bool, owner: Owner) -> Object {
        let (slot, number) = (AtomicU64::new(0), AtomicU64::new(0));
        Object { kind, place, name: None, shared, owner, slot, number }
    }

    /// Memory that is not of this library, first accessed at `place`. Its key, which is not 0, is the same in all runs.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) const fn foreign(kind: &'static str, place: Place, key: u64) -> Object {
        let mut object = Object::new(kind, place, false);
        object.number = AtomicU64::new(key);
        object
    }

    /// The same object with a name.
    pub(crate) const fn named(mut self, name: &'static str) -> Object {
        self.name = Some(name);
        self.changed()
    }

    /// The same object for all nodes.
    pub(crate) const fn shared(mut self) -> Object {
        self.owner = Owner::Nobody;
        self.changed()
    }

    /// Makes the run read its name and its owner again.
    const fn changed(self) -> Object {
        let slot = match self.slot.into_inner() {
            0 => 0,
            known => known | NAMED,
        };
        Object {
            kind: self.kind,
            place: self.place,
            name: self.name,
            shared: self.shared,
            owner: self.owner,
            slot: AtomicU64::new(slot),
            number: self.number,
        }
    }

    /// Returns `true` if each node has its own.
    pub(super) fn is_by_node(&self) -> bool {
        self.owner == Owner::Each
    }

    /// The place of its creation.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// The kind of primitive.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// Forgets its rows: the next use adds it as a new object.
    pub(crate) fn forget(&mut self) {
        *self.slot.get_mut() = 0;
        *self.number.get_mut() = 0;
    }

    /// Its row in the run of this number, if this run was the last to use it. `statics` is the number that the run has
    /// for objects by node.
    #[inline]
    pub(crate) fn in_run(&self, run: u64, statics: u64) -> Option<ObjectId> {
        let slot = self.slot.load(Ordering::Relaxed);
        let of = slot >> INDEX_BITS;
        (of == run || of == statics).then(|| ObjectId::new((slot & INDEX_MAX) as u32))
    }

    /// Returns `true` if the run of this number was the last to use it, and not as one by node.
    pub(crate) fn is_of(&self, run: u64) -> bool {
        self.slot.load(Ordering::Relaxed) >> INDEX_BITS == run
    }

    /// Its process-wide number, allotted by the first call.
    fn number(&self, numbers: &mut Numbers) -> u64 {
        match self.number.load(Ordering::Relaxed) {
            0 => {}
            known => return known,
        }
        let fresh = numbers.next();
        match self.number.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => fresh,
            Err(other) => other,
        }
    }
}

/// The identity of an announcement within a run: its task and its key.
//
// One word: every point stores one. In the order of tasks, then of keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct AnnouncementId(u64);

impl AnnouncementId {
    #[inline]
    pub(crate) const fn new(task: TaskId, key: u32) -> AnnouncementId {
        AnnouncementId(((task.0 as u64) << 32) | key as u64)
    }

    #[inline]
    pub(crate) fn task(self) -> TaskId {
        TaskId((self.0 >> 32) as u32)
    }

    #[inline]
    pub(crate) fn key(self) -> u32 {
        self.0 as u32
    }
}

impl std::fmt::Debug for AnnouncementId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {:?}", self.key(), self.task())
    }
}

/// The row of an object.
#[derive(Debug)]
pub(crate) struct ObjectRow {
    pub(crate) record: ObjectRecord,
    number: u64,
    /// For an object with one row per node: the life of the node.
    of_node: Life,
    pub(super) owner: Owner,
    /// See [`View::key_of`](crate::run::choice::View::key_of).
    pub(crate) key: u64,
    /// The life that created it, if the run knows its creator.
    pub(crate) life: Life,
    /// Its holder, if it is a lock that a task holds alone.
    pub(crate) holder: Option<Holder>,
    /// The tasks that hold it together, if it is a lock. Empty while it has a holder.
    pub(crate) sharers: Vec<Holder>,
    /// The tasks that queue to hold it alone, if it is a lock that lets none share it before them.
    pub(crate) queued: Vec<TaskId>,
    /// The state of the lock for which its waiters were last updated.
    pub(crate) told: Vacancy,
    /// True if it is in `RunState::dirty`: its waiters must be updated.
    pub(crate) dirty: bool,
    /// All announcements that wait until it is free, enabled or not.
    pub(crate) waiters: Vec<(AnnouncementId, Access)>,
}

/// The objects of one run.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) rows: crate::run::pool::Pool<ObjectRow>,
    run: u64,
    /// Shared objects whose slot another worker's run overwrote, or another node's use: number, node and index. In
    /// order.
    contended: Vec<((u64, Life), ObjectId)>,
    /// Numbers for shared objects.
    numbers: Numbers,
}

/// The reason why an object cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnusableObject {
    /// It belongs to another run.
    OtherRun,
    /// The run has too many objects.
    TooMany,
}

/// The id of an object that was in the run already, or was just added.
pub(crate) enum Lookup {
    Known(ObjectId),
    New(ObjectId),
}

impl Objects {
    /// Forgets the last run's objects.
    pub(crate) fn begin(&mut self, run: u64) {
        self.rows.clear();
        self.contended.clear();
        self.run = run;
    }

    /// Returns the row of `object`, which the first use in the run adds. `node` is the life of the node for which the
    /// row is, if the object has one for each.
    #[inline]
    pub(crate) fn find_or_add(
        &mut self,
        object: &Object,
        values: ValueKind,
        creator: Option<(TaskId, u32)>,
        node: Life,
    ) -> Result<Lookup, UnusableObject> {
        match object.in_run(self.run, now::statics()) {
            Some(id) => Ok(Lookup::Known(id)),
            None => self.find_or_add_slowly(object, values, creator, node),
        }
    }

    #[cold]
    fn find_contended(&mut self, number: u64, node: Life) -> Option<ObjectId> {
        let sought = (number, node);
        match self.contended.binary_search_by_key(&sought, |(known, _)| *known) {
            Ok(at) => Some(self.contended[at].1),
            Err(at) => {
                let id = self.find_row(number, node)?;
                self.contended.insert(at, (sought, id));
                Some(id)
            }
        }
    }

    fn find_row(&self, number: u64, node: Life) -> Option<ObjectId> {
        let is_it = |row: &ObjectRow| row.number == number && row.of_node == node;
        self.rows.iter().position(is_it).map(|index| ObjectId::new(index as u32))
    }

    fn find_or_add_slowly(
        &mut self,
        object: &Object,
        values: ValueKind,
        creator: Option<(TaskId, u32)>,
        node: Life,
    ) -> Result<Lookup, UnusableObject> {
        let mut slot = object.slot.load(Ordering::Relaxed);
        if slot & NAMED != 0 {
            slot &= !NAMED;
            object.slot.store(slot, Ordering::Relaxed);
            if let Some(id) = object.in_run(self.run, now::statics()) {
                let row = self.rows.at_mut(id.index());
                (row.record.name, row.owner) = (object.name, object.owner);
                return Ok(Lookup::Known(id));
            }
        }
        let mut number = 0;
        if object.shared {
            number = object.number(&mut self.numbers);
            if slot != 0 {
                if let Some(id) = self.find_contended(number, node) {
                    object.slot.store(self.slot(object, id), Ordering::Relaxed);
                    return Ok(Lookup::Known(id));
                }
            }
        } else if slot != 0 {
            return Err(UnusableObject::OtherRun);
        }
        self.add(object, (number, node), values, creator).map(Lookup::New)
    }

    /// Adds the row of an object that has none, with its number if runs share it. `node` as in
    /// [`find_or_add`](Self::find_or_add).
    pub(crate) fn add(
        &mut self,
        object: &Object,
        (number, node): (u64, Life),
        values: ValueKind,
        creator: Option<(TaskId, u32)>,
    ) -> Result<ObjectId, UnusableObject> {
        let Object { kind, place, name, owner, shared, .. } = *object;
        // The key of an object made in the run depends on its creator only, not on the objects of other tasks.
        let key = match (creator, object.number.load(Ordering::Relaxed)) {
            (Some(creator), _) => made_key(creator),
            (None, key) if !shared && key != 0 => key & !MADE,
            (None, _) => place_key(place),
        };
        let record = ObjectRecord { kind, name, values, place, creator, node: None, ordinal: 0 };
        let id = self.add_row(record, (number, node, owner), key)?;
        object.slot.store(self.slot(object, id), Ordering::Relaxed);
        Ok(id)
    }

    /// Adds the row of an object that only this run knows, outside of lives.
    pub(super) fn add_of_run(
        &mut self,
        kind: &'static str,
        place: Place,
        creator: (TaskId, u32),
    ) -> Result<ObjectId, UnusableObject> {
        let (values, key) = (ValueKind::Unsigned, made_key(creator));
        let creator = Some(creator);
        let record =
            ObjectRecord { kind, name: None, values, place, creator, node: None, ordinal: 0 };
        self.add_row(record, (0, Life::OUTSIDE, Owner::Creator), key)
    }

    #[inline(always)]
    fn add_row(
        &mut self,
        record: ObjectRecord,
        (number, of_node, owner): (u64, Life, Owner),
        key: u64,
    ) -> Result<ObjectId, UnusableObject> {
        if self.rows.len() as u64 > INDEX_MAX {
            return Err(UnusableObject::TooMany);
        }
        let id = ObjectId::new(self.rows.len() as u32);
        let row = self.rows.push(|| ObjectRow {
            record,
            number,
            of_node,
            owner,
            key,
            life: Life::OUTSIDE,
            holder: None,
            sharers: Vec::new(),
            queued: Vec::new(),
            told: Vacancy::Free,
            dirty: false,
            waiters: Vec::new(),
        });
        row.record = record;
        (row.number, row.of_node, row.owner, row.key) = (number, of_node, owner, key);
        row.life = Life::OUTSIDE;
        row.holder = None;
        row.sharers.clear();
        row.queued.clear();
        row.told = Vacancy::Free;
        row.dirty = false;
        row.waiters.clear();
        Ok(id)
    }

    fn slot(&self, object: &Object, id: ObjectId) -> u64 {
        let of = if object.is_by_node() { self.run | BY_NODE } else { self.run };
        of << INDEX_BITS | id.index() as u64
    }

    /// The row of `object`, if it has one in this run. For destructors, which must not add rows. `node` as in
    /// [`find_or_add`](Self::find_or_add).
    pub(crate) fn find(&self, object: &Object, node: Life) -> Option<ObjectId> {
        let slot = object.slot.load(Ordering::Relaxed) & !NAMED;
        let of = slot >> INDEX_BITS;
        if of == self.run || of == now::statics() {
            return Some(ObjectId::new((slot & INDEX_MAX) as u32));
        }
        match object.number.load(Ordering::Relaxed) {
            number @ 1.. if object.is_by_node() => self.find_row(number, node),
            _ => None,
        }
    }
}

impl RunState {
    /// Adds a new object with the word `initial`.
    pub(crate) fn add_object(&mut self, object: ObjectId, initial: u64) {
        self.memory.push(initial);
        self.board.object_keys.push(self.objects.rows[object.index()].key);
    }

    /// The row of an object.
    pub(crate) fn row(&mut self, object: ObjectId) -> &mut ObjectRow {
        &mut self.objects.rows[object.index()]
    }

    /// Returns the number of the current task's next object, among the objects that it creates.
    pub(crate) fn next_creation(&mut self) -> (TaskId, u32) {
        let task = self.current();
        let objects = &mut self.slots.at_mut(task.index()).objects;
        *objects += 1;
        (task, *objects - 1)
    }
}
