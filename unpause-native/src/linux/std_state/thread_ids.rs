//! The counter of std's `ThreadId`s. It makes threads of a run have the same ids in each run.
//!
//! If an OS thread begins during a run, it takes an id of the run, so the ids of that run differ.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::statics;

/// The counter value at the start of a run; the first id of the run is the next number. OS threads have lower ids. std
/// identifies the owner of a stream by its id, so it mistakes no thread of a run for an OS thread.
const START: u64 = 1_000_000;

/// Returns the counter; `None` if this std has another kind of counter.
fn counter() -> Option<&'static AtomicU64> {
    static COUNTER: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *COUNTER.get_or_init(|| {
        let range = statics::range("ThreadId::new::COUNTER")?;
        let is_counter = range.len() == size_of::<AtomicU64>();
        // SAFETY: std's counter is a 64-bit atomic.
        is_counter.then(|| unsafe { &*(range.start as *const AtomicU64) })
    })
}

/// The value of the process, saved during a run.
static OUTER: AtomicU64 = AtomicU64::new(0);

/// Sets the counter at the start of a run.
pub(super) fn begin() {
    if let Some(counter) = counter() {
        OUTER.store(counter.swap(START, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Restores the counter at the end of a run.
pub(super) fn end() {
    if let Some(counter) = counter() {
        counter.store(OUTER.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Returns `true` for the id of a thread of a run. `None` if this is unknown.
pub(super) fn is_of_run(id: u64) -> Option<bool> {
    counter().map(|_| id >= START)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_that_of_this_std() {
        let id =
            || format!("{:?}", std::thread::spawn(|| std::thread::current().id()).join().unwrap());
        let counter = counter().unwrap();
        let number = |id: String| id.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>();
        let before = counter.load(Ordering::Relaxed);
        // Other tests also start threads, so the range is wide.
        assert!((before + 1..before + 1000).contains(&number(id()).unwrap()));
    }
}
