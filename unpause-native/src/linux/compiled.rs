//! The compiled part of std: whether the program is linked with instrumented replacements of its functions, and entries
//! of functions that have none.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
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
use super::{children, statics, unseen};

/// The functions that simulated threads have entered since [`take_entered`].
static ENTERED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns `true` if the functions of std that synchronise threads are replaced by instrumented ones in this program.
pub fn std_is_replaced() -> bool {
    marker() != 0
}

/// Takes the functions with operations that are not requests, as far as simulated threads have entered them since the
/// last call. They are functions of std with locks of their own, by path, and functions with instructions that
/// synchronise threads or call the system.
pub fn take_entered() -> Vec<&'static str> {
    let mut entered = std::mem::take(&mut *ENTERED.lock().unwrap_or_else(PoisonError::into_inner));
    entered.append(&mut unseen::entered());
    if !entered.is_empty() {
        unseen::tell_entered(&entered);
    }
    entered.into_iter().collect()
}

/// The functions that the threads of a run in another process have entered.
pub(crate) fn set_entered(entered: Vec<&'static str>) {
    *ENTERED.lock().unwrap_or_else(PoisonError::into_inner) = entered.into_iter().collect();
}

/// Notes that a function with this path is entered.
///
/// # Safety
/// The path ends with a zero and is never freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn unpause_std_entered(path: *const c_char) {
    let frame = frame_pointer();
    let Some(thread) = current() else { return };
    outside(|| {
        // SAFETY: the caller's.
        let path: &'static CStr = unsafe { CStr::from_ptr(path) };
        let path = path.to_str().unwrap_or("a function of std");
        streams::entered(path);
        children::entered(thread, path, frame);
        ENTERED.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
    });
}

/// Notes that a simulated thread has called a function of libc with effects unseen by searches.
pub(crate) fn note_entered(function: &'static str) {
    outside(|| ENTERED.lock().unwrap_or_else(PoisonError::into_inner).insert(function));
}

/// The mark of the simulated thread that runs now, as the holder of a lock of libc. Its highest bit is set in no number
/// that the kernel gives a thread. 0 in code that is not part of a run.
#[unsafe(no_mangle)]
extern "C" fn unpause_std_mark() -> u32 {
    current().map_or(0, |thread| 1 << 31 | (thread.number as u32 + 1))
}

/// Returns `true` for an address in memory that the run has for itself, or in the program. False outside of runs.
#[unsafe(no_mangle)]
extern "C" fn unpause_std_is_of_run(address: usize) -> bool {
    let Some(thread) = current() else { return false };
    outside(|| thread.run().region(address) != Region::Unknown)
}

/// The time that a thread of the system has to unlock a mutex of std's that a simulated thread may hold instead.
const PATIENCE: Duration = Duration::from_millis(50);
/// The same for the mutex of backtraces. A thread of the system may read all symbols of the program under it, and no
/// simulated thread makes a request under it.
const PATIENCE_OF_BACKTRACES: Duration = Duration::from_secs(5);

/// Locks a mutex that a run shares with threads of the system, such as the mutex that std locks
/// when a thread begins. It is part of no run: if a thread of the system holds it, the carrier
/// waits for it. Returns `false` for other mutexes, and for a mutex that stays locked: a simulated
/// thread holds it.
///
/// # Safety
/// The word of a mutex of std's.
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
        // SAFETY: the caller's.
        let word = unsafe { &*word };
        let begun = Instant::now();
        while word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            if begun.elapsed() > patience {
                return false;
            }
            // SAFETY: a system call without arguments; the function of libc is simulated.
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
        // SAFETY: a constant.
        unsafe { unpause_std_entered(c"std::env::var".as_ptr()) };
        assert!(take_entered().is_empty());
    }
}
