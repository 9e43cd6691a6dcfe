//! A model of a file system, and of the possible states after a power failure.
//!
//! A [`Disk`] has three kinds of state. *Now*: the values that processes read. *Pending*: the effects of calls that may
//! not be on disk yet, with their order. *Durable*: the synced values.
//!
//! A power failure turns the pending effects and the durable values into a layer. A draw decides a location of the
//! layer when a call first reads it; the result 0 means that nothing is lost. A second power failure puts a new layer
//! over the first. So a crash costs nothing for locations that recovery does not read, and an enumeration of the draws
//! visits each state that recovery can distinguish.
//!
//! | file | task |
//! |---|---|
//! | `location.rs` | inodes, locations, values |
//! | `rules.rs` | the order of effects: POSIX, ext4, prefix |
//! | `effects.rs` | pending effects and their closures |
//! | `crash.rs` | a crashed life: intervals of versions, moods |
//! | `read.rs` | values that processes read, through the layers; effects of changes; syncs |
//! | `names.rs` | paths and entries |
//! | `files.rs` | open files and their contents |
//! | `maps.rs` | mapped files: words, slices, their syncs |
//! | `room.rs` | free space |
//! | `media.rs` | faults of the medium: unreadable sectors, rot, misdirected writes |
//! | `access.rs` | the accesses of a call, for searches |
//!
//! Calls are functions from data to data. The caller decides about faults, such as a failing sync or a short read, and
//! passes its decisions as arguments. Not modeled: symbolic links, permissions, owners, times, and the space that
//! directories take.

use unpause_ordered::{Map, Set};
mod access;
mod crash;
mod disk_error;
mod effects;
mod entries;
mod files;
mod location;
mod maps;
mod media;
mod read;
mod room;
mod rules;
#[cfg(test)]
mod tests;

pub use self::access::{Accesses, Contents, Object};
pub use self::crash::Loss;
pub use self::disk_error::Error;
pub use self::entries::Metadata;
pub use self::files::{Handle, OpenOptions, SyncFate};
pub use self::location::{Ino, Kind, Location, Part, Value};
pub use self::maps::{BusError, UNIT};
pub use self::rules::{Choosing, Rules};

use self::crash::Crashed;
use self::effects::Pending;
use self::files::OpenFile;
use self::room::Room;

/// A function that draws a number below the given bound. 0 means that nothing is lost.
pub type Draw<'d> = &'d mut dyn FnMut(u64) -> u64;

/// Properties of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub rules: Rules,
    pub choosing: Choosing,
    /// The number of bytes that are written completely or not at all.
    pub sector: u64,
    /// The number of bytes for file contents, in whole sectors; `None` if there is no limit.
    pub capacity: Option<u64>,
    /// The maximum number of pending effects. At this number, the oldest effect is written back, as kernels do after
    /// some time. The limit bounds the memory of a program that never syncs, but a crash then cannot lose its oldest
    /// writes. Effects whose sync failed are not counted and not written back.
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
    /// The kind of each inode.
    kinds: Vec<Kind>,
    /// The values of locations that were set or read since the last power failure. The map is a cache: the other fields
    /// determine the values.
    now: Map<Location, Value>,
    /// The values that syncs made durable since the last power failure.
    durable: Map<Location, Value>,
    pending: Pending,
    /// Lives that a power failure ended, oldest first. Newer lives are read first.
    crashed: Vec<Crashed>,
    open: Map<Handle, OpenFile>,
    handles: u64,
    /// Files that have ever been mapped.
    mapped: Set<Ino>,
    calls: u64,
    /// Unreadable sectors.
    damaged: Set<(Ino, u64)>,
    room: Room,
}

/// A call, with the function that decides about losses.
pub struct Call<'d> {
    disk: &'d mut Disk,
    draw: Draw<'d>,
    /// The accesses of the call so far.
    pub accesses: Accesses,
    /// The locations for which the call found that the newest version is lost.
    pub losses: Vec<Loss>,
    /// A sector that the call leaves unwritten, and the sector that it overwrites instead.
    misdirected: Option<(u64, u64)>,
}

impl Disk {
    /// Creates an empty disk, which contains only the directory `/`.
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

    /// Begins a call. If a crash tears calls, it treats the effects of one call together.
    pub fn call<'d>(&'d mut self, draw: Draw<'d>) -> Call<'d> {
        self.calls += 1;
        let (accesses, losses) = (Accesses::default(), Vec::new());
        Call { disk: self, draw, accesses, losses, misdirected: None }
    }

    /// Returns the number of effects that a power failure could lose now.
    #[cfg(any(test, feature = "planted"))]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Returns `true` if there was a power failure.
    pub fn has_crashed(&self) -> bool {
        !self.crashed.is_empty()
    }

    /// Returns the number of inodes that the disk has ever had.
    pub fn inodes(&self) -> u64 {
        self.kinds.len() as u64
    }

    pub fn is_directory(&self, ino: Ino) -> bool {
        self.kinds[ino.0 as usize] == Kind::Directory
    }

    /// Sets how the next power failure chooses.
    pub fn set_choosing(&mut self, choosing: Choosing) {
        self.settings.choosing = choosing;
    }

    /// Ends the process: its files are closed, and nothing is lost.
    pub fn close_all(&mut self) {
        for handle in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(handle);
        }
    }

    /// Cuts the power of the machine: open files are gone, and pending effects may be lost. Later reads decide which
    /// effects are lost.
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
    /// Returns `true` if there was a power failure.
    pub fn has_crashed(&self) -> bool {
        self.disk.has_crashed()
    }

    /// Returns the inode of an open file.
    pub fn inode(&self, handle: Handle) -> Result<Ino, Error> {
        self.disk.inode(handle)
    }
}
