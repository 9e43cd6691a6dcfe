//! The shared objects of the program, and their rows in a run.
//!
//! A primitive contains an [`Object`], which is its identity. The run has a row for the object. The object stores the
//! index of the row, and the number of the run in which the index is valid.
//!
//! There are two kinds of objects, local and shared. Local objects (for example a mutex) belong to the run that created
//! or first used them; their use in a second run is an error. Shared objects (for example an atomic or a cell) may be
//! in a `static`. Several workers may use them at once, and each worker has its own row and value. A shared object also
//! has a process-wide number. A worker uses this number to find its row again after another worker's run has
//! overwritten the stored index.
//!
//! In a run with nodes, an object for statics has a row for each life of a node, and a row for the tasks outside of
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

/// The bits of a slot that contain the index. The other bits contain the number of the run.
const INDEX_BITS: u32 = 24;
const INDEX_MAX: u64 = (1 << INDEX_BITS) - 1;
/// Set in a slot if the object got its name after its first use in a run. No run has such a high number, so the next
/// use takes the slow path, which reads the name.
const NAMED: u64 = 1 << 63;

/// Returns a number for the place of an object. Two places may have the same number.
fn place_key(place: Place) -> u64 {
    let position = u64::from(place.line()) << 20 | u64::from(place.column());
    (position ^ (place.file().len() as u64) << 52) & !MADE
}

/// Marks the keys of objects that were created in the run.
const MADE: u64 = 1 << 63;

/// Returns the key of the `nth` object that a task creates.
fn made_key((task, nth): (TaskId, u32)) -> u64 {
    MADE | u64::from(task.0) << 32 | u64::from(nth)
}

/// Returns the key of a node's own object, computed from the object's key, the node's name and the number of its life
/// (FNV-1a).
pub(super) fn key_by_node(key: u64, name: &str) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    (key ^ name.bytes().fold(0xcbf2_9ce4_8422_2325, hash)) & !MADE
}

/// Set in the slot of an object that has a row for each node. The run has a different number for such slots, so that
/// the same load and comparison finds the rows of these and of all other objects; see [`now::statics`].
pub(super) const BY_NODE: u64 = 1 << (62 - INDEX_BITS);

/// The nodes of a run to which an object belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// The object belongs to the node that created it. If the run does not know the creator, it belongs to the first
    /// node that uses it.
    Creator,
    /// The object belongs to no node: all nodes may use it.
    Nobody,
    /// Each life of a node has its own object, and so have the tasks outside of nodes.
    Each,
}

/// The identity of a primitive, which contains it.
#[derive(Debug)]
pub(crate) struct Object {
    /// The kind of primitive.
    kind: &'static str,
    /// The place where the object was created.
    place: Place,
    /// The name that the user gave it.
    name: Option<&'static str>,
    /// True if several runs may use the object.
    shared: bool,
    owner: Owner,
    /// The number of the run and the index of the object's row in it; 0 before its first use in a run.
    slot: AtomicU64,
    /// The process-wide number of a shared object; 0 before its first use in a run. For foreign memory, the key of the
    /// memory.
    number: AtomicU64,
}

impl Object {
    pub(crate) const fn new(kind: &'static str, place: Place, shared: bool) -> Object {
        Object::owned(kind, place, shared, Owner::Creator)
    }

    /// Returns an object for a static. Each node has its own.
    pub(crate) const fn of_static(kind: &'static str, place: Place) -> Object {
        Object::owned(kind, place, true, Owner::Each)
    }

    const fn owned(kind: &'static str, place: Place, shared: bool, owner: Owner) -> Object {
        let (slot, number) = (AtomicU64::new(0), AtomicU64::new(0));
        Object { kind, place, name: None, shared, owner, slot, number }
    }

    /// Returns an object for memory outside of this library, first accessed at `place`. The key of the object, which is
    /// not 0, is the same in all runs.
    #[cfg_attr(not(unpause_native), allow(dead_code))]
    pub(crate) const fn foreign(kind: &'static str, place: Place, key: u64) -> Object {
        let mut object = Object::new(kind, place, false);
        object.number = AtomicU64::new(key);
        object
    }

    /// Returns the same object with a name.
    pub(crate) const fn named(mut self, name: &'static str) -> Object {
        self.name = Some(name);
        self.changed()
    }

    /// Returns the same object, shared by all nodes.
    pub(crate) const fn shared(mut self) -> Object {
        self.owner = Owner::Nobody;
        self.changed()
    }

    /// Makes the run read the name and the owner of the object again.
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

