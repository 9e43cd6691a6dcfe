//! Faults of the medium, on request: sectors that cannot be read, and bits that change by themselves.

use super::error::Error;
use super::location::{Location, Value};
use super::{Call, Handle, Object};

impl Call<'_> {
    /// Makes a sector of a file unreadable, until it is written whole or cut off.
    pub(crate) fn damage(&mut self, handle: Handle, index: u64) -> Result<(), Error> {
        let ino = self.disk.inode(handle)?;
        self.accesses.update(Object::Inode(ino));
        self.accesses.changes = true;
        self.disk.damaged.insert((ino, index));
        Ok(())
    }

    /// Changes a bit of a sector; bit 0 is the lowest one of its first byte. Returns `false`, and does nothing, if the
    /// sector has a pending write, whose bytes are in memory, or is a hole.
    pub(crate) fn rot(&mut self, handle: Handle, index: u64, bit: u64) -> Result<bool, Error> {
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
        // The durable value changes: a crash before leaves other states than one after.
        (self.accesses.changes, self.accesses.syncs) = (true, true);
        Ok(true)
    }
}
