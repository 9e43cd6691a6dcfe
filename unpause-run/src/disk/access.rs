//! The accesses of a call, for searches: which other calls it conflicts with, and if a crash before it can show.

use super::Handle;
use super::location::Ino;

/// An object that calls conflict on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Object {
    /// Contents of a file, or entries of a directory.
    Inode(Ino),
    /// Eight bytes of a mapped file, as maps use them; counted from 0.
    Word(Ino, u64),
    /// The order of stores into a sector of a mapped file, and what is durable of it.
    Sector(Ino, u64),
    /// The position of an open file.
    Position(Handle),
    /// The order of effects on different inodes, if the rules have one.
    Journal,
    /// Free space, if the disk has a limit.
    Room,
}

/// An access to the contents of a mapped file. It conflicts with accesses of the other variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Contents {
    /// Read by a call of the file.
    Read(Ino),
    /// Stored into by a map. Two stores conflict on their words and sectors.
    Stored(Ino),
}

/// The accesses of one call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// Sorted, without duplicates; `true` if the call changed the object or depends on being alone.
    pub objects: Vec<(Object, bool)>,
    pub contents: Option<Contents>,
    /// The call is one of a map: a read of its inode decides nothing that a crash left.
    pub is_by_map: bool,
    /// The call made something durable, or a sync failed: a power failure before it leaves other states than after.
    pub syncs: bool,
    /// The call changed values that processes see: a kill before it leaves another disk than after.
    pub changes: bool,
    /// The call decided a location of a crashed disk, so its draws depend on the draws of earlier
    /// reads.
    pub decides: bool,
}

impl Accesses {
    pub(super) fn read(&mut self, object: Object) {
        self.add(object, false);
    }

    pub(super) fn update(&mut self, object: Object) {
        self.add(object, true);
    }

    /// True if the call so far updates `object`.
    pub(super) fn updates(&self, object: Object) -> bool {
        let at = self.objects.binary_search_by_key(&object, |(object, _)| *object);
        at.is_ok_and(|at| self.objects[at].1)
    }

    fn add(&mut self, object: Object, updates: bool) {
        match self.objects.binary_search_by_key(&object, |(object, _)| *object) {
            Ok(at) => self.objects[at].1 |= updates,
            Err(at) => self.objects.insert(at, (object, updates)),
        }
    }

    /// True if the order of two calls with these accesses can make a difference.
    #[cfg(any(test, feature = "planted"))]
    pub fn conflicts_with(&self, other: &Accesses) -> bool {
        let by_contents = match (self.contents, other.contents) {
            (Some(Contents::Read(one)), Some(Contents::Stored(two)))
            | (Some(Contents::Stored(one)), Some(Contents::Read(two))) => one == two,
            _ => false,
        };
        by_contents
            || self.objects.iter().any(|(object, updates)| {
                let same = other.objects.binary_search_by_key(object, |(object, _)| *object);
                same.is_ok_and(|at| *updates || other.objects[at].1)
            })
    }
}
