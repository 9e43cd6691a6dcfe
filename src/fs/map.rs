//! Mapped files.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use super::call::{acts, sees};
use super::file::{File, calling};
use super::machine::gone;
use super::opened::{Open, RunFile, Where};
use super::real;
use super::trouble::Befalls;
use super::word::MapWord;
use crate::disk::{BusError, Call, UNIT};
use crate::run::Failure;
use crate::run::event::Values;
use crate::run::op::Op;
use crate::seam::value::Number;
use crate::seam::{self, Here, PlainCall, Wrapped, here};

const MAP: Op = acts("map");
const READ_AT: Op = sees("read_at");
const WRITE_AT: Op = acts("write_at");
const FLUSH: Op = acts("flush");

/// A part of a file that is mapped into memory and shared. The type has words with the operations of
/// [`Atomic`](crate::Atomic), and slices.
///
/// A store changes the file at once: reads of the file and other maps see the store, and a map sees all writes to the
/// file. A store is durable after a [`flush`](Self::flush) of its bytes, or a sync of the file. Until then a power
/// failure leaves each sector, independently, in any state that it had between two stores. So a word is never torn.
/// Words of one sector keep the order of their stores; words of different sectors may be out of order. A slice is
/// stored in pieces of eight bytes, in order, so a power failure may tear it between two pieces.
///
/// The length of the file does not change. An access beyond the end of the file ends the process and so fails the run,
/// like `SIGBUS` for a real map. The same happens for an access to a sector that cannot be read, and for a store that
/// needs room on a full disk. (A real kernel permits access to the rest of the last page, but does not keep stores
/// there.)
///
/// The map keeps the file open, with its lock. Clones refer to the same map.
///
/// ```
/// use sim::Ordering::SeqCst;
/// use sim::fs::{Map, OpenOptions};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// # if !sim::SIMULATED { return }
/// let mut options = OpenOptions::new();
/// let file = options.read(true).write(true).create(true).open("/log").await.unwrap();
/// file.set_len(4096).await.unwrap();
/// file.sync_all().await.unwrap();
///
/// let map = Map::open(&file, 0..4096).await.unwrap();
/// let tail = map.word::<u64>(0).named("tail");
/// let at = tail.fetch_add(16, SeqCst).await;
/// map.write_at(b"a record", 8 + at).await;
/// map.flush(0..4096).await.unwrap();
/// # });
/// # assert!(report.passed());
/// ```
///
/// # In a search
///
/// Operations on one word conflict like operations on an atomic. Words within the same eight aligned bytes count as one
/// word. Two stores into different words of one sector conflict on the disk of a node, because a power failure reveals
/// their order. On the disk of code outside all nodes, which has no power failures, they commute. Stores into different
/// sectors commute, and a flush conflicts with the stores into its own sectors only. Calls that write the file conflict
/// with all operations of its maps; calls that read it conflict with all stores. Access to a slice of more than 128
/// bytes counts as a read or write of the file, and a flush of more than 16 sectors counts as a sync.
///
/// # Outside of runs, and in the real build
///
/// The map uses no mapped memory, because that needs `unsafe` code. An operation reads and writes the file in the page
/// cache. All maps of the file in this process share a mutex, so the operation is atomic among them. Other processes
/// with a true map of the file see whole words, but for them a read-modify-write operation is not atomic. A flush is a
/// `sync_data` of the file. The purpose of this type is to run the same program unchanged; where speed matters, use a
/// memory-mapping crate.
#[derive(Clone)]
pub struct Map {
    pub(super) inner: Arc<Mapped>,
}

pub(super) struct Mapped {
    pub(super) open: Arc<Open>,
    /// The mapped bytes of the file.
    range: Range<u64>,
    /// The mutex that the maps of a file of the operating system share.
    turn: Option<real::MapTurn>,
}

