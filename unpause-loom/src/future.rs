//! loom's `future`: a stored waker, and a thread that waits for a future.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

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

/// The wake-ups of one future.
struct Woken {
    is_set: AtomicBool,
    thread: Thread,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A store would end the release sequence of an earlier wake-up. The next poll would then not see what happened
        // before that wake-up.
        self.is_set.swap(true, SeqCst);
        self.thread.unpark();
    }
}

/// Polls a future until it is ready. The thread is parked while it waits. If it is unparked without a wake-up of this
/// future, this function unparks it again at the end. In a run, the future may be polled once without a wake-up, at any
/// moment after its first pending poll.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let woken = Arc::new(Woken { is_set: AtomicBool::new(false), thread: thread::current() });
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let (mut is_first, mut has_foreign) = (true, false);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            if has_foreign {
                woken.thread.unpark();
            }
            return output;
        }
        if std::mem::take(&mut is_first) && unpause_model::is_stepped() {
            may_wake(waker.clone());
        }
        while !woken.is_set.swap(false, SeqCst) {
            thread::park();
            // Another caller has unparked this thread. Its token belongs to the program.
            has_foreign |= !woken.is_set.load(SeqCst);
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
