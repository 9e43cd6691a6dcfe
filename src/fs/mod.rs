//! Files, under the names of `tokio::fs`. In a run each [node](mod@crate::node) has a disk of its own, which a power
//! failure may leave in any state that file systems permit.
//!
//! A run's files are a model: nothing of a run is on the disk of the machine. A disk begins with the directory `/`, and
//! relative paths start there. Files belong to the node of the code that opens them; code that is in no node has a
//! disk, too. Outside of runs and in the real build they are files of the operating system.
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
//! Each call is a point, and is done in one step. Functions that take several calls of a kernel are
//! several points: [`write`](fn@write) opens, writes and closes, so others may find an empty file.
//! Dropping a file and [`File::try_lock`] are none.
//!
//! A [`Map`] has words. Their operations are points, like operations on an atomic.
//!
//! A search tries calls on one file in all orders, and no two orders of calls on different files. It tries a power
//! failure before each call of the node.
//!
//! # What a death leaves
//!
//! - [`Node::kill`](crate::Node::kill) closes the files of the node and gives their locks up. Nothing is lost.
//! - [`Node::power_off`](crate::Node::power_off) also loses what was not synced: any part of it, as the [`Rules`]
//!   permit. The state is drawn location by location when it is read, and 0 is the newest: shrinking leaves the losses
//!   that a failure needs, and the screen shows each at the call that found it.
//! - [`Node::wipe`](crate::Node::wipe) leaves an empty disk.
//!
//! Under the [rules of POSIX](Rules::POSIX), the default:
//!
//! - A sector of 512 bytes is written whole or not at all, and sectors in any order. A write of several may be torn.
//! - The length of a file and its bytes are separate: a file may have its new length, and zeros in it.
//! - [`File::sync_all`] makes contents and length durable. The *name* of the file is an entry of its directory, which
//!   has a sync of its own: open the directory and sync it. So has a new directory in its parent.
//! - A rename is whole, and syncs nothing: the new name may be there with none of the bytes.
//! - A sync that fails leaves writes that no later sync covers.
//!
//! [`faults()`] has calls fail, be short, and disks be full, for the whole run; [`NodeDisk::begin`] and
//! [`Nemesis::disk`](crate::nemesis::Nemesis::disk) do so for a while.
//!
//! # Not modelled
//!
//! Symbolic links, permissions, owners, and times: of the names of `tokio::fs` there are no `symlink`,
//! `set_permissions`, `set_times`, `mode`, `custom_flags` and `ino`. A file of a run has none in the system, so
//! [`File::from_std`] and [`File::into_std`] fail a run.

mod at;
mod call;
mod dir;
mod faults;
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
pub use self::faults::{Faults, Rules};
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

/// Sets what may happen to the disks of the run. Before their first use. Outside of runs it does nothing.
#[track_caller]
pub fn faults(faults: Faults) {
    let here = here();
    if seam::in_run() {
        Machines::of_run().set_faults(None, faults, here);
    }
}

/// Makes an empty directory. A point.
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

/// Makes a directory and those above it, if they are missing. A point for each that it tries to make.
///
/// # Errors
/// The errors of [`std::fs::create_dir_all`].
#[track_caller]
pub fn create_dir_all(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    create_dir_all_at(At::here(here), path.as_ref().to_owned(), here)
}

async fn create_dir_all_at(at: At, path: PathBuf, here: Here) -> io::Result<()> {
    // Upwards to the first that can be made, then down.
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

/// The error of making a directory, unless it is there already.
async fn is_directory(at: &At, path: &Path, error: io::Error, here: Here) -> io::Result<()> {
    match dir::metadata_at(at.clone(), path, here).await {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        _ => Err(error),
    }
}

/// Removes a name of a file, whose contents go with the last name and the last open file. A point.
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

/// Removes an empty directory. A point.
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

/// Removes a directory and all that is in it. A point for each directory that it reads and each entry that it removes.
///
/// # Errors
/// The errors of [`std::fs::remove_dir_all`].
#[track_caller]
pub fn remove_dir_all(path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
    let here = here();
    let (at, path) = (At::here(here), path.as_ref().to_owned());
    async move {
        // A directory is met twice: when it is read, and when it is empty.
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

/// Renames a file or a directory, over an existing file or an empty directory. A point.
///
/// A power failure leaves the old name or the new one; the new one is durable after a sync of its directory.
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

/// Gives a file another name. A point.
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

/// Reads a file to its end. A point for the opening and for each read.
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

/// Reads a file to its end, as text. The same as for [`read`].
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) if it is not UTF-8, and the errors of
/// [`std::fs::read_to_string`].
#[track_caller]
pub fn read_to_string(path: impl AsRef<Path>) -> impl Future<Output = io::Result<String>> + Send {
    let here = here();
    let bytes = read_at(At::here(here), path.as_ref(), here);
    async move { file::text(bytes.await?) }
}

/// Makes a file, or cuts it to length 0, and writes `bytes`. A point for the opening and for each write. It syncs
/// nothing.
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

/// Returns `true` if there is a file or directory of this name. A point.
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

/// Copies the contents of a file to another, which is made or cut to length 0. Returns their length. A point for each
/// call that it takes.
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