impl Map {
    /// Maps these bytes of a file, which must be open for reading and writing. The bytes need not exist yet, because
    /// the file may grow. This call is a point.
    ///
    /// ```
    /// use sim::fs::{File, Map};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = File::create_new("/log").await.unwrap();
    /// let unaligned = Map::open(&file, 4..64).await;
    /// assert_eq!(unaligned.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    /// assert_eq!(Map::open(&file, 8..64).await.unwrap().len(), 56);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the range is empty, if it does not start at a multiple of 8,
    /// and for a file opened for appending. [`PermissionDenied`](io::ErrorKind::PermissionDenied) if the file is not
    /// open for reading and writing.
    #[track_caller]
    pub fn open(
        file: &File,
        range: Range<u64>,
    ) -> impl Future<Output = io::Result<Map>> + Send + use<'_> {
        let here = here();
        calling(&MAP, here, move |call, cx| {
            let open = &file.open;
            if open.options.append || range.is_empty() || range.start % UNIT != 0 {
                return Poll::Ready(Err(io::ErrorKind::InvalidInput.into()));
            }
            let run = |call: &mut Call<'_>, _: &Befalls<'_>, handle| call.map(handle).map(|_| None);
            let real = |std: &std::fs::File| match open.options.read && open.options.write {
                true => real::map_turn_of(std).map(Some),
                false => Err(io::ErrorKind::PermissionDenied.into()),
            };
            let turn = ready!(open.poll(call, here, cx, run, real, |_| None))?;
            let (open, range) = (open.clone(), range.clone());
            Poll::Ready(Ok(Map { inner: Arc::new(Mapped { open, range, turn }) }))
        })
    }

    /// Returns the length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> u64 {
        self.inner.range.end - self.inner.range.start
    }

    /// Returns the word at `at`, in bytes from the start of the map. Words may overlap.
    ///
    /// ```
    /// use sim::Ordering::SeqCst;
    /// use sim::fs::{File, Map};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = File::create_new("/log").await.unwrap();
    /// file.set_len(64).await.unwrap();
    /// let map = Map::open(&file, 8..64).await.unwrap();
    /// map.word::<u64>(0).store(7, SeqCst).await;
    /// let mut bytes = [0; 8];
    /// file.read_at(&mut bytes, 8).await.unwrap();
    /// assert_eq!(u64::from_ne_bytes(bytes), 7);
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If the word is not aligned to its size, or is not in the map.
    #[track_caller]
    pub fn word<T: Number>(&self, at: u64) -> MapWord<T> {
        let size = size_of::<T>() as u64;
        assert!(at % size == 0, "a word of {size} bytes at {at} is not aligned");
        let at = self.inner.bytes_at(at, size).start;
        MapWord { map: self.inner.clone(), at, name: None, values: PhantomData }
    }

    /// Loads a slice at `at`, in bytes from the start of the map. This call is a point.
    ///
    /// # Panics
    /// If the slice is not in the map.
    #[track_caller]
    pub fn read_at<'a>(
        &'a self,
        into: &'a mut [u8],
        at: u64,
    ) -> impl Future<Output = ()> + Send + use<'a> {
        let here = here();
        let bytes = self.inner.bytes_at(at, into.len() as u64);
        calling(&READ_AT, here, move |call, cx| {
            let into = std::cell::RefCell::new(&mut *into);
            let run = |call: &mut Call<'_>, file: &RunFile| {
                call.load(file.handle, bytes.start, &mut into.borrow_mut())
            };
            let real = |std: &std::fs::File| {
                let is_whole = real::read_whole(std, &mut into.borrow_mut(), bytes.start)?;
                Ok(is_whole.then_some(()))
            };
            self.inner.poll(&mut call.plain, (None, &bytes, here), cx, run, real, |_| Values::None)
        })
    }

    /// Stores a slice at `at`, in bytes from the start of the map. This call is a point. A power failure may tear the
    /// slice between pieces of eight bytes.
    ///
    /// ```
    /// use sim::fs::{File, Map};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let file = File::create_new("/log").await.unwrap();
    /// file.set_len(64).await.unwrap();
    /// let map = Map::open(&file, 0..64).await.unwrap();
    /// map.write_at(b"record", 16).await;
    /// let mut record = [0; 6];
    /// map.read_at(&mut record, 16).await;
    /// assert_eq!(&record, b"record");
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If the slice is not in the map.
    #[track_caller]
    pub fn write_at<'a>(
        &'a self,
        from: &'a [u8],
        at: u64,
    ) -> impl Future<Output = ()> + Send + use<'a> {
        let here = here();
        let bytes = self.inner.bytes_at(at, from.len() as u64);
        calling(&WRITE_AT, here, move |call, cx| {
            let run =
                |call: &mut Call<'_>, file: &RunFile| call.store(file.handle, bytes.start, from);
            let real = |std: &std::fs::File| {
                let is_there = std.metadata()?.len() >= bytes.end;
                if is_there {
                    real::write_whole(std, from, bytes.start)?;
                }
                Ok(is_there.then_some(()))
            };
            self.inner.poll(&mut call.plain, (None, &bytes, here), cx, run, real, |_| Values::None)
        })
    }

    /// Makes the bytes of `range` durable, in bytes from the start of the map. Writes whole sectors, but not the length
    /// of the file. For the length use [`File::sync_all`]. This call is a point.
    ///
    /// ```
    /// use sim::Ordering::SeqCst;
    /// use sim::fs::{self, File, Map};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let db = sim::node("db-1");
    /// let saving = db.spawn(async {
    ///     let file = File::create_new("/log").await.unwrap();
    ///     file.set_len(8).await.unwrap();
    ///     file.sync_all().await.unwrap();
    ///     File::open("/").await.unwrap().sync_all().await.unwrap();
    ///     let map = Map::open(&file, 0..8).await.unwrap();
    ///     map.word::<u64>(0).store(7, SeqCst).await;
    ///     map.flush(0..8).await.unwrap();
    /// });
    /// saving.await.unwrap();
    /// db.power_off();
    /// db.restart();
    /// let found = db.spawn(fs::read("/log")).await.unwrap();
    /// assert_eq!(found.unwrap(), 7_u64.to_ne_bytes());
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Errors
    /// In the same cases as [`File::sync_all`]. Contents that the sync should have written then count as written.
    ///
    /// # Panics
    /// If the range is not in the map.
    #[track_caller]
    pub fn flush(
        &self,
        range: Range<u64>,
    ) -> impl Future<Output = io::Result<()>> + Send + use<'_> {
        let here = here();
        let bytes = self.inner.bytes_at(range.start, range.end.saturating_sub(range.start));
        calling(&FLUSH, here, move |call, cx| {
            let bytes = bytes.clone();
            let run = |call: &mut Call<'_>, faults: &Befalls<'_>, handle| {
                call.flush(handle, bytes, faults.sync_fate())
            };
            self.inner.open.poll(call, here, cx, run, std::fs::File::sync_data, |()| None)
        })
    }

    /// Takes the place of a request to the kernel to start writing these bytes. The call does nothing, because such a
    /// request makes nothing durable. This call is not a point.
    ///
    /// # Errors
    /// None.
    ///
    /// # Panics
    /// If the range is not in the map.
    #[track_caller]
    pub fn flush_async(&self, range: Range<u64>) -> io::Result<()> {
        self.inner.bytes_at(range.start, range.end.saturating_sub(range.start));
        Ok(())
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("range", &self.inner.range).finish_non_exhaustive()
    }
}

