//! Directories, and properties of files.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use super::at::At;
use super::call::{by_path, sees};
use crate::disk::{self, Kind};
use crate::run::op::Op;
use crate::seam::{Here, here};

const READ_DIR: Op = sees("read_dir");
const METADATA: Op = sees("metadata");

/// The kind of a file.
///
/// ```
/// let kind = sim::block_on(sim::fs::metadata("/")).unwrap().file_type();
/// assert!(kind.is_dir() && !kind.is_file() && !kind.is_symlink());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileType(Type);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Type {
    File,
    Directory,
    /// Exists only on the operating system, not in a run.
    Symlink,
    Other,
}

impl FileType {
    /// Returns `true` for a file with contents.
    pub fn is_file(&self) -> bool {
        self.0 == Type::File
    }

    /// Returns `true` for a directory.
    pub fn is_dir(&self) -> bool {
        self.0 == Type::Directory
    }

    /// Returns `true` for a symbolic link. A run has no symbolic links.
    pub fn is_symlink(&self) -> bool {
        self.0 == Type::Symlink
    }

    fn of_run(kind: Kind) -> FileType {
        FileType(match kind {
            Kind::File => Type::File,
            Kind::Directory => Type::Directory,
        })
    }

    fn of_std(kind: std::fs::FileType) -> FileType {
        FileType(match kind {
            kind if kind.is_file() => Type::File,
            kind if kind.is_dir() => Type::Directory,
            kind if kind.is_symlink() => Type::Symlink,
            _ => Type::Other,
        })
    }
}

/// The properties of a file or directory that a run models.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// sim::fs::write("/a", "bytes").await.unwrap();
/// let metadata = sim::fs::metadata("/a").await.unwrap();
/// assert!(metadata.is_file());
/// assert_eq!(metadata.len(), 5);
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    kind: FileType,
    len: u64,
}

#[allow(clippy::len_without_is_empty, reason = "the names of std")]
impl Metadata {
    pub(super) fn of_run(metadata: disk::Metadata) -> Metadata {
        Metadata { kind: FileType::of_run(metadata.kind), len: metadata.len }
    }

    pub(super) fn of_std(metadata: &std::fs::Metadata) -> Metadata {
        Metadata { kind: FileType::of_std(metadata.file_type()), len: metadata.len() }
    }

    /// Returns the kind.
    pub fn file_type(&self) -> FileType {
        self.kind
    }

    /// Returns `true` for a file with contents.
    pub fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// Returns `true` for a directory.
    pub fn is_dir(&self) -> bool {
        self.kind.is_dir()
    }

    /// Returns the length of a file in bytes. For a directory the number has no meaning; in a run
    /// it is 0.
    pub fn len(&self) -> u64 {
        self.len
    }
}

/// The entries of a directory.
///
/// ```
/// use sim::fs;
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// fs::write("/b", "").await.unwrap();
/// fs::write("/a", "").await.unwrap();
/// let mut entries = fs::read_dir("/").await.unwrap();
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await.unwrap() {
///     names.push(entry.file_name());
/// }
/// assert_eq!(names, ["a", "b"]);
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Debug)]
pub struct ReadDir {
    entries: std::vec::IntoIter<DirEntry>,
}

/// An entry of a directory.
///
/// ```
/// use sim::fs;
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// fs::create_dir("/data").await.unwrap();
/// fs::write("/data/log", "record").await.unwrap();
/// let entry = fs::read_dir("/data").await.unwrap().next_entry().await.unwrap().unwrap();
/// assert_eq!(entry.path().to_str(), Some("/data/log"));
/// assert_eq!(entry.metadata().await.unwrap().len(), 6);
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Debug)]
pub struct DirEntry {
    dir: PathBuf,
    name: OsString,
    kind: FileType,
    at: At,
}

