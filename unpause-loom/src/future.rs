//! loom's `future`: a stored waker, and a thread that waits for a future.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use crate::sync::Notify;

/// A stored waker of a task, for other threads to call.
#[derive(Default)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// Creates an `AtomicWaker` without a waker.
    pub fn new() -> AtomicWaker {
        AtomicWaker::default()
    }

    /// Stores the waker.
    pub fn register(&self, waker: Waker) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(waker));
    }

    /// Stores a clone of the waker.
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Calls the waker, if one is stored.
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker out.
    pub fn take_waker(&self) -> Option<Waker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtomicWaker { .. }")
    }
}

/// The wake-ups of one future. They are separate from the park token of the thread, which belongs to the program, and
/// from the wake-ups of other futures on the same thread.
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

/// Polls a future until it is ready. The thread is blocked while it waits. In a run, the future may be polled once
/// without a wake-up, at any moment after its first pending poll.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let woken = Arc::new(Woken(Notify::new()));
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut is_first = true;
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => {
                if std::mem::take(&mut is_first) && unpause_model::is_stepped() {
                    may_wake(waker.clone());
                }
                woken.0.wait();
            }
        }
    }
}

/// May call the waker later. A separate thread does so, but only if its first step runs before this function ends. So a
/// lost wake-up of the future is still a deadlock in other runs.
fn may_wake(waker: Waker) {
    let is_late = Arc::new(AtomicBool::new(false));
    let of_thread = is_late.clone();
    let wakes = thread::spawn(move || {
        if !of_thread.load(SeqCst) {
            waker.wake();
        }
    });
    is_late.store(true, SeqCst);
    unpause_model::detach(move || drop(wakes.join()));
}
