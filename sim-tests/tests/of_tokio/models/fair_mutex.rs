//! tokio's mutex. It is acquired in the order of requests.

use std::sync::Arc;
use std::sync::Mutex as Held;

use sim::tokio::sync::{Mutex, OwnedMutexGuard};

use super::fair_queue::Permits;
use super::{Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    /// Adds 1 to the value under the lock, and returns its previous value.
    Lock,
    TryLock,
    Unlock,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        match dice.below(6) {
            0..=2 => Call::Lock,
            3 => Call::TryLock,
            _ => Call::Unlock,
        }
    }

    fn is_point(self) -> bool {
        self == Call::Lock
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    permits: Permits,
    owner: Option<usize>,
    value: i64,
}

impl State {
    fn acquired(&mut self, task: usize) -> i64 {
        self.owner = Some(task);
        self.value += 1;
        self.value - 1
    }
}

impl Model for State {
    type Call = Call;

    fn new(_: usize, _: usize) -> State {
        State { permits: Permits::new(1), owner: None, value: 0 }
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        Polled::Done(match call {
            Call::Lock => match self.permits.poll(caller, 1) {
                None => return Polled::Waits,
                Some(_) => self.acquired(caller.0),
            },
            Call::TryLock => match self.permits.take(1) {
                0 => self.acquired(caller.0),
                _ => WOULD_WAIT,
            },
            Call::Unlock => match self.owner == Some(caller.0) {
                true => {
                    self.end(caller.0, false);
                    0
                }
                false => NOTHING,
            },
        })
    }

    fn cancel(&mut self, _: Call, caller: Caller) {
        self.permits.cancel(caller);
    }

    fn plant(&mut self) {
        self.permits.is_unfair = true;
    }

    fn end(&mut self, task: usize, _: bool) {
        if self.owner == Some(task) {
            self.owner = None;
            self.permits.add(1);
        }
    }
}

pub(super) struct Ends {
    lock: Arc<Mutex<i64>>,
    guard: Held<Option<OwnedMutexGuard<i64>>>,
}

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let lock = Arc::new(Mutex::new(0));
    (0..tasks).map(|_| Ends { lock: lock.clone(), guard: Held::default() }).collect()
}

impl Ends {
    fn acquired(&self, mut guard: OwnedMutexGuard<i64>) -> i64 {
        *guard += 1;
        let old = *guard - 1;
        *self.guard.lock().unwrap() = Some(guard);
        old
    }

    pub(super) async fn perform(&self, call: Call) -> i64 {
        match call {
            Call::Lock => self.acquired(self.lock.clone().lock_owned().await),
            Call::TryLock => match self.lock.clone().try_lock_owned() {
                Ok(guard) => self.acquired(guard),
                Err(_) => WOULD_WAIT,
            },
            Call::Unlock => self.guard.lock().unwrap().take().map_or(NOTHING, |_| 0),
        }
    }
}
