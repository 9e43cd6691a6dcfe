//! Directories and file metadata.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use sim::__private::{in_run, refuse};

use crate::kinds::{Of, each};

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileType {
    is_file: bool,
    is_dir: bool,
    is_symlink: bool,
}

impl FileType {
    fn of_run(kind: sim::fs::FileType) -> FileType {
        let (is_file, is_dir) = (kind.is_file(), kind.is_dir());
        FileType { is_file, is_dir, is_symlink: kind.is_symlink() }
    }

    fn of_std(kind: std::fs::FileType) -> FileType {
        let (is_file, is_dir) = (kind.is_file(), kind.is_dir());
        FileType { is_file, is_dir, is_symlink: kind.is_symlink() }
    }

    /// Returns `true` for a regular file.
    pub fn is_file(&self) -> bool {
        self.is_file
    }

    /// Returns `true` for a directory.
    pub fn is_dir(&self) -> bool {
        self.is_dir
    }

    /// Returns `true` for a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.is_symlink
    }
}

/// Metadata of a file or a directory. In a run, the metadata contains no times and no permissions.
#[derive(Clone, Debug)]
pub struct Metadata(Of<sim::fs::Metadata, std::fs::Metadata>);

#[allow(clippy::len_without_is_empty, reason = "the names of std")]
impl Metadata {
    pub(super) async fn of<S, R>(call: Of<S, R>) -> io::Result<Metadata>
    where
        S: Future<Output = io::Result<sim::fs::Metadata>>,
        R: Future<Output = io::Result<std::fs::Metadata>>,
    {
        Ok(Metadata(match call {
            Of::Run(call) => Of::Run(call.await?),
            Of::Real(call) => Of::Real(call.await?),
        }))
    }

    /// Returns the kind of the file.
    pub fn file_type(&self) -> FileType {
        match &self.0 {
            Of::Run(metadata) => FileType::of_run(metadata.file_type()),
            Of::Real(metadata) => FileType::of_std(metadata.file_type()),
        }
    }

    /// Returns `true` for a regular file.
    pub fn is_file(&self) -> bool {
        self.file_type().is_file()
    }

    /// Returns `true` for a directory.
    pub fn is_dir(&self) -> bool {
        self.file_type().is_dir()
    }

    /// Returns `true` for a symbolic link.
    pub fn is_symlink(&self) -> bool {
        self.file_type().is_symlink()
    }

    /// Returns the length of the file in bytes.
    pub fn len(&self) -> u64 {
        each!(&self.0, metadata => metadata.len())
    }

    /// Returns the permissions. A file of a run has no permissions, so the call fails the run.
    #[track_caller]
    pub fn permissions(&self) -> std::fs::Permissions {
        match &self.0 {
            Of::Real(metadata) => metadata.permissions(),
            Of::Run(_) => {
                refuse("the files of a run have no permissions", Location::caller());
                panic!("the metadata of a file of a run is used outside of runs")
            }
        }
    }

    fn time(&self, of: fn(&std::fs::Metadata) -> io::Result<SystemTime>) -> io::Result<SystemTime> {
        match &self.0 {
            Of::Run(_) => Err(io::ErrorKind::Unsupported.into()),
            Of::Real(metadata) => of(metadata),
        }
    }

    /// Returns the time of the last change of the contents.
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported) in a run.
    pub fn modified(&self) -> io::Result<SystemTime> {
        self.time(std::fs::Metadata::modified)
    }

    /// Returns the time of the last access.
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported) in a run.
    pub fn accessed(&self) -> io::Result<SystemTime> {
        self.time(std::fs::Metadata::accessed)
    }

    /// Returns the time of creation.
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported) in a run.
    pub fn created(&self) -> io::Result<SystemTime> {
        self.time(std::fs::Metadata::created)
    }
}

/// The entries of a directory.
#[derive(Debug)]
pub struct ReadDir(Of<sim::fs::ReadDir, real::fs::ReadDir>);

impl ReadDir {
    pub(super) async fn of<S, R>(call: Of<S, R>) -> io::Result<ReadDir>
    where
        S: Future<Output = io::Result<sim::fs::ReadDir>>,
        R: Future<Output = io::Result<real::fs::ReadDir>>,
    {
        Ok(ReadDir(match call {
            Of::Run(call) => Of::Run(call.await?),
            Of::Real(call) => Of::Real(call.await?),
        }))
    }

    /// Returns the next entry.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        std::future::poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// Like [`next_entry`](Self::next_entry), as a poll.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        match &mut self.0 {
            Of::Run(entries) => {
                let next = pin!(entries.next_entry()).poll(cx);
                next.map_ok(|entry| entry.map(|entry| DirEntry(Of::Run(entry))))
            }
            Of::Real(entries) => {
                let next = entries.poll_next_entry(cx);
                next.map_ok(|entry| entry.map(|entry| DirEntry(Of::Real(entry))))
            }
        }
    }
}

/// An entry of a directory.
#[derive(Debug)]
pub struct DirEntry(Of<sim::fs::DirEntry, real::fs::DirEntry>);

impl DirEntry {
    /// Returns the path of the entry: the directory path joined with the entry's name.
    pub fn path(&self) -> PathBuf {
        each!(&self.0, entry => entry.path())
    }

    /// Returns the name of the entry.
    pub fn file_name(&self) -> OsString {
        each!(&self.0, entry => entry.file_name())
    }

    /// Returns the metadata of the entry.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        Ok(Metadata(match &self.0 {
            Of::Run(entry) => Of::Run(entry.metadata().await?),
            Of::Real(entry) => Of::Real(entry.metadata().await?),
        }))
    }

    /// Returns the kind of the entry.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn file_type(&self) -> io::Result<FileType> {
        match &self.0 {
            Of::Run(entry) => Ok(FileType::of_run(entry.file_type().await?)),
            Of::Real(entry) => Ok(FileType::of_std(entry.file_type().await?)),
        }
    }
}

/// Creates directories.
#[derive(Debug, Default)]
pub struct DirBuilder {
    recursive: bool,
    real: real::fs::DirBuilder,
}

impl DirBuilder {
    /// Creates a builder for one directory.
    pub fn new() -> DirBuilder {
        DirBuilder::default()
    }

    /// Sets whether missing parent directories are created, too.
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.recursive = recursive;
        self.real.recursive(recursive);
        self
    }

    /// Sets the mode of the directory. Used outside of runs only.
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.real.mode(mode);
        self
    }

    /// Creates the directory.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        match in_run() {
            true if self.recursive => sim::fs::create_dir_all(path).await,
            true => sim::fs::create_dir(path).await,
            false => self.real.create(path).await,
        }
    }
}
