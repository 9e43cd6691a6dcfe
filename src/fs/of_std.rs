//! Conversions between files of std and files of this module. Only for use outside of runs.

use super::file::File;
use super::opened::{Open, Where};
use crate::run::Failure;
use crate::seam::{self, Here, here};

impl File {
    /// Wraps a file of std. Fails a run, because the files of a run are on the disks of its nodes: open the file there.
    ///
    /// ```
    /// let std = std::fs::File::open("/").unwrap();
    /// let file = sim::fs::File::from_std(std);
    /// assert!(sim::block_on(file.metadata()).unwrap().is_dir());
    /// assert!(file.try_into_std().unwrap().metadata().unwrap().is_dir());
    /// ```
    #[track_caller]
    pub fn from_std(std: std::fs::File) -> File {
        let here = here();
        refuse("a file of std is on no disk of a run: open it by sim::fs::File", here);
        File::new(Open::of_std(std, here))
    }

    /// Returns the file of std. Fails a run, because the files of a run are not files of the operating system.
    ///
    /// ```
    /// let file = sim::block_on(sim::fs::File::open("/")).unwrap();
    /// let std = sim::block_on(file.into_std());
    /// assert!(std.metadata().unwrap().is_dir());
    /// ```
    ///
    /// # Panics
    /// If the operating system cannot create another file descriptor.
    #[track_caller]
    pub fn into_std(self) -> impl Future<Output = std::fs::File> + Send {
        let here = here();
        async move {
            match self.try_into_std() {
                Ok(std) => std,
                Err(_) => {
                    refuse("a file of a run is none of the operating system", here);
                    panic!("a file of a run is used outside of runs")
                }
            }
        }
    }

    /// Returns the file of std.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = sim::fs::File::create("/a").await.unwrap();
    /// assert!(file.try_into_std().is_err());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// The file itself, if it is a file of a run.
    ///
    /// # Panics
    /// If the operating system cannot create another file descriptor.
    #[track_caller]
    #[allow(clippy::result_large_err, reason = "the type of tokio")]
    pub fn try_into_std(self) -> Result<std::fs::File, File> {
        match &self.open.file {
            Where::Run(_) => Err(self),
            // A clone, because other `File`s may share the open file.
            Where::Real(std) => Ok(std.try_clone().expect("there is room for a descriptor")),
        }
    }

    /// Sets the buffer size, for code that sets it with tokio. The size has no effect, because calls are not split into
    /// pieces.
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        self.max_buf_size = max_buf_size;
    }

    /// Returns the size that was last set with `set_max_buf_size`; 2 MiB by default.
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }
}

impl From<std::fs::File> for File {
    #[track_caller]
    fn from(std: std::fs::File) -> File {
        File::from_std(std)
    }
}

/// Fails the current run, if any.
fn refuse(message: &str, here: Here) {
    seam::fail(|| Failure::Misuse { message: message.to_owned(), place: seam::place_of(here) });
}
