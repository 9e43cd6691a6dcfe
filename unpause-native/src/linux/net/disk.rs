//! The real file system, as two objects of a run: all files together, and all locks of open files.
//!
//! The calls on files are real calls. Each call is a point of the run as soon as the run has a second thread: the calls
//! of the only thread precede the start of every other thread. All files are one object, because paths overlap: a file
//! has several names, a folder is renamed with its content, and the working directory is part of each relative path.
//! Calls that only read commute, and a call that fails has only read.
//!
//! A read at the position of a descriptor moves this position. Threads with descriptors of their own do not see the
//! moves of each other. So such a call is a change only if the thread has not opened the descriptor itself.
//!
//! A lock of an open file (`flock`) depends on no path and no content, so the locks are an object of their own. A
//! thread waits for a lock in the run if a descriptor of the run may hold it. Otherwise another process holds it, and
//! the whole run waits in the kernel. The end of a run releases the locks that the run has left.
//!
//! # Limits
//!
//! The kernel's own descriptors for the standard streams are not files of this object, whatever they refer to. Changes
//! by other processes, and changes of memory that is mapped from a file, are not operations.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::super::clock::fail;
use super::super::compiled::note_entered;
use super::super::places::{self, Frame};
use super::super::thread::{Thread, current, on_carrier, outside};
use super::calls::{at_once, result};
use super::transfer::operate;
use super::{Answer, KEY, Net};

/// The object of all files, and its kind.
pub(super) const FILES: u64 = KEY;
pub(super) const KIND: &str = "files";

/// The object of all locks of open files, and its kind.
const LOCKS: u64 = KEY | 1;
const KIND_OF_LOCKS: &str = "FileLock";

/// The number of innermost return addresses that decide if a call is made for a backtrace. [`Thread::hash_of_calls`]
/// distinguishes as many.
const INNERMOST: usize = 8;

/// The access of a call to the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Access {
    Reads,
    Changes,
}

/// The number of a device, and of a file on it.
type Number = (libc::dev_t, libc::ino_t);

/// The descriptors of real files in a run.
#[derive(Default)]
pub(super) struct Disk {
    /// The threads that have opened the descriptors, by path.
    owners: BTreeMap<c_int, u64>,
    /// The descriptors that may hold a lock, with the numbers of their files.
    locked: BTreeMap<c_int, Number>,
}

