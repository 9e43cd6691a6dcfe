//! The model of a file system, and of all that may be left of it after a power failure.
//!
//! A [`Disk`] has three kinds of state. *Now*: the values that processes see. *Pending*: the
//! effects of calls that may not be on disk yet, with their order. *Durable*: the synced values. A
//! power failure makes a layer of the last two. A location of the layer is decided when a call
//! first reads it, by a draw; its answer 0 means "nothing is lost". A second one makes a layer over
//! the first. So a crash costs nothing for locations that recovery does not read, and an
//! enumeration of the draws visits each state that recovery can tell apart.
//!
//! | file | task |
//! |---|---|
//! | `location.rs` | inodes, locations, values |
//! | `rules.rs` | the order of effects: POSIX, ext4, prefix |
//! | `effects.rs` | pending effects and their closures |
//! | `crash.rs` | one crashed life: intervals of versions, moods |
//! | `read.rs` | values as processes see them, through the layers; effects of changes; syncs |
//! | `names.rs` | paths and entries |
//! | `files.rs` | open files and their contents |
//! | `maps.rs` | mapped files: words, slices, their syncs |
//! | `room.rs` | free space |
//! | `media.rs` | faults of the medium: unreadable sectors, rot, writes that land elsewhere |
//! | `access.rs` | the accesses of a call, for searches |
//!
//! Calls are functions from data to data. The caller decides about faults, such as a sync that fails or a short read,
//! and passes its answers. Not modelled: symbolic links, permissions, owners, times,
//! and the capacity that directories take.

use unpause_ordered::{Map, Set};
mod access;
mod crash;
mod effects;
mod error;
mod files;
mod location;
mod maps;
mod media;
mod names;
mod read;
mod room;
mod rules;
#[cfg(test)]
mod tests;

pub use self::access::{Accesses, Contents, Object};
pub use self::crash::Loss;
pub use self::error::Error;
pub use self::files::{Handle, OpenOptions, SyncFate};
pub use self::location::{Ino, Kind, Location, Part, Value};
pub use self::maps::{BusError, UNIT};
pub use self::names::Metadata;
pub use self::rules::{Choosing, Rules};

use self::crash::Crashed;
use self::effects::Pending;
use self::files::OpenFile;
use self::room::Room;

/// Answers a question with a number below the given bound. 0 is "nothing is lost".
pub type Draw<'d> = &'d mut dyn FnMut(u64) -> u64;

/// Properties of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub rules: Rules,
    pub choosing: Choosing,
    /// Bytes that are written whole or not at all.
    pub sector: u64,
    /// Bytes for contents of files, in whole sectors.
    pub capacity: Option<u64>,
    /// The number of pending effects at which the oldest one is written back, as kernels do after some time. It bounds
    /// the memory of a program that never syncs; a crash then cannot lose its oldest writes.
    pub pending_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            rules: Rules::POSIX,
            choosing: Choosing::EachLocation,
            sector: 512,
            capacity: None,
            pending_max: 1 << 16,
        }
    }
}

/// A file system.
#[derive(Clone, Debug)]
pub struct Disk {
    settings: Settings,
    /// By inode.
    kinds: Vec<Kind>,
    /// Values of locations that were set or read since the last power failure. A cache: they follow from the rest.
    now: Map<Location, Value>,
    /// The values that a sync made durable since then.
    durable: Map<Location, Value>,
    pending: Pending,
    /// Lives that a power failure ended, oldest first. Later ones are read first.
    crashed: Vec<Crashed>,
    open: Map<Handle, OpenFile>,
    handles: u64,
    /// Files that were ever mapped.
    mapped: Set<Ino>,
    calls: u64,
    /// Sectors that cannot be read.
    damaged: Set<(Ino, u64)>,
    room: Room,
}

/// One call, with the function that decides about losses.
pub struct Call<'d> {
    disk: &'d mut Disk,
    draw: Draw<'d>,
    /// The accesses so far.
    pub accesses: Accesses,
    /// Locations whose newest version the call found lost.
    pub losses: Vec<Loss>,
    /// A sector that the call does not write, and the sector in whose place it puts the contents.
    misdirected: Option<(u64, u64)>,
}

impl Disk {
    /// An empty disk, which has the directory `/`.
    #[track_caller]
    pub fn new(settings: Settings) -> Disk {
        assert!(settings.sector > 0, "a sector has at least one byte");
        Disk {
            settings,
            kinds: vec![Kind::Directory],
            now: Map::new(),
            durable: Map::new(),
            pending: Pending::new(settings.rules),
            crashed: Vec::new(),
            open: Map::new(),
            handles: 0,
            mapped: Set::new(),
            calls: 0,
            damaged: Set::new(),
            room: Room::new(settings.capacity.map(|bytes| bytes / settings.sector)),
        }
    }

    /// Begins a call. The effects of one call are torn together.
    pub fn call<'d>(&'d mut self, draw: Draw<'d>) -> Call<'d> {
        self.calls += 1;
        let (accesses, losses) = (Accesses::default(), Vec::new());
        Call { disk: self, draw, accesses, losses, misdirected: None }
    }

    /// The number of effects that a power failure could lose now.
    #[cfg(any(test, feature = "planted"))]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// True if there was a power failure.
    pub fn has_crashed(&self) -> bool {
        !self.crashed.is_empty()
    }

    /// The number of inodes that the disk has ever had.
    pub fn inodes(&self) -> u64 {
        self.kinds.len() as u64
    }

    pub fn is_directory(&self, ino: Ino) -> bool {
        self.kinds[ino.0 as usize] == Kind::Directory
    }

    /// Makes the next power failure choose so.
    pub fn set_choosing(&mut self, choosing: Choosing) {
        self.settings.choosing = choosing;
    }

    /// The process ends: its files are closed, and nothing is lost.
    pub fn close_all(&mut self) {
        for handle in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(handle);
        }
    }

    /// The machine loses its power: open files are gone, and pending effects may be. Decides nothing.
    pub fn power_off(&mut self) {
        self.open.clear();
        self.now.clear();
        let durable = std::mem::take(&mut self.durable);
        let pending = std::mem::replace(&mut self.pending, Pending::new(self.settings.rules));
        if !(durable.is_empty() && pending.is_empty()) {
            self.crashed.push(Crashed::new(durable, pending, self.settings.choosing));
        }
    }
}

impl Call<'_> {
    /// True if there was a power failure.
    pub fn has_crashed(&self) -> bool {
        self.disk.has_crashed()
    }

    /// The inode of an open file.
    pub fn inode(&self, handle: Handle) -> Result<Ino, Error> {
        self.disk.inode(handle)
    }
}
