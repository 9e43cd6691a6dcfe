//! A second thread beside the thread that executes a test, for a function that few tests need.
//!
//! To create a thread and to wait for its end takes longer than a small test. So the process has one such thread, which
//! waits for the next test. While tests follow each other, it wakes up from time to time instead of being woken.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two wake-ups of the thread.
const TURN: Duration = Duration::from_millis(5);
/// The number of wake-ups without a function after which the thread must be woken.
const TURNS: u32 = 20;

/// The function that the thread must call.
struct Function(*const (dyn Fn() + Sync));

// SAFETY: the function is `Sync`, and `beside` does not return before the call is over.
unsafe impl Send for Function {}

/// The state of the function.
enum State {
    /// There is no function.
    Idle,
    /// The thread calls the function at this time.
    Due(Function, Instant),
    /// The thread executes the function.
    Running,
    /// The function has returned, or has panicked with this payload.
    Done(Option<Box<dyn Any + Send>>),
}

struct Second {
    state: State,
    /// True if the thread must be woken.
    sleeps: bool,
}

static SECOND: Mutex<Second> = Mutex::new(Second { state: State::Idle, sleeps: false });
/// Notified for the thread.
static WANTED: Condvar = Condvar::new();
/// Notified when a function is done.
static DONE: Condvar = Condvar::new();
/// The process that has created the thread; 0 before.
static PROCESS: AtomicU32 = AtomicU32::new(0);

fn second() -> MutexGuard<'static, Second> {
    SECOND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `act`. If `act` takes longer than `delay`, also calls `watch` on another thread, which must return when `act`
/// has returned. Returns when both have returned.
///
/// # Panics
/// Propagates a panic of `act` or `watch`.
pub fn beside<R>(delay: Duration, watch: &(dyn Fn() + Sync), act: impl FnOnce() -> R) -> R {
    if !begin(delay, watch) {
        return thread::scope(|scope| {
            scope.spawn(watch);
            act()
        });
    }
    let acted = catch_unwind(AssertUnwindSafe(act));
    match (acted, end()) {
        (Ok(result), None) => result,
        (Err(payload), _) | (Ok(_), Some(payload)) => resume_unwind(payload),
    }
}

/// Gives a function to the thread. Returns `false` if the thread has another function, or if this process has no such
/// thread.
fn begin(delay: Duration, watch: &(dyn Fn() + Sync)) -> bool {
    let (own, process) = (std::process::id(), PROCESS.load(Ordering::Acquire));
    // A process that was forked has no other thread, and another thread may have held the lock during the fork.
    if process != 0 && process != own {
        return false;
    }
    let mut second = second();
    if !matches!(second.state, State::Idle) {
        return false;
    }
    if PROCESS.load(Ordering::Relaxed) == 0 {
        if thread::Builder::new().spawn(serve).is_err() {
            return false;
        }
        PROCESS.store(own, Ordering::Release);
    }
    // SAFETY: only the lifetime changes. `end` waits until the thread no longer uses the function.
    let watch = unsafe {
        std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync + 'static)>(
            watch,
        )
    };
    second.state = State::Due(Function(watch), Instant::now() + delay);
    if std::mem::take(&mut second.sleeps) {
        WANTED.notify_one();
    }
    true
}

/// Takes the function back, and waits if the thread executes it. Returns the payload of its panic.
fn end() -> Option<Box<dyn Any + Send>> {
    let mut second = second();
    loop {
        match std::mem::replace(&mut second.state, State::Idle) {
            State::Done(panic) => return panic,
            State::Running => second.state = State::Running,
            State::Idle | State::Due(..) => return None,
        }
        second = DONE.wait(second).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Calls the functions at their times. Never returns.
fn serve() {
    let mut second = second();
    let mut turns = 0;
    loop {
        let now = Instant::now();
        let due = match &second.state {
            State::Due(_, due) => Some(*due),
            _ => None,
        };
        match due {
            Some(due) if due <= now => second = call(second),
            None if turns == TURNS => {
                second.sleeps = true;
                second = WANTED.wait(second).unwrap_or_else(PoisonError::into_inner);
                turns = 0;
            }
            _ => {
                turns = if due.is_some() { 0 } else { turns + 1 };
                let time = due.map_or(TURN, |due| due - now);
                let waited = WANTED.wait_timeout(second, time);
                second = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

/// Calls the function that is due.
fn call(mut second: MutexGuard<'static, Second>) -> MutexGuard<'static, Second> {
    let State::Due(function, _) = std::mem::replace(&mut second.state, State::Running) else {
        unreachable!("a function is due")
    };
    drop(second);
    // SAFETY: the caller of `beside` waits in `end` until the state is `Done`.
    let called = catch_unwind(AssertUnwindSafe(|| unsafe { (*function.0)() }));
    let mut second = self::second();
    second.state = State::Done(called.err());
    DONE.notify_all();
    second
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// The tests use the only thread of the process.
    static ONE: Mutex<()> = Mutex::new(());

    fn one() -> MutexGuard<'static, ()> {
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(flag: &AtomicBool) {
        while !flag.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_function_is_called_only_beside_a_long_act() {
        let _one = one();
        for sleep in [Duration::ZERO, (TURNS + 10) * TURN] {
            thread::sleep(sleep);
            let called = AtomicBool::new(false);
            let watch = || called.store(true, Ordering::SeqCst);
            assert_eq!(beside(Duration::from_secs(60), &watch, || 1), 1);
            assert!(!called.load(Ordering::SeqCst));
            assert_eq!(beside(Duration::from_millis(1), &watch, || wait_for(&called)), ());
        }
    }

    #[test]
    fn a_second_user_has_a_thread_of_its_own() {
        let _one = one();
        let called = [AtomicBool::new(false), AtomicBool::new(false)];
        let watch = [0, 1].map(|nth| {
            let called = &called;
            move || called[nth].store(true, Ordering::SeqCst)
        });
        beside(Duration::ZERO, &watch[0], || {
            beside(Duration::ZERO, &watch[1], || called.iter().for_each(wait_for));
        });
    }

    #[test]
    fn the_end_waits_for_the_function_and_passes_its_panic_on() {
        let _one = one();
        let (began, returned) = (AtomicBool::new(false), AtomicBool::new(false));
        let watch = || {
            began.store(true, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(20));
            returned.store(true, Ordering::SeqCst);
        };
        beside(Duration::ZERO, &watch, || wait_for(&began));
        assert!(returned.load(Ordering::SeqCst));
        let panics = |act: &dyn Fn()| {
            let began = AtomicBool::new(false);
            let watch = || {
                began.store(true, Ordering::SeqCst);
                panic!("of the watch");
            };
            let act = || {
                wait_for(&began);
                act();
            };
            let panic = catch_unwind(AssertUnwindSafe(|| beside(Duration::ZERO, &watch, act)));
            *panic.unwrap_err().downcast_ref::<&str>().unwrap()
        };
        assert_eq!(panics(&|| ()), "of the watch");
        assert_eq!(panics(&|| panic!("of the act")), "of the act");
        // The thread still exists.
        let called = AtomicBool::new(false);
        beside(Duration::ZERO, &|| called.store(true, Ordering::SeqCst), || wait_for(&called));
    }
}
