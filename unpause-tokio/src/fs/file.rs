//! Open files.

use std::future::Future;
use std::io::{self, SeekFrom};
use std::panic::Location;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use real::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use sim::__private::{in_run, refuse};

use super::Metadata;
use crate::kinds::{Of, each};

/// An open file: in a run a file of [`sim::fs`], else tokio's.
#[derive(Debug)]
pub struct File(Of<sim::fs::File, real::fs::File>);

/// The default buffer size of tokio's file.
const BUFFER: usize = 2 * 1024 * 1024;

impl File {
    async fn of<S, R>(call: Of<S, R>) -> io::Result<File>
    where
        S: Future<Output = io::Result<sim::fs::File>>,
        R: Future<Output = io::Result<real::fs::File>>,
    {
        Ok(File(match call {
            Of::Run(call) => Of::Run(call.await?),
            Of::Real(call) => Of::Real(call.await?),
        }))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The errors of tokio's function.
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let path = path.as_ref().to_owned();
        File::of(match in_run() {
            true => Of::Run(sim::fs::File::open(path)),
            false => Of::Real(real::fs::File::open(path)),
        })
    }

    /// Opens a file for writing. Creates the file, or truncates an existing file to length 0.
    ///
    /// # Errors
    /// The errors of tokio's function.
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let path = path.as_ref().to_owned();
        File::of(match in_run() {
            true => Of::Run(sim::fs::File::create(path)),
            false => Of::Real(real::fs::File::create(path)),
        })
    }

    /// Opens a new file for reading and writing.
    ///
    /// # Errors
    /// The errors of tokio's function.
    #[track_caller]
    pub fn create_new(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let path = path.as_ref().to_owned();
        File::of(match in_run() {
            true => Of::Run(sim::fs::File::create_new(path)),
            false => Of::Real(real::fs::File::create_new(path)),
        })
    }

    /// Returns the options with which a file is opened.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Wraps a std file, which belongs to the operating system. Calls of the wrapped file panic in a run.
    pub fn from_std(std: std::fs::File) -> File {
        File(Of::Real(real::fs::File::from_std(std)))
    }

    /// Makes contents and metadata durable.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn sync_all(&self) -> io::Result<()> {
        each!(&self.0, file => file.sync_all().await)
    }

    /// Makes contents durable.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn sync_data(&self) -> io::Result<()> {
        each!(&self.0, file => file.sync_data().await)
    }

    /// Sets the length.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        each!(&self.0, file => file.set_len(size).await)
    }

    /// Returns the metadata of the file.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        match &self.0 {
            Of::Run(file) => {
                Metadata::of::<_, std::future::Pending<_>>(Of::Run(file.metadata())).await
            }
            Of::Real(file) => {
                Metadata::of::<std::future::Pending<_>, _>(Of::Real(file.metadata())).await
            }
        }
    }

    /// Returns another `File` for the same open file.
    ///
    /// # Errors
    /// The errors of tokio's function.
    pub async fn try_clone(&self) -> io::Result<File> {
        Ok(File(match &self.0 {
            Of::Run(file) => Of::Run(file.try_clone().await?),
            Of::Real(file) => Of::Real(file.try_clone().await?),
        }))
    }

    /// Returns the std file. A file of a run is not a std file, so the call fails the run.
    pub async fn into_std(self) -> std::fs::File {
        match self.0 {
            Of::Run(_) => no_std(Location::caller()),
            Of::Real(file) => file.into_std().await,
        }
    }

    /// Returns the std file, unless an operation is in progress.
    ///
    /// # Errors
    /// Returns the `File` if an operation is in progress, or if it is a file of a run.
    #[allow(clippy::result_large_err, reason = "the type of tokio")]
    pub fn try_into_std(self) -> Result<std::fs::File, File> {
        match self.0 {
            Of::Run(_) => Err(self),
            Of::Real(file) => file.try_into_std().map_err(|file| File(Of::Real(file))),
        }
    }

    /// Sets the permissions, which a file of a run does not have.
    ///
    /// # Errors
    /// [`Unsupported`](io::ErrorKind::Unsupported) in a run.
    pub async fn set_permissions(&self, permissions: std::fs::Permissions) -> io::Result<()> {
        match &self.0 {
            Of::Run(_) => Err(io::ErrorKind::Unsupported.into()),
            Of::Real(file) => file.set_permissions(permissions).await,
        }
    }

    /// Sets the buffer size of tokio's file. A file of a run has no buffer.
    pub fn set_max_buf_size(&mut self, size: usize) {
        if let Of::Real(file) = &mut self.0 {
            file.set_max_buf_size(size);
        }
    }

    /// Returns the buffer size of tokio's file.
    pub fn max_buf_size(&self) -> usize {
        match &self.0 {
            Of::Run(_) => BUFFER,
            Of::Real(file) => file.max_buf_size(),
        }
    }
}

