//! libc functions that return the attributes of an open file, or of a file at a path relative to an open folder, and
//! functions that set its position. Attributes are read by number, because old versions of libc do not have the
//! functions.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::clock::fail;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::outside;
use super::calls::{at_once, caller};
use super::disk::{self, moves, on_disk};
use super::objects::{Access, How};
use super::stream::Wire;
use super::uses::at;
use super::{Kind, Net};

impl Net {
    /// Returns the attributes of a file of the run.
    fn status(&mut self, descriptor: c_int) -> Result<libc::stat, c_int> {
        let file = self.find(descriptor)?;
        let mode = match &self.file(file).kind {
            Kind::Fifo(fifo) => {
                let fifo = *fifo;
                return self.pipes.status(&fifo).ok_or(libc::EBADF);
            }
            Kind::Stream(stream) if matches!(stream.wire, Wire::Source | Wire::Sink) => {
                libc::S_IFIFO | 0o600
            }
            Kind::Event { .. } | Kind::Epoll(_) => 0o600,
            _ => libc::S_IFSOCK | 0o777,
        };
        // SAFETY: the type allows all bytes to be zero. The system calls have no arguments.
        let (mut status, user, group) = unsafe {
            let [user, group] =
                [libc::SYS_geteuid, libc::SYS_getegid].map(|number| libc::syscall(number));
            (std::mem::zeroed::<libc::stat>(), user, group)
        };
        (status.st_mode, status.st_nlink, status.st_blksize) = (mode, 1, 4096);
        (status.st_uid, status.st_gid) = (user as libc::uid_t, group as libc::gid_t);
        status.st_ino = file as libc::ino_t + 1;
        Ok(status)
    }
}

/// Writes the attributes of a file of the run. Returns the result of the call, or `None` if the descriptor does not
/// belong to a run.
///
/// # Safety
/// There must be room for the attributes.
unsafe fn of_run(descriptor: c_int, to: *mut c_void) -> Option<c_int> {
    let thread = caller(descriptor)?;
    Some(match at_once(thread, |net| net.status(descriptor)) {
        Ok(status) => {
            // SAFETY: the caller guarantees the memory.
            unsafe { to.cast::<libc::stat>().write(status) };
            0
        }
        Err(error) => fail(error),
    })
}

macro_rules! of_descriptors {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(file: c_int, status: *mut c_void) -> c_int {
            // SAFETY: the caller guarantees the memory.
            if let Some(result) = unsafe { of_run(file, status) } {
                return result;
            }
            // SAFETY: the caller guarantees the arguments.
            let call = || outside(|| unsafe { libc::syscall(libc::SYS_fstat, file, status) }) as c_int;
            disk::perform(frame_pointer(), "stat", || on_disk(file, Access::Reads), call)
        }
    )*};
}
of_descriptors!(fstat fstat64);

/// Returns `true` if a call with this path is about the descriptor itself.
///
/// # Safety
/// The path must be null or a string.
unsafe fn is_empty(path: *const c_char) -> bool {
    // SAFETY: the caller guarantees the path.
    unsafe { path.as_ref() }.is_some_and(|first| *first == 0)
}

/// Like [`of_run`], if the path is empty.
///
/// # Safety
/// The path must be null or a string, and there must be room for the attributes.
unsafe fn of_empty_path(
    (descriptor, path): (c_int, *const c_char),
    to: *mut c_void,
) -> Option<c_int> {
    // SAFETY: the caller guarantees the path and the memory.
    unsafe { if is_empty(path) { of_run(descriptor, to) } else { None } }
}

/// Calls the kernel.
///
/// # Safety
/// The path must be null or a string, and there must be room for the attributes.
unsafe fn real_at(folder: c_int, path: *const c_char, status: *mut c_void, flags: c_int) -> c_int {
    let number = libc::SYS_newfstatat;
    // SAFETY: the caller guarantees the arguments.
    outside(|| unsafe { libc::syscall(number, folder, path, status, flags) as c_int })
}

macro_rules! relative {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            folder: c_int,
            path: *const c_char,
            status: *mut c_void,
            flags: c_int,
        ) -> c_int {
            // SAFETY: the caller guarantees the path and the memory.
            if let Some(result) = unsafe { of_empty_path((folder, path), status) } {
                return result;
            }
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real_at(folder, path, status, flags) };
            let uses = || at((folder, path), flags, How::Reads);
            disk::perform(frame_pointer(), "stat", uses, call)
        }
    )*};
}
relative!(fstatat fstatat64);

#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    status: *mut c_void,
) -> c_int {
    // SAFETY: the caller guarantees the path.
    let is_empty = unsafe { is_empty(path) };
    if let Some(thread) = caller(folder).filter(|_| is_empty) {
        return match at_once(thread, |net| net.status(folder)) {
            Ok(found) => {
                // SAFETY: the caller provides room for the attributes.
                unsafe { status.cast::<libc::statx>().write(extended(&found)) };
                0
            }
            Err(error) => fail(error),
        };
    }
    let number = libc::SYS_statx;
    // SAFETY: the caller guarantees the arguments.
    let call =
        || outside(|| unsafe { libc::syscall(number, folder, path, flags, mask, status) }) as c_int;
    disk::perform(frame_pointer(), "stat", || at((folder, path), flags, How::Reads), call)
}

/// Converts attributes to the structure of `statx`.
fn extended(status: &libc::stat) -> libc::statx {
    // SAFETY: the type allows all bytes to be zero.
    let mut all: libc::statx = unsafe { std::mem::zeroed() };
    all.stx_mask = libc::STATX_BASIC_STATS;
    all.stx_mode = status.st_mode as u16;
    (all.stx_nlink, all.stx_blksize) = (status.st_nlink as u32, status.st_blksize as u32);
    (all.stx_uid, all.stx_gid) = (status.st_uid, status.st_gid);
    all.stx_ino = status.st_ino;
    all
}

macro_rules! positions {
    ($($name:ident $symbol:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(file: c_int, to: i64, from: c_int) -> i64 {
            if let Some(thread) = caller(file) {
                // No file of a run has a position.
                let is_stream = at_once(thread, |net| {
                    let file = net.find(file)?;
                    Ok::<_, c_int>(!matches!(net.file(file).kind, Kind::Event { .. } | Kind::Epoll(_)))
                });
                return match is_stream {
                    Ok(false) => 0,
                    Ok(true) => fail(libc::ESPIPE),
                    Err(error) => fail(error),
                };
            }
            type Seek = unsafe extern "C" fn(c_int, i64, c_int) -> i64;
            // SAFETY: the arguments are numbers.
            let call = || unsafe { real!($symbol, Seek)(file, to, from) };
            disk::perform(frame_pointer(), "seek", || moves(file), call)
        }
    )*};
}
positions!(lseek c"lseek" lseek64 c"lseek64");