impl Mapped {
    /// Returns the bytes of the file at an offset in the map.
    #[track_caller]
    fn bytes_at(&self, at: u64, length: u64) -> Range<u64> {
        let mapped = self.range.end - self.range.start;
        assert!(
            at.checked_add(length).is_some_and(|end| end <= mapped),
            "{length} bytes at {at} are not in a map of {mapped} bytes"
        );
        self.range.start + at..self.range.start + at + length
    }

    /// Accesses `bytes` of the file. The access is announced on `word`, or on the file. `real` returns `None` if the
    /// file ends before the end of `bytes`.
    pub(super) fn poll<R>(
        &self,
        call: &mut PlainCall,
        (word, bytes, here): (Option<&Arc<Wrapped>>, &Range<u64>, Here),
        cx: &mut Context<'_>,
        run: impl FnOnce(&mut Call<'_>, &RunFile) -> Result<Result<R, BusError>, crate::disk::Error>,
        real: impl FnOnce(&std::fs::File) -> io::Result<Option<R>>,
        values: impl FnOnce(&R) -> Values,
    ) -> Poll<R> {
        let done = match &self.open.file {
            Where::Run(file) => {
                if !file.machine.lives(file.life) {
                    // The disk may be new, without this file.
                    dead(here);
                }
                let act =
                    || file.machine.act(file.life, &file.path, here, |call, _| run(call, file));
                let inode;
                let mark = match word {
                    Some(word) => word,
                    None => {
                        inode = file.machine.inode(file.ino);
                        &inode
                    }
                };
                let shown = |(done, _): &(io::Result<Result<R, BusError>>, _)| match done {
                    Ok(Ok(done)) => values(done),
                    _ => Values::Failed,
                };
                let (done, effects) = ready!(call.poll(mark, cx, act, shown));
                let effects = match word {
                    Some(word) => effects.of_word(word),
                    None => effects,
                };
                file.machine.record(effects, here);
                match done {
                    Ok(done) => done,
                    Err(_) => dead(here),
                }
            }
            Where::Real(file) => {
                let _turn = self.turn();
                match real(file) {
                    Ok(Some(done)) => Ok(done),
                    Ok(None) => Err(BusError::BehindEnd(file.metadata().map_or(0, |m| m.len()))),
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(BusError::Full),
                    Err(_) => Err(BusError::Unreadable),
                }
            }
        };
        match done {
            Ok(done) => Poll::Ready(done),
            Err(error) => seam::crash("SIGBUS", self.text(error, bytes), here),
        }
    }

    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.turn.as_ref()?;
        Some(turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the message of an access that ends the process.
    fn text(&self, error: BusError, bytes: &Range<u64>) -> String {
        let file = match &self.open.file {
            Where::Run(file) => file.path.display().to_string(),
            Where::Real(_) => "the file".to_owned(),
        };
        let Range { start, end } = bytes;
        match error {
            BusError::BehindEnd(length) => {
                format!("bytes {start} to {end} of {file} are mapped, and it ends at {length}")
            }
            BusError::Unreadable => {
                format!("bytes {start} to {end} of {file} are mapped, and cannot be read")
            }
            BusError::Full => {
                format!(
                    "no room for a store into bytes {start} to {end} of {file}: the disk is full"
                )
            }
        }
    }
}

/// Fails the run, because a map of an earlier life was used.
fn dead(here: Here) -> ! {
    let message = format!("a map is used: {}", gone());
    seam::fail(|| Failure::Misuse { message: message.clone(), place: seam::place_of(here) });
    panic!("{message}")
}