/// The result of a libc function.
pub(in super::super) trait Returned: Copy {
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

/// Performs `call`, with the access that `access` returns. `None` means that the call uses no file. `frame` is the
/// frame pointer of the libc function.
pub(in super::super) fn perform<R: Returned>(
    frame: usize,
    name: &'static str,
    access: impl FnOnce() -> Option<Access>,
    mut call: impl FnMut() -> R,
) -> R {
    if !is_seen(frame) {
        return call();
    }
    match access() {
        None => call(),
        // The result may be an allocation, which must belong to the thread.
        Some(Access::Reads) => {
            announce(frame, name, Access::Reads);
            call()
        }
        Some(Access::Changes) => change(frame, name, call),
    }
}

/// Makes a call a point, whose effect follows in the same step of the thread.
pub(in super::super) fn announce(frame: usize, name: &'static str, access: Access) {
    let Some(thread) = current() else { return };
    let announced = operate(thread, frame, (FILES, KIND, name), (false, None), |net| {
        if access == Access::Changes {
            net.change(FILES);
        }
        Ok(0)
    });
    debug_assert_eq!(announced, Ok(0));
}

/// Like [`announce`], but only if the call is seen.
pub(in super::super) fn announce_if_seen(frame: usize, name: &'static str, access: Access) {
    if is_seen(frame) {
        announce(frame, name, access);
    }
}

/// Performs a call that changes files, in the turn of the thread.
fn change<R: Returned>(frame: usize, name: &'static str, mut call: impl FnMut() -> R) -> R {
    let Some(thread) = current() else { return call() };
    let mut returned = None;
    let answer = operate(thread, frame, (FILES, KIND, name), (false, None), |net| {
        let result = call();
        returned = Some(result);
        if result.has_failed() {
            return Err(errno());
        }
        net.change(FILES);
        Ok(0)
    });
    if let Err(error) = answer {
        // The carrier has its own `errno`.
        let _: c_int = fail(error);
    }
    returned.unwrap_or_else(call)
}

/// Returns the error number of the last call.
fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Returns `true` if a call on files is an operation of the run.
fn is_seen(frame: usize) -> bool {
    current()
        .is_some_and(|thread| !thread.run().has_one_thread() && !is_of_backtrace(thread, frame))
}

/// Returns `true` if std makes a call on files in order to create or show a backtrace. std then holds a lock that it
/// shares with threads outside of the run, so the call must not be a point.
fn is_of_backtrace(thread: &Thread, frame: usize) -> bool {
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

/// Returns the access, if the descriptor is of a file or a folder on a disk.
pub(super) fn on_disk(descriptor: c_int, access: Access) -> Option<Access> {
    is_on_disk(descriptor).then_some(access)
}

/// Returns the access of a call that copies between two descriptors.
pub(super) fn among(descriptors: [c_int; 2]) -> Option<Access> {
    descriptors.into_iter().any(is_on_disk).then_some(Access::Changes)
}

/// Returns the access of a call that moves the position of a descriptor, and does not change the file.
pub(super) fn moves(descriptor: c_int) -> Option<Access> {
    if !is_on_disk(descriptor) {
        return None;
    }
    let is_own = current().is_some_and(|thread| {
        at_once(thread, |net| net.disk.owners.get(&descriptor) == Some(&net.path))
    });
    Some(if is_own { Access::Reads } else { Access::Changes })
}

/// Returns `true` for a descriptor of a file or a folder on a disk. Records descriptors of the kernel's pipes and
/// sockets, whose operations a run does not see.
fn is_on_disk(descriptor: c_int) -> bool {
    let Some(status) = status(descriptor).filter(|_| descriptor > libc::STDERR_FILENO) else {
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

/// Returns the attributes of an open file.
fn status(descriptor: c_int) -> Option<libc::stat> {
    // SAFETY: the type allows all bytes to be zero.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a system call with a number and room for the result. The libc function is not used, because it is
    // replaced.
    let answer = outside(|| unsafe { libc::syscall(libc::SYS_fstat, descriptor, &raw mut found) });
    (answer == 0).then_some(found)
}

/// Returns the number of an open file.
fn number(descriptor: c_int) -> Option<Number> {
    status(descriptor).map(|status| (status.st_dev, status.st_ino))
}

/// Records that the current thread has opened a descriptor, unless the call has failed. Returns the descriptor.
pub(super) fn opened(descriptor: c_int) -> c_int {
    if let Some(thread) = current().filter(|_| descriptor >= 0) {
        at_once(thread, |net| net.disk.owners.insert(descriptor, net.path));
    }
    descriptor
}

/// Records that a descriptor is a duplicate of another one, unless the call has failed. Returns the duplicate. It has
/// no owner, because the position belongs to both descriptors.
pub(super) fn duplicated(descriptor: c_int, duplicate: c_int) -> c_int {
    if let Some(thread) = current().filter(|_| duplicate >= 0) {
        at_once(thread, |net| {
            net.disk.forget(duplicate);
            if let Some(number) = net.disk.locked.get(&descriptor).copied() {
                net.disk.locked.insert(duplicate, number);
            }
        });
    }
    duplicate
}

impl Disk {
    /// Records that a descriptor is closed.
    fn forget(&mut self, descriptor: c_int) {
        self.owners.remove(&descriptor);
        self.locked.remove(&descriptor);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for (descriptor, file) in &self.locked {
            // The program may have closed the descriptor, and opened another file with this number.
            if number(*descriptor) == Some(*file) {
                // SAFETY: the type allows all bytes to be zero. The system calls take numbers and this value.
                unsafe {
                    let mut whole: libc::flock = std::mem::zeroed();
                    whole.l_type = libc::F_UNLCK as _;
                    libc::syscall(libc::SYS_flock, *descriptor, libc::LOCK_UN);
                    libc::syscall(
                        libc::SYS_fcntl,
                        *descriptor,
                        libc::F_OFD_SETLK,
                        &raw const whole,
                    );
                }
            }
        }
    }
}

/// Performs a call that closes a descriptor. It is an operation only if the descriptor may hold a lock.
pub(super) fn close(frame: usize, descriptor: c_int, mut call: impl FnMut() -> c_int) -> c_int {
    let Some(thread) = current() else { return call() };
    let has_lock = at_once(thread, |net| {
        let has_lock = net.disk.locked.contains_key(&descriptor);
        if !has_lock {
            net.disk.forget(descriptor);
        }
        has_lock
    });
    if !has_lock {
        return call();
    }
    result(locking(thread, frame, "close", false, |net| {
        net.disk.forget(descriptor);
        if call() == 0 { Ok(0) } else { Err(errno()) }
    }))
}

/// Performs a call that makes `other` a duplicate of a descriptor, and closes its previous file. Returns the result.
pub(super) fn replaced(
    frame: usize,
    descriptor: c_int,
    other: c_int,
    mut call: impl FnMut() -> c_int,
) -> c_int {
    // Such a call has no effect if the descriptor is valid.
    if descriptor == other {
        return call();
    }
    let closes = close(frame, other, || if call() == -1 { -1 } else { 0 });
    duplicated(descriptor, if closes == 0 { other } else { -1 })
}

/// Performs a call that acquires or releases a lock of a descriptor. `call` waits for the lock if its argument is
/// `true`.
pub(super) fn lock(
    frame: usize,
    (name, descriptor): (&'static str, c_int),
    (waits, releases): (bool, bool),
    mut call: impl FnMut(bool) -> c_int,
) -> c_int {
    let Some(thread) = current() else { return call(waits) };
    result(locking(thread, frame, name, waits, |net| {
        let mut tried = |waits| if call(waits) == 0 { 0 } else { errno() };
        let mut error = tried(false);
        let file = number(descriptor);
        // No thread of the run can release a lock that only other processes hold.
        // An own lock does not prevent another lock of the same descriptor.
        let may_end =
            |(other, held): (&c_int, &Number)| *other != descriptor && Some(*held) == file;
        if waits && error == libc::EAGAIN && !net.disk.locked.iter().any(may_end) {
            error = tried(true);
        }
        match (error, file) {
            (0, Some(file)) if !releases => _ = net.disk.locked.insert(descriptor, file),
            (0, _) => _ = net.disk.locked.remove(&descriptor),
            _ => return Err(error),
        }
        Ok(0)
    }))
}

/// Performs an operation on the locks, which changes them if it succeeds.
fn locking(
    thread: &mut Thread,
    frame: usize,
    name: &'static str,
    waits: bool,
    mut act: impl FnMut(&mut Net) -> Answer,
) -> Answer {
    operate(thread, frame, (LOCKS, KIND_OF_LOCKS, name), (waits, None), |net| {
        let answer = act(net)?;
        net.change(LOCKS);
        Ok(answer)
    })
}
