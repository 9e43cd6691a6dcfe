//! Seeded disturbance of real threads.
//!
//! A stress test shakes the threads it runs on: at each point a thread may spin, yield or sleep for
//! a moment, as its generator says. Only a thread that polls a task of a stress test has a
//! generator, and only builds with debug assertions look for one at each point.
//!
//! A point is also where a task that has just spawned others starts together with them, see
//! [`start`](super::start), and where the watchdog sees that the task makes progress.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::AbortHandle;

use crate::run::rng::Rng;

thread_local! {
    static SHAKER: RefCell<Option<Shaker>> = const { RefCell::new(None) };
}

/// Whether this build disturbs threads at points.
pub(crate) const SHAKES: bool = cfg!(debug_assertions);

/// What disturbs one task of a stress test.
#[derive(Debug)]
pub(crate) struct Shaker {
    rng: Rng,
    /// The random values of the task, apart from the disturbance: how many points a task passes depends on time.
    draws: Rng,
    abort: AbortHandle,
    /// Counts the points of the task.
    moves: Arc<AtomicU64>,
    /// Whether the task has spawned tasks since it last started together with some.
    spawned: bool,
}

/// What a task does at a point.
enum Shake {
    Nothing,
    Spin(u64),
    Yield,
    Sleep(u64),
    Abort,
}

impl Shaker {
    /// Disturbs the task that `abort` ends, as drawn from `seed`. Its points are counted in `moves`.
    pub(crate) fn new(seed: u64, abort: AbortHandle, moves: Arc<AtomicU64>) -> Shaker {
        let draws = Rng::new(seed ^ DRAWS);
        Shaker { rng: Rng::new(seed), draws, abort, moves, spawned: false }
    }

    /// What to do at a point, and whether to start together with spawned tasks first.
    fn shake(&mut self) -> (bool, Shake) {
        // The task alone writes it.
        self.moves.store(self.moves.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if self.abort.is_aborted() {
            return (false, Shake::Abort);
        }
        let shake = match self.rng.below(64) {
            0..32 => Shake::Nothing,
            spins @ 32..56 => Shake::Spin((spins - 31) * 8),
            56..63 => Shake::Yield,
            _ => Shake::Sleep(20),
        };
        // Sometimes the spawner goes on alone for a while.
        if !self.spawned || self.rng.below(4) == 0 {
            return (false, shake);
        }
        self.spawned = false;
        // A thread that was woken is late by the time that waking takes, which differs from machine to machine.
        let late = match self.rng.below(4) {
            0 => shake,
            1 => Shake::Spin(1 << self.rng.below(12)),
            2 => Shake::Yield,
            _ => Shake::Sleep(self.rng.below(60)),
        };
        (true, late)
    }
}

/// Makes another stream of one seed.
const DRAWS: u64 = 0x6a09_e667_f3bc_c908;

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
    SHAKES && shake()
}

/// Whether the task that this thread polls was aborted.
pub(crate) fn is_aborted() -> bool {
    SHAKER.with(|shaker| shaker.borrow().as_ref().is_some_and(|shaker| shaker.abort.is_aborted()))
}

fn shake() -> bool {
    let drawn = SHAKER.with(|shaker| shaker.borrow_mut().as_mut().map(Shaker::shake));
    let Some((starts, shake)) = drawn else { return false };
    if starts {
        super::start::together();
    }
    match shake {
        Shake::Nothing => {}
        Shake::Spin(spins) => (0..spins).for_each(|_| std::hint::spin_loop()),
        Shake::Yield => std::thread::yield_now(),
        Shake::Sleep(micros) => std::thread::sleep(Duration::from_micros(micros)),
        Shake::Abort => return true,
    }
    false
}

/// The current task has spawned another, which has its thread. Where points are not disturbed, this is the only
/// place at which both can start together.
pub(crate) fn spawned() {
    let drawn = SHAKER.with(|shaker| {
        let mut shaker = shaker.borrow_mut();
        shaker.as_mut().map(|shaker| {
            shaker.spawned = true;
            // Mostly not: tasks that wait for each other to be spawned race with each other.
            shaker.rng.below(8)
        })
    });
    match drawn {
        Some(0) if !SHAKES => super::start::together(),
        Some(1) if !SHAKES => super::start::release(),
        _ => {}
    }
}

/// A random number below `bound`: seeded in a stress test, otherwise different each time.
pub(crate) fn draw(bound: u64) -> u64 {
    SHAKER.with(|shaker| match shaker.borrow_mut().as_mut() {
        Some(shaker) => shaker.draws.below(bound),
        None => fresh().below(bound),
    })
}

fn fresh() -> Rng {
    use std::hash::{BuildHasher, RandomState};
    Rng::new(RandomState::new().hash_one(0))
}
