//! The lock with readers.

use std::sync::{Arc, Mutex};

use sim::tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::fair_queue::Permits;
use super::{Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    /// Returns the value under the lock.
    Read,
    /// Adds 1 to the value under the lock, and returns its previous value.
    Write,
    TryRead,
    TryWrite,
    /// Makes a reader of the last guard of the task.
    Downgrade,
    /// Drops the last guard of the task.
    Release,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        match dice.below(11) {
            0..=2 => Call::Read,
            3..=4 => Call::Write,
            5 => Call::TryRead,
            6 => Call::TryWrite,
            7 => Call::Downgrade,
            _ => Call::Release,
        }
    }

    fn is_point(self) -> bool {
        matches!(self, Call::Read | Call::Write)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    permits: Permits,
    readers_max: u32,
    /// The guards of each task; `true` for a writer.
    held: Vec<Vec<bool>>,
    value: i64,
}

/// The number of concurrent readers; `None` for no limit.
fn limit(variant: usize) -> Option<u32> {
    (variant % 2 == 0).then_some(1 + variant as u32 / 2)
}

impl State {
    fn size(&self, writes: bool) -> u32 {
        if writes { self.readers_max } else { 1 }
    }

    fn acquired(&mut self, task: usize, writes: bool) -> i64 {
        self.held[task].push(writes);
        let old = self.value;
        self.value += i64::from(writes);
        old
    }
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, variant: usize) -> State {
        let readers_max = limit(variant).unwrap_or(100);
        let held = vec![Vec::new(); tasks];
        State { permits: Permits::new(readers_max), readers_max, held, value: 0 }
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        let me = caller.0;
        Polled::Done(match call {
            Call::Read | Call::Write => {
                let writes = call == Call::Write;
                match self.permits.poll(caller, self.size(writes)) {
                    None => return Polled::Waits,
                    Some(_) => self.acquired(me, writes),
                }
            }
            Call::TryRead | Call::TryWrite => {
                let writes = call == Call::TryWrite;
                match self.permits.take(self.size(writes)) {
                    0 => self.acquired(me, writes),
                    _ => WOULD_WAIT,
                }
            }
            Call::Downgrade => match self.held[me].last_mut() {
                Some(writes) if *writes => {
                    *writes = false;
                    self.permits.add(self.readers_max - 1);
                    0
                }
                _ => NOTHING,
            },
            Call::Release => match self.held[me].pop() {
                None => NOTHING,
                Some(writes) => {
                    self.permits.add(self.size(writes));
                    0
                }
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
        for writes in std::mem::take(&mut self.held[task]) {
            self.permits.add(self.size(writes));
        }
    }
}

enum Guard {
    Read(#[allow(dead_code)] OwnedRwLockReadGuard<i64>),
    Write(OwnedRwLockWriteGuard<i64>),
}

pub(super) struct Ends {
    lock: Arc<RwLock<i64>>,
    held: Mutex<Vec<Guard>>,
}

pub(super) fn ends(tasks: usize, variant: usize) -> Vec<Ends> {
    let lock = Arc::new(match limit(variant) {
        Some(readers_max) => RwLock::with_max_readers(0, readers_max),
        None => RwLock::new(0),
    });
    (0..tasks).map(|_| Ends { lock: lock.clone(), held: Mutex::default() }).collect()
}

impl Ends {
    fn reads(&self, guard: OwnedRwLockReadGuard<i64>) -> i64 {
        let value = *guard;
        self.held.lock().unwrap().push(Guard::Read(guard));
        value
    }

    fn writes(&self, mut guard: OwnedRwLockWriteGuard<i64>) -> i64 {
        *guard += 1;
        let old = *guard - 1;
        self.held.lock().unwrap().push(Guard::Write(guard));
        old
    }

    pub(super) async fn perform(&self, call: Call) -> i64 {
        let lock = self.lock.clone();
        match call {
            Call::Read => self.reads(lock.read_owned().await),
            Call::Write => self.writes(lock.write_owned().await),
            Call::TryRead => lock.try_read_owned().map_or(WOULD_WAIT, |guard| self.reads(guard)),
            Call::TryWrite => lock.try_write_owned().map_or(WOULD_WAIT, |guard| self.writes(guard)),
            Call::Downgrade => {
                let mut held = self.held.lock().unwrap();
                match held.pop() {
                    Some(Guard::Write(guard)) => {
                        held.push(Guard::Read(guard.downgrade()));
                        0
                    }
                    other => {
                        held.extend(other);
                        NOTHING
                    }
                }
            }
            Call::Release => self.held.lock().unwrap().pop().map_or(NOTHING, |_| 0),
        }
    }
}
