//! Locations of a disk and their values. A location is the smallest unit that a crash keeps or
//! loses completely.

use std::ffi::OsStr;
use std::sync::Arc;

/// The number of a file or a directory. A disk never reuses it, even after a crash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ino(pub u64);

/// The directory `/`.
pub const ROOT: Ino = Ino(0);

/// The name of a directory entry: one component of a path.
pub type Name = Arc<OsStr>;

/// The kind of an inode, which never changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    File,
    Directory,
}

/// A location: a part of an inode. The order keeps the locations of an inode together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Location {
    pub ino: Ino,
    pub part: Part,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The length of a file.
    Size,
    /// A sector of a file, counted from 0.
    Sector(u64),
    /// An entry of a directory.
    Entry(Name),
}

/// The value of a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Size(u64),
    /// The bytes of a sector. `None` is a hole, which reads as zeros.
    Sector(Option<Arc<[u8]>>),
    Entry(Option<Ino>),
}

impl Location {
    pub fn size(ino: Ino) -> Location {
        Location { ino, part: Part::Size }
    }

    pub fn sector(ino: Ino, index: u64) -> Location {
        Location { ino, part: Part::Sector(index) }
    }

    pub fn entry(dir: Ino, name: &Name) -> Location {
        Location { ino: dir, part: Part::Entry(name.clone()) }
    }

    /// Returns the bounds of all locations of `ino`.
    pub(super) fn all_of(ino: Ino) -> std::ops::Range<Location> {
        Location::size(ino)..Location::size(Ino(ino.0 + 1))
    }

    /// Returns the bounds of the sectors of `ino`.
    pub(super) fn sectors_of(ino: Ino) -> std::ops::RangeInclusive<Location> {
        Location::sector(ino, 0)..=Location::sector(ino, u64::MAX)
    }

    /// Returns the value of the location on a new disk.
    pub(super) fn blank(&self) -> Value {
        match self.part {
            Part::Size => Value::Size(0),
            Part::Sector(_) => Value::Sector(None),
            Part::Entry(_) => Value::Entry(None),
        }
    }
}

impl Value {
    // The value of a location always matches its part, because all constructors of effects ensure
    // this.

    pub(super) fn into_size(self) -> u64 {
        let Value::Size(size) = self else { unreachable!("not a length: {self:?}") };
        size
    }

    pub(super) fn into_sector(self) -> Option<Arc<[u8]>> {
        let Value::Sector(bytes) = self else { unreachable!("not a sector: {self:?}") };
        bytes
    }

    pub(super) fn into_entry(self) -> Option<Ino> {
        let Value::Entry(ino) = self else { unreachable!("not an entry: {self:?}") };
        ino
    }
}