fn no_std(place: &'static Location<'static>) -> ! {
    refuse("a file of a run is none of the operating system", place);
    panic!("a file of a run is used outside of runs")
}

impl From<std::fs::File> for File {
    fn from(std: std::fs::File) -> File {
        File::from_std(std)
    }
}

#[cfg(unix)]
impl From<std::os::fd::OwnedFd> for File {
    fn from(fd: std::os::fd::OwnedFd) -> File {
        File(Of::Real(fd.into()))
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for File {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        match &self.0 {
            Of::Run(_) => no_std(Location::caller()),
            Of::Real(file) => file.as_raw_fd(),
        }
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for File {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match &self.0 {
            Of::Run(_) => no_std(Location::caller()),
            Of::Real(file) => file.as_fd(),
        }
    }
}

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(&mut self.0, file => Pin::new(file).poll_read(cx, into))
    }
}

impl AsyncWrite for File {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(&mut self.0, file => Pin::new(file).poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Of::Run(file) => AsyncWrite::poll_flush(Pin::new(file), cx),
            Of::Real(file) => Pin::new(file).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Of::Run(file) => AsyncWrite::poll_shutdown(Pin::new(file), cx),
            Of::Real(file) => Pin::new(file).poll_shutdown(cx),
        }
    }
}

impl AsyncSeek for File {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        each!(&mut self.0, file => Pin::new(file).start_seek(to))
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        each!(&mut self.0, file => Pin::new(file).poll_complete(cx))
    }
}

/// The options with which a file is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    sim: sim::fs::OpenOptions,
    real: real::fs::OpenOptions,
    /// True for converted options of std, which cannot be read.
    is_of_std: bool,
}

/// Converts options of std. Opening a file with them in a run fails the run, because they cannot be read.
impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(options: std::fs::OpenOptions) -> OpenOptions {
        OpenOptions { real: options.into(), is_of_std: true, ..OpenOptions::new() }
    }
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions::new()
    }
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl OpenOptions {$(
            $(#[$doc])*
            pub fn $name(&mut self, $name: bool) -> &mut OpenOptions {
                self.sim.$name($name);
                self.real.$name($name);
                self
            }
        )*}
    };
}

options! {
    /// Sets whether the file is opened for reading.
    read;
    /// Sets whether the file is opened for writing.
    write;
    /// Sets whether writes append at the end.
    append;
    /// Sets whether the file is truncated to length 0.
    truncate;
    /// Sets whether a missing file is created.
    create;
    /// Sets whether a new file must be created; opening fails if the file exists.
    create_new;
}

impl OpenOptions {
    /// Creates options of which no option is set.
    pub fn new() -> OpenOptions {
        OpenOptions {
            sim: sim::fs::OpenOptions::new(),
            real: real::fs::OpenOptions::new(),
            is_of_std: false,
        }
    }

    /// Sets the mode of a new file. Used outside of runs only.
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.real.mode(mode);
        self
    }

    /// Sets flags of the operating system. Used outside of runs only.
    #[cfg(unix)]
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.real.custom_flags(flags);
        self
    }

    /// Opens a file.
    ///
    /// # Errors
    /// The errors of tokio's function.
    #[track_caller]
    pub fn open<P: AsRef<Path>>(&self, path: P) -> impl Future<Output = io::Result<File>> + Send {
        if self.is_of_std {
            refuse("options of std cannot be read: use tokio's OpenOptions", Location::caller());
        }
        let path = path.as_ref().to_owned();
        let (in_run, sim, real) = (in_run(), self.sim.open(path.clone()), self.real.clone());
        let real = async move { real.open(path).await };
        File::of(if in_run { Of::Run(sim) } else { Of::Real(real) })
    }
}
