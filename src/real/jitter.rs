//! Seeded disturbance of real threads.
//!
//! A stress test disturbs its threads: at each point a thread may spin, yield or sleep for a moment, as its generator
//! draws. Only a thread that polls a task of a stress test has a generator. Only builds with debug assertions look for
//! a generator at each point.
//!
//! A point has two other effects. A task that has just spawned others starts together with them there (see
//! [`start`](super::start)), and the watchdog sees that the task makes progress.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::AbortHandle;

use crate::run::rng::Rng;

thread_local! {
    static SHAKER: RefCell<Option<Shaker>> = const { RefCell::new(None) };
}

/// True if this build disturbs threads at points.
pub(crate) const SHAKES: bool = cfg!(debug_assertions);

/// The disturbance of one task of a stress test.
#[derive(Debug)]
pub(crate) struct Shaker {
    rng: Rng,
    /// The generator for random values of the task. This generator is separate from the disturbance, because the number
    /// of points in a task depends on time.
    draws: Rng,
    abort: AbortHandle,
    /// The counter of the points of the task.
    moves: Arc<AtomicU64>,
    /// True if the task has spawned tasks since it last started together with some.
    spawned: bool,
    /// The number of remaining points before the work is dropped; `None` if the work is not dropped.
    points_left: Option<u32>,
}

/// The action of a task at a point.
enum Shake {
    Nothing,
    Spin(u64),
    Yield,
    Sleep(u64),
    GiveWay,
}

impl Shaker {
    /// Returns the disturbance, drawn from `seed`, of the task that `abort` ends. The disturbance counts the points of
    /// the task in `moves`.
    pub(crate) fn new(seed: u64, abort: AbortHandle, moves: Arc<AtomicU64>) -> Shaker {
        let draws = Rng::new(seed ^ DRAWS);
        Shaker { rng: Rng::new(seed), draws, abort, moves, spawned: false, points_left: None }
    }

