//! The semaphore.

use std::sync::{Arc, Mutex};

use sim::tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::fair_queue::Permits;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Acquire(u32),
    TryAcquire(u32),
    /// Drops the permits that the task acquired last.
    Release,
    Add(u32),
    Forget,
    /// Forgets the permits that the task acquired last.
    Keep,
    Close,
    Available,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        let few = 1 + dice.below(2) as u32;
        match dice.below(13) {
            0..=4 => Call::Acquire(few),
            5 => Call::TryAcquire(few),
            6..=7 => Call::Release,
            8 => Call::Add(few),
            9 => Call::Forget,
            10 => Call::Keep,
            11 => Call::Close,
            _ => Call::Available,
        }
    }

    fn is_point(self) -> bool {
        matches!(self, Call::Acquire(_))
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    permits: Permits,
    /// The permits of each task, by acquisition.
    held: Vec<Vec<u32>>,
}

fn first(variant: usize) -> usize {
    variant % 3
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, variant: usize) -> State {
        State { permits: Permits::new(first(variant) as u32), held: vec![Vec::new(); tasks] }
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        let held = &mut self.held[caller.0];
        Polled::Done(match call {
            Call::Acquire(n) => match self.permits.poll(caller, n) {
                None => return Polled::Waits,
                Some(false) => CLOSED,
                Some(true) => {
                    held.push(n);
                    0
                }
            },
            Call::TryAcquire(n) => {
                let got = self.permits.take(n);
                held.extend((got == 0).then_some(n));
                got
            }
            Call::Release => match held.pop() {
                None => NOTHING,
                Some(n) => {
                    self.permits.add(n);
                    0
                }
            },
            Call::Keep => held.pop().map_or(NOTHING, |_| 0),
            Call::Add(n) => {
                self.permits.add(n);
                0
            }
            Call::Forget => {
                let forgotten = self.permits.free.min(1);
                self.permits.free -= forgotten;
                forgotten.into()
            }
            Call::Close => {
                self.permits.close();
                0
            }
            Call::Available => self.permits.free.into(),
        })
    }

    fn cancel(&mut self, _: Call, caller: Caller) {
        self.permits.cancel(caller);
    }

    fn plant(&mut self) {
        self.permits.is_unfair = true;
    }

    fn end(&mut self, task: usize, _: bool) {
        for n in std::mem::take(&mut self.held[task]) {
            self.permits.add(n);
        }
    }
}

pub(super) struct Ends {
    semaphore: Arc<Semaphore>,
    held: Mutex<Vec<OwnedSemaphorePermit>>,
}

pub(super) fn ends(tasks: usize, variant: usize) -> Vec<Ends> {
    let semaphore = Arc::new(Semaphore::new(first(variant)));
    let ends = |_| Ends { semaphore: semaphore.clone(), held: Mutex::default() };
    (0..tasks).map(ends).collect()
}

impl Ends {
    pub(super) async fn perform(&self, call: Call) -> i64 {
        match call {
            Call::Acquire(n) => match self.semaphore.clone().acquire_many_owned(n).await {
                Ok(permit) => {
                    self.held.lock().unwrap().push(permit);
                    0
                }
                Err(_) => CLOSED,
            },
            Call::TryAcquire(n) => match self.semaphore.clone().try_acquire_many_owned(n) {
                Ok(permit) => {
                    self.held.lock().unwrap().push(permit);
                    0
                }
                Err(TryAcquireError::Closed) => CLOSED,
                Err(TryAcquireError::NoPermits) => WOULD_WAIT,
            },
            Call::Release => self.held.lock().unwrap().pop().map_or(NOTHING, |_| 0),
            Call::Keep => {
                let permit = self.held.lock().unwrap().pop();
                permit.map_or(NOTHING, |permit| {
                    permit.forget();
                    0
                })
            }
            Call::Add(n) => {
                self.semaphore.add_permits(n as usize);
                0
            }
            Call::Forget => self.semaphore.forget_permits(1) as i64,
            Call::Close => {
                self.semaphore.close();
                0
            }
            Call::Available => self.semaphore.available_permits() as i64,
        }
    }
}
