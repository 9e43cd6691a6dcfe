//! Files: in a run the files of [`sim::fs`], which belong to a node and may lose unsynced data;
//! elsewhere tokio's.
//!
//! A run has no symbolic links, permissions and times: `symlink` and `set_permissions` are tokio's everywhere, and
//! panic in a run for want of a runtime. A write to a file of a run is done when its future is ready; a write to
//! tokio's file is done after a `flush`.

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
    /// A call of a run, or tokio's.
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
    /// The path from the root, without links, `.` and `..`.
    canonicalize(path) -> PathBuf;
    /// Copies the contents of a file, and returns their length.
    copy(from, to) -> u64;
    /// Makes a directory.
    create_dir(path) -> ();
    /// Makes a directory, and those above it that are missing.
    create_dir_all(path) -> ();
    /// Gives a file another name.
    hard_link(original, link) -> ();
    /// Reads a file.
    read(path) -> Vec<u8>;
    /// The path that a symbolic link has. A run has no links.
    read_link(path) -> PathBuf;
    /// Reads a file of text.
    read_to_string(path) -> String;
    /// Removes an empty directory.
    remove_dir(path) -> ();
    /// Removes a directory and all that is in it.
    remove_dir_all(path) -> ();
    /// Removes a file.
    remove_file(path) -> ();
    /// Renames a file or a directory.
    rename(from, to) -> ();
    /// Returns `true` if there is a file or a directory of this name.
    try_exists(path) -> bool;
}

/// Writes a file, which is made, or cut to length 0.
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

/// Properties of a file or a directory.
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

/// Like [`metadata`], of a symbolic link itself. A run has none.
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

/// The entries of a directory.
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