    /// Draws the action at a point. A task that has just spawned other tasks starts together with them at this point
    /// (see [`start`](super::start)). The watchdog sees that the task makes progress. `counts` is false at a point that
    /// is counted elsewhere.
    fn shake(&mut self, counts: bool) -> (bool, Shake) {
        // Only this task writes the counter, so a load and a store suffice.
        self.moves.store(self.moves.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if self.abort.is_aborted() || self.is_dropped_here(counts) {
            return (false, Shake::GiveWay);
        }
        let shake = match self.rng.below(64) {
            0..32 => Shake::Nothing,
            spins @ 32..56 => Shake::Spin((spins - 31) * 8),
            56..63 => Shake::Yield,
            _ => Shake::Sleep(20),
        };
        // Sometimes the spawner continues alone for a while.
        if !self.spawned || self.rng.below(4) == 0 {
            return (false, shake);
        }
        self.spawned = false;
        // A woken thread is late, because waking takes time. The delay differs from machine to machine, so it is drawn.
        let late = match self.rng.below(4) {
            0 => shake,
            1 => Shake::Spin(1 << self.rng.below(12)),
            2 => Shake::Yield,
            _ => Shake::Sleep(self.rng.below(60)),
        };
        (true, late)
    }

    /// Counts a point of work that is dropped at one of its points. Returns `true` at this point and at all later
    /// points.
    fn is_dropped_here(&mut self, counts: bool) -> bool {
        match &mut self.points_left {
            None => false,
            Some(0) => true,
            Some(left) => {
                *left -= u32::from(counts);
                false
            }
        }
    }
}

/// A constant that turns a seed into the seed of a second, different stream.
const DRAWS: u64 = 0x6a09_e667_f3bc_c908;

/// Sets the disturbance of the current thread to `shaker`, or to none. Returns the previous disturbance.
pub(crate) fn set(shaker: Option<Shaker>) -> Option<Shaker> {
    SHAKER.with(|current| current.replace(shaker))
}

/// Disturbs a real thread at a point. Returns `true` if the task must yield there, because it was aborted or its work
/// is dropped [at this point](up_to). A task whose points are all ready would otherwise never notice.
#[inline(always)]
#[must_use]
pub(crate) fn jitter() -> bool {
    SHAKES && shake(true)
}

/// Disturbs a real thread at a point that is pending once. This call does not count a point, because the pending poll
/// counts as one.
#[must_use]
pub(crate) fn jitter_at_turn() -> bool {
    SHAKES && shake(false)
}

/// Polls work that is dropped at its `point`-th point from here on, counted from 1: the work yields there. Returns the
/// number of points that the work passed, or 0 if points are not disturbed.
pub(crate) fn up_to<R>(point: u32, poll: impl FnOnce() -> R) -> (R, u32) {
    /// Restores the previous limit when it is dropped, also by a panic.
    struct Restore(Option<u32>);

    impl Drop for Restore {
        fn drop(&mut self) {
            points_left(self.0);
        }
    }

    let own = point.saturating_sub(1);
    // The work may be a part of other work that is dropped at one of its points.
    let outer = points_left(None);
    let begun = outer.map_or(own, |outer| outer.min(own));
    points_left(Some(begun));
    let mut restore = Restore(outer);
    let polled = poll();
    let passed = points_left(None).map_or(0, |left| begun - left);
    restore.0 = outer.map(|outer| outer - passed);
    (polled, passed)
}

/// Sets the number of points that are left for the work of the current task. Returns the previous number.
fn points_left(left: Option<u32>) -> Option<u32> {
    SHAKER.with(|shaker| {
        let mut shaker = shaker.borrow_mut();
        shaker.as_mut().and_then(|shaker| std::mem::replace(&mut shaker.points_left, left))
    })
}

/// Returns `true` if this thread polls a task of a stress test.
pub(crate) fn is_disturbed() -> bool {
    SHAKER.with(|shaker| shaker.borrow().is_some())
}

/// Returns `true` if the task that this thread polls was aborted.
pub(crate) fn is_aborted() -> bool {
    SHAKER.with(|shaker| shaker.borrow().as_ref().is_some_and(|shaker| shaker.abort.is_aborted()))
}

fn shake(counts: bool) -> bool {
    let shake = |shaker: &mut Shaker| shaker.shake(counts);
    let drawn = SHAKER.with(|shaker| shaker.borrow_mut().as_mut().map(shake));
    let Some((starts, shake)) = drawn else { return false };
    if starts {
        super::start::together();
    }
    match shake {
        Shake::Nothing => {}
        Shake::Spin(spins) => (0..spins).for_each(|_| std::hint::spin_loop()),
        Shake::Yield => std::thread::yield_now(),
        Shake::Sleep(micros) => std::thread::sleep(Duration::from_micros(micros)),
        Shake::GiveWay => return true,
    }
    false
}

/// Records that the current task has spawned another task, which already has a thread. If points are not disturbed,
/// only this call can start both together.
pub(crate) fn spawned() {
    let drawn = SHAKER.with(|shaker| {
        let mut shaker = shaker.borrow_mut();
        shaker.as_mut().map(|shaker| {
            shaker.spawned = true;
            // This is rare, because tasks that wait for each other to be spawned race with each other.
            shaker.rng.below(8)
        })
    });
    match drawn {
        Some(0) if !SHAKES => super::start::together(),
        Some(1) if !SHAKES => super::start::release(),
        _ => {}
    }
}

/// Returns a random number below `bound`: seeded in a stress test, otherwise different each time.
pub(crate) fn draw(bound: u64) -> u64 {
    SHAKER.with(|shaker| match shaker.borrow_mut().as_mut() {
        Some(shaker) => shaker.draws.below(bound),
        None => fresh().below(bound),
    })
}

/// Returns a random number below `bound`, for the order in which branches are polled. The number is seeded in a stress
/// test. Elsewhere it is from a generator of the thread, because a `select!` in a loop needs a number in each round.
pub(crate) fn turn(bound: u64) -> u64 {
    thread_local! {
        static TURNS: RefCell<Rng> = RefCell::new(fresh());
    }
    let seeded =
        SHAKER.with(|shaker| shaker.borrow_mut().as_mut().map(|shaker| shaker.draws.below(bound)));
    seeded.unwrap_or_else(|| TURNS.with(|turns| turns.borrow_mut().below(bound)))
}

fn fresh() -> Rng {
    use std::hash::{BuildHasher, RandomState};
    Rng::new(RandomState::new().hash_one(0))
}
