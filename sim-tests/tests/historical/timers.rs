//! Timers of tokio's runtime, without the time: the shared state of a worker and the wheel.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, spawn};

use crate::Shows::{Deadlock, Panic};
use crate::parts::Sleeper;

crate::bugs! {
    a_timer_is_lost_while_a_worker_parks:
        "tokio #6682", "a worker lets go of the wheels before it stores until when it parks",
        Deadlock, 100, lost;
    a_cancelled_timer_stays_in_the_wheel:
        "tokio #8252", "an entry that is cancelled while it is inserted is put into the wheel, and never taken out",
        Panic("the wheel keeps the entry"), 100, leaked;
}

/// The value for "no deadline".
const NEVER: u64 = 0;

struct Driver {
    /// The earliest deadline in the wheels.
    wheels: Mutex<u64>,
    /// The deadline until which the worker is parked.
    next_wake: Atomic<u64>,
    worker: Arc<Sleeper>,
}

impl Driver {
    /// Returns the deadline until which the worker parks.
    async fn park_until(&self, stores_first: bool) -> u64 {
        let wheels = self.wheels.lock().await;
        let earliest = *wheels;
        if stores_first {
            self.next_wake.store(earliest, SeqCst).await;
        }
        drop(wheels);
        if !stores_first {
            self.next_wake.store(earliest, SeqCst).await;
        }
        earliest
    }

    async fn register(&self, deadline: u64) {
        let mut wheels = self.wheels.lock().await;
        *wheels = deadline;
        let next_wake = self.next_wake.load(SeqCst).await;
        drop(wheels);
        if next_wake == NEVER || deadline < next_wake {
            self.worker.wake().await;
        }
    }
}

/// The worker was parked until 1, has fired that timer, and parks again while another thread registers the next timer.
async fn lost(is_fixed: bool) {
    let driver = Arc::new(Driver {
        wheels: Mutex::new(NEVER).named("wheels"),
        next_wake: Atomic::new(1).named("next_wake"),
        worker: Sleeper::new(),
    });
    let other = driver.clone();
    let registering = spawn(async move { other.register(5).await });
    while driver.park_until(is_fixed).await == NEVER {
        driver.worker.sleep().await;
    }
    registering.await.unwrap();
}

/// The state of an entry that its future and the wheel of a worker share.
#[derive(Default)]
struct Entry {
    is_cancelled: bool,
    /// True if a cancellation can be sent to the wheel.
    is_registered: bool,
}

async fn leaked(is_fixed: bool) {
    let entry = Arc::new(Mutex::new(Entry::default()).named("entry"));
    let cancelling = entry.clone();
    // Returns true if the worker has to take the entry out of its wheel.
    let cancelling = spawn(async move {
        let mut entry = cancelling.lock().await;
        entry.is_cancelled = true;
        entry.is_registered
    });
    let mut state = entry.lock().await;
    let can_be_cancelled = !state.is_cancelled;
    state.is_registered = can_be_cancelled;
    drop(state);
    let mut is_in_wheel = can_be_cancelled || !is_fixed;
    if cancelling.await.unwrap() {
        is_in_wheel = false;
    }
    assert!(!is_in_wheel, "the wheel keeps the entry");
}
