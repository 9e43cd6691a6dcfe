//! Open files.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use super::call::{acts, poll_on, sees};
use super::dir::Metadata;
use super::faults::Faults;
use super::lock::{FileLock, LOCK, LOCK_SHARED, Owner, Wanted};
use super::machine::{At, Machine, gone};
use super::open::OpenOptions;
use super::real;
use crate::disk::{Call, Error, Handle, Ino};
use crate::run::op::Op;
use crate::seam::{self, GuardedCall, Here, PlainCall, Wrapped, here};

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

/// An open file, with tokio's names. See the [module](self::super) for what a power failure leaves of it.
///
/// Each call is a point and has its effect in one step: a write is done when its future is ready, and [`flush`](Self::flush)
/// has nothing to do. Dropping a file closes it, which is no point and syncs nothing. It implements `AsyncRead`, `AsyncWrite`
/// and `AsyncSeek` of the crate `futures` and, with the feature `tokio`, of tokio.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let mut file = sim::fs::File::create("/a").await.unwrap();
/// file.write_all(b"bytes").await.unwrap();
/// file.sync_all().await.unwrap();
/// assert_eq!(file.metadata().await.unwrap().len(), 5);
/// # });
/// # assert!(report.passed(), "{report}");
/// ```
pub struct File {
    open: Arc<Open>,
    /// Calls of the traits for streams, which are under way.
    pub(super) streaming: Streaming,
}

/// Calls that were polled and are not done.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    pub(super) read: Option<PlainCall>,
    pub(super) write: Option<PlainCall>,
    pub(super) seek: Option<(PlainCall, SeekFrom)>,
    /// The position that a call of tokio's trait is to seek.
    #[cfg(feature = "tokio")]
    pub(super) wanted: Option<SeekFrom>,
}

/// The result of opening.
pub(super) enum Opened {
    Run(Handle, Ino),
    Real(std::fs::File),
}

/// An open file, which several [`File`]s may share.
struct Open {
    file: Where,
    here: Here,
    owner: Owner,
    lock: OnceLock<Arc<FileLock>>,
}

enum Where {
    Run(RunFile),
    Real(std::fs::File),
}

struct RunFile {
    machine: Arc<Machine>,
    life: u64,
    handle: Handle,
    ino: Ino,
    mark: Arc<Wrapped>,
    path: PathBuf,
    /// The position as an object, if several files share it.
    position: OnceLock<Arc<Wrapped>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.get() {
            lock.unlock(self.owner, self.here);
        }
        if let Where::Run(RunFile { machine, life, handle, .. }) = &self.file {
            machine.close(*life, *handle, self.here);
        }
    }
}

