//! The environment and the working directory. A run may change them, and they are restored after the run.
//!
//! OS threads see the changes during the run.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int};

use super::compiled::note_entered;
use super::net::disk;
use super::polled;
use super::real::real;
use super::switch::frame_pointer;
use super::temporary;
use super::thread::{current, outside};

/// The variables and the directory before a run first changed them. A field is `None` while the run has not changed it.
struct Before {
    /// The variables with their values, in the format of `environ`.
    variables: Option<Vec<CString>>,
    /// An open descriptor of the working directory.
    directory: Option<c_int>,
}

struct Shared(UnsafeCell<Before>);

// SAFETY: the threads of a run use this value, one at a time, on the carrier's OS thread. The carrier, or the thread
// that polls a run, uses it as well.
unsafe impl Sync for Shared {}

static BEFORE: Shared = Shared(UnsafeCell::new(Before { variables: None, directory: None }));

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

type Set = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
type Unset = unsafe extern "C" fn(*const c_char) -> c_int;

/// Returns the entries of the environment.
fn entries() -> Vec<*mut c_char> {
    let mut entries = Vec::new();
    // SAFETY: this is libc's array, which ends with a null pointer. The array pointer is null if the environment is
    // empty.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            entries.push(*at);
            at = at.add(1);
        }
    }
    entries
}

/// Returns copies of entries.
fn texts(entries: &[*mut c_char]) -> Vec<CString> {
    // SAFETY: the entries are null-terminated strings of libc.
    entries.iter().map(|entry| unsafe { CStr::from_ptr(*entry) }.to_owned()).collect()
}

/// Returns the name of a variable.
fn name(entry: &CStr) -> CString {
    let bytes = entry.to_bytes();
    let end = bytes.iter().skip(1).position(|byte| *byte == b'=').map_or(bytes.len(), |at| at + 1);
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// Returns the value of a variable.
fn value(entry: &CStr) -> &CStr {
    let bytes = entry.to_bytes_with_nul();
    let from = name(entry).as_bytes().len() + 1;
    CStr::from_bytes_with_nul(bytes.get(from..).unwrap_or(b"\0")).unwrap_or_default()
}

/// Changes the environment with a libc function, whose allocations outlive the run. Searches do not see this change.
fn changing(change: impl FnOnce() -> c_int) -> c_int {
    if current().is_some() {
        note_entered("a change of the environment");
    }
    outside_of_run(|before| _ = before.variables.get_or_insert_with(|| texts(&entries())), change)
}

/// Changes the working directory.
fn moving(change: impl FnOnce() -> c_int) -> c_int {
    outside_of_run(|before| _ = before.directory.get_or_insert_with(open), change)
}

/// Returns `true` in a run.
pub(crate) fn is_of_run() -> bool {
    current().is_some() || polled::is_on()
}

/// Records that the run changes a variable itself.
fn changes(name: &CStr) {
    if name == temporary::VARIABLE && is_of_run() {
        temporary::is_changed();
    }
}

/// Performs a change. If the change belongs to a run, first saves the previous state.
fn outside_of_run(note: impl FnOnce(&mut Before), change: impl FnOnce() -> c_int) -> c_int {
    let is_of_run = is_of_run();
    outside(|| {
        if is_of_run {
            // SAFETY: see `Shared`.
            note(unsafe { &mut *BEFORE.0.get() });
        }
        change()
    })
}

/// Opens the working directory. Returns a negative number on failure.
fn open() -> c_int {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a system call with a string. The libc function is not used, because it may be replaced.
    unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c".".as_ptr(), flags) as c_int }
}

/// Restores the environment and the working directory at the end of a run.
pub(crate) fn end() {
    temporary::end();
    // SAFETY: see `Shared`.
    let before = unsafe { &mut *BEFORE.0.get() };
    if let Some(variables) = before.variables.take() {
        put_back(&variables);
    }
    if let Some(directory) = before.directory.take().filter(|directory| *directory >= 0) {
        // SAFETY: the system calls take numbers, and the descriptor was opened here.
        unsafe {
            libc::syscall(libc::SYS_fchdir, directory);
            libc::syscall(libc::SYS_close, directory);
        }
    }
}

/// Restores these variables, in this order.
fn put_back(variables: &[CString]) {
    let now = texts(&entries());
    if now == variables {
        return;
    }
    // SAFETY: the libc functions only read or copy the strings.
    unsafe {
        for left in now.iter().filter(|entry| !variables.contains(entry)) {
            real!(c"unsetenv", Unset)(name(left).as_ptr());
        }
        for gone in variables.iter().filter(|entry| !now.contains(entry)) {
            real!(c"setenv", Set)(name(gone).as_ptr(), value(gone).as_ptr(), 1);
        }
    }
    // libc appends new variables, so the order is restored here.
    let mut left = entries();
    let mut ordered = Vec::new();
    for variable in variables {
        // SAFETY: the entry is a string of libc.
        let is_it = |entry: &*mut c_char| unsafe { CStr::from_ptr(*entry) } == &**variable;
        ordered.extend(left.iter().position(is_it).map(|at| left.remove(at)));
    }
    ordered.append(&mut left);
    for (at, entry) in ordered.into_iter().enumerate() {
        // SAFETY: the array of libc has this number of entries.
        unsafe { *environ.add(at) = entry };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setenv(name: *const c_char, value: *const c_char, replaces: c_int) -> c_int {
    // SAFETY: the caller guarantees the string.
    changes(unsafe { CStr::from_ptr(name) });
    // SAFETY: the caller guarantees the arguments.
    changing(|| unsafe { real!(c"setenv", Set)(name, value, replaces) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the caller guarantees the string.
    changes(unsafe { CStr::from_ptr(name) });
    // SAFETY: the caller guarantees the argument.
    changing(|| unsafe { real!(c"unsetenv", Unset)(name) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn putenv(entry: *mut c_char) -> c_int {
    type Put = unsafe extern "C" fn(*mut c_char) -> c_int;
    // SAFETY: the caller guarantees the string.
    changes(&self::name(unsafe { CStr::from_ptr(entry) }));
    // SAFETY: the caller guarantees the argument.
    changing(|| unsafe { real!(c"putenv", Put)(entry) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clearenv() -> c_int {
    // SAFETY: the function has no arguments.
    changing(|| unsafe { real!(c"clearenv", unsafe extern "C" fn() -> c_int)() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    disk::announce_change_if_seen(frame_pointer(), "chdir");
    // SAFETY: the caller guarantees the argument.
    moving(|| unsafe { real!(c"chdir", Unset)(path) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fchdir(directory: c_int) -> c_int {
    disk::announce_change_if_seen(frame_pointer(), "chdir");
    // SAFETY: the argument is a number.
    moving(|| unsafe { real!(c"fchdir", unsafe extern "C" fn(c_int) -> c_int)(directory) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_a_name_and_a_value() {
        let parts = |entry: &CStr| (name(entry), value(entry).to_owned());
        assert_eq!(parts(c"A=b=c"), (c"A".to_owned(), c"b=c".to_owned()));
        assert_eq!(parts(c"A="), (c"A".to_owned(), c"".to_owned()));
        assert_eq!(parts(c"=A=b"), (c"=A".to_owned(), c"b".to_owned()));
    }
}
