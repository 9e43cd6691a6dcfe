//! State in the statics of std. Each run finds it in the same state as the first run, and leaves no changes in it.
//!
//! | file | subject |
//! |---|---|
//! | `statics.rs` | the table of all statics of std, with the treatment of each |
//! | `hooks.rs` | the panic hook |
//! | `thread_ids.rs` | the ids of threads |
//! | `streams.rs` | the standard streams: their locks and the buffer |
//! | `locks.rs` | other locks |
//!
//! This file contains the rest: the marks that std sets at the end of a process.

mod hooks;
mod locks;
pub(crate) mod statics;
pub(crate) mod streams;
mod thread_ids;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

pub(crate) use self::locks::is_of_backtraces;
use self::statics::{Swapped, range};
use super::death::Death;
use super::request::Request;
use super::thread::Thread;

/// The std word that records the clean-up of `std::process::exit`, which happens once in a process. `done` is its value
/// after a clean-up, and `before` its value before the run.
struct CleanUp {
    word: &'static AtomicU32,
    done: u32,
    before: AtomicU32,
}

fn clean_up() -> Option<&'static CleanUp> {
    static CLEAN_UP: OnceLock<Option<CleanUp>> = OnceLock::new();
    let find = || {
        let range = range("rt::cleanup::CLEANUP")?;
        if range.len() != 4 || size_of::<Once>() != 4 {
            return None;
        }
        let once = Once::new();
        once.call_once(|| ());
        // SAFETY: both are a `Once`, which consists of one atomic word.
        let (word, done) = unsafe {
            (
                &*(range.start as *const AtomicU32),
                (*(&raw const once).cast::<AtomicU32>()).load(Ordering::Relaxed),
            )
        };
        Some(CleanUp { word, done, before: AtomicU32::new(0) })
    };
    CLEAN_UP.get_or_init(find).as_ref()
}

/// Returns the statics whose values belong to a run.
fn values() -> &'static Mutex<Vec<Swapped>> {
    static VALUES: OnceLock<Mutex<Vec<Swapped>>> = OnceLock::new();
    VALUES.get_or_init(|| Mutex::new(statics::swapped()))
}

/// Prepares std for a run on simulated threads. `std::process::exit` performs no clean-up in the run, because the
/// process continues.
pub(crate) fn begin() {
    begin_polled();
    thread_ids::begin();
    if let Some(clean_up) = clean_up() {
        let before = clean_up.word.swap(clean_up.done, Ordering::Relaxed);
        clean_up.before.store(before, Ordering::Relaxed);
    }
}

/// The state of the threads after a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// True if a thread has called `exit`.
    pub(crate) exited: bool,
    /// True if a thread has died, or was abandoned while it panicked, so that it may hold a std lock.
    pub(crate) died: bool,
}

impl Left {
    /// Returns the state of these threads.
    pub(crate) fn of<'a>(threads: impl Iterator<Item = &'a Thread>) -> Left {
        let mut left = Left::default();
        for thread in threads {
            let has_died = matches!(thread.request, Request::Died(_));
            left.exited |= matches!(thread.request, Request::Died(Death::Exit { .. }));
            left.died |= has_died || (!thread.ended && !thread.panics.is_empty());
        }
        left
    }
}

/// Restores the state of std after the run.
pub(crate) fn end(left: Left) {
    if left.exited {
        forget_exit();
    }
    if let Some(clean_up) = clean_up() {
        clean_up.word.store(clean_up.before.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    streams::mend();
    if left.died {
        locks::mend();
    }
    thread_ids::end();
    end_polled(left.died);
}

/// Prepares std for a run whose tasks are polled on an OS thread.
pub(crate) fn begin_polled() {
    hooks::begin();
    let _held = locks::Backtraces::lock();
    values().lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Swapped::begin);
}

/// Restores the state of std after such a run. `is_left` is true if a thread of the run may hold a std lock.
pub(crate) fn end_polled(is_left: bool) {
    let held = locks::Backtraces::lock();
    values().lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Swapped::end);
    drop(held);
    hooks::end(is_left);
}

/// Finds the locks of std before the process forks. Otherwise each copy would read the symbols of the program.
pub(crate) fn begin_fork() {
    locks::find();
    hooks::find();
}

/// Unlocks the locks of std in a copy of the process. The copy contains only one thread, and this thread holds no lock
/// of std. Locks of the other threads would stay locked.
pub(crate) fn begin_copy() {
    locks::begin_copy();
    hooks::begin_copy();
}

/// Removes the mark that a simulated thread has called `std::process::exit`, because std lets no second thread end the
/// process.
fn forget_exit() {
    static MARK: OnceLock<Option<Range<usize>>> = OnceLock::new();
    let mark = MARK.get_or_init(|| range("unique_thread_exit::EXITING_THREAD_ID"));
    for address in mark.clone().into_iter().flatten() {
        // SAFETY: this byte of a std static is 0 until a thread ends the process. An OS thread can do so only after the
        // last run.
        unsafe { (address as *mut u8).write_volatile(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_the_end_are_found() {
        assert!(
            clean_up()
                .is_some_and(|clean_up| clean_up.word.load(Ordering::Relaxed) != clean_up.done)
        );
        assert_eq!(
            range("unique_thread_exit::EXITING_THREAD_ID").map(|range| range.len()),
            Some(8)
        );
    }
}
