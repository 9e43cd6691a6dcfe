//! libc functions that threads can use to exchange data without operations of the run. A run only records that they are
//! called. Examples are files of libc (with buffers and locks of their own), memory that is mapped from files, mounts
//! (after which a file has two paths), and the shared memory and the messages of System V.

use std::ffi::{c_int, c_void};

use super::super::compiled::note_entered;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{current, outside};
use super::disk::is_of_backtrace;

/// Defines functions with up to six arguments, none of them a floating-point number, that a run only records.
macro_rules! noted {
    ($($name:ident $symbol:literal $text:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            if current().is_some() {
                note_entered($text);
            }
            type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
            // SAFETY: the caller guarantees the arguments. The function ignores the registers of arguments that it does
            // not have.
            unsafe { real!($symbol, Function)(a, b, c, d, e, f) }
        }
    )*};
}

noted! {
    fopen c"fopen" "fopen";
    fopen64 c"fopen64" "fopen";
    freopen c"freopen" "freopen";
    freopen64 c"freopen64" "freopen";
    fdopen c"fdopen" "fdopen";
    tmpfile c"tmpfile" "tmpfile";
    tmpfile64 c"tmpfile64" "tmpfile";
    scandir c"scandir" "scandir";
    scandir64 c"scandir64" "scandir";
    glob c"glob" "glob";
    glob64 c"glob64" "glob";
    nftw c"nftw" "nftw";
    nftw64 c"nftw64" "nftw";
    ftw c"ftw" "ftw";
    ftw64 c"ftw64" "ftw";
    fts_open c"fts_open" "fts_open";
    shm_open c"shm_open" "shm_open";
    shm_unlink c"shm_unlink" "shm_unlink";
    shmat c"shmat" "shmat";
    semop c"semop" "semop";
    semtimedop c"semtimedop" "semtimedop";
    msgsnd c"msgsnd" "msgsnd";
    msgrcv c"msgrcv" "msgrcv";
    mq_open c"mq_open" "mq_open";
    mount c"mount" "mount";
    umount c"umount" "umount";
    umount2 c"umount2" "umount";
    unshare c"unshare" "unshare";
    setns c"setns" "setns";
    signalfd c"signalfd" "signalfd";
    inotify_init c"inotify_init" "inotify_init";
    inotify_init1 c"inotify_init1" "inotify_init";
    fanotify_init c"fanotify_init" "fanotify_init";
}

/// Maps memory. Reads and changes of a file through its memory are not operations. A private copy also shows changes of
/// the file, until the thread first accesses the memory. `frame` is the frame pointer of the libc function.
///
/// # Safety
/// The requirements are the same as for `mmap`.
unsafe fn map(
    frame: usize,
    (address, size): (*mut c_void, usize),
    (protection, flags): (c_int, c_int),
    (file, from): (c_int, i64),
) -> *mut c_void {
    if flags & libc::MAP_ANONYMOUS == 0
        && let Some(thread) = current()
        && !is_of_backtrace(thread, frame)
    {
        note_entered("mmap, of a file");
    }
    // The kernel reads whole registers.
    let [protection, flags, file] = [protection, flags, file].map(i64::from);
    // SAFETY: the caller guarantees the arguments.
    let mapped = outside(|| unsafe {
        libc::syscall(libc::SYS_mmap, address, size, protection, flags, file, from)
    });
    mapped as *mut c_void
}

macro_rules! mappings {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            address: *mut c_void,
            size: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            from: i64,
        ) -> *mut c_void {
            // SAFETY: the caller guarantees the arguments.
            unsafe { map(frame_pointer(), (address, size), (protection, flags), (file, from)) }
        }
    )*};
}
mappings!(mmap mmap64);

/// Changes the protection of memory. A thread can wait for a change by its faults, and a change is a fence for all
/// threads. A single page without access is a guard page, as std creates it at the end of each signal stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, size: usize, protection: c_int) -> c_int {
    // SAFETY: the only argument of the call is a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let is_guard = protection == libc::PROT_NONE && size <= page;
    if current().is_some() && !is_guard {
        note_entered("mprotect");
    }
    // SAFETY: the caller guarantees the arguments.
    outside(|| unsafe { libc::syscall(libc::SYS_mprotect, address, size, protection) }) as c_int
}
