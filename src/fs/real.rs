//! Files of the operating system: outside of runs, and in the real build.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::lock::{FileLock, Owner};
use crate::seam::{Here, Wrapped};

/// A number for an open file.
pub(super) fn next_owner() -> Owner {
    static OWNERS: AtomicU64 = AtomicU64::new(0);
    OWNERS.fetch_add(1, Relaxed)
}

/// The identity of a file.
type Identity = (u64, u64);

/// The lock of a file. The locks of std's files are newer than the oldest compiler of this crate, so it is of this process.
pub(super) fn lock_of(file: &File, here: Here) -> io::Result<Arc<FileLock>> {
    static LOCKS: Mutex<BTreeMap<Identity, Weak<FileLock>>> = Mutex::new(BTreeMap::new());
    let identity = identity_of(file)?;
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(lock) = locks.get(&identity).and_then(Weak::upgrade) {
        return Ok(lock);
    }
    locks.retain(|_, lock| lock.strong_count() > 0);
    let lock = Arc::new(FileLock::new(Arc::new(Wrapped::outside("file", here))));
    locks.insert(identity, Arc::downgrade(&lock));
    Ok(lock)
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
