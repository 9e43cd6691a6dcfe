//! Open files.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::at::At;
use super::call::{DiskCall, acts, sees};
use super::dir::Metadata;
use super::open::OpenOptions;
use super::opened::Open;
use super::trouble::Befalls;
use crate::disk::Call;
use crate::run::op::Op;
use crate::seam::{Here, here};

pub(super) const READ: Op = sees("read");
const READ_AT: Op = sees("read_at");
pub(super) const WRITE: Op = acts("write");
const WRITE_AT: Op = acts("write_at");
pub(super) const SEEK: Op = acts("seek");
const SYNC_ALL: Op = acts("sync_all");
const SYNC_DATA: Op = acts("sync_data");
const SET_LEN: Op = acts("set_len");
const METADATA: Op = sees("metadata");
const CLONE: Op = sees("try_clone");

/// An open file, with the method names of tokio. See the [module](self::super) for what a power failure leaves of it.
///
/// Each call is a point and has its effect in one step: a write is done when its future is ready, so
/// [`flush`](Self::flush) does nothing. Dropping a file closes it; this is not a point and syncs nothing. `File`
/// implements `AsyncRead`, `AsyncWrite` and `AsyncSeek` of the crate `futures` and, with the feature `tokio`, of tokio.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let mut file = sim::fs::File::create("/a").await.unwrap();
/// file.write_all(b"bytes").await.unwrap();
/// file.sync_all().await.unwrap();
/// assert_eq!(file.metadata().await.unwrap().len(), 5);
/// # });
/// # assert!(report.passed());
/// ```
pub struct File {
    pub(super) open: Arc<Open>,
    /// Pending calls of the stream traits.
    pub(super) streaming: Streaming,
    /// The size that was last set with `set_max_buf_size`. The size has no effect.
    pub(super) max_buf_size: usize,
}

/// The buffer size of a new file, the same as in tokio.
pub(super) const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// Calls that were polled but have not completed.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    pub(super) read: Option<DiskCall>,
    pub(super) write: Option<DiskCall>,
    pub(super) seek: Option<(DiskCall, SeekFrom)>,
    /// The target position of a pending seek through tokio's trait.
    #[cfg(feature = "tokio")]
    pub(super) wanted: Option<SeekFrom>,
}

