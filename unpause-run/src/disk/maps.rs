//! Mapped files: words and slices in the page cache, and syncs of ranges.
//!
//! A store is one effect on its sector, so a crash can leave the state of the sector between any two stores. A slice is
//! stored in pieces of eight bytes, from first to last, and each piece is a separate effect. A store that leaves the
//! sector unchanged has no effect, because no version would differ.

use std::ops::Range;
use std::sync::Arc;

use super::disk_error::Error;
use super::files::SyncFate;
use super::location::{Ino, Kind, Location};
use super::{Call, Handle, Object};

/// The length of an aligned piece of bytes that is stored atomically.
pub const UNIT: u64 = 8;

/// The limit of fine-grained accesses. A slice of more units, or a sync of more sectors, is one access to the whole
/// file.
const FINE_MAX: u64 = 16;

/// The reason why an access to mapped memory ends the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BusError {
    /// The file ends here, before the end of the access.
    BehindEnd(u64),
    Unreadable,
    /// The store is the first store into a sector, and the disk is full.
    Full,
}

impl Call<'_> {
    /// Maps a file. Decides the file's length, so that no access to the map needs to decide it.
    pub fn map(&mut self, handle: Handle) -> Result<Ino, Error> {
        let file = self.file(handle)?;
        let (ino, may) = (file.ino, file.reads && file.writes);
        if self.kind(ino) == Kind::Directory || !may {
            return Err(Error::NO_ACCESS);
        }
        self.accesses.update(Object::Inode(ino));
        self.disk.mapped.insert(ino);
        self.size(ino);
        Ok(ino)
    }

    /// Begins an access to `bytes` of a mapped file. Returns the inode, and the file's length if the access exceeds it.
    fn begin(&mut self, handle: Handle, bytes: &Range<u64>) -> Result<(Ino, Option<u64>), Error> {
        let ino = self.file(handle)?.ino;
        self.accesses.is_by_map = true;
        self.accesses.read(Object::Inode(ino));
        let size = self.size(ino);
        Ok((ino, (bytes.end > size).then_some(size)))
    }

    /// Returns the bytes of a sector; `None` for a hole, which reads as zeros.
    fn mapped_sector(&mut self, ino: Ino, index: u64) -> Result<Option<Arc<[u8]>>, BusError> {
        if self.has_crashed() {
            // The first read decides the state after a crash, and no later read decides anything.
            match self.disk.now.contains_key(&Location::sector(ino, index)) {
                true => self.accesses.read(Object::Sector(ino, index)),
                false => self.accesses.update(Object::Sector(ino, index)),
            }
        }
        match self.disk.damaged.contains(&(ino, index)) {
            true => Err(BusError::Unreadable),
            false => Ok(self.sector(ino, index)),
        }
    }

    /// Loads `into.len()` bytes from position `at`. The bytes of one unit are loaded atomically.
    pub fn load(
        &mut self,
        handle: Handle,
        at: u64,
        into: &mut [u8],
    ) -> Result<Result<(), BusError>, Error> {
        let bytes = at..at + into.len() as u64;
        let (ino, end) = self.begin(handle, &bytes)?;
        if let Some(end) = end {
            return Ok(Err(BusError::BehindEnd(end)));
        }
        let units = bytes.start / UNIT..bytes.end.div_ceil(UNIT);
        if units.end - units.start > FINE_MAX {
            self.accesses.contents = Some(super::Contents::Read(ino));
        } else {
            units.for_each(|unit| self.accesses.read(Object::Word(ino, unit)));
        }
        let sector = self.disk.settings.sector;
        for (part, within) in parts(bytes, sector) {
            let into = &mut into[within];
            match self.mapped_sector(ino, part.start / sector) {
                Ok(Some(bytes)) => {
                    let from = (part.start % sector) as usize;
                    into.copy_from_slice(&bytes[from..from + into.len()]);
                }
                Ok(None) => into.fill(0),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    /// Stores `new` at position `at`.
    pub fn store(
        &mut self,
        handle: Handle,
        at: u64,
        new: &[u8],
    ) -> Result<Result<(), BusError>, Error> {
        let bytes = at..at + new.len() as u64;
        let (ino, end) = self.begin(handle, &bytes)?;
        if let Some(end) = end {
            return Ok(Err(BusError::BehindEnd(end)));
        }
        let units = bytes.start / UNIT..bytes.end.div_ceil(UNIT);
        if units.end - units.start > FINE_MAX {
            self.accesses.update(Object::Inode(ino));
        } else {
            units.for_each(|unit| self.accesses.update(Object::Word(ino, unit)));
        }
        let unit = UNIT.min(self.disk.settings.sector);
        for (part, within) in parts(bytes, unit) {
            if let Err(error) = self.store_unit(ino, part.start, &new[within]) {
                return Ok(Err(error));
            }
            // For a crash that tears calls, each unit counts as a call.
            self.disk.calls += 1;
        }
        Ok(Ok(()))
    }

    fn store_unit(&mut self, ino: Ino, at: u64, new: &[u8]) -> Result<(), BusError> {
        let sector = self.disk.settings.sector;
        let (index, from) = (at / sector, (at % sector) as usize);
        let old = self.mapped_sector(ino, index)?;
        let to = from + new.len();
        let is_same = match &old {
            Some(bytes) => bytes[from..to] == *new,
            None => new.iter().all(|byte| *byte == 0),
        };
        // If all effects are in order, a sync of this effect also syncs all earlier effects.
        let counts = self.disk.settings.rules.everything_in_order || self.is_clean(ino, index);
        if is_same && !counts {
            return Ok(());
        }
        self.touch_room();
        if !self.disk.room.take(ino, index) {
            return Err(BusError::Full);
        }
        let mut bytes = old.map_or_else(|| vec![0; sector as usize], |old| old.to_vec());
        bytes[from..to].copy_from_slice(new);
        self.apply_store(ino, index, bytes.into());
        Ok(())
    }

    /// Returns `true` if a failed sync should have written the newest version of a sector. If the same bytes are stored
    /// again, these bytes are a new version for the next sync to write.
    fn is_clean(&self, ino: Ino, index: u64) -> bool {
        let pending = &self.disk.pending;
        let newest = pending.chain(&Location::sector(ino, index)).and_then(<[u64]>::last);
        newest.is_some_and(|id| !pending.effect(*id).failed.is_empty())
    }

    /// Makes the sectors of `bytes` durable, but not the length of the file.
    pub fn flush(
        &mut self,
        handle: Handle,
        bytes: Range<u64>,
        fate: SyncFate,
    ) -> Result<(), Error> {
        let sector = self.disk.settings.sector;
        let (ino, _) = self.begin(handle, &bytes)?;
        let indices = bytes.start / sector..bytes.end.div_ceil(sector);
        if indices.end - indices.start > FINE_MAX {
            self.accesses.update(Object::Inode(ino));
        } else {
            indices.clone().for_each(|index| self.accesses.update(Object::Sector(ino, index)));
        }
        let bounds = Location::sector(ino, indices.start)..Location::sector(ino, indices.end);
        self.sync_of(handle, bounds, fate)
    }
}

/// Returns the pieces of `bytes` between multiples of `length`, each with its range in the slice.
fn parts(bytes: Range<u64>, length: u64) -> impl Iterator<Item = (Range<u64>, Range<usize>)> {
    let start = bytes.start;
    let mut next = bytes.start;
    std::iter::from_fn(move || {
        let part = next..(next / length * length + length).min(bytes.end);
        next = part.end;
        let within = (part.start - start) as usize..(part.end - start) as usize;
        (!part.is_empty()).then_some((part, within))
    })
}
