//! Seeded disturbance of real threads.
//!
//! A stress test shakes the threads it runs on: at each point a thread may spin, yield or sleep for
//! a moment, as its generator says. Only a thread that polls a task of a stress test has a
//! generator, and only builds with debug assertions look for one at each point.

use std::cell::RefCell;
use std::time::Duration;

use futures::future::AbortHandle;

use crate::rng::Rng;

thread_local! {
    static SHAKER: RefCell<Option<Shaker>> = const { RefCell::new(None) };
}

/// What disturbs one task of a stress test.
#[derive(Debug)]
pub(crate) struct Shaker {
    rng: Rng,
    abort: AbortHandle,
}

impl Shaker {
    /// Disturbs the task that `abort` ends, as drawn from `seed`.
    pub(crate) fn new(seed: u64, abort: AbortHandle) -> Shaker {
        Shaker { rng: Rng::new(seed), abort }
    }
}

/// From here on the current thread is disturbed by `shaker`, or by nothing. Returns what it was
/// disturbed by before.
pub(crate) fn set(shaker: Option<Shaker>) -> Option<Shaker> {
    SHAKER.with(|current| current.replace(shaker))
}

/// A point was reached on a real thread. True if the task is to give way there, because it was
/// aborted: a task whose points are all ready would never hear of it.
#[inline(always)]
#[must_use]
pub(crate) fn jitter() -> bool {
    cfg!(debug_assertions) && shake()
}

/// Whether the task that this thread polls was aborted.
pub(crate) fn is_aborted() -> bool {
    SHAKER.with(|shaker| shaker.borrow().as_ref().is_some_and(|shaker| shaker.abort.is_aborted()))
}

fn shake() -> bool {
    let drawn = SHAKER.with(|shaker| {
        let mut shaker = shaker.borrow_mut();
        shaker.as_mut().map(|shaker| (shaker.rng.below(64), shaker.abort.is_aborted()))
    });
    match drawn {
        None | Some((0..32, false)) => {}
        Some((spins @ 32..56, false)) => (0..(spins - 31) * 8).for_each(|_| std::hint::spin_loop()),
        Some((56..63, false)) => std::thread::yield_now(),
        Some((_, false)) => std::thread::sleep(Duration::from_micros(20)),
        Some((_, true)) => return true,
    }
    false
}

/// A random number below `bound`: seeded in a stress test, otherwise different each time.
pub(crate) fn draw(bound: u64) -> u64 {
    SHAKER.with(|shaker| match shaker.borrow_mut().as_mut() {
        Some(shaker) => shaker.rng.below(bound),
        None => fresh().below(bound),
    })
}

fn fresh() -> Rng {
    use std::hash::{BuildHasher, RandomState};
    Rng::new(RandomState::new().hash_one(0))
}