impl ReadDir {
    /// Returns the next entry. This call is not a point: `read_dir` has read all entries in one step.
    ///
    /// # Errors
    /// None: [`read_dir`] has already returned any error.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        Ok(self.entries.next())
    }

    /// Returns the next entry, like [`next_entry`](Self::next_entry). Always ready.
    ///
    /// # Errors
    /// None: [`read_dir`] has already returned any error.
    pub fn poll_next_entry(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        Poll::Ready(Ok(self.entries.next()))
    }
}

impl DirEntry {
    /// Returns the path: the directory joined with the name of the entry.
    pub fn path(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    /// Returns the name.
    pub fn file_name(&self) -> OsString {
        self.name.clone()
    }

    /// Returns the kind. This call is not a point.
    ///
    /// # Errors
    /// None: [`read_dir`] has already returned any error.
    pub async fn file_type(&self) -> io::Result<FileType> {
        Ok(self.kind)
    }

    /// Returns the properties. This call is a point.
    ///
    /// # Errors
    /// If the entry was removed after `read_dir`.
    #[track_caller]
    pub fn metadata(&self) -> impl Future<Output = io::Result<Metadata>> + Send + use<> {
        metadata_at(self.at.clone(), &self.path(), here())
    }
}

/// Returns the entries of a directory, all read in one step. This call is a point. In a run the entries are sorted by
/// name.
///
/// ```
/// use sim::fs;
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// fs::write("/a", "").await.unwrap();
/// let mut entries = fs::read_dir("/").await.unwrap();
/// fs::remove_file("/a").await.unwrap();
/// let entry = entries.next_entry().await.unwrap().unwrap();
/// assert_eq!(entry.file_name(), "a");
/// assert_eq!(entry.metadata().await.unwrap_err().kind(), std::io::ErrorKind::NotFound);
/// # });
/// # assert!(report.passed());
/// ```
///
/// # Errors
/// The errors of [`std::fs::read_dir`].
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<ReadDir>> + Send {
    let here = here();
    read_dir_at(At::here(here), path.as_ref(), here)
}

pub(super) fn read_dir_at(
    at: At,
    path: &Path,
    here: Here,
) -> impl Future<Output = io::Result<ReadDir>> + Send + use<> {
    let path = path.to_owned();
    let (dir, real) = (path.clone(), path.clone());
    let entries = by_path(
        &READ_DIR,
        at.clone(),
        path.clone(),
        here,
        move |call| {
            let entries = call.read_dir(&dir)?.into_iter();
            Ok(entries
                .map(|(name, _, kind)| (name.to_os_string(), FileType::of_run(kind)))
                .collect())
        },
        move || {
            let entries = std::fs::read_dir(&real)?.map(|entry| {
                let entry = entry?;
                Ok((entry.file_name(), FileType::of_std(entry.file_type()?)))
            });
            entries.collect::<io::Result<Vec<_>>>()
        },
    );
    async move {
        let entries = entries.await?.into_iter().map(|(name, kind)| DirEntry {
            dir: path.clone(),
            name,
            kind,
            at: at.clone(),
        });
        Ok(ReadDir { entries: entries.collect::<Vec<_>>().into_iter() })
    }
}

/// Returns the properties of a file or a directory. This call is a point.
///
/// # Errors
/// The errors of [`std::fs::metadata`].
#[track_caller]
pub fn metadata(path: impl AsRef<Path>) -> impl Future<Output = io::Result<Metadata>> + Send {
    let here = here();
    metadata_at(At::here(here), path.as_ref(), here)
}

pub(super) fn metadata_at(
    at: At,
    path: &Path,
    here: Here,
) -> impl Future<Output = io::Result<Metadata>> + Send + use<> {
    let (run, real) = (path.to_owned(), path.to_owned());
    by_path(
        &METADATA,
        at,
        path.to_owned(),
        here,
        move |call| Ok(Metadata::of_run(call.metadata(&run)?)),
        move || Ok(Metadata::of_std(&std::fs::metadata(&real)?)),
    )
}
