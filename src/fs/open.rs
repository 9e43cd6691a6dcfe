//! Options of opening.

use std::io;
use std::path::Path;

use super::at::At;
use super::call::{acts, by_path};
use super::file::File;
use super::opened::{Open, Opened};
use crate::disk;
use crate::run::op::Op;
use crate::seam::{Here, here};

const OPEN: Op = acts("open");

/// How a file is opened: the options of [`std::fs::OpenOptions`].
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let mut log = sim::fs::OpenOptions::new().append(true).create(true).open("/log").await.unwrap();
/// log.write_all(b"one").await.unwrap();
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    options: disk::OpenOptions,
}

impl OpenOptions {
    /// None of the options is set.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Opens for reading.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.options.read = read;
        self
    }

    /// Opens for writing.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.options.write = write;
        self
    }

    /// Opens for writing at the end. Of several tasks that do so none writes over another's bytes.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.options.append = append;
        self
    }

    /// Cuts the file to length 0.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.options.truncate = truncate;
        self
    }

    /// Makes the file if there is none.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.options.create = create;
        self
    }

    /// Creates the file. Fails if it exists.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.options.create_new = create_new;
        self
    }

    /// Opens the file. A point.
    ///
    /// A directory can be opened for reading, to [sync](File::sync_all) its entries.
    ///
    /// # Errors
    /// The errors of [`std::fs::OpenOptions::open`].
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        self.open_at(At::here(here), path.as_ref(), here)
    }

    pub(super) fn open_at(
        &self,
        at: At,
        path: &Path,
        here: Here,
    ) -> impl Future<Output = io::Result<File>> + Send + use<> {
        let options = self.options;
        let (named, real) = (path.to_owned(), path.to_owned());
        let opened = by_path(
            &OPEN,
            at.clone(),
            path.to_owned(),
            here,
            move |call| {
                let handle = call.open(&named, options)?;
                Ok(Opened::Run(handle, call.inode(handle)?))
            },
            move || Ok(Opened::Real(std_options(options).open(&real)?)),
        );
        let path = path.to_owned();
        async move { Ok(File::new(Open::new(opened.await?, (options, &at), path, here))) }
    }
}

fn std_options(options: disk::OpenOptions) -> std::fs::OpenOptions {
    let mut std = std::fs::OpenOptions::new();
    std.read(options.read)
        .write(options.write)
        .append(options.append)
        .truncate(options.truncate)
        .create(options.create)
        .create_new(options.create_new);
    std
}
