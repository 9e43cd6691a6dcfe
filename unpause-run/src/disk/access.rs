//! The accesses of a file system call, for searches. The accesses determine the conflicts with other calls, and whether
//! a crash before the call differs from a crash after it.

use super::Handle;
use super::location::Ino;

/// An object on which calls conflict.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Object {
    /// Contents of a file, or entries of a directory.
    Inode(Ino),
    /// An aligned group of eight bytes of a mapped file, counted from 0. The accesses of maps use it.
    Word(Ino, u64),
    /// The order of stores into a sector of a mapped file, and the durable part of these stores.
    Sector(Ino, u64),
    /// The position of an open file.
    Position(Handle),
    /// The order of effects on different inodes, if the rules have one.
    Journal,
    /// Free space, if the disk has a limit.
    Room,
    /// The failed syncs of an inode, which each handle that was open at that time returns.
    Errors(Ino),
}

/// An access to the contents of a mapped file. The access conflicts with accesses of the other variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Contents {
    /// A call on the file read the contents.
    Read(Ino),
    /// A map stored into the contents. Two stores conflict on their words and sectors instead.
    Stored(Ino),
}

/// The accesses of one call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// The accessed objects, sorted, without duplicates. The flag is `true` if the call changed the object or depends
    /// on exclusive access.
    pub objects: Vec<(Object, bool)>,
    pub contents: Option<Contents>,
    /// True if a map made the call. The call's read of the inode then decides nothing about the state after a crash.
    pub is_by_map: bool,
    /// True if the call made something durable, or if a sync failed. The possible states after a power failure then
    /// depend on whether the failure precedes the call.
    pub syncs: bool,
    /// True if the call changed values that processes can read. The state of the disk after a kill then depends on
    /// whether the kill precedes the call.
    pub changes: bool,
    /// True if the call decided a location of a crashed disk, so that its draws depend on the draws of earlier reads.
    pub decides: bool,
}

impl Accesses {
    pub(super) fn read(&mut self, object: Object) {
        self.add(object, false);
    }

    pub(super) fn update(&mut self, object: Object) {
        self.add(object, true);
    }

    /// Returns `true` if the call has updated `object` so far.
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

    /// Returns `true` if the order of two calls with these accesses can make a difference.
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
