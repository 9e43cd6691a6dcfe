//! The counter of std's `ThreadId`s: threads of a run have the same ids in each run.
//!
//! A thread of the system that begins while a run is on takes an id of the run. So the ids of that run are others.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::statics;

/// The first id of a run is the next number. Threads of the system have lower ids, so that std, which knows the owner
/// of a stream by the id, mistakes no thread of a run for one of the system.
const START: u64 = 1_000_000;

/// The counter; `None` if this std has another one.
fn counter() -> Option<&'static AtomicU64> {
    static COUNTER: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    *COUNTER.get_or_init(|| {
        let range = statics::range("ThreadId::new::COUNTER")?;
        let is_counter = range.len() == size_of::<AtomicU64>();
        // SAFETY: std's counter is an atomic of 64 bits.
        is_counter.then(|| unsafe { &*(range.start as *const AtomicU64) })
    })
}

/// The value of the process, while a run is on.
static OUTER: AtomicU64 = AtomicU64::new(0);

/// A run begins.
pub(super) fn begin() {
    if let Some(counter) = counter() {
        OUTER.store(counter.swap(START, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The run is over.
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
        // Other tests start threads, too.
        assert!((before + 1..before + 1000).contains(&number(id()).unwrap()));
    }
}
