//! Files, with the names of `tokio::fs`. In a run each [node](mod@crate::node) has its own disk. After a power failure
//! the disk may be in any state that file systems permit.
//!
//! The files of a run are a model; a run writes nothing to the real disk. A new disk contains the directory `/`, and
//! relative paths start there. Files belong to the node of the code that opens them; code outside all nodes has a disk
//! of its own. Outside of runs and in the real build, the operating system provides the files.
//!
//! ```
//! use sim::fs::{self, File};
//!
//! /// Writes a file and its name so that they outlive a power failure.
//! async fn save(bytes: &[u8]) -> std::io::Result<()> {
//!     let mut file = File::create("/new").await?;
//!     file.write_all(bytes).await?;
//!     file.sync_all().await?;
//!     fs::rename("/new", "/file").await?;
//!     // Without this the new name may be lost.
//!     File::open("/").await?.sync_all().await
//! }
//!
//! # let report = sim::Runner::new().hermetic().run(async || {
//! # if !sim::SIMULATED { return }
//! let db = sim::node("db");
//! db.spawn(async { save(b"old").await.unwrap() }).await.unwrap();
//! let saving = db.spawn(async { save(b"new").await.unwrap() });
//! sim::spawn({ let db = db.clone(); async move { db.power_off() } }).await.unwrap();
//! let is_saved = saving.await.is_ok();
//! db.restart();
//! let found = db.spawn(async { fs::read("/file").await.unwrap() }).await.unwrap();
//! assert!(found == b"new" || (found == b"old" && !is_saved), "{found:?}");
//! # });
//! # assert!(report.passed());
//! ```
//!
//! # Points
//!
//! Each call is a point, and completes in one step. Functions that need several kernel calls are several points. For
//! example, [`write`](fn@write) opens, writes and closes, so other tasks may find an empty file. Dropping a file and
//! [`File::try_lock`] are not points.
//!
//! A [`Map`] has words. The operations of words are points, like operations on an atomic.
//!
//! A search tries all orders of calls on the same file, but only one order of calls on different files. A search also
//! tries a power failure before each call of the node.
//!
//! # What a death leaves
//!
//! - [`Node::kill`](crate::Node::kill) closes the files of the node and releases their locks. No data is lost.
//! - [`Node::power_off`](crate::Node::power_off) may also lose unsynced data, as far as the [`Rules`] permit. The state
//!   of each location is drawn when it is first read; 0 is the newest state. So shrinking keeps only the losses that a
//!   failure needs, and the screen shows each loss at the call that found it.
//! - [`Node::wipe`](crate::Node::wipe) leaves an empty disk.
//!
//! Under the [rules of POSIX](Rules::POSIX), the default:
//!
//! - A sector of 512 bytes is written whole or not at all. Sectors are written in any order, so a write of several
//!   sectors may be torn.
//! - The length of a file and its bytes are separate: a file may have its new length, but contain zeros.
//! - [`File::sync_all`] makes contents and length durable. The *name* of the file is an entry of its directory, which
//!   needs a sync of its own: open the directory and sync it. Likewise, a new directory needs a sync of its parent.
//! - A rename is atomic but syncs nothing: after a power failure the new name may exist while all its bytes are lost.
//! - After a failed sync, some writes are not covered by any later sync.
//!
//! [`faults()`] sets faults for the whole run: failing and short calls, full disks. [`NodeDisk::begin`] and
//! [`Nemesis::disk`](crate::nemesis::Nemesis::disk) start faults for a limited time.
//!
//! # Not modelled
//!
//! Symbolic links, permissions, owners, and times. These names of `tokio::fs` are missing: `symlink`,
//! `set_permissions`, `set_times`, `mode`, `custom_flags` and `ino`. A file of a run is not a file of the operating
//! system, so [`File::from_std`] and [`File::into_std`] fail a run.

