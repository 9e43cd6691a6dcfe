//! FIFOs, also called named pipes. The threads of a run are connected by a pipe in memory: a call of the kernel that
//! opens a FIFO waits for the other end, and no other thread of the run would execute in the meantime.
//!
//! The object of a FIFO is its pipe. An open file of the run belongs to it, and waits like a file of the network. If
//! the run has started another process, which may have the other end, a FIFO is opened by the kernel.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_int};

use super::super::clock::fail;
use super::super::thread::{current, outside};
use super::calls::at_once;
use super::disk::errno;
use super::objects::{How, Uses};
use super::paths::{self, Number, status_by};
use super::stream::{CAPACITY, WHOLE};
use super::transfer::operate;
use super::{Answer, ERR, Events, HUP, IN, Kind, Net, OUT};

/// The kind of the object of a pipe.
const KIND: &str = "fifo";

/// The two ends of a pipe.
const READS: usize = 0;
const WRITES: usize = 1;

/// An open file.
#[derive(Clone, Copy)]
pub(super) struct Fifo {
    number: Number,
    /// True for each end that the file can use.
    ends: [bool; 2],
    /// The number of writers that had opened the FIFO, if the file was opened for reading without a writer and without
    /// a wait. The file has no hang-up before the next writer.
    since: Option<u64>,
}

impl Fifo {
    /// Returns the mode with which the file was opened.
    pub(super) fn mode(&self) -> c_int {
        match self.ends {
            [true, true] => libc::O_RDWR,
            [true, false] => libc::O_RDONLY,
            _ => libc::O_WRONLY,
        }
    }
}

/// The pipe of a FIFO.
struct Pipe {
    /// The object of the pipe: of the path at which the FIFO was first opened.
    object: u64,
    bytes: VecDeque<u8>,
    /// The number of open files at each end.
    open: [usize; 2],
    /// The number of times that each end was opened.
    opened: [u64; 2],
    /// A descriptor of the FIFO. While it is open, no other file gets the number of the FIFO.
    kept: Kept,
}

/// A descriptor that is closed at the end of the pipe.
struct Kept(c_int);

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: a system call with a number. The descriptor belongs to this value.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// The pipes of the open FIFOs, by number of the file.
#[derive(Default)]
pub(super) struct Pipes(BTreeMap<Number, Pipe>);

impl Pipes {
    pub(super) fn readiness(&self, fifo: &Fifo) -> Events {
        let Some(pipe) = self.0.get(&fifo.number) else { return 0 };
        let [reads, writes] = fifo.ends;
        let mut events = 0;
        if reads {
            let is_closed = pipe.open[WRITES] == 0 && fifo.since != Some(pipe.opened[WRITES]);
            events |= if pipe.bytes.is_empty() { 0 } else { IN };
            events |= if is_closed { HUP } else { 0 };
        }
        if writes {
            events |= if pipe.bytes.len() + WHOLE <= CAPACITY { OUT } else { 0 };
            events |= if pipe.open[READS] == 0 { ERR } else { 0 };
        }
        events
    }

    /// Returns the number of bytes that can be read.
    pub(super) fn readable(&self, fifo: &Fifo) -> usize {
        self.0.get(&fifo.number).map_or(0, |pipe| pipe.bytes.len())
    }

    /// Returns the attributes of the file.
    pub(super) fn status(&self, fifo: &Fifo) -> Option<libc::stat> {
        paths::status(self.0.get(&fifo.number)?.kept.0)
    }

    fn opened(&self, number: Number, end: usize) -> Option<u64> {
        Some(self.0.get(&number)?.opened[end])
    }
}

/// Returns `true` if FIFOs are simulated for the current thread.
pub(super) fn are_simulated() -> bool {
    current().is_some_and(|thread| !thread.run().net.has_processes)
}

