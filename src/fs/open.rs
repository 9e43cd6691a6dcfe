//! Options for opening a file.

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

/// Options for opening a file, with the same meaning as in [`std::fs::OpenOptions`].
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
    /// Creates options in which no option is set.
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

    /// Opens for appending. Tasks that append to the same file do not overwrite each other's bytes.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let mut options = sim::fs::OpenOptions::new();
    /// options.append(true).create(true);
    /// let mut one = options.open("/log").await.unwrap();
    /// let mut two = options.open("/log").await.unwrap();
    /// one.write_all(b"one, ").await.unwrap();
    /// two.write_all(b"two").await.unwrap();
    /// assert_eq!(sim::fs::read("/log").await.unwrap(), b"one, two");
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.options.append = append;
        self
    }

    /// Truncates the file to length 0.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.options.truncate = truncate;
        self
    }

    /// Creates the file if it does not exist.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let mut options = sim::fs::OpenOptions::new();
    /// let missing = options.write(true).open("/a").await;
    /// assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    /// assert!(options.create(true).open("/a").await.is_ok());
    /// # });
    /// # assert!(report.passed());
    /// ```
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.options.create = create;
        self
    }

    /// Creates the file. Fails if the file exists.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.options.create_new = create_new;
        self
    }

    /// Opens the file. This call is a point.
    ///
    /// A directory can be opened for reading, to [sync](File::sync_all) its entries.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// sim::fs::create_dir("/data").await.unwrap();
    /// let data = sim::fs::OpenOptions::new().read(true).open("/data").await.unwrap();
    /// data.sync_all().await.unwrap();
    /// assert!(data.metadata().await.unwrap().is_dir());
    /// # });
    /// # assert!(report.passed());
    /// ```
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
