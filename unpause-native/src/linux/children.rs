//! Other processes: they are real, and so are their pipes. A variable tells a test program of this
//! library that a run has started it. It then ends as the real program does, by a signal for example.
//!
//! A descriptor of a run exists in this process only. So the pipes that `Command` of std makes for
//! a child are pipes of the kernel: std's function notes its entry, and the pipes are real until it
//! has started the child. A call that reads such a pipe, or waits for the child, waits for the
//! kernel: meanwhile no other thread of the run runs, and virtual time does not advance.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use super::compiled::note_entered;
use super::real::real;
use super::thread::{Thread, any, current, outside};

/// The functions of std that start a process.
const STARTS: [&str; 3] = ["spawn", "output", "status"];

/// A thread has entered a function of std with this path, in a frame near `frame`.
pub(crate) fn entered(thread: &mut Thread, path: &str, frame: usize) {
    let starts = path
        .strip_prefix("<std::process::Command>::")
        .is_some_and(|method| STARTS.contains(&method));
    if starts {
        thread.starts_child = frame;
    }
}

impl Thread {
    /// Returns `true` if a function of libc with this frame is called by a function that starts a
    /// process.
    pub(crate) fn starts_child(&self, frame: usize) -> bool {
        // The stack grows down.
        frame < self.starts_child
    }
}

/// Tells why a run cannot wait for a descriptor of the kernel's together with its own files. Files on a disk cannot be
/// waited for elsewhere, either.
pub(crate) fn tell(descriptor: c_int) {
    // SAFETY: all bytes zero are a value of the type.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a question about a descriptor, with room for the answer.
    let known = unsafe { libc::fstat(descriptor, &mut found) } == 0;
    if !known || matches!(found.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR) {
        return;
    }
    note_entered("epoll_ctl, with a pipe or a process of the system");
    static ONCE: std::sync::Once = std::sync::Once::new();
    outside(|| {
        ONCE.call_once(|| {
            eprintln!(
                "unpause: a run cannot wait by epoll for another process or its pipes, as `tokio::process` does. Use \
                 `std::process::Command`, in `spawn_blocking`, or leave the test to `cargo test`."
            );
        });
    });
}

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    *const *mut c_char,
    *const *mut c_char,
) -> c_int;

/// The variable in the environment of a process that a run starts.
const STARTED: &CStr = c"UNPAUSE_STARTED_BY_RUN=1";

/// An environment with the variable, if a run starts the process: texts, with a null behind the last.
///
/// # Safety
/// `environment` is null, or the same with texts of C.
unsafe fn marked(environment: *const *mut c_char) -> Option<Vec<*mut c_char>> {
    current().filter(|_| !environment.is_null())?;
    outside(|| {
        let mut texts = Vec::new();
        // SAFETY: the caller's: the null is the last one.
        unsafe {
            let mut next = environment;
            while !(*next).is_null() {
                texts.push(*next);
                next = next.add(1);
            }
        }
        texts.extend([STARTED.as_ptr().cast_mut(), null_mut()]);
        Some(texts)
    })
}

macro_rules! spawns {
    ($($name:ident $text:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            process: *mut libc::pid_t,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: *const *mut c_char,
            environment: *const *mut c_char,
        ) -> c_int {
            started();
            // SAFETY: the caller's arguments.
            unsafe {
                let marked = marked(environment);
                let environment = marked.as_ref().map_or(environment, |texts| texts.as_ptr());
                let result =
                    real!($text, Spawn)(process, path, actions, attributes, arguments, environment);
                outside(|| drop(marked));
                result
            }
        }
    )*};
}

spawns! {
    posix_spawn c"posix_spawn"
    posix_spawnp c"posix_spawnp"
}

/// The pipes of the child are made.
fn started() {
    if let Some(thread) = current() {
        thread.starts_child = 0;
    }
}

/// The child of a run has a copy of the carrier and of one simulated thread. It is no part of the run: what the thread
/// calls until it executes another program, or ends, is real.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
    started();
    // SAFETY: it has no arguments.
    let process = unsafe { real!(c"fork", unsafe extern "C" fn() -> libc::pid_t)() };
    if process == 0
        && let Some(thread) = any()
    {
        thread.leave_for_ever();
    }
    process
}
