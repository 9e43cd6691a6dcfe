//! Calls about symbolic links and whole paths. A disk of a run has no links: each name is the name
//! of the file itself.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::at::At;
use super::call::{by_path, sees};
use super::dir::Metadata;
use crate::disk::Error;
use crate::run::op::Op;
use crate::seam::here;

const CANONICALIZE: Op = sees("canonicalize");
const SYMLINK_METADATA: Op = sees("symlink_metadata");
const READ_LINK: Op = sees("read_link");

/// Returns the absolute path of a file or a directory, without `.` and `..`. This call is a point.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::create_dir("/data").await.unwrap();
/// assert_eq!(sim::fs::canonicalize("./data/../data").await.unwrap().to_str(), Some("/data"));
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::canonicalize`].
#[track_caller]
pub fn canonicalize(path: impl AsRef<Path>) -> impl Future<Output = io::Result<PathBuf>> + Send {
    let (here, path) = (here(), path.as_ref().to_owned());
    let (run, real) = (path.clone(), path.clone());
    let act = move |call: &mut crate::disk::Call<'_>| {
        call.metadata(&run)?;
        Ok(from_root(&run))
    };
    by_path(&CANONICALIZE, At::here(here), path, here, act, move || std::fs::canonicalize(&real))
}

/// Returns the absolute form of a path on the disk of a run.
fn from_root(path: &Path) -> PathBuf {
    let mut whole = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => whole.push(name),
            // The parent of the root is the root.
            Component::ParentDir => _ = whole.pop(),
            _ => {}
        }
    }
    whole
}

/// Like [`metadata`](super::metadata), but does not follow a symbolic link. A run has no symbolic links. This call is a
/// point.
///
/// # Errors
/// The errors of [`std::fs::symlink_metadata`].
#[track_caller]
pub fn symlink_metadata(
    path: impl AsRef<Path>,
) -> impl Future<Output = io::Result<Metadata>> + Send {
    let (here, path) = (here(), path.as_ref().to_owned());
    let (run, real) = (path.clone(), path.clone());
    let act = move |call: &mut crate::disk::Call<'_>| Ok(Metadata::of_run(call.metadata(&run)?));
    let of_system = move || Ok(Metadata::of_std(&std::fs::symlink_metadata(&real)?));
    by_path(&SYMLINK_METADATA, At::here(here), path, here, act, of_system)
}

/// Returns the target of a symbolic link. A run has no symbolic links. This call is a point.
///
/// ```
/// let target = sim::block_on(sim::fs::read_link("/"));
/// assert_eq!(target.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
/// ```
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) if the path is not a symbolic link, and the errors
/// of [`std::fs::read_link`].
#[track_caller]
pub fn read_link(path: impl AsRef<Path>) -> impl Future<Output = io::Result<PathBuf>> + Send {
    let (here, path) = (here(), path.as_ref().to_owned());
    let (run, real) = (path.clone(), path.clone());
    let act = move |call: &mut crate::disk::Call<'_>| {
        call.metadata(&run)?;
        Err(Error::INVALID)
    };
    by_path(&READ_LINK, At::here(here), path, here, act, move || std::fs::read_link(&real))
}

/// A builder for directories, optionally with their missing parents.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::DirBuilder::new().recursive(true).create("/data/log").await.unwrap();
/// assert!(sim::fs::metadata("/data/log").await.unwrap().is_dir());
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
}

impl DirBuilder {
    /// Creates a builder for a single directory.
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// Sets whether missing parent directories are created too. An existing directory is then no
    /// error.
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.recursive = recursive;
        self
    }

    /// Creates a directory, like [`create_dir`](super::create_dir) or
    /// [`create_dir_all`](super::create_dir_all).
    ///
    /// # Errors
    /// The errors of [`std::fs::DirBuilder::create`].
    #[track_caller]
    pub fn create(&self, path: impl AsRef<Path>) -> impl Future<Output = io::Result<()>> + Send {
        let (at, here, path) = (At::here(here()), here(), path.as_ref().to_owned());
        let recursive = self.recursive;
        async move {
            match recursive {
                true => super::create_dir_all_at(at, path, here).await,
                false => super::create_dir_at(at, &path, here).await,
            }
        }
    }
}