mod at;
mod call;
mod dir;
mod disk_faults;
mod file;
mod lock;
mod locking;
mod machine;
mod map;
mod marks;
mod of_std;
#[cfg(feature = "tokio")]
mod of_tokio;
mod on;
mod open;
mod opened;
mod paths;
mod real;
mod streams;
mod trouble;
mod word;

use std::io;
use std::path::{Path, PathBuf};

use self::at::At;
use self::call::{acts, both, by_path};
pub use self::dir::{DirEntry, FileType, Metadata, ReadDir, metadata, read_dir};
pub use self::disk_faults::{Faults, Rules};
pub use self::file::File;
use self::machine::Machines;
pub use self::map::Map;
pub use self::on::{NodeDisk, on};
pub(crate) use self::on::{has_files, mend, met, set_fault};
pub use self::open::OpenOptions;
pub use self::paths::{DirBuilder, canonicalize, read_link, symlink_metadata};
pub use self::trouble::DiskFault;
pub use self::word::MapWord;
use crate::run::op::Op;
use crate::seam::{self, Here, here};

const CREATE_DIR: Op = acts("create_dir");
const REMOVE_FILE: Op = acts("remove_file");
const REMOVE_DIR: Op = acts("remove_dir");
const RENAME: Op = acts("rename");
const HARD_LINK: Op = acts("hard_link");

/// Sets the faults of all disks in the run. Must be called before their first use. Outside of runs it does nothing.
///
/// ```
/// use sim::fs::{self, Faults};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// fs::faults(Faults::none().capacity(512));
/// let db = sim::node("db-1");
/// let written = db.spawn(fs::write("/a", [1; 513])).await.unwrap();
/// assert_eq!(written.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn faults(faults: Faults) {
    let here = here();
    if seam::in_run() {
        Machines::of_run().set_faults(None, faults, here);
    }
}

/// Creates an empty directory. This call is a point.
///
/// # Errors
/// The errors of [`std::fs::create_dir`].
#[track_caller]
pub fn create_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    create_dir_at(At::here(here), path.as_ref(), here)
}

fn create_dir_at(
    at: At,
    path: &Path,
    here: Here,
) -> impl Future<Output = io::Result<()>> + Send + use<> {
    let (run, real) = (path.to_owned(), path.to_owned());
    let act = move |call: &mut crate::disk::Call<'_>| call.create_dir(&run);
    by_path(&CREATE_DIR, at, path.to_owned(), here, act, move || std::fs::create_dir(&real))
}

/// Creates a directory and its missing parents. Each attempt to create a directory is a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::create_dir_all("/data/log").await.unwrap();
/// sim::fs::create_dir_all("/data/log").await.unwrap();
/// let again = sim::fs::create_dir("/data/log").await;
/// assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::create_dir_all`].
#[track_caller]
pub fn create_dir_all(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    create_dir_all_at(At::here(here), path.as_ref().to_owned(), here)
}

async fn create_dir_all_at(at: At, path: PathBuf, here: Here) -> io::Result<()> {
    // The loop goes up to the first directory that can be created. The code then creates the directories below it.
    let mut missing = Vec::new();
    let mut next = (!path.as_os_str().is_empty()).then(|| path.clone());
    while let Some(dir) = next.take() {
        match create_dir_at(at.clone(), &dir, here).await {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                next = dir.parent().filter(|up| !up.as_os_str().is_empty()).map(Path::to_owned);
                if next.is_none() {
                    return Err(error);
                }
                missing.push(dir);
            }
            Err(error) => is_directory(&at, &dir, error, here).await?,
        }
    }
    while let Some(dir) = missing.pop() {
        if let Err(error) = create_dir_at(at.clone(), &dir, here).await {
            is_directory(&at, &dir, error, here).await?;
        }
    }
    Ok(())
}

/// Returns `error`, unless the directory exists already.
async fn is_directory(at: &At, path: &Path, error: io::Error, here: Here) -> io::Result<()> {
    match dir::metadata_at(at.clone(), path, here).await {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        _ => Err(error),
    }
}

