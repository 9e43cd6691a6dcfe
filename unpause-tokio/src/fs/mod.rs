//! Files: in a run the files of [`sim::fs`], which belong to a node and may lose unsynced data;
//! elsewhere tokio's.
//!
//! A run has no symbolic links, permissions or times. `symlink` and `set_permissions` are tokio's everywhere, and panic
//! in a run because there is no tokio runtime. A write to a file of a run is complete when its future is ready. A write
//! to tokio's file is complete only after a `flush`.

mod dir;
mod file;

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use sim::__private::in_run;

pub use real::fs::*;

use crate::kinds::Of;

pub use self::dir::{DirBuilder, DirEntry, FileType, Metadata, ReadDir};
pub use self::file::{File, OpenOptions};

pin_project! {
    /// A call in a run, or a call of tokio.
    #[project = EitherCall]
    enum Either<S, R> {
        Run { #[pin] call: S },
        Real { #[pin] call: R },
    }
}

impl<S: Future, R: Future<Output = S::Output>> Future for Either<S, R> {
    type Output = S::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<S::Output> {
        match self.project() {
            EitherCall::Run { call } => call.poll(cx),
            EitherCall::Real { call } => call.poll(cx),
        }
    }
}

macro_rules! by_path {
    ($($(#[$doc:meta])* $name:ident($($path:ident),+) -> $result:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// The errors of tokio's function of this name.
        #[track_caller]
        pub fn $name(
            $($path: impl AsRef<Path>),+
        ) -> impl Future<Output = io::Result<$result>> + Send {
            $(let $path = $path.as_ref().to_owned();)+
            match in_run() {
                true => Either::Run { call: sim::fs::$name($($path),+) },
                false => Either::Real { call: real::fs::$name($($path),+) },
            }
        }
    )*};
}

by_path! {
    /// Returns the absolute path, without links, `.` and `..`.
    canonicalize(path) -> PathBuf;
    /// Copies the contents of a file, and returns the number of bytes.
    copy(from, to) -> u64;
    /// Creates a directory.
    create_dir(path) -> ();
    /// Creates a directory and its missing parent directories.
    create_dir_all(path) -> ();
    /// Creates another name for a file.
    hard_link(original, link) -> ();
    /// Reads a file.
    read(path) -> Vec<u8>;
    /// Returns the target of a symbolic link. A run has no symbolic links.
    read_link(path) -> PathBuf;
    /// Reads a text file.
    read_to_string(path) -> String;
    /// Removes an empty directory.
    remove_dir(path) -> ();
    /// Removes a directory and its contents.
    remove_dir_all(path) -> ();
    /// Removes a file.
    remove_file(path) -> ();
    /// Renames a file or a directory.
    rename(from, to) -> ();
    /// Returns `true` if a file or a directory has this name.
    try_exists(path) -> bool;
}

/// Writes a file. Creates the file, or truncates an existing file to length 0 first.
///
/// # Errors
/// The errors of tokio's function of this name.
#[track_caller]
pub fn write(
    path: impl AsRef<Path>,
    contents: impl AsRef<[u8]>,
) -> impl Future<Output = io::Result<()>> + Send {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    match in_run() {
        true => Either::Run { call: sim::fs::write(path, contents) },
        false => Either::Real { call: real::fs::write(path, contents) },
    }
}

/// Returns the metadata of a file or a directory.
///
/// # Errors
/// The errors of tokio's function of this name.
#[track_caller]
pub fn metadata(path: impl AsRef<Path>) -> impl Future<Output = io::Result<Metadata>> + Send {
    let path = path.as_ref().to_owned();
    let call = match in_run() {
        true => Of::Run(sim::fs::metadata(path)),
        false => Of::Real(real::fs::metadata(path)),
    };
    Metadata::of(call)
}

/// Like [`metadata`], but does not follow a symbolic link. A run has no symbolic links.
///
/// # Errors
/// The errors of tokio's function of this name.
#[track_caller]
pub fn symlink_metadata(
    path: impl AsRef<Path>,
) -> impl Future<Output = io::Result<Metadata>> + Send {
    let path = path.as_ref().to_owned();
    let call = match in_run() {
        true => Of::Run(sim::fs::metadata(path)),
        false => Of::Real(real::fs::symlink_metadata(path)),
    };
    Metadata::of(call)
}

/// Returns the entries of a directory.
///
/// # Errors
/// The errors of tokio's function of this name.
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> impl Future<Output = io::Result<ReadDir>> + Send {
    let path = path.as_ref().to_owned();
    let call = match in_run() {
        true => Of::Run(sim::fs::read_dir(path)),
        false => Of::Real(real::fs::read_dir(path)),
    };
    ReadDir::of(call)
}
