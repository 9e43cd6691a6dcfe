//! The cooperative budget of a task: the number of consecutive times that it finds a real lock free before it yields.
//!
//! A task that loops over a free lock never waits. While the task loops, an executor with one thread could not poll
//! anything else, neither the task that ends the loop nor a timer. So from time to time, the lock is not ready at once,
//! and its task is polled again after the other tasks. The thread stores the count, because all executors have threads.
//! (tokio's own primitives do the same for tokio tasks.)

use std::cell::Cell;
use std::task::{Context, Poll};

/// The number of attempts before a task yields, which is the same as in tokio.
const FULL: u32 = 128;

thread_local! {
    static LEFT: Cell<u32> = const { Cell::new(FULL) };
}

/// Counts an attempt to acquire a lock that may be free. Returns `Pending` if the task must yield first; the task is
/// then already woken.
#[inline]
pub(crate) fn spend(cx: &mut Context<'_>) -> Poll<()> {
    match LEFT.get() {
        0 => give_way(cx),
        left => {
            LEFT.set(left - 1);
            Poll::Ready(())
        }
    }
}

#[cold]
fn give_way(cx: &mut Context<'_>) -> Poll<()> {
    refill();
    let waker = cx.waker();
    // The caller polls only once, to check if the lock is free.
    if super::wakes_nobody(waker) {
        return Poll::Ready(());
    }
    waker.wake_by_ref();
    Poll::Pending
}

/// Returns the number of attempts before the task must yield.
pub(crate) fn left() -> u32 {
    LEFT.get()
}

/// Restores a number that [`left`] returned.
pub(crate) fn restore(left: u32) {
    LEFT.set(left);
}

/// Restarts the count when the task waits, because other tasks run then.
#[inline]
pub(crate) fn refill() {
    LEFT.set(FULL);
}

/// Calls `act` without the budget of the current task of tokio, if any.
///
/// A runner may be called in a task of tokio, and the objects of tokio in its runs would then spend the budget of that
/// task. After 128 operations they would wait until the task yields, which happens only after the call.
#[cfg(feature = "tokio")]
pub(crate) fn without_tokio<R>(act: impl FnOnce() -> R) -> R {
    let mut act = Some(act);
    let call = std::future::poll_fn(|_| match act.take() {
        Some(act) => Poll::Ready(act()),
        None => Poll::Pending,
    });
    let mut call = std::pin::pin!(::tokio::task::coop::unconstrained(call));
    match call.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("the call is polled once"),
    }
}

/// Calls `act`. Without the feature `tokio`, tasks have no such budget.
#[cfg(not(feature = "tokio"))]
pub(crate) fn without_tokio<R>(act: impl FnOnce() -> R) -> R {
    act()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Waker;

    #[derive(Default)]
    struct Wakes(AtomicU32);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_gives_way_now_and_then_and_is_woken() {
        let wakes = Arc::new(Wakes::default());
        let waker = wakes.clone().into();
        refill();
        let cx = &mut Context::from_waker(&waker);
        let pending = (0..10 * (FULL + 1)).filter(|_| spend(cx).is_pending()).count();
        assert_eq!((pending, wakes.0.load(Ordering::Relaxed)), (10, 10));
        for noop in [Waker::noop(), futures::task::noop_waker_ref()] {
            let cx = &mut Context::from_waker(noop);
            assert!((0..10 * FULL).all(|_| spend(cx).is_ready()));
        }
    }
}