/// Returns the attributes of the FIFO that a call opens. `None` if the call opens no FIFO. The path is relative to a
/// folder.
fn status_of((folder, path): (c_int, &CStr), flags: c_int) -> Option<libc::stat> {
    // With these flags, the kernel does not wait.
    const NEW: c_int = libc::O_CREAT | libc::O_EXCL;
    if flags & (libc::O_PATH | libc::O_DIRECTORY) != 0 || flags & NEW == NEW {
        return None;
    }
    let link = if flags & libc::O_NOFOLLOW == 0 { 0 } else { libc::AT_SYMLINK_NOFOLLOW };
    let status = status_by(folder, path.as_ptr(), link)?;
    (status.st_mode & libc::S_IFMT == libc::S_IFIFO).then_some(status)
}

/// Returns `true` if a call opens a FIFO.
pub(super) fn is_opened(at: (c_int, &CStr), flags: c_int) -> bool {
    status_of(at, flags).is_some()
}

/// Opens a FIFO for a simulated thread. Returns the result of the call, or `None` if there is no FIFO any more.
pub(super) fn open(frame: usize, at: (c_int, &CStr), flags: c_int) -> Option<c_int> {
    let thread = current()?;
    let (folder, path) = at;
    let ends = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => [true, false],
        libc::O_WRONLY => [false, true],
        libc::O_RDWR => [true, true],
        _ => return Some(fail(libc::EINVAL)),
    };
    let waits = flags & libc::O_NONBLOCK == 0;
    let object = paths::key_of_pipe(folder, path);
    let about = (object, KIND, "open");
    let how = How::Opens { creates: false, truncates: false };
    let uses = Uses::at((folder, path.as_ptr()), flags & libc::O_NOFOLLOW == 0, how)?;
    let mut missing = None;
    let opened = operate(thread, frame, about, (false, None), |net| {
        // SAFETY: the path is a string.
        let targets = unsafe { uses.targets(&mut net.disk) };
        net.use_files(object, &uses, &targets, true);
        let status = status_of(at, flags).ok_or(libc::ESTALE)?;
        may_open(at, ends)?;
        let number = (status.st_dev, status.st_ino);
        let file = net.open_fifo(at, (number, object), ends, waits)?;
        missing = net.pipes.missing(number, ends).filter(|_| waits);
        Ok(file)
    });
    let file = match opened {
        Ok(file) => file,
        Err(libc::ESTALE) => return None,
        Err(error) => return Some(fail(error)),
    };
    // As in the kernel, the file is open at its own end while the call waits for the other end.
    if let Some(Missing { number, object, end, before }) = missing {
        let about = (object, KIND, "open");
        let opened = operate(thread, frame, about, (true, None), |net| {
            match net.pipes.opened(number, end) == Some(before) {
                true => Err(libc::EAGAIN),
                false => Ok(0),
            }
        });
        debug_assert_eq!(opened, Ok(0));
    }
    Some(at_once(thread, |net| net.open(file, !waits)))
}

/// Checks the permissions of a file.
fn may_open((folder, path): (c_int, &CStr), [reads, writes]: [bool; 2]) -> Answer {
    let mode = if reads { libc::R_OK } else { 0 } | if writes { libc::W_OK } else { 0 };
    // SAFETY: a call with a string and numbers.
    let answer =
        outside(|| unsafe { libc::faccessat(folder, path.as_ptr(), mode, libc::AT_EACCESS) });
    if answer == 0 { Ok(0) } else { Err(errno()) }
}

/// The closed end of a pipe whose other end is open.
struct Missing {
    number: Number,
    object: u64,
    end: usize,
    /// The number of times that the end was opened.
    before: u64,
}

impl Pipes {
    /// Returns the end that a file with these ends has to wait for.
    fn missing(&self, number: Number, ends: [bool; 2]) -> Option<Missing> {
        let pipe = self.0.get(&number)?;
        let other = match ends {
            [true, false] => WRITES,
            [false, true] => READS,
            _ => return None,
        };
        let (object, before) = (pipe.object, pipe.opened[other]);
        (pipe.open[other] == 0).then_some(Missing { number, object, end: other, before })
    }
}

