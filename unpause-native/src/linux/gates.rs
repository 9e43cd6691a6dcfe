//! The OS threads of the process that do not belong to the engine, and the places at which they wait while a test
//! executes runs.
//!
//! A thread with a lock in a static may change the static without an atomic operation. If a test began its runs at this
//! moment, the values of the runs and the changes of the thread would mix. So the test first waits until each thread is
//! at a gate: an access that waits for the test, for example the release of the lock.
//!
//! Threads that have ended count as threads at a gate. So do threads that sleep in the kernel.
//!
//! # Limits
//!
//! If a thread reaches no gate within [`PATIENCE`], the tests no longer wait for it until it passes a gate. A thread
//! that sleeps with a lock may wake up during the runs. Threads that libc has not created are unknown.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// The longest time that a test waits for threads.
const PATIENCE: Duration = Duration::from_millis(100);
/// The number of turns before the test asks the kernel about the threads, which takes longer.
const TURNS: u32 = 50;

/// The states of a thread.
const ENDED: u8 = 0;
const RUNS: u8 = 1;
const AT_GATE: u8 = 2;
/// The thread has not reached a gate while a test waited for it.
const COMPUTES: u8 = 3;

/// A thread. Never freed. When the thread has ended, a new thread takes its place.
struct Place {
    state: AtomicU8,
    /// The number of the thread in the kernel.
    number: AtomicI32,
    /// The next place in the list.
    next: *mut Place,
}

/// The places of all threads. A list without locks, because a process may be forked at any time.
static PLACES: AtomicPtr<Place> = AtomicPtr::new(null_mut());

thread_local! {
    static OWN: Own = const { Own(Cell::new(None)) };
}

/// The place of a thread, which ends with the thread's other thread-locals.
struct Own(Cell<Option<&'static Place>>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            // The kernel gives the number to another thread.
            place.number.store(0, Ordering::SeqCst);
            place.state.store(ENDED, Ordering::SeqCst);
        }
    }
}

/// Returns the places of all threads.
fn places() -> impl Iterator<Item = &'static Place> {
    let mut next = PLACES.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: places are never freed, and `next` does not change once the place is in the list.
        let place = unsafe { next.as_ref() }?;
        next = place.next;
        Some(place)
    })
}

/// Gives the current thread a place, before it executes code of the program.
pub(super) fn enter() {
    // SAFETY: the system call has no arguments.
    let number = unsafe { libc::gettid() };
    let takes = |place: &&Place| {
        let taken = place.state.compare_exchange(ENDED, RUNS, Ordering::SeqCst, Ordering::SeqCst);
        taken.is_ok()
    };
    let place = places().find(takes).unwrap_or_else(add);
    place.number.store(number, Ordering::SeqCst);
    // A thread that ends before it begins has no thread-locals any more.
    if OWN.try_with(|own| own.0.set(Some(place))).is_err() {
        place.state.store(ENDED, Ordering::SeqCst);
    }
}

/// Adds a place to the list.
fn add() -> &'static Place {
    let mut next = PLACES.load(Ordering::Acquire);
    let place = Place { state: AtomicU8::new(RUNS), number: AtomicI32::new(0), next };
    let place = Box::into_raw(Box::new(place));
    loop {
        // SAFETY: no other thread knows the place yet.
        unsafe { (*place).next = next };
        match PLACES.compare_exchange(next, place, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: places are never freed.
            Ok(_) => return unsafe { &*place },
            Err(changed) => next = changed,
        }
    }
}

/// Sets the state of the current thread, if it has a place.
fn set(state: u8) {
    let own = OWN.try_with(|own| own.0.get()).ok().flatten();
    if let Some(place) = own {
        place.state.store(state, Ordering::SeqCst);
    }
}

/// A guard of a thread that is at a gate.
#[must_use]
pub(super) struct AtGate(());

/// Notes that the current thread is at a gate. It passes the gate when the guard is dropped, and must then check again
/// whether a test executes runs.
pub(super) fn at_gate() -> AtGate {
    set(AT_GATE);
    AtGate(())
}

impl Drop for AtGate {
    fn drop(&mut self) {
        set(RUNS);
    }
}

/// Waits until all other threads are at gates, or [`PATIENCE`] is over. The current thread must be at a gate.
pub(super) fn wait_for_others() {
    let running = || places().filter(|place| place.state.load(Ordering::SeqCst) == RUNS);
    // The time is read only if a thread runs.
    let mut until = None;
    // Two sweeps, because a thread may wake another thread between its check and the check of the other.
    let mut sweeps = 0;
    let mut turns = 0;
    while sweeps < 2 {
        let runs = match turns < TURNS {
            true => running().next().is_some(),
            false => running().any(executes),
        };
        if !runs {
            sweeps += 1;
            continue;
        }
        sweeps = 0;
        turns += 1;
        let until = *until.get_or_insert_with(|| Instant::now() + PATIENCE);
        if Instant::now() >= until {
            for place in running().filter(|place| executes(place)) {
                let (from, to, order) = (RUNS, COMPUTES, Ordering::SeqCst);
                let _ = place.state.compare_exchange(from, to, order, order);
            }
            return;
        }
        std::thread::yield_now();
    }
}

/// Returns `true` if the kernel lets the thread execute: it does not sleep, and it has not ended.
fn executes(place: &Place) -> bool {
    let number = place.number.load(Ordering::SeqCst);
    if number == 0 {
        // The thread has just taken the place.
        return true;
    }
    let Ok(line) = std::fs::read_to_string(format!("/proc/self/task/{number}/stat")) else {
        return false;
    };
    // The name of the thread is in parentheses, and may contain parentheses.
    let state = line.rsplit_once(") ").and_then(|(_, after)| after.chars().next());
    matches!(state, Some('R' | 'D'))
}

/// Forgets all threads except the current thread, in a process that contains no other thread.
pub(super) fn forget_others() {
    let own = OWN.try_with(|own| own.0.get()).ok().flatten();
    let others = places().filter(|place| own.is_none_or(|own| !std::ptr::eq(own, *place)));
    others.for_each(|place| place.state.store(ENDED, Ordering::SeqCst));
    // SAFETY: the system call has no arguments.
    own.inspect(|own| own.number.store(unsafe { libc::gettid() }, Ordering::SeqCst));
}
