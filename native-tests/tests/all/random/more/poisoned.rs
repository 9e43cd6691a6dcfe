//! Locks of std that a panic poisons.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, RwLock, TryLockError};

use super::super::model::{HELD, Outcome};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, execute};

/// A command on the lock with the number in the first field: two mutexes, and a read-write lock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Adds to the value, and returns it. The value is greater by [`POISONED`] if the lock was poisoned.
    Lock(usize, i64),
    TryLock(usize, i64),
    /// Adds to the value, and then panics.
    Panic(usize, i64),
    /// Reads the value of the read-write lock.
    Read,
    /// Acquires a mutex, and then the other one, and panics.
    PanicBoth(usize),
    IsPoisoned(usize),
    Clear(usize),
}

const POISONED: i64 = 1000;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lock {
    is_held: bool,
    readers: u32,
    value: i64,
    is_poisoned: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Poisoned {
    locks: [Lock; 3],
}

impl Poisoned {
    fn acquire(&mut self, lock: usize) -> Option<&mut Lock> {
        let lock = &mut self.locks[lock];
        (!lock.is_held && lock.readers == 0).then_some(())?;
        lock.is_held = true;
        Some(lock)
    }

    fn mark(&mut self, lock: usize) {
        self.locks[lock].is_poisoned = true;
    }

    fn release(&mut self, lock: usize) {
        self.locks[lock].is_held = false;
    }
}

fn shown(value: i64, is_poisoned: bool) -> i64 {
    value + if is_poisoned { POISONED } else { 0 }
}

impl Subject for Poisoned {
    type Act = Act;
    const NAME: &'static str = "Poisoned";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, _: usize, variant: u64) -> Act {
        let lock = match numbers.below(4) {
            0 => numbers.below(3),
            _ => variant % 3,
        } as usize;
        let by = numbers.one_of(&[1, 2, 3]);
        let poison = match variant / 3 % 4 {
            0 => numbers.one_of(&[Act::IsPoisoned(lock), Act::Clear(lock)]),
            _ => Act::PanicBoth(lock % 2),
        };
        let read = if lock == 2 { Act::Read } else { Act::TryLock(lock, by) };
        let try_lock =
            if lock == 2 && numbers.below(2) == 0 { Act::Read } else { Act::TryLock(lock, by) };
        numbers.one_of(&[
            Act::Lock(lock, by),
            Act::Panic(lock, by),
            Act::Panic(lock, by),
            read,
            try_lock,
            poison,
        ])
    }

    fn first(_: &Program<Self>) -> Self {
        Poisoned { locks: Default::default() }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        match act {
            Act::TryLock(lock, _) if local.stage == 0 && self.acquire(lock).is_none() => {
                Some(local.see(HELD))
            }
            Act::Lock(lock, by) | Act::TryLock(lock, by) => match local.stage {
                0 => {
                    // A `try_lock` has already acquired it.
                    if matches!(act, Act::Lock(..)) {
                        self.acquire(lock)?;
                    }
                    let lock = &mut self.locks[lock];
                    lock.value += by;
                    let value = shown(lock.value, lock.is_poisoned);
                    local.see(value);
                    Some(false)
                }
                _ => {
                    self.release(lock);
                    Some(true)
                }
            },
            Act::Panic(lock, by) => match local.stage {
                0 => {
                    self.acquire(lock)?.value += by;
                    Some(false)
                }
                1 => {
                    self.mark(lock);
                    Some(false)
                }
                _ => {
                    self.release(lock);
                    Some(true)
                }
            },
            Act::PanicBoth(lock) => {
                match local.stage {
                    0 => drop(self.acquire(lock)?),
                    1 => self.acquire(1 - lock)?.value += 1,
                    2 => self.mark(1 - lock),
                    3 => self.release(1 - lock),
                    4 => self.mark(lock),
                    _ => self.release(lock),
                }
                Some(local.stage == 5)
            }
            Act::Read => match local.stage {
                0 => {
                    let lock = &mut self.locks[2];
                    (!lock.is_held).then_some(())?;
                    lock.readers += 1;
                    let value = shown(lock.value, lock.is_poisoned);
                    local.see(value);
                    Some(false)
                }
                _ => {
                    self.locks[2].readers -= 1;
                    Some(true)
                }
            },
            Act::IsPoisoned(lock) => Some(local.see(i64::from(self.locks[lock].is_poisoned))),
            Act::Clear(lock) => {
                self.locks[lock].is_poisoned = false;
                Some(true)
            }
        }
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let objects = Objects::default();
        execute(program, (Arc::default(), objects), |objects, act, _| objects.act(act))
    }
}

#[derive(Default)]
struct Objects {
    locks: [Mutex<i64>; 2],
    shared: RwLock<i64>,
}

/// Adds to the value behind a guard, and returns it.
macro_rules! add {
    ($locked:expr, $by:expr) => {{
        let (mut guard, is_poisoned) = match $locked {
            Ok(guard) => (guard, false),
            Err(error) => (error.into_inner(), true),
        };
        *guard += $by;
        shown(*guard, is_poisoned)
    }};
}

macro_rules! try_add {
    ($locked:expr, $by:expr) => {
        match $locked {
            Ok(guard) => add!(Ok::<_, std::sync::PoisonError<_>>(guard), $by),
            Err(TryLockError::Poisoned(error)) => add!(Err(error), $by),
            Err(TryLockError::WouldBlock) => HELD,
        }
    };
}

impl Objects {
    fn act(&self, act: Act) -> Option<i64> {
        let panics = |act: &dyn Fn()| {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                act();
            }));
            assert!(panicked.is_err());
        };
        match act {
            Act::Lock(2, by) => Some(add!(self.shared.write(), by)),
            Act::Lock(lock, by) => Some(add!(self.locks[lock].lock(), by)),
            Act::TryLock(2, by) => Some(try_add!(self.shared.try_write(), by)),
            Act::TryLock(lock, by) => Some(try_add!(self.locks[lock].try_lock(), by)),
            Act::Panic(2, by) => {
                panics(&|| {
                    let mut guard = self.shared.write().unwrap_or_else(|error| error.into_inner());
                    *guard += by;
                    resume_unwind(Box::new(()))
                });
                None
            }
            Act::Panic(lock, by) => {
                panics(&|| {
                    let lock = &self.locks[lock];
                    let mut guard = lock.lock().unwrap_or_else(|error| error.into_inner());
                    *guard += by;
                    resume_unwind(Box::new(()))
                });
                None
            }
            Act::PanicBoth(lock) => {
                panics(&|| {
                    let [first, second] = [lock, 1 - lock].map(|lock| &self.locks[lock]);
                    let _held = first.lock().unwrap_or_else(|error| error.into_inner());
                    let mut guard = second.lock().unwrap_or_else(|error| error.into_inner());
                    *guard += 1;
                    resume_unwind(Box::new(()))
                });
                None
            }
            Act::Read => Some(match self.shared.read() {
                Ok(guard) => *guard,
                Err(error) => shown(*error.into_inner(), true),
            }),
            Act::IsPoisoned(2) => Some(self.shared.is_poisoned().into()),
            Act::IsPoisoned(lock) => Some(self.locks[lock].is_poisoned().into()),
            Act::Clear(2) => {
                self.shared.clear_poison();
                None
            }
            Act::Clear(lock) => {
                self.locks[lock].clear_poison();
                None
            }
        }
    }
}