impl Net {
    /// Adds an open file of a FIFO, without a descriptor.
    fn open_fifo(
        &mut self,
        (folder, path): (c_int, &CStr),
        (number, object): (Number, u64),
        ends: [bool; 2],
        waits: bool,
    ) -> Answer {
        let has_reader = self.pipes.0.get(&number).is_some_and(|pipe| pipe.open[READS] > 0);
        if ends == [false, true] && !waits && !has_reader {
            return Err(libc::ENXIO);
        }
        let pipe = self.pipes.0.entry(number).or_insert_with(|| {
            let flags = libc::O_PATH | libc::O_CLOEXEC;
            // SAFETY: a system call with a string and numbers.
            let kept = unsafe { libc::syscall(libc::SYS_openat, folder, path.as_ptr(), flags) };
            let kept = Kept(kept as c_int);
            Pipe { object, bytes: VecDeque::new(), open: [0; 2], opened: [0; 2], kept }
        });
        for end in [READS, WRITES] {
            pipe.open[end] += usize::from(ends[end]);
            pipe.opened[end] += u64::from(ends[end]);
        }
        let is_alone = !waits && ends == [true, false] && pipe.open[WRITES] == 0;
        let since = is_alone.then_some(pipe.opened[WRITES]);
        let of_pipe = pipe.object;
        self.change(of_pipe);
        if of_pipe != object {
            // The FIFO was renamed.
            self.also(of_pipe, KIND);
        }
        Ok(self.add(Kind::Fifo(Fifo { number, ends, since }), of_pipe))
    }

    /// Returns the pipe of an open file, if the file can use this end.
    fn pipe(&mut self, file: usize, end: usize) -> Result<(Number, &mut Pipe), c_int> {
        match &self.file(file).kind {
            Kind::Fifo(fifo) if fifo.ends[end] => {
                let number = fifo.number;
                let pipe = self.pipes.0.get_mut(&number).ok_or(libc::EBADF)?;
                Ok((number, pipe))
            }
            _ => Err(libc::EBADF),
        }
    }

    /// Notifies all open files of a FIFO.
    fn notify_ends(&mut self, number: Number, events: Events) {
        for file in 0..self.files.len() {
            let kind = self.files[file].as_ref().map(|file| &file.kind);
            if matches!(kind, Some(Kind::Fifo(fifo)) if fifo.number == number) {
                self.notify(file, events);
            }
        }
    }

    pub(super) fn read_fifo(&mut self, file: usize, into: &mut [u8]) -> Answer {
        let (number, pipe) = self.pipe(file, READS)?;
        let size = into.len().min(pipe.bytes.len());
        if size == 0 {
            let is_over = into.is_empty() || pipe.open[WRITES] == 0;
            return if is_over { Ok(0) } else { Err(libc::EAGAIN) };
        }
        into.iter_mut().zip(pipe.bytes.drain(..size)).for_each(|(to, byte)| *to = byte);
        self.notify_ends(number, OUT);
        Ok(size)
    }

    pub(super) fn write_fifo(&mut self, file: usize, from: &[u8]) -> Answer {
        let (number, pipe) = self.pipe(file, WRITES)?;
        if from.is_empty() {
            return Ok(0);
        }
        if pipe.open[READS] == 0 {
            return Err(libc::EPIPE);
        }
        let room = CAPACITY.saturating_sub(pipe.bytes.len());
        // A small write is atomic.
        let is_whole = from.len() <= WHOLE;
        if room == 0 || is_whole && room < from.len() {
            return Err(libc::EAGAIN);
        }
        let size = from.len().min(room);
        pipe.bytes.extend(&from[..size]);
        self.notify_ends(number, IN);
        Ok(size)
    }

    /// Closes an open file. The bytes of the pipe end with its last file.
    pub(super) fn close_fifo(&mut self, fifo: &Fifo) {
        let Some(pipe) = self.pipes.0.get_mut(&fifo.number) else { return };
        for end in [READS, WRITES] {
            pipe.open[end] -= usize::from(fifo.ends[end]);
        }
        if pipe.open == [0; 2] {
            self.pipes.0.remove(&fifo.number);
        }
        self.notify_ends(fifo.number, IN | OUT | HUP | ERR);
    }
}