impl Open {
    /// Does a call that does not need std's `&mut`.
    fn poll<R>(
        &self,
        call: &mut PlainCall,
        here: Here,
        cx: &mut Context<'_>,
        act: impl FnOnce(&mut Call<'_>, &Faults, Handle) -> Result<R, Error>,
        real: impl FnOnce(&std::fs::File) -> io::Result<R>,
        shown: impl FnOnce(&R) -> Option<u64>,
    ) -> Poll<io::Result<R>> {
        match &self.file {
            Where::Run(RunFile { machine, life, handle, mark, path, position, .. }) => {
                let act = |call: &mut Call<'_>, faults: &Faults| act(call, faults, *handle);
                let (at, on) = (position.get().cloned(), (&**mark, &**path, here));
                poll_on(call, (machine, *life), on, cx, act, (shown, at))
            }
            Where::Real(file) => Poll::Ready(real(file)),
        }
    }

    fn lock(&self) -> io::Result<&Arc<FileLock>> {
        if let Some(lock) = self.lock.get() {
            return Ok(lock);
        }
        let lock = match &self.file {
            Where::Run(file) => file.machine.lock(file.ino),
            Where::Real(file) => real::lock_of(file, self.here)?,
        };
        Ok(self.lock.get_or_init(|| lock))
    }

    /// Fails if the node has died since the file was opened.
    fn check(&self, here: Here) -> io::Result<()> {
        let Where::Run(file) = &self.file else { return Ok(()) };
        if file.machine.check_visitor(here) {
            file.machine.record_visit(here);
        }
        if file.machine.lives(file.life) { Ok(()) } else { Err(gone()) }
    }
}

/// A call with its way.
fn calling<R>(
    op: &'static Op,
    here: Here,
    mut poll: impl FnMut(&mut PlainCall, &mut Context<'_>) -> Poll<R> + Send,
) -> impl Future<Output = R> + Send {
    let mut call = PlainCall::new(op, here);
    poll_fn(move |cx| poll(&mut call, cx))
}

fn count(moved: &usize) -> Option<u64> {
    Some(*moved as u64)
}

/// Bytes of the sectors in which a read may fail.
const SECTOR: u64 = 512;

/// Reads, with what may befall a read.
fn read_in_run(
    call: &mut Call<'_>,
    faults: &Faults,
    handle: Handle,
    at: Option<u64>,
    into: &mut [u8],
) -> Result<usize, Error> {
    let mut into = into;
    if faults.befall_reads() {
        let from = match at {
            Some(at) => at,
            None => call.seek(handle, SeekFrom::Current(0))?,
        };
        let len = call.handle_metadata(handle)?.len;
        let there = len.saturating_sub(from).min(into.len() as u64);
        if there > 0 {
            let sectors = (from / SECTOR)..=((from + there - 1) / SECTOR);
            let one = || {
                let count = sectors.end() - sectors.start() + 1;
                let nth = if count > 1 { seam::draw(count, "the sector of a fault") } else { 0 };
                sectors.start() + nth
            };
            if faults.fails_to_read() {
                call.damage(handle, one())?;
            }
            if call.has_crashed() && faults.rots() {
                let bit = seam::draw(8 * SECTOR, "the bit that changed");
                call.rot(handle, one(), bit)?;
            }
            let most = faults.shorten(there as usize);
            into = &mut into[..most];
        }
    }
    match at {
        Some(at) => call.read_at(handle, at, into),
        None => call.read(handle, into),
    }
}

/// Writes, with what may befall a write.
fn write_in_run(
    call: &mut Call<'_>,
    faults: &Faults,
    handle: Handle,
    at: Option<u64>,
    bytes: &[u8],
) -> Result<usize, Error> {
    if !bytes.is_empty() && faults.is_full() {
        return Err(Error::FULL);
    }
    let bytes = &bytes[..faults.shorten(bytes.len())];
    match at {
        Some(at) => call.write_at(handle, at, bytes),
        None => call.write(handle, bytes),
    }
}

impl File {
    pub(super) fn new(opened: Opened, at: &At, path: PathBuf, here: Here) -> File {
        let (file, owner) = match (opened, at.machine(here)) {
            (Opened::Run(handle, ino), Some((machine, life))) => {
                let (machine, life) = (machine.clone(), *life);
                let (mark, position) = (machine.inode(ino), OnceLock::new());
                (Where::Run(RunFile { machine, life, handle, ino, mark, path, position }), handle.0)
            }
            (Opened::Real(file), _) => (Where::Real(file), real::next_owner()),
            (Opened::Run(..), None) => unreachable!("opened on no machine"),
        };
        let open = Arc::new(Open { file, here, owner, lock: OnceLock::new() });
        File { open, streaming: Streaming::default() }
    }

    /// Opens a file, or a directory, for reading. A point.
    ///
    /// # Errors
    /// Those of [`std::fs::File::open`].
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        OpenOptions::new().read(true).open_at(At::here(here), path.as_ref(), here)
    }

    /// Opens a file for writing, which is made, or cut to length 0. A point. The name is durable after a
    /// [sync](Self::sync_all) of the directory.
    ///
    /// # Errors
    /// Those of [`std::fs::File::create`].
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options.open_at(At::here(here), path.as_ref(), here)
    }

    /// Opens a new file for reading and writing. A point.
    ///
    /// # Errors
    /// If there is a file of this name, and those of [`std::fs::File::create_new`].
    #[track_caller]
    pub fn create_new(path: impl AsRef<Path>) -> impl Future<Output = io::Result<File>> + Send {
        let here = here();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        options.open_at(At::here(here), path.as_ref(), here)
    }