    /// Returns `true` if each node has its own instance of the object.
    pub(super) fn is_by_node(&self) -> bool {
        self.owner == Owner::Each
    }

    /// Returns the place where the object was created.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns the kind of primitive.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// Forgets the rows of the object. The next use of the object adds it as a new object.
    pub(crate) fn forget(&mut self) {
        *self.slot.get_mut() = 0;
        *self.number.get_mut() = 0;
    }

    /// Returns the row of the object in the run with this number, if this run was the last to use it. `statics` is the
    /// number that the run has for objects by node.
    #[inline]
    pub(crate) fn in_run(&self, run: u64, statics: u64) -> Option<ObjectId> {
        let slot = self.slot.load(Ordering::Relaxed);
        let of = slot >> INDEX_BITS;
        (of == run || of == statics).then(|| ObjectId::new((slot & INDEX_MAX) as u32))
    }

    /// Returns `true` if the run with this number was the last to use the object, and did not use it as an object by
    /// node.
    pub(crate) fn is_of(&self, run: u64) -> bool {
        self.slot.load(Ordering::Relaxed) >> INDEX_BITS == run
    }

    /// Returns the process-wide number of the object, which the first call allocates.
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
// This is one word, because every point stores it. The order is by task, then by key.
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
    /// For an object with one row per node, the life of the node.
    of_node: Life,
    pub(super) owner: Owner,
    /// The key of the object, see [`View::key_of`](crate::run::choice::View::key_of).
    pub(crate) key: u64,
    /// The life that created the object, if the run knows its creator.
    pub(crate) life: Life,
    /// The holder, if the object is a lock that a task holds alone.
    pub(crate) holder: Option<Holder>,
    /// The tasks that share the object, if it is a lock. Empty while it has a holder.
    pub(crate) sharers: Vec<Holder>,
    /// The tasks that queue to hold the object alone, if it is a lock that lets no other task share it before them.
    pub(crate) queued: Vec<TaskId>,
    /// The state of the lock for which its waiters were last updated.
    pub(crate) told: Vacancy,
    /// True if the object is in `RunState::dirty`: its waiters must be updated.
    pub(crate) dirty: bool,
    /// All announcements that wait until the object is free, enabled or not.
    pub(crate) waiters: Vec<(AnnouncementId, Access)>,
}

/// The objects of one run.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) rows: crate::run::pool::Pool<ObjectRow>,
    run: u64,
    /// Shared objects whose slot was overwritten by another worker's run, or by another node's use. The entries
    /// (number, node and index) are sorted.
    contended: Vec<((u64, Life), ObjectId)>,
    /// The allocator of numbers for shared objects.
    numbers: Numbers,
}

/// The reason why an object cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnusableObject {
    /// The object belongs to another run.
    OtherRun,
    /// The run has too many objects already.
    TooMany,
}

/// The id of an object, which was known to the run or was just added.
pub(crate) enum Lookup {
    Known(ObjectId),
    New(ObjectId),
}

impl Objects {
    /// Removes the objects of the last run.
    pub(crate) fn begin(&mut self, run: u64) {
        self.rows.clear();
        self.contended.clear();
        self.run = run;
    }

    /// Returns the row of `object`. The first use of the object in the run adds the row. `node` is the life of the node
    /// that owns the row, if the object has one row per node.
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

    /// Adds the row of an object that has no row yet, with its number if runs share it. For `node`, see
    /// [`find_or_add`](Self::find_or_add).
    pub(crate) fn add(
        &mut self,
        object: &Object,
        (number, node): (u64, Life),
        values: ValueKind,
        creator: Option<(TaskId, u32)>,
    ) -> Result<ObjectId, UnusableObject> {
        let Object { kind, place, name, owner, shared, .. } = *object;
        // The key of an object that was created in the run depends on its creator only, not on the objects of other
        // tasks.
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

    /// Adds the row of an object that is known to this run only, outside of lives.
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

    /// Returns the row of `object`, if it has a row in this run. Destructors use this method, because they must not add
    /// rows. For `node`, see [`find_or_add`](Self::find_or_add).
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

    /// Returns the row of an object.
    pub(crate) fn row(&mut self, object: ObjectId) -> &mut ObjectRow {
        &mut self.objects.rows[object.index()]
    }

    /// Returns the number of the next object that the current task creates, among the objects that it creates.
    pub(crate) fn next_creation(&mut self) -> (TaskId, u32) {
        let task = self.current();
        let objects = &mut self.slots.at_mut(task.index()).objects;
        *objects += 1;
        (task, *objects - 1)
    }
}
