//! Files of the operating system, used outside of runs and in the real build.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use unpause_ordered::Map;

use super::lock::{FileLock, Owner};
use crate::seam::{Here, Wrapped};

/// Returns a new number for an open file.
pub(super) fn next_owner() -> Owner {
    static OWNERS: AtomicU64 = AtomicU64::new(0);
    OWNERS.fetch_add(1, Relaxed)
}

/// The identity of a file: device and inode.
type Identity = (u64, u64);

/// Values shared by all open files with one identity. Created for the first file, and dropped with
/// the last.
struct ByIdentity<T>(Mutex<Map<Identity, Weak<T>>>);

impl<T> ByIdentity<T> {
    const fn new() -> ByIdentity<T> {
        ByIdentity(Mutex::new(Map::new()))
    }

    fn of(&self, file: &File, make: impl FnOnce() -> T) -> io::Result<Arc<T>> {
        let identity = identity_of(file)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&identity).and_then(Weak::upgrade) {
            return Ok(known);
        }
        all.retain(|_, value| value.strong_count() > 0);
        let value = Arc::new(make());
        all.insert(identity, Arc::downgrade(&value));
        Ok(value)
    }
}

/// Returns the lock of a file. The lock holds only within this process, because the file locks of std need a newer
/// compiler than this crate requires.
pub(super) fn lock_of(file: &File, here: Here) -> io::Result<Arc<FileLock>> {
    static LOCKS: ByIdentity<FileLock> = ByIdentity::new();
    LOCKS.of(file, || FileLock::new(Arc::new(Wrapped::outside("file", here))))
}

/// A mutex shared by the maps of a file, so that one map at a time uses the file.
pub(super) type MapTurn = Arc<Mutex<()>>;

pub(super) fn map_turn_of(file: &File) -> io::Result<MapTurn> {
    static TURNS: ByIdentity<Mutex<()>> = ByIdentity::new();
    TURNS.of(file, || Mutex::new(()))
}

/// Reads all of `into`. Returns `Ok(false)` if the file ends before.
pub(super) fn read_whole(file: &File, into: &mut [u8], at: u64) -> io::Result<bool> {
    let mut done = 0;
    while done < into.len() {
        match read_at(file, &mut into[done..], at + done as u64) {
            Ok(0) => return Ok(false),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Writes all of `bytes`, within the file.
pub(super) fn write_whole(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match write_at(file, &bytes[done..], at + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn identity_of(file: &File) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity_of(_: &File) -> io::Result<Identity> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, at)
}

#[cfg(not(unix))]
pub(super) fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    use std::io::{Read as _, Seek as _, SeekFrom};

    let mut file = file;
    let before = file.stream_position()?;
    file.seek(SeekFrom::Start(at))?;
    let count = file.read(into);
    file.seek(SeekFrom::Start(before))?;
    count
}

#[cfg(not(unix))]
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    use std::io::{Seek as _, SeekFrom, Write as _};

    let mut file = file;
    let before = file.stream_position()?;
    file.seek(SeekFrom::Start(at))?;
    let count = file.write(bytes);
    file.seek(SeekFrom::Start(before))?;
    count
}
