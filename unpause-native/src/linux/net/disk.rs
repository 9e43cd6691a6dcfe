//! The real file system. The calls on files are real calls. Each call is a point of the run as soon as the run has a
//! second thread: the calls of the only thread precede the start of every other thread. `objects.rs` has the objects
//! that a call uses.
//!
//! A read at the position of a descriptor moves this position. Threads with descriptors of their own do not see the
//! moves of each other. So such a call is a change only if the thread has not opened the descriptor itself.
//!
//! # Limits
//!
//! The kernel's own descriptors for the standard streams are not files of the run, whatever they refer to. Changes by
//! other processes, and changes of memory that is mapped from a file, are not operations. The numbers of files and of
//! descriptors depend on the order of calls that commute.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::sync::{Mutex, PoisonError};

use super::super::clock::fail;
use super::super::compiled::note_entered;
use super::super::places::{self, Frame};
use super::super::thread::{Thread, current, on_carrier, outside};
use super::calls::at_once;
use super::fifos;
use super::objects::{Access, How, Uses};
use super::paths;
use super::transfer::operate;

/// The number of innermost return addresses that decide if a call is made for a backtrace. [`Thread::hash_of_calls`]
/// distinguishes as many.
const INNERMOST: usize = 8;

/// The result of a libc function.
pub(super) trait Returned: Copy {
    /// Returns `true` if the function has failed, and has set `errno`.
    fn has_failed(self) -> bool;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Returned for $number {
            fn has_failed(self) -> bool {
                self == -1
            }
        }
    )*};
}
numbers!(i32 i64 isize);

/// The result of `umask`, which cannot fail.
impl Returned for u32 {
    fn has_failed(self) -> bool {
        false
    }
}

impl<T> Returned for *mut T {
    fn has_failed(self) -> bool {
        self.is_null()
    }
}

/// Performs `call`, which uses the files that `uses` returns. `None` means that the call uses no file. `frame` is the
/// frame pointer of the libc function.
pub(super) fn perform<R: Returned>(
    frame: usize,
    name: &'static str,
    uses: impl FnOnce() -> Option<Uses>,
    mut call: impl FnMut() -> R,
) -> R {
    if !is_seen(frame) {
        return call();
    }
    match uses() {
        None => call(),
        Some(uses) if uses.may_change() => change(frame, name, &uses, call),
        // The result may be an allocation, which must belong to the thread.
        Some(uses) => {
            announce(frame, name, &uses);
            call()
        }
    }
}

/// Makes a call a point, whose effect follows in the same step of the thread.
fn announce(frame: usize, name: &'static str, uses: &Uses) {
    let Some(thread) = current() else { return };
    // SAFETY: the program has passed the strings to a libc function.
    let before = at_once(thread, |net| unsafe { uses.targets(&mut net.disk) });
    let (object, kind) = before.object();
    let announced = operate(thread, frame, (object, kind, name), (false, None), |net| {
        // SAFETY: the same reason. The thread is suspended in this call.
        let targets = unsafe { net.disk.now(uses, &before) };
        net.use_files(object, uses, &targets, true);
        Ok(0)
    });
    debug_assert_eq!(announced, Ok(0));
}

/// Makes a call that changes all files a point, like [`announce`], if the call is seen.
pub(in super::super) fn announce_change_if_seen(frame: usize, name: &'static str) {
    if is_seen(frame) {
        announce(frame, name, &Uses::all(Access::Changes));
    }
}

/// Performs a call that changes files, in the turn of the thread.
fn change<R: Returned>(
    frame: usize,
    name: &'static str,
    uses: &Uses,
    mut call: impl FnMut() -> R,
) -> R {
    let Some(thread) = current() else { return call() };
    let mut returned = None;
    // SAFETY: the program has passed the strings to a libc function.
    let before = at_once(thread, |net| unsafe { uses.targets(&mut net.disk) });
    let (object, kind) = before.object();
    let answer = operate(thread, frame, (object, kind, name), (false, None), |net| {
        // SAFETY: the same reason. The thread is suspended in this call.
        let targets = unsafe { net.disk.now(uses, &before) };
        let result = call();
        let error = errno();
        returned = Some(result);
        net.use_files(object, uses, &targets, !result.has_failed());
        if result.has_failed() { Err(error) } else { Ok(0) }
    });
    if let Err(error) = answer {
        // The carrier has its own `errno`.
        let _: c_int = fail(error);
    }
    returned.unwrap_or_else(call)
}

/// Opens a file by `call`, with these flags.
pub(super) fn open(
    frame: usize,
    (folder, path, flags): (c_int, *const c_char, c_int),
    mut call: impl FnMut() -> c_int,
) -> c_int {
    const NEW: c_int = libc::O_CREAT | libc::O_EXCL;
    let is_new = flags & NEW == NEW;
    let follows = flags & libc::O_NOFOLLOW == 0 && !is_new;
    // A file without a name is created in the folder at the path, and changes nothing there.
    let is_temporary = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let has = |flag| flags & flag != 0 && !is_temporary;
    let how = How::Opens { creates: has(libc::O_CREAT), truncates: has(libc::O_TRUNC) };
    // SAFETY: the program has passed null, or a string.
    let name = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) });
    let name = name.filter(|_| fifos::are_simulated());
    loop {
        let mut is_fifo = false;
        let uses = || Uses::at((folder, path), follows, how);
        let opened = perform(frame, "open", uses, || {
            is_fifo = name.is_some_and(|name| fifos::is_opened((folder, name), flags));
            if is_fifo { -1 } else { call() }
        });
        match name.filter(|_| is_fifo) {
            None => return record(frame, opened),
            Some(name) => {
                if let Some(opened) = fifos::open(frame, (folder, name), flags) {
                    return opened;
                }
            }
        }
    }
}