/// Creates the future of a call, with the call's state.
pub(super) fn calling<R>(
    op: &'static Op,
    here: Here,
    mut poll: impl FnMut(&mut DiskCall, &mut Context<'_>) -> Poll<R> + Send,
) -> impl Future<Output = R> + Send {
    let mut call = DiskCall::new(op, here);
    poll_fn(move |cx| poll(&mut call, cx))
}

impl File {
    pub(super) fn new(open: Open) -> File {
        File { open: Arc::new(open), streaming: Streaming::default(), max_buf_size: MAX_BUF_SIZE }
    }

    /// Opens a file, or a directory, for reading. This call is a point.
    ///
    /// # Errors
    /// The errors of [`std::fs::File::open`].
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        OpenOptions::new().read(true).open_at(At::here(here), path.as_ref(), here)
    }

    /// Opens a file for writing. Creates it, or truncates an existing file to length 0. This call is a point. The name
    /// is durable after a [sync](Self::sync_all) of the directory.
    ///
    /// # Errors
    /// The errors of [`std::fs::File::create`].
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options.open_at(At::here(here), path.as_ref(), here)
    }

    /// Opens a new file for reading and writing. This call is a point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let first = sim::fs::File::create_new("/a").await;
    /// let second = sim::fs::File::create_new("/a").await;
    /// assert!(first.is_ok());
    /// assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If a file of this name exists, and the errors of [`std::fs::File::create_new`].
    #[track_caller]
    pub fn create_new(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open_at(At::here(here), path.as_ref(), here)
    }

    /// Returns new options for opening a file.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    async fn read_here(&mut self, into: &mut [u8], here: Here) -> io::Result<usize> {
        calling(&READ, here, |call, cx| self.open.poll_read_at(call, (None, here), cx, into)).await
    }

    async fn write_here(&mut self, bytes: &[u8], here: Here) -> io::Result<usize> {
        calling(&WRITE, here, |call, cx| self.open.poll_write_at(call, (None, here), cx, bytes))
            .await
    }

    /// Reads at the current position and advances it. Returns the number of bytes, 0 at the end of the file. This call
    /// is a point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// sim::fs::write("/a", "bytes").await.unwrap();
    /// let mut file = sim::fs::File::open("/a").await.unwrap();
    /// let mut buffer = [0; 8];
    /// assert_eq!(file.read(&mut buffer).await.unwrap(), 5);
    /// assert_eq!(file.read(&mut buffer).await.unwrap(), 0);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// The errors of std's `read`.
    #[track_caller]
    pub fn read<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        self.read_here(into, here)
    }

    /// Reads until `into` is full. Each read is a point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// sim::fs::write("/a", "bytes").await.unwrap();
    /// let mut file = sim::fs::File::open("/a").await.unwrap();
    /// let mut buffer = [0; 8];
    /// let read = file.read_exact(&mut buffer).await;
    /// assert_eq!(read.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends too early. Also the errors of std's `read`.
    #[track_caller]
    pub fn read_exact<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        async move {
            let mut done = 0;
            while done < into.len() {
                match self.read_here(&mut into[done..], here).await? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    more => done += more,
                }
            }
            Ok(done)
        }
    }

    /// Reads to the end. Each read is a point. Returns the number of bytes.
    ///
    /// # Errors
    /// The errors of std's `read`.
    #[track_caller]
    pub fn read_to_end<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        self.read_to_end_here(into, here)
    }

    pub(super) async fn read_to_end_here(
        &mut self,
        into: &mut Vec<u8>,
        here: Here,
    ) -> io::Result<usize> {
        let before = into.len();
        loop {
            let filled = into.len();
            into.extend_from_slice(ROOM);
            let read = self.read_here(&mut into[filled..], here).await;
            into.truncate(filled + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(into.len() - before);
            }
        }
    }

    /// Reads to the end, as text. Each read is a point.
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) if the contents are not UTF-8, and the errors of std's `read`.
    #[track_caller]
    pub fn read_to_string<'a>(
        &'a mut self,
        into: &'a mut String,
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        async move {
            let mut bytes = Vec::new();
            let count = self.read_to_end_here(&mut bytes, here).await?;
            into.push_str(&text(bytes)?);
            Ok(count)
        }
    }

    /// Writes at the current position and advances it. If the file was opened for appending, writes at the end. Returns
    /// the number of written bytes. This call is a point.
    ///
    /// # Errors
    /// The errors of std's `write`.
    #[track_caller]
    pub fn write<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        self.write_here(bytes, here)
    }

    /// Writes all of `bytes`. Each write is a point. More than one write is needed only if a write is short.
    ///
    /// # Errors
    /// [`WriteZero`](io::ErrorKind::WriteZero) if nothing more can be written, and the errors of
    /// std's `write`.
    #[track_caller]
    pub fn write_all<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> impl Future<Output = io::Result<()>> + Send + use<'a> {
        let here = here();
        self.write_all_here(bytes, here)
    }

    pub(super) async fn write_all_here(&mut self, bytes: &[u8], here: Here) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_here(&bytes[done..], here).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                more => done += more,
            }
        }
        Ok(())
    }

    /// Reads from offset `at`, like `FileExt` of std. Does not move the position. This call is a point.
    ///
    /// # Errors
    /// The errors of std's `read_at`.
    #[track_caller]
    pub fn read_at<'a>(
        &'a self,
        into: &'a mut [u8],
        at: u64,
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        calling(&READ_AT, here, move |call, cx| {
            self.open.poll_read_at(call, (Some(at), here), cx, into)
        })
    }

    /// Writes at offset `at`, like `FileExt` of std. Does not move the position. This call is a point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let mut file = sim::fs::File::create_new("/a").await.unwrap();
    /// file.write_at(b"world", 6).await.unwrap();
    /// file.write_all(b"hello ").await.unwrap();
    /// assert_eq!(sim::fs::read("/a").await.unwrap(), b"hello world");
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// The errors of std's `write_at`.
    #[track_caller]
    pub fn write_at<'a>(
        &'a self,
        bytes: &'a [u8],
        at: u64,
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        calling(&WRITE_AT, here, move |call, cx| {
            self.open.poll_write_at(call, (Some(at), here), cx, bytes)
        })
    }

    /// Moves the position, and returns the new position. This call is a point.
    ///
    /// # Errors
    /// If the new position would be negative.
    #[track_caller]
    pub fn seek(&mut self, to: SeekFrom) -> impl Future<Output = io::Result<u64>> + Send + use<'_> {
        let here = here();
        calling(&SEEK, here, move |call, cx| self.open.poll_move(call, (to, here), cx))
    }

    /// Does nothing, because a write is complete when its future is ready. This call is not a point, and does not sync
    /// the file.
    ///
    /// # Errors
    /// None.
    pub async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync<'a>(
        &'a self,
        op: &'static Op,
        real: fn(&std::fs::File) -> io::Result<()>,
        here: Here,
    ) -> impl Future<Output = io::Result<()>> + Send + use<'a> {
        calling(op, here, move |call, cx| {
            let sync = |call: &mut Call<'_>, faults: &Befalls<'_>, handle| {
                call.sync(handle, faults.sync_fate())
            };
            self.open.poll(call, here, cx, sync, real, |()| None)
        })
    }

    /// Makes the contents of the file, or the entries of a directory, durable. Does not make the file name durable,
    /// because the name is an entry of the directory. This call is a point.
    ///
    /// ```
    /// use sim::fs::{self, File};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let db = sim::node("db-1");
    /// let saving = db.spawn(async {
    ///     fs::write("/a", "bytes").await.unwrap();
    ///     File::open("/a").await.unwrap().sync_all().await.unwrap();
    ///     File::open("/").await.unwrap().sync_all().await.unwrap();
    /// });
    /// saving.await.unwrap();
    /// db.power_off();
    /// db.restart();
    /// assert_eq!(db.spawn(fs::read("/a")).await.unwrap().unwrap(), b"bytes");
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If the disk fails. The kernel then regards the data as written, so a second sync does not write it.
    #[track_caller]
    pub fn sync_all(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.sync(&SYNC_ALL, std::fs::File::sync_all, here())
    }

    /// Like [`sync_all`](Self::sync_all): makes contents and length durable.
    ///
    /// # Errors
    /// In the same cases as [`sync_all`](Self::sync_all).
    #[track_caller]
    pub fn sync_data(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.sync(&SYNC_DATA, std::fs::File::sync_data, here())
    }

    /// Sets the length. Added bytes read as zeros. This call is a point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = sim::fs::File::create_new("/a").await.unwrap();
    /// file.set_len(3).await.unwrap();
    /// assert_eq!(sim::fs::read("/a").await.unwrap(), [0; 3]);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// If the file is not open for writing.
    #[track_caller]
    pub fn set_len(&self, len: u64) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        let here = here();
        calling(&SET_LEN, here, move |call, cx| {
            let set = |call: &mut Call<'_>, _: &Befalls<'_>, handle| call.set_len(handle, len);
            self.open.poll(call, here, cx, set, |file| file.set_len(len), |()| None)
        })
    }

    /// Returns the properties of the file. This call is a point.
    ///
    /// # Errors
    /// The errors of std's function.
    #[track_caller]
    pub fn metadata(&self) -> impl Future<Output = io::Result<Metadata>> + Send + use<'_> {
        self.metadata_here(here())
    }

    pub(super) fn metadata_here(
        &self,
        here: Here,
    ) -> impl Future<Output = io::Result<Metadata>> + Send + use<'_> {
        calling(&METADATA, here, move |call, cx| {
            let look = |call: &mut Call<'_>, _: &Befalls<'_>, handle| {
                Ok(Metadata::of_run(call.handle_metadata(handle)?))
            };
            let real = |file: &std::fs::File| Ok(Metadata::of_std(&file.metadata()?));
            self.open.poll(call, here, cx, look, real, |_| None)
        })
    }

    /// Returns another `File` for the same open file. The two `File`s share the position and the lock. This call is a
    /// point.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let mut file = sim::fs::File::create_new("/a").await.unwrap();
    /// let mut clone = file.try_clone().await.unwrap();
    /// file.write_all(b"one, ").await.unwrap();
    /// clone.write_all(b"two").await.unwrap();
    /// assert_eq!(sim::fs::read("/a").await.unwrap(), b"one, two");
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// Never fails in a run.
    #[track_caller]
    pub fn try_clone(&self) -> impl Future<Output = io::Result<File>> + Send + use<'_> {
        let here = here();
        calling(&CLONE, here, move |call, cx| {
            self.open.share_position(here);
            let cloned = || File {
                open: self.open.clone(),
                streaming: Streaming::default(),
                max_buf_size: self.max_buf_size,
            };
            let run = |_: &mut Call<'_>, _: &Befalls<'_>, _| Ok(());
            let done = self.open.poll(call, here, cx, run, |_| Ok(()), |()| None);
            done.map_ok(|()| cloned())
        })
    }
}

/// The buffer of a read in [`File::read_to_end`]. `extend_from_slice` copies it, because in a debug build `Vec::resize`
/// makes a call for each byte.
static ROOM: &[u8] = &[0; 64 << 10];

pub(super) fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")
    })
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").finish_non_exhaustive()
    }
}
