//! Faults of the medium, on request: unreadable sectors, bit rot, and misdirected writes, which overwrite a wrong
//! sector.

use super::disk_error::Error;
use super::location::{Location, Value};
use super::{Call, Handle, Object};

impl Call<'_> {
    /// Makes a sector of a file unreadable until it is completely overwritten or cut off.
    pub fn damage(&mut self, handle: Handle, index: u64) -> Result<(), Error> {
        let ino = self.disk.inode(handle)?;
        self.accesses.update(Object::Inode(ino));
        self.accesses.changes = true;
        self.disk.damaged.insert((ino, index));
        Ok(())
    }

    /// Flips a bit of a sector; bit 0 is the lowest bit of its first byte. Returns `false` and does nothing in two
    /// cases: the sector is a hole, or it has a pending write, so that its bytes are in memory.
    pub fn rot(&mut self, handle: Handle, index: u64, bit: u64) -> Result<bool, Error> {
        let ino = self.disk.inode(handle)?;
        self.accesses.update(Object::Inode(ino));
        let location = Location::sector(ino, index);
        let bytes = self.sector(ino, index);
        let (Some(bytes), None) = (bytes, self.disk.pending.chain(&location)) else {
            return Ok(false);
        };
        let mut bytes = bytes.to_vec();
        let byte = bytes.get_mut((bit / 8) as usize).ok_or(Error::INVALID)?;
        *byte ^= 1 << (bit % 8);
        let value = Value::Sector(Some(bytes.into()));
        self.disk.durable.insert(location.clone(), value.clone());
        self.disk.now.insert(location, value);
        // The durable value changes, so the state after a crash depends on the order of the crash and this call.
        (self.accesses.changes, self.accesses.syncs) = (true, true);
        Ok(true)
    }

    /// Misdirects the next write: it leaves sector `from` unchanged, and overwrites sector `to` with the new contents.
    pub fn misdirect(&mut self, from: u64, to: u64) {
        self.misdirected = Some((from, to));
    }

    /// Returns the sector that a write into sector `index` overwrites.
    pub(super) fn target(&self, index: u64) -> u64 {
        self.misdirected.filter(|(from, _)| *from == index).map_or(index, |(_, to)| to)
    }

    /// Returns the first and the last sector of a write of `count` bytes, and the number of sectors of the file after
    /// it.
    pub fn sectors_of_write(
        &mut self,
        handle: Handle,
        at: Option<u64>,
        count: u64,
    ) -> Result<(u64, u64, u64), Error> {
        let (at, size) = self.place_of_write(handle, at)?;
        let (end, sector) = (at.saturating_add(count), self.disk.settings.sector);
        let last = end.saturating_sub(1).max(at) / sector;
        Ok((at / sector, last, end.max(size).div_ceil(sector)))
    }
}