/// Returns the error number of the last call.
pub(super) fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Returns `true` if a call on files is an operation of the run.
pub(super) fn is_seen(frame: usize) -> bool {
    current()
        .is_some_and(|thread| !thread.run().has_one_thread() && !is_of_backtrace(thread, frame))
}

/// Returns `true` if std makes a call on files in order to create or show a backtrace. std then holds a lock that it
/// shares with threads outside of the run, so the call must not be a point.
pub(super) fn is_of_backtrace(thread: &Thread, frame: usize) -> bool {
    /// The answers, by hash of the callers.
    static KNOWN: Mutex<BTreeMap<u64, bool>> = Mutex::new(BTreeMap::new());
    let hash = thread.hash_of_calls((0, frame));
    let known =
        outside(|| KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&hash).copied());
    if let Some(known) = known {
        return known;
    }
    let mut callers = [0; INNERMOST];
    callers.iter_mut().zip(thread.frames_from(frame)).for_each(|(to, from)| *to = from);
    // The stack of the thread may be too small for this.
    on_carrier(|| {
        let is_one = callers.iter().any(|caller| places::frames(*caller).iter().any(is_part));
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, is_one);
        is_one
    })
}

/// Returns `true` for a function of std that creates or shows backtraces. One of their files also contains the
/// functions that mark the beginning of a thread.
fn is_part(frame: &Frame) -> bool {
    let is_of = |file| frame.file.ends_with(file);
    let is_mark = frame.function.contains("_short_backtrace");
    let shows = is_of("/std/src/backtrace.rs") || is_of("/std/src/sys/backtrace.rs") && !is_mark;
    frame.is_of_std() && (shows || frame.file.contains("/backtrace/src/"))
}

/// Returns the uses of a call on a descriptor, if it is of a file or a folder on a disk.
pub(super) fn on_disk(descriptor: c_int, access: Access) -> Option<Uses> {
    let how = match access {
        Access::Reads => How::Reads,
        Access::Changes => How::Changes,
    };
    (is_on_disk(descriptor) || is_closed(descriptor)).then(|| Uses::open(descriptor, how))
}

/// Returns `true` if the run has closed the descriptor.
fn is_closed(descriptor: c_int) -> bool {
    current().is_some_and(|thread| at_once(thread, |net| net.disk.handles.is_closed(descriptor)))
}

/// Returns the uses of a call that copies between two descriptors.
pub(super) fn among(descriptors: [c_int; 2]) -> Option<Uses> {
    let [from, to] = descriptors.map(|descriptor| on_disk(descriptor, Access::Changes));
    match (from, to) {
        (Some(from), Some(to)) => Some(from.and(to)),
        (one, other) => one.or(other),
    }
}

/// Returns the uses of a call that moves the position of a descriptor, and does not change the file.
pub(super) fn moves(descriptor: c_int) -> Option<Uses> {
    let is_own = current().is_some_and(|thread| {
        at_once(thread, |net| net.disk.owners.get(&descriptor) == Some(&net.path))
    });
    on_disk(descriptor, if is_own { Access::Reads } else { Access::Changes })
}

/// Returns `true` for a descriptor of a file or a folder on a disk. Records descriptors of the kernel's pipes and
/// sockets, whose operations a run does not see.
pub(super) fn is_on_disk(descriptor: c_int) -> bool {
    let Some(status) = paths::status(descriptor).filter(|_| descriptor > libc::STDERR_FILENO)
    else {
        return false;
    };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => true,
        libc::S_IFIFO | libc::S_IFSOCK => {
            note_entered("a call on a pipe or a socket of the system");
            false
        }
        _ => false,
    }
}

/// Records that the current thread has opened a descriptor, unless the call has failed. Returns the descriptor. `frame`
/// is the frame pointer of the libc function.
pub(super) fn record(frame: usize, descriptor: c_int) -> c_int {
    if let Some(thread) = current().filter(|_| descriptor >= 0) {
        let opened_at = thread.frames_from(frame).next().unwrap_or(0);
        at_once(thread, |net| {
            net.disk.known.remove(&descriptor);
            net.disk.owners.insert(descriptor, net.path);
            net.open_handle(descriptor, opened_at);
        });
    }
    descriptor
}

/// Records that a descriptor is a duplicate of another one, unless the call has failed. Returns the duplicate. It has
/// no owner, because the position belongs to both descriptors.
pub(super) fn duplicated(frame: usize, descriptor: c_int, duplicate: c_int) -> c_int {
    if let Some(thread) = current().filter(|_| duplicate >= 0) {
        let opened_at = thread.frames_from(frame).next().unwrap_or(0);
        at_once(thread, |net| {
            net.disk.forget(duplicate);
            net.disk.locks.duplicate(descriptor, duplicate);
            net.open_handle(duplicate, opened_at);
        });
    }
    duplicate
}
