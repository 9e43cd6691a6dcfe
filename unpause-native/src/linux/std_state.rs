//! State that std keeps in its own statics: each run finds it as the first run did, and leaves
//! nothing of itself in it.
//!
//! | file | subject |
//! |---|---|
//! | `statics.rs` | the table of all statics of std, with the treatment of each |
//! | `hooks.rs` | the panic hook |
//! | `thread_ids.rs` | the ids of threads |
//! | `streams.rs` | the standard streams: their locks and the buffer |
//! | `locks.rs` | other locks |
//!
//! This file has what remains: the marks of the end of the process.

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

/// The word of std that records the clean-up of `std::process::exit`, which happens once in a
/// process, with its two values: the present value and the value after a clean-up.
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
        // SAFETY: both are a `Once`, which is one atomic word.
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

/// The statics whose values belong to a run.
fn values() -> &'static Mutex<Vec<Swapped>> {
    static VALUES: OnceLock<Mutex<Vec<Swapped>>> = OnceLock::new();
    VALUES.get_or_init(|| Mutex::new(statics::swapped()))
}

/// A run on simulated threads begins. `std::process::exit` cleans nothing up in it, because the
/// process continues.
pub(crate) fn begin() {
    begin_polled();
    thread_ids::begin();
    if let Some(clean_up) = clean_up() {
        let before = clean_up.word.swap(clean_up.done, Ordering::Relaxed);
        clean_up.before.store(before, Ordering::Relaxed);
    }
}

/// The state of the threads of a run that is over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// A thread has called `exit`.
    pub(crate) exited: bool,
    /// A thread has died, or was given up while it panicked: it may hold a lock of std.
    pub(crate) died: bool,
}

impl Left {
    /// The state of these threads.
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

/// The run is over.
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

/// A run begins whose tasks are polled on a thread of the system.
pub(crate) fn begin_polled() {
    hooks::begin();
    let _held = locks::Backtraces::lock();
    values().lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Swapped::begin);
}

/// Such a run is over. `is_left` is true if a thread of it may hold a lock of std.
pub(crate) fn end_polled(is_left: bool) {
    let held = locks::Backtraces::lock();
    values().lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Swapped::end);
    drop(held);
    hooks::end(is_left);
}

/// Forgets that a simulated thread has called `std::process::exit`: std lets no second thread end the process.
fn forget_exit() {
    static MARK: OnceLock<Option<Range<usize>>> = OnceLock::new();
    let mark = MARK.get_or_init(|| range("unique_thread_exit::EXITING_THREAD_ID"));
    for address in mark.clone().into_iter().flatten() {
        // SAFETY: a byte of a static of std that is 0 as long as no thread ends the process. A thread of the system
        // does so after the last run.
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
