//! Other processes. They are real, and so are their pipes. An environment variable marks a process that a run has
//! started. If it is a test program of this library, it then ends like a real program, for example by a signal.
//!
//! A descriptor of a run exists in this process only. So the pipes that std's `Command` creates for a child are kernel
//! pipes. The std function records its entry, and all pipes are real until it has started the child. A call that reads
//! such a pipe, or waits for the child, waits for the kernel. During this wait, no other thread of the run executes,
//! and the virtual time does not advance.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

use super::compiled::note_entered;
use super::real::real;
use super::thread::{Thread, any, current, outside};

/// The std functions that start a process.
const STARTS: [&str; 3] = ["spawn", "output", "status"];

/// Records that a thread has entered a std function with this path. `frame` identifies the call, if its return is
/// recorded.
pub(crate) fn entered(thread: &mut Thread, path: &str, frame: usize) {
    let starts = path
        .strip_prefix("<std::process::Command>::")
        .is_some_and(|method| STARTS.contains(&method));
    if starts {
        thread.std_calls.starts_child = frame;
    }
}

impl Thread {
    /// Returns `true` if a function that starts a process calls a libc function with this frame.
    pub(crate) fn starts_child(&self, frame: usize) -> bool {
        // The stack grows towards lower addresses.
        frame < self.std_calls.starts_child
    }
}

/// Reports why a run cannot wait for a kernel descriptor together with its own files. Says nothing about disk files,
/// which cannot be waited for outside of runs, either.
pub(crate) fn tell(descriptor: c_int) {
    // SAFETY: the type allows all bytes to be zero.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the call reads the state of a descriptor, and there is room for the result.
    let known = outside(|| unsafe { libc::fstat(descriptor, &mut found) }) == 0;
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

/// Returns an environment that contains the variable, if a run starts the process. The result is a list of texts,
/// followed by null.
///
/// # Safety
/// `environment` must be null, or a null-terminated list of C strings.
unsafe fn marked(environment: *const *mut c_char) -> Option<Vec<*mut c_char>> {
    current().filter(|_| !environment.is_null())?;
    outside(|| {
        let mut texts = Vec::new();
        // SAFETY: the caller guarantees that the list ends with null.
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
            // SAFETY: the caller guarantees the arguments.
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

/// Records that the pipes of the child are created, and that the run has another process.
fn started() {
    if let Some(thread) = current() {
        thread.std_calls.starts_child = 0;
        thread.run().net.has_processes = true;
    }
}

/// The child of a run has a copy of the carrier and of one simulated thread. The child does not belong to the run: the
/// thread calls real functions until it executes another program or ends.
#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> libc::pid_t {
    started();
    // SAFETY: the function has no arguments.
    leaves(unsafe { real!(c"fork", unsafe extern "C" fn() -> libc::pid_t)() })
}

/// `fork` without the handlers of `pthread_atfork`.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> libc::pid_t {
    started();
    // SAFETY: the function has no arguments.
    leaves(unsafe { real!(c"_Fork", unsafe extern "C" fn() -> libc::pid_t)() })
}

/// Takes a new process out of the run. Returns the result of the call.
fn leaves(process: libc::pid_t) -> libc::pid_t {
    if process == 0
        && let Some(thread) = any()
    {
        thread.leave_for_ever();
    }
    process
}

/// A child in the same memory would be a part of the run. POSIX lets `vfork` be `fork`. This is so outside of runs,
/// too, because this function must not return in the child of a real `vfork`.
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> libc::pid_t {
    // SAFETY: the function has no arguments.
    unsafe { fork() }
}
