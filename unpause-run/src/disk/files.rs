//! Open files: reads, writes, lengths and syncs. An open file keeps its inode alive, so the file stays readable even
//! without a name.

use std::io::SeekFrom;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::disk_error::Error;
use super::entries::Metadata;
use super::location::{Ino, Kind, Location, Value};
use super::read::zeroed_from;
use super::{Call, Contents, Disk, Object};

/// The number of an open file. A disk never reuses it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle(pub u64);

/// The options for opening a file, like `std::fs::OpenOptions`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    pub read: bool,
    pub write: bool,
    pub append: bool,
    pub truncate: bool,
    pub create: bool,
    pub create_new: bool,
    /// True if each write includes a sync of the written data (`O_SYNC`, `O_DSYNC`).
    pub sync: bool,
}

/// The result of a sync. The caller chooses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncFate {
    Succeeds,
    /// The sync fails. Later reads return the new data, which may not be on disk: ext4, XFS.
    FailsAndKeeps,
    /// The sync fails in the same way, because the disk is full: space for a write is allocated only when it is synced.
    FindsNoRoom,
    /// The sync fails. Later reads return the previous data, which is also the only data after a crash: Btrfs.
    FailsAndReverts,
}

#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    pub(super) ino: Ino,
    position: u64,
    pub(super) reads: bool,
    pub(super) writes: bool,
    appends: bool,
    syncs: bool,
    /// The error of a sync of the inode that failed through another handle. The next sync of this handle returns it.
    error: Option<Error>,
}

/// The maximum length of a file, and of a position in it.
const LEN_MAX: u64 = i64::MAX as u64;

impl Disk {
    /// Returns the inode of an open file.
    pub fn inode(&self, handle: Handle) -> Result<Ino, Error> {
        self.open.get(&handle).map(|file| file.ino).ok_or(Error::BAD_FILE)
    }

    /// Closes a file. Closing never syncs and never fails. A process that dies closes all its files.
    pub fn close(&mut self, handle: Handle) {
        if let Some(file) = self.open.remove(&handle) {
            self.forget_if_gone(file.ino);
        }
    }

    /// Frees the space of an inode without names and handles. A crash may restore the inode.
    fn forget_if_gone(&mut self, ino: Ino) {
        if self.room.has_names(ino) || self.open.values().any(|file| file.ino == ino) {
            return;
        }
        self.room.free_from(ino, 0);
        let gone = self.now.range(Location::all_of(ino)).map(|(location, _)| location.clone());
        for location in gone.collect::<Vec<_>>() {
            self.now.remove(&location);
        }
    }
}

