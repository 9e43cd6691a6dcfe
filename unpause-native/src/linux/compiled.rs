//! The compiled part of std: checks if the program is linked with instrumented replacements of its functions, and
//! records the entries of functions without replacements.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::arch::marker;
use super::execution::Region;
use super::real::real;
use super::std_state::{self, streams};
use super::switch::frame_pointer;
use super::thread::{current, inside, outside};
use super::{children, heap, statics, unseen};

/// The functions without requests that simulated threads have entered since [`take_entered`].
static ENTERED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns `true` if instrumented functions replace the std functions that synchronise threads in this program.
pub fn std_is_replaced() -> bool {
    marker() != 0
}

/// Returns the functions with operations that are not requests, if simulated threads have entered them since the last
/// call. They are std functions with locks of their own, by path, and functions with instructions that synchronise
/// threads or call the system.
pub fn take_entered() -> Vec<&'static str> {
    let mut entered = std::mem::take(&mut *ENTERED.lock().unwrap_or_else(PoisonError::into_inner));
    entered.append(&mut unseen::entered());
    entered.extend(heap::take_beyond());
    if !entered.is_empty() {
        unseen::tell_entered(&entered);
    }
    entered.into_iter().collect()
}

/// Sets the functions that the threads of a run in another process have entered.
pub(crate) fn set_entered(entered: Vec<&'static str>) {
    *ENTERED.lock().unwrap_or_else(PoisonError::into_inner) = entered.into_iter().collect();
}

/// Records that a function with this path is entered. `frame` identifies the call if [`unpause_std_left`] records its
/// return; otherwise it is 0.
///
/// # Safety
/// The path must be null-terminated and never freed. The frame must be 0, or two words of the stack of this thread: the
/// frame pointer of the caller, and the return address.
#[unsafe(no_mangle)]
unsafe extern "C" fn unpause_std_entered(path: *const c_char, frame: usize) {
    let Some(thread) = current() else { return };
    outside(|| {
        // SAFETY: the caller guarantees that the path is valid.
        let path: &'static CStr = unsafe { CStr::from_ptr(path) };
        let path = path.to_str().unwrap_or("a function of std");
        streams::entered(path);
        children::entered(thread, path, frame);
        let is_print = thread.std_calls.is_print(path, frame, frame_pointer());
        if is_print || !is_outside(path) && thread.is_alone() {
            return;
        }
        ENTERED.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
    });
}

/// Returns `true` for a function whose effects are not only state of std: a process, and streams, whose locks a thread
/// may keep. Other functions do not matter while the thread is alone.
fn is_outside(path: &str) -> bool {
    ["std::process::", "std::io::stdio::"].iter().any(|part| path.contains(part))
}

/// Records that the call with this frame returns.
#[unsafe(no_mangle)]
extern "C" fn unpause_std_left(frame: usize) {
    if let Some(thread) = current() {
        thread.std_calls.leave(frame);
    }
}

/// Records that a simulated thread has called a libc function with effects that searches do not see.
pub(crate) fn note_entered(function: &'static str) {
    outside(|| ENTERED.lock().unwrap_or_else(PoisonError::into_inner).insert(function));
}

type Load = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// Calls `load`, which is libc's `dlopen`. A library that a run loads stays loaded, so its memory does not belong to
/// the run. The code of the library is not searched for instructions that synchronise threads.
///
/// # Safety
/// The requirements are the same as for `dlopen`.
#[unsafe(no_mangle)]
unsafe extern "C" fn unpause_std_load(
    load: Load,
    path: *const c_char,
    flags: c_int,
) -> *mut c_void {
    if current().is_some() {
        note_entered("dlopen, of a library whose code is not searched");
    }
    // SAFETY: the caller guarantees the arguments.
    outside(|| unsafe { load(path, flags) })
}

/// Returns the mark of the running simulated thread, for its role as the holder of a libc lock. The kernel gives no
/// thread a number with the highest bit set, so the mark has this bit. Returns 0 in code that is not part of a run.
#[unsafe(no_mangle)]
extern "C" fn unpause_std_mark() -> u32 {
    current().map_or(0, |thread| 1 << 31 | (thread.number as u32 + 1))
}

/// Returns `true` for an address in private memory of the run, or in the program. Returns `false` outside of runs.
#[unsafe(no_mangle)]
extern "C" fn unpause_std_is_of_run(address: usize) -> bool {
    let Some(thread) = current() else { return false };
    outside(|| thread.run().region(address) != Region::Unknown)
}

/// The time that an OS thread has to unlock a std mutex. After this time, a simulated thread is assumed to hold it.
const PATIENCE: Duration = Duration::from_millis(50);
/// The same time for the mutex of backtraces. An OS thread may read all symbols of the program while it holds this
/// mutex, and no simulated thread makes a request while it holds it.
const PATIENCE_OF_BACKTRACES: Duration = Duration::from_secs(5);

/// Locks a mutex that a run shares with OS threads, for example the mutex that std locks when a thread begins. Such a
/// mutex is not part of any run: if an OS thread holds it, the carrier waits for it. Returns `false` for other mutexes,
/// and for a mutex that stays locked because a simulated thread holds it.
///
/// # Safety
/// `word` must be the word of a std mutex.
#[unsafe(no_mangle)]
unsafe extern "C" fn unpause_std_lock_shared(word: *const AtomicU32) -> bool {
    if !inside() {
        return false;
    }
    outside(|| {
        if !statics::is_shared(word as usize) {
            return false;
        }
        let patience = match std_state::is_of_backtraces(word as usize) {
            true => PATIENCE_OF_BACKTRACES,
            false => PATIENCE,
        };
        // SAFETY: the caller guarantees that the pointer is valid.
        let word = unsafe { &*word };
        let begun = Instant::now();
        while word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            if begun.elapsed() > patience {
                return false;
            }
            // SAFETY: the system call has no arguments. The libc function is called directly, because it is replaced in
            // a run.
            unsafe { real!(c"sched_yield", unsafe extern "C" fn() -> i32)() };
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_replacements_has_none() {
        assert!(!std_is_replaced());
    }

    #[test]
    fn statics_of_std_are_shared_and_memory_of_runs_is_not() {
        let local = AtomicU32::new(0);
        assert!(statics::is_shared(&raw const ENTERED as usize));
        assert!(!statics::is_shared(&raw const local as usize));
        assert!(!statics::is_shared(&*Box::new(0u32) as *const u32 as usize));
    }

    #[test]
    fn entries_outside_of_runs_are_not_noted() {
        // SAFETY: the path is a constant.
        unsafe { unpause_std_entered(c"std::env::var".as_ptr(), 0) };
        assert!(take_entered().is_empty());
    }
}
