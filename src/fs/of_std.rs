//! Files of std as files of this module, and back: outside of runs alone.

use super::file::File;
use super::opened::{Open, Where};
use crate::run::Failure;
use crate::seam::{self, Here, here};

impl File {
    /// Takes a file of std. Fails a run, whose files are on the disks of its nodes: open a file there.
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

    /// Returns the file of std, once no call is under way. Fails a run, whose files are none of the operating system.
    ///
    /// # Panics
    /// If the system has no room for another descriptor.
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
    /// # Errors
    /// The file, if it is one of a run.
    ///
    /// # Panics
    /// If the system has no room for another descriptor.
    #[track_caller]
    #[allow(clippy::result_large_err, reason = "the type of tokio")]
    pub fn try_into_std(self) -> Result<std::fs::File, File> {
        match &self.open.file {
            Where::Run(_) => Err(self),
            // A clone, because other `File`s may share the open file.
            Where::Real(std) => Ok(std.try_clone().expect("there is room for a descriptor")),
        }
    }

    /// Sets the size of tokio's buffer, for code that does so. It has no effect: a call is not cut into pieces.
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        self.max_buf_size = max_buf_size;
    }

    /// Returns the size that was set last, at first 2 MiB.
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