impl Call<'_> {
    pub(super) fn forget_if_gone(&mut self, ino: Ino) {
        self.touch_room();
        self.disk.forget_if_gone(ino);
    }

    pub(super) fn touch_room(&mut self) {
        if self.disk.room.has_limit() {
            self.accesses.update(Object::Room);
        }
    }

    /// Closes a file, like [`Disk::close`].
    pub fn close(&mut self, handle: Handle) -> Result<(), Error> {
        self.file(handle)?;
        self.accesses.update(Object::Position(handle));
        self.touch_room();
        self.disk.close(handle);
        Ok(())
    }

    /// Opens a file. Also opens a directory for reading; its handle can be synced but not read.
    pub fn open(&mut self, path: &Path, options: OpenOptions) -> Result<Handle, Error> {
        let OpenOptions { read, write, append, truncate, create, create_new, sync } = options;
        let makes = truncate || create || create_new;
        if !(read || write || append)
            || (append && truncate && !create_new)
            || (!write && !append && makes)
        {
            return Err(Error::INVALID);
        }
        let target = self.walk(path)?;
        if (create || create_new) && target.name.is_some() && target.has_slash {
            return Err(Error::IS_A_DIRECTORY);
        }
        let ino = match (self.find(&target), &target.name) {
            (Some(_), _) if create_new => return Err(Error::EXISTS),
            (Some(ino), _) => {
                if self.kind(ino) == Kind::Directory && (write || append) {
                    return Err(Error::IS_A_DIRECTORY);
                }
                if self.kind(ino) == Kind::File && target.has_slash {
                    return Err(Error::NOT_A_DIRECTORY);
                }
                if truncate {
                    self.truncate(ino, 0);
                }
                // The handle returns the errors of syncs that fail from now on.
                self.accesses.read(Object::Errors(ino));
                ino
            }
            (None, Some(name)) if create || create_new => self.make(target.dir(), name, Kind::File),
            (None, _) => return Err(Error::NOT_FOUND),
        };
        let handle = Handle(self.disk.handles);
        self.disk.handles += 1;
        let file = OpenFile {
            ino,
            position: 0,
            reads: read,
            writes: write || append,
            appends: append,
            syncs: sync,
            error: None,
        };
        self.disk.open.insert(handle, file);
        Ok(handle)
    }

    pub(super) fn file(&mut self, handle: Handle) -> Result<&mut OpenFile, Error> {
        self.disk.open.get_mut(&handle).ok_or(Error::BAD_FILE)
    }

    /// Reads from the current position and advances it. Returns the number of bytes; 0 at the end of the file.
    pub fn read(&mut self, handle: Handle, into: &mut [u8]) -> Result<usize, Error> {
        let at = self.file(handle)?.position;
        let count = self.read_at(handle, at, into)?;
        self.move_to(handle, at + count as u64)?;
        Ok(count)
    }

    /// Reads from position `at`.
    pub fn read_at(&mut self, handle: Handle, at: u64, into: &mut [u8]) -> Result<usize, Error> {
        let file = self.file(handle)?;
        let ino = file.ino;
        if !file.reads {
            return Err(Error::BAD_FILE);
        }
        if self.kind(ino) == Kind::Directory {
            return Err(Error::IS_A_DIRECTORY);
        }
        self.accesses.read(Object::Inode(ino));
        if self.disk.mapped.contains(&ino) {
            self.accesses.contents = Some(Contents::Read(ino));
        }
        if into.is_empty() {
            return Ok(0);
        }
        let sector = self.disk.settings.sector;
        let count = self.size(ino).saturating_sub(at).min(into.len() as u64);
        let into = &mut into[..count as usize];
        let mut done = 0;
        while done < into.len() {
            let from = at + done as u64;
            let within = (from % sector) as usize;
            let part = (sector as usize - within).min(into.len() - done);
            if self.disk.damaged.contains(&(ino, from / sector)) {
                return if done > 0 { Ok(done) } else { Err(Error::BROKEN) };
            }
            match self.sector(ino, from / sector) {
                Some(bytes) => {
                    into[done..done + part].copy_from_slice(&bytes[within..within + part])
                }
                None => into[done..done + part].fill(0),
            }
            done += part;
        }
        Ok(into.len())
    }

    /// Writes at the current position and advances it, or at the end of a file that was opened for appending. Returns
    /// the number of bytes written, which is less than requested if the disk is full.
    pub fn write(&mut self, handle: Handle, bytes: &[u8]) -> Result<usize, Error> {
        let at = self.file(handle)?.position;
        let (count, end) = self.write_somewhere(handle, at, bytes)?;
        self.move_to(handle, end)?;
        Ok(count)
    }

    /// Writes at position `at`. A file that was opened for appending is written at its end instead, as on Linux.
    pub fn write_at(&mut self, handle: Handle, at: u64, bytes: &[u8]) -> Result<usize, Error> {
        self.write_somewhere(handle, at, bytes).map(|(count, _)| count)
    }

    /// Returns the start of a write at `at` or at the current position, and the length of the file.
    pub(super) fn place_of_write(
        &mut self,
        handle: Handle,
        at: Option<u64>,
    ) -> Result<(u64, u64), Error> {
        let OpenFile { ino, position, appends, .. } = *self.file(handle)?;
        self.accesses.read(Object::Inode(ino));
        let size = self.size(ino);
        Ok((if appends { size } else { at.unwrap_or(position) }, size))
    }

    /// Returns the number of bytes written, and the position after them.
    fn write_somewhere(
        &mut self,
        handle: Handle,
        at: u64,
        bytes: &[u8],
    ) -> Result<(usize, u64), Error> {
        let OpenFile { ino, writes, appends, syncs, .. } = *self.file(handle)?;
        if !writes {
            return Err(Error::BAD_FILE);
        }
        if bytes.is_empty() {
            return Ok((0, at));
        }
        self.accesses.update(Object::Inode(ino));
        let size = self.size(ino);
        let at = if appends { size } else { at };
        if at.checked_add(bytes.len() as u64).is_none_or(|end| end > LEN_MAX) {
            return Err(Error::TOO_LARGE);
        }
        let count = self.write_sectors(ino, at, bytes)?;
        let end = at + count as u64;
        if end > size {
            self.apply(vec![(Location::size(ino), Value::Size(end))], true);
        }
        if syncs {
            self.sync_locations(Location::all_of(ino), SyncFate::Succeeds);
        }
        Ok((count, end))
    }

    fn write_sectors(&mut self, ino: Ino, at: u64, bytes: &[u8]) -> Result<usize, Error> {
        let sector = self.disk.settings.sector;
        self.touch_room();
        let mut done = 0;
        while done < bytes.len() {
            let from = at + done as u64;
            let (index, within) = (from / sector, (from % sector) as usize);
            let part = (sector as usize - within).min(bytes.len() - done);
            let is_whole = part == sector as usize;
            let hit = self.target(index);
            let obstacle = if !is_whole && self.disk.damaged.contains(&(ino, index)) {
                Some(Error::BROKEN)
            } else {
                (!self.disk.room.take(ino, hit)).then_some(Error::FULL)
            };
            if let Some(error) = obstacle {
                return if done > 0 { Ok(done) } else { Err(error) };
            }
            let new = &bytes[done..done + part];
            let new: Arc<[u8]> = if is_whole {
                self.disk.damaged.remove(&(ino, hit));
                new.into()
            } else {
                let old = self.sector(ino, index);
                let mut whole = old.map_or_else(|| vec![0; sector as usize], |old| old.to_vec());
                whole[within..within + part].copy_from_slice(new);
                whole.into()
            };
            self.apply(vec![(Location::sector(ino, hit), Value::Sector(Some(new)))], false);
            done += part;
        }
        Ok(done)
    }

    /// Sets the length of a file. Bytes that are cut off become zeros if the file grows again.
    pub fn set_len(&mut self, handle: Handle, len: u64) -> Result<(), Error> {
        let OpenFile { ino, writes, .. } = *self.file(handle)?;
        if !writes || len > LEN_MAX {
            return Err(Error::INVALID);
        }
        self.truncate(ino, len);
        Ok(())
    }

    /// Cuts the file in one effect on its length and all affected sectors, so that old bytes never return.
    ///
    /// All sectors that any call wrote are cut, including sectors that a crash may have lost. So these sectors need not
    /// be decided.
    fn truncate(&mut self, ino: Ino, len: u64) {
        self.accesses.update(Object::Inode(ino));
        let old = self.size(ino);
        if len == old {
            return;
        }
        let mut sets = vec![(Location::size(ino), Value::Size(len))];
        if len < old {
            let sector = self.disk.settings.sector;
            for index in self.written_sectors(ino, len / sector..old.div_ceil(sector)) {
                let kept = match len.saturating_sub(index * sector) {
                    0 => None,
                    keep => self.sector(ino, index).map(|bytes| zeroed_from(&bytes, keep as usize)),
                };
                sets.push((Location::sector(ino, index), Value::Sector(kept)));
            }
            self.touch_room();
            self.disk.room.free_from(ino, len.div_ceil(sector));
            let cut_off = (ino, len.div_ceil(sector));
            self.disk.damaged.retain(|at| at.0 != ino || *at < cut_off);
        }
        self.apply(sets, true);
    }

    /// Moves the current position, and returns it.
    pub fn seek(&mut self, handle: Handle, to: SeekFrom) -> Result<u64, Error> {
        let OpenFile { ino, position, .. } = *self.file(handle)?;
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => position.checked_add_signed(by),
            SeekFrom::End(by) => self.metadata_of_inode(ino).len.checked_add_signed(by),
        };
        let to = to.filter(|at| *at <= LEN_MAX).ok_or(Error::INVALID)?;
        self.move_to(handle, to)?;
        Ok(to)
    }

    fn move_to(&mut self, handle: Handle, to: u64) -> Result<(), Error> {
        self.accesses.update(Object::Position(handle));
        self.file(handle)?.position = to;
        Ok(())
    }

    /// Makes the contents of a file or the entries of a directory durable.
    ///
    /// If a sync fails, each handle that was open at that time returns the error once.
    pub fn sync(&mut self, handle: Handle, fate: SyncFate) -> Result<(), Error> {
        let ino = self.file(handle)?.ino;
        self.sync_of(handle, Location::all_of(ino), fate)
    }

    pub(super) fn sync_of(
        &mut self,
        handle: Handle,
        bounds: Range<Location>,
        fate: SyncFate,
    ) -> Result<(), Error> {
        let file = self.file(handle)?;
        let ino = file.ino;
        let before = file.error.take();
        if before.is_some() {
            self.accesses.update(Object::Inode(ino));
        }
        self.sync_locations(bounds, fate);
        let error = match fate {
            SyncFate::Succeeds => return before.map_or(Ok(()), Err),
            SyncFate::FindsNoRoom => Error::FULL,
            SyncFate::FailsAndKeeps | SyncFate::FailsAndReverts => Error::BROKEN,
        };
        self.accesses.update(Object::Errors(ino));
        let others = self.disk.open.iter_mut().filter(|(other, _)| **other != handle);
        for (_, file) in others.filter(|(_, file)| file.ino == ino) {
            file.error = Some(error);
        }
        Err(error)
    }

    pub fn handle_metadata(&mut self, handle: Handle) -> Result<Metadata, Error> {
        let ino = self.file(handle)?.ino;
        Ok(self.metadata_of_inode(ino))
    }
}