    /// The options of opening.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    pub(super) fn place(&self) -> Here {
        self.open.here
    }

    pub(super) fn poll_read_at(
        &self,
        call: &mut PlainCall,
        (at, here): (Option<u64>, Here),
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        // Both closures have the buffer, and one is called.
        let into = std::cell::RefCell::new(into);
        self.open.poll(
            call,
            here,
            cx,
            |call, faults, handle| read_in_run(call, faults, handle, at, &mut into.borrow_mut()),
            |mut file| match at {
                Some(at) => real::read_at(file, &mut into.borrow_mut(), at),
                None => file.read(&mut into.borrow_mut()),
            },
            count,
        )
    }

    pub(super) fn poll_write_at(
        &self,
        call: &mut PlainCall,
        (at, here): (Option<u64>, Here),
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.open.poll(
            call,
            here,
            cx,
            |call, faults, handle| write_in_run(call, faults, handle, at, bytes),
            |mut file| match at {
                Some(at) => real::write_at(file, bytes, at),
                None => file.write(bytes),
            },
            count,
        )
    }

    pub(super) fn poll_move(
        &self,
        call: &mut PlainCall,
        (to, here): (SeekFrom, Here),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<u64>> {
        self.open.poll(
            call,
            here,
            cx,
            |call, _, handle| call.seek(handle, to),
            |mut file| file.seek(to),
            |at| Some(*at),
        )
    }

    async fn read_here(&mut self, into: &mut [u8], here: Here) -> io::Result<usize> {
        calling(&READ, here, |call, cx| self.poll_read_at(call, (None, here), cx, into)).await
    }

    async fn write_here(&mut self, bytes: &[u8], here: Here) -> io::Result<usize> {
        calling(&WRITE, here, |call, cx| self.poll_write_at(call, (None, here), cx, bytes)).await
    }

    /// Reads from the position on, which moves: the number of bytes, 0 at the end. A point.
    ///
    /// # Errors
    /// Those of std's `read`.
    #[track_caller]
    pub fn read<'a>(
        &'a mut self,
        into: &'a mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        self.read_here(into, here)
    }

    /// Reads until `into` is full. A point for each read.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends before, and those of std's `read`.
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

    /// Reads to the end. A point for each read. Returns the number of bytes.
    ///
    /// # Errors
    /// Those of std's `read`.
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
            into.resize(filled + READ_SIZE, 0);
            let read = self.read_here(&mut into[filled..], here).await;
            into.truncate(filled + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(into.len() - before);
            }
        }
    }

    /// Reads to the end, as text. A point for each read.
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) if it is not UTF-8, and those of std's `read`.
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

    /// Writes at the position, which moves, or at the end if the file was opened for that: the number of bytes. A point.
    ///
    /// # Errors
    /// Those of std's `write`.
    #[track_caller]
    pub fn write<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        self.write_here(bytes, here)
    }

    /// Writes all of `bytes`. A point for each write, which is one unless a write is short.
    ///
    /// # Errors
    /// [`WriteZero`](io::ErrorKind::WriteZero) if nothing more can be written, and those of std's `write`.
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

    /// Reads from `at` on, as std's `FileExt` does. The position stays. A point.
    ///
    /// # Errors
    /// Those of std's `read_at`.
    #[track_caller]
    pub fn read_at<'a>(
        &'a self,
        into: &'a mut [u8],
        at: u64,
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        calling(&READ_AT, here, move |call, cx| self.poll_read_at(call, (Some(at), here), cx, into))
    }

    /// Writes at `at`, as std's `FileExt` does. The position stays. A point.
    ///
    /// # Errors
    /// Those of std's `write_at`.
    #[track_caller]
    pub fn write_at<'a>(
        &'a self,
        bytes: &'a [u8],
        at: u64,
    ) -> impl Future<Output = io::Result<usize>> + Send + use<'a> {
        let here = here();
        calling(&WRITE_AT, here, move |call, cx| {
            self.poll_write_at(call, (Some(at), here), cx, bytes)
        })
    }

    /// Moves the position, and returns it. A point.
    ///
    /// # Errors
    /// If it would be negative.
    #[track_caller]
    pub fn seek(&mut self, to: SeekFrom) -> impl Future<Output = io::Result<u64>> + Send + use<'_> {
        let here = here();
        calling(&SEEK, here, move |call, cx| self.poll_move(call, (to, here), cx))
    }

    /// Does nothing: a write is done when its future is ready. Not a point, and no sync.
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
            let sync = |call: &mut Call<'_>, faults: &Faults, handle| {
                call.sync(handle, faults.sync_fate())
            };
            self.open.poll(call, here, cx, sync, real, |()| None)
        })
    }

    /// Makes the contents of the file durable, or the entries of a directory; not the name of the file, which is an entry of
    /// its directory. A point.
    ///
    /// # Errors
    /// If the disk fails. What was to be written is then taken for written: a second sync does not write it.
    #[track_caller]
    pub fn sync_all(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.sync(&SYNC_ALL, std::fs::File::sync_all, here())
    }

    /// As [`sync_all`](Self::sync_all): contents and length.
    ///
    /// # Errors
    /// As [`sync_all`](Self::sync_all).
    #[track_caller]
    pub fn sync_data(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.sync(&SYNC_DATA, std::fs::File::sync_data, here())
    }

    /// Sets the length. What is added reads as zeros. A point.
    ///
    /// # Errors
    /// If the file is not open for writing.
    #[track_caller]
    pub fn set_len(&self, len: u64) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        let here = here();
        calling(&SET_LEN, here, move |call, cx| {
            let set = |call: &mut Call<'_>, _: &Faults, handle| call.set_len(handle, len);
            self.open.poll(call, here, cx, set, |file| file.set_len(len), |()| None)
        })
    }

    /// Properties of the file. A point.
    ///
    /// # Errors
    /// Those of std's.
    #[track_caller]
    pub fn metadata(&self) -> impl Future<Output = io::Result<Metadata>> + Send + use<'_> {
        self.metadata_here(here())
    }

    pub(super) fn metadata_here(
        &self,
        here: Here,
    ) -> impl Future<Output = io::Result<Metadata>> + Send + use<'_> {
        calling(&METADATA, here, move |call, cx| {
            let look = |call: &mut Call<'_>, _: &Faults, handle| {
                Ok(Metadata::of_run(call.handle_metadata(handle)?))
            };
            let real = |file: &std::fs::File| Ok(Metadata::of_std(&file.metadata()?));
            self.open.poll(call, here, cx, look, real, |_| None)
        })
    }

    /// Another `File` of the same open file: they share position and lock. A point.
    ///
    /// # Errors
    /// None in a run.
    #[track_caller]
    pub fn try_clone(&self) -> impl Future<Output = io::Result<File>> + Send + use<'_> {
        let here = here();
        calling(&CLONE, here, move |call, cx| {
            let position = || Arc::new(Wrapped::outside("position", here));
            if let Where::Run(file) = &self.open.file {
                file.position.get_or_init(position);
            }
            let cloned = || File { open: self.open.clone(), streaming: Streaming::default() };
            let run = |_: &mut Call<'_>, _: &Faults, _| Ok(());
            let done = self.open.poll(call, here, cx, run, |_| Ok(()), |()| None);
            done.map_ok(|()| cloned())
        })
    }

    fn lock_as<'a>(
        &'a self,
        alone: bool,
        here: Here,
    ) -> impl Future<Output = io::Result<()>> + Send + use<'a> {
        let op = if alone { &LOCK } else { &LOCK_SHARED };
        let mut waiting = Locking { open: &self.open, call: GuardedCall::new(op, here), here };
        poll_fn(move |cx| {
            let Locking { open, call, .. } = &mut waiting;
            let lock = open.lock()?;
            let (owner, wanted) = (open.owner, Wanted { lock, owner: open.owner, alone });
            let take = || {
                let checked = open.check(here);
                if checked.is_ok() {
                    lock.take(owner, alone, here);
                }
                checked
            };
            call.poll(&wanted, cx, |cx| lock.poll_take(owner, alone, here, cx).map(Ok), take)
        })
    }

    /// Locks the file, and waits while another open file has a lock on it. A point. The lock ends with [`unlock`](Self::unlock),
    /// with the last clone of this file, and with the process: when its node dies.
    ///
    /// It is advice: files can be used without it. An open file has one lock, and a second replaces the first. In the real
    /// build, and outside of runs, it holds within the process.
    ///
    /// # Errors
    /// If the node that opened the file has died since.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.lock_as(true, here())
    }

    /// As [`lock`](Self::lock), together with others that share it.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_shared(&self) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        self.lock_as(false, here())
    }

    /// Locks the file if no other open file has a lock on it. Not a point.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if one has; as [`lock`](Self::lock).
    #[track_caller]
    pub fn try_lock(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.try_take(self.open.owner, true, here)
    }

    /// As [`try_lock`](Self::try_lock), together with others that share it.
    ///
    /// # Errors
    /// As [`try_lock`](Self::try_lock).
    #[track_caller]
    pub fn try_lock_shared(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.try_take(self.open.owner, false, here)
    }

    /// Gives the lock up. Not a point.
    ///
    /// # Errors
    /// If the node that opened the file has died since.
    #[track_caller]
    pub fn unlock(&self) -> io::Result<()> {
        let here = here();
        self.open.check(here)?;
        self.open.lock()?.unlock(self.open.owner, here);
        Ok(())
    }
}

/// The bytes that [`File::read_to_end`] asks for at once.
const READ_SIZE: usize = 64 << 10;

/// A call that locks. Its announcement ends with it.
struct Locking<'a> {
    open: &'a Open,
    call: GuardedCall,
    here: Here,
}

impl Drop for Locking<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.open.lock.get() {
            let wanted = Wanted { lock, owner: self.open.owner, alone: true };
            self.call.leave(&wanted, self.here);
        }
    }
}

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