/// Removes a name of a file. The contents are removed with the last name and the last open file. This call is a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let file = sim::fs::File::create_new("/a").await.unwrap();
/// file.write_at(b"bytes", 0).await.unwrap();
/// sim::fs::remove_file("/a").await.unwrap();
/// assert!(!sim::fs::try_exists("/a").await.unwrap());
/// assert_eq!(file.metadata().await.unwrap().len(), 5);
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::remove_file`].
#[track_caller]
pub fn remove_file(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    remove_file_at(At::here(here), path.as_ref(), here)
}

fn remove_file_at(
    at: At,
    path: &Path,
    here: Here,
) -> impl Future<Output = io::Result<()>> + Send + use<> {
    let (run, real) = (path.to_owned(), path.to_owned());
    let act = move |call: &mut crate::disk::Call<'_>| call.remove_file(&run);
    by_path(&REMOVE_FILE, at, path.to_owned(), here, act, move || std::fs::remove_file(&real))
}

/// Removes an empty directory. This call is a point.
///
/// # Errors
/// The errors of [`std::fs::remove_dir`].
#[track_caller]
pub fn remove_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    remove_dir_at(At::here(here), path.as_ref(), here)
}

fn remove_dir_at(
    at: At,
    path: &Path,
    here: Here,
) -> impl Future<Output = io::Result<()>> + Send + use<> {
    let (run, real) = (path.to_owned(), path.to_owned());
    let act = move |call: &mut crate::disk::Call<'_>| call.remove_dir(&run);
    by_path(&REMOVE_DIR, at, path.to_owned(), here, act, move || std::fs::remove_dir(&real))
}

/// Removes a directory and everything in it. Each directory read and each entry removal is a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::create_dir_all("/data/log").await.unwrap();
/// assert!(sim::fs::remove_dir("/data").await.is_err());
/// sim::fs::remove_dir_all("/data").await.unwrap();
/// assert!(!sim::fs::try_exists("/data").await.unwrap());
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::remove_dir_all`].
#[track_caller]
pub fn remove_dir_all(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    let (at, path) = (At::here(here), path.as_ref().to_owned());
    async move {
        // Outside of runs std removes it, because std never follows a symbolic link to a directory.
        if at.machine(here).is_none() {
            return std::fs::remove_dir_all(&path);
        }
        // Each directory is visited twice: to read it, and to remove it when it is empty.
        let mut dirs = vec![(path, false)];
        while let Some((dir, is_empty)) = dirs.pop() {
            if is_empty {
                remove_dir_at(at.clone(), &dir, here).await?;
                continue;
            }
            let mut entries = dir::read_dir_at(at.clone(), &dir, here).await?;
            dirs.push((dir, true));
            while let Some(entry) = entries.next_entry().await? {
                match entry.file_type().await?.is_dir() {
                    true => dirs.push((entry.path(), false)),
                    false => remove_file_at(at.clone(), &entry.path(), here).await?,
                }
            }
        }
        Ok(())
    }
}

/// Renames a file or a directory, over an existing file or an empty directory. This call is a point.
///
/// A power failure leaves the old name or the new name. The new name is durable after a sync of its directory.
///
/// # Errors
/// The errors of [`std::fs::rename`].
#[track_caller]
pub fn rename(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    let (shown, real) = (both(&from, &to), (from.clone(), to.clone()));
    let act = move |call: &mut crate::disk::Call<'_>| call.rename(&from, &to);
    by_path(&RENAME, At::here(here), shown, here, act, move || std::fs::rename(&real.0, &real.1))
}

