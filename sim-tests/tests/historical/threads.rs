//! Threads that park, as loom had them.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, spawn, spin_until};

use crate::Shows::Deadlock;
use crate::parts::{Condvar, Sleeper};

crate::bugs! {
    a_wait_takes_the_token_of_park:
        "loom #422", "`Condvar::wait` parks the thread, and takes the token that `unpark` has left",
        Deadlock, 100, token;
    an_unpark_before_park_is_lost:
        "loom #246", "`unpark` of a thread that is not parked leaves no token",
        Deadlock, 100, unparked_early;
}

/// A condition variable and its waiting thread.
#[derive(Default)]
struct Waits {
    parked: Sleeper,
    /// The condition variable has its own wake-up.
    condvar: Condvar,
    /// The number of threads that wait for a condition variable; it parks them.
    waiting: Mutex<u32>,
    flag: Mutex<bool>,
}

impl Waits {
    /// Waits until the flag is set.
    async fn wait(&self, parks: bool) {
        let mut flag = self.flag.lock().await;
        while !*flag {
            if parks {
                *self.waiting.lock().await += 1;
                drop(flag);
                self.parked.sleep().await;
            } else {
                self.condvar.wait(flag).await;
            }
            flag = self.flag.lock().await;
        }
    }

    async fn notify_one(&self, unparks: bool) {
        if !unparks {
            return self.condvar.notify_one().await;
        }
        let is_waiting = std::mem::take(&mut *self.waiting.lock().await) > 0;
        if is_waiting {
            self.parked.wake().await;
        }
    }
}

async fn token(is_fixed: bool) {
    let main = Arc::new(Waits::default());
    let other = main.clone();
    let other = spawn(async move {
        other.parked.wake().await;
        *other.flag.lock().await = true;
        other.notify_one(!is_fixed).await;
    });
    main.wait(!is_fixed).await;
    main.parked.sleep().await;
    other.await.unwrap();
}

const RUNS: u8 = 0;
const PARKED: u8 = 1;
const TOKEN: u8 = 2;

/// The state of a thread.
struct Thread {
    state: Atomic<u8>,
}

impl Thread {
    async fn unpark(&self, leaves_token: bool) {
        let update = |state| match state {
            PARKED => Some(RUNS),
            _ if leaves_token => Some(TOKEN),
            _ => None,
        };
        let _ = self.state.fetch_update(SeqCst, SeqCst, update).await;
    }

    async fn park(&self) {
        let update = |state| Some(if state == TOKEN { RUNS } else { PARKED });
        if self.state.fetch_update(SeqCst, SeqCst, update).await != Ok(TOKEN) {
            spin_until(async || self.state.load(SeqCst).await == RUNS).await;
        }
    }
}

async fn unparked_early(is_fixed: bool) {
    let thread = Arc::new(Thread { state: Atomic::new(RUNS).named("thread") });
    let other = thread.clone();
    let other = spawn(async move { other.unpark(is_fixed).await });
    thread.park().await;
    other.await.unwrap();
}
