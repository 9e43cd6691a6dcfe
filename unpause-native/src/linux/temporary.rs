//! The folder for temporary files. A run that reads its name, the variable `TMPDIR`, gets its own empty folder.
//!
//! Each process has one such folder, which is empty between runs, so that its path is the same in all runs. The paths
//! of two processes differ only if both exist at the same time. A run that does not read the variable pays nothing.
//! Only the function `getenv` returns the folder. The environment keeps its value, which OS threads and other processes
//! read.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::environment::is_of_run;
use super::real::real;
use super::thread::outside;

pub(crate) const VARIABLE: &CStr = c"TMPDIR";

/// The maximum number of processes that have a folder at the same time.
const PROCESSES: u32 = 256;

/// True if the run has changed the variable.
static IS_CHANGED: AtomicBool = AtomicBool::new(false);
/// True if the run uses the folder.
static IS_USED: AtomicBool = AtomicBool::new(false);
/// True if this process is a copy of a process that has a folder.
static IS_COPY: AtomicBool = AtomicBool::new(false);

type Get = unsafe extern "C" fn(*const c_char) -> *mut c_char;

/// Returns the folder of this process, and its name as a C string. `None` if no folder can be created; the variable
/// then keeps its value.
fn folder() -> Option<&'static (PathBuf, CString)> {
    static FOLDERS: [OnceLock<Option<(PathBuf, CString)>>; 2] = [OnceLock::new(), OnceLock::new()];
    FOLDERS[usize::from(IS_COPY.load(Ordering::Relaxed))].get_or_init(find).as_ref()
}

/// Marks this process as a copy that executes runs at the same time as the original process, so that it gets its own
/// folder.
pub(crate) fn begin_copy() {
    IS_COPY.store(true, Ordering::Relaxed);
}

/// Creates the first folder that no other process uses, and locks it until this process ends.
fn find() -> Option<(PathBuf, CString)> {
    // SAFETY: the libc function gets a string, and the system calls have no arguments.
    let (parent, user) =
        unsafe { (real!(c"getenv", Get)(VARIABLE.as_ptr()), libc::syscall(libc::SYS_geteuid)) };
    let parent = if parent.is_null() {
        Path::new("/tmp")
    } else {
        // SAFETY: the string belongs to libc, and is read before the variable changes.
        let name = unsafe { CStr::from_ptr(parent) };
        Path::new(OsStr::from_bytes(name.to_bytes()))
    };
    (0..PROCESSES).find_map(|number| {
        let path = parent.join(format!("unpause-{user}-{number}"));
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        locks(&name, user as libc::uid_t).then_some((path, name))
    })
}

/// Creates the folder, if it does not exist, and locks it. Returns `false` if it belongs to another user, is a link, or
/// is locked.
fn locks(name: &CStr, user: libc::uid_t) -> bool {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the system calls take a string, numbers and a buffer. The libc functions are not used, because they may
    // be replaced.
    unsafe {
        libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, name.as_ptr(), 0o700);
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, name.as_ptr(), flags) as c_int;
        if file < 0 {
            return false;
        }
        let mut status = std::mem::zeroed::<libc::stat>();
        let is_own = libc::syscall(libc::SYS_fstat, file, &raw mut status) == 0
            && status.st_uid == user
            && libc::syscall(libc::SYS_flock, file, libc::LOCK_EX | libc::LOCK_NB) == 0;
        if !is_own {
            libc::syscall(libc::SYS_close, file);
        }
        is_own
    }
}

/// Removes all files in the folder.
fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        // A file that cannot be removed stays, as in the real folder.
        _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        };
    }
}

/// Returns the name of the folder of the current run, which is empty at its first use. Returns null if the variable
/// must be read instead.
fn of_run() -> *const c_char {
    if IS_CHANGED.load(Ordering::Relaxed) {
        return null();
    }
    outside(|| {
        let Some((folder, name)) = folder() else { return null() };
        if !IS_USED.swap(true, Ordering::Relaxed) {
            // The files belong to a process that was created for a run and has died.
            empty(folder);
        }
        name.as_ptr()
    })
}

/// Records that the run changes the variable itself.
pub(crate) fn is_changed() {
    IS_CHANGED.store(true, Ordering::Relaxed);
}

/// Empties the folder at the end of the run.
pub(crate) fn end() {
    IS_CHANGED.store(false, Ordering::Relaxed);
    if IS_USED.swap(false, Ordering::Relaxed)
        && let Some((folder, _)) = folder()
    {
        empty(folder);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller guarantees the string.
    if is_of_run() && unsafe { CStr::from_ptr(name) } == VARIABLE {
        let folder = of_run();
        if !folder.is_null() {
            return folder.cast_mut();
        }
    }
    // SAFETY: the caller guarantees the argument.
    unsafe { real!(c"getenv", Get)(name) }
}