/// Gives a file an additional name. This call is a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::write("/a", "bytes").await.unwrap();
/// sim::fs::hard_link("/a", "/b").await.unwrap();
/// sim::fs::remove_file("/a").await.unwrap();
/// assert_eq!(sim::fs::read("/b").await.unwrap(), b"bytes");
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::hard_link`].
#[track_caller]
pub fn hard_link(
    original: impl AsRef<Path>,
    link: impl AsRef<Path>,
) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    let (from, to) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    let (shown, real) = (both(&from, &to), (from.clone(), to.clone()));
    let act = move |call: &mut crate::disk::Call<'_>| call.hard_link(&from, &to);
    let real = move || std::fs::hard_link(&real.0, &real.1);
    by_path(&HARD_LINK, At::here(here), shown, here, act, real)
}

/// Reads a file to its end. The opening and each read are points.
///
/// # Errors
/// The errors of [`std::fs::read`].
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> impl Future<Output = io::Result<Vec<u8>>> + Send {
    let here = here();
    read_at(At::here(here), path.as_ref(), here)
}

fn read_at(
    at: At,
    path: &Path,
    here: Here,
) -> impl Future<Output = io::Result<Vec<u8>>> + Send + use<> {
    let open = OpenOptions::new().read(true).open_at(at, path, here);
    async move {
        let mut bytes = Vec::new();
        open.await?.read_to_end_here(&mut bytes, here).await?;
        Ok(bytes)
    }
}

/// Reads a file to its end, as text. Has the same points as [`read`].
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) if the contents are not UTF-8, and the errors of
/// [`std::fs::read_to_string`].
#[track_caller]
pub fn read_to_string(path: impl AsRef<Path>) -> impl Future<Output = io::Result<String>> + Send {
    let here = here();
    let bytes = read_at(At::here(here), path.as_ref(), here);
    async move { file::text(bytes.await?) }
}

/// Creates a file, or truncates it to length 0, and writes `bytes`. The opening and each write are points. Syncs
/// nothing.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let writing = sim::spawn(sim::fs::write("/a", "text"));
/// // The file may not exist yet, or may be empty.
/// let found = sim::fs::read("/a").await.unwrap_or_default();
/// assert!(found.is_empty() || found == b"text");
/// writing.await.unwrap().unwrap();
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::write`].
#[track_caller]
pub fn write(
    path: impl AsRef<Path>,
    bytes: impl AsRef<[u8]> + Send,
) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    write_at(At::here(here), path.as_ref(), bytes, here)
}

fn write_at<B: AsRef<[u8]> + Send>(
    at: At,
    path: &Path,
    bytes: B,
    here: Here,
) -> impl Future<Output = io::Result<()>> + Send + use<B> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let open = options.open_at(at, path, here);
    async move {
        let bytes = bytes;
        open.await?.write_all_here(bytes.as_ref(), here).await
    }
}

/// Returns `true` if a file or directory with this name exists. This call is a point.
///
/// # Errors
/// The errors of [`std::fs::exists`].
#[track_caller]
pub fn try_exists(path: impl AsRef<Path>) -> impl Future<Output = io::Result<bool>> + Send {
    let here = here();
    let metadata = dir::metadata_at(At::here(here), path.as_ref(), here);
    async move {
        match metadata.await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Copies the contents of a file to another file, which is created or truncated to length 0. Returns the length of the
/// contents. Each file call is a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::write("/a", "bytes").await.unwrap();
/// assert_eq!(sim::fs::copy("/a", "/b").await.unwrap(), 5);
/// assert_eq!(sim::fs::read("/b").await.unwrap(), b"bytes");
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for a directory, and the errors of
/// [`std::fs::copy`].
#[track_caller]
pub fn copy(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
) -> impl Future<Output = io::Result<u64>> + Send {
    let here = here();
    let at = At::here(here);
    let from = OpenOptions::new().read(true).open_at(at.clone(), from.as_ref(), here);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let to = options.open_at(at, to.as_ref(), here);
    async move {
        let mut from = from.await?;
        if !from.metadata_here(here).await?.is_file() {
            let text = "the source path is neither a regular file nor a symlink to a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut to = to.await?;
        let mut bytes = Vec::new();
        from.read_to_end_here(&mut bytes, here).await?;
        to.write_all_here(&bytes, here).await?;
        Ok(bytes.len() as u64)
    }
}
