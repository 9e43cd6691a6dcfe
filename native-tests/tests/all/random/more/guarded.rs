//! Mutexes with guards that a thread holds while it performs other commands: `Mutex` of std and parking_lot, and
//! `ReentrantMutex`. The model performs the atomic operations of parking_lot, and its waits. No time passes in a
//! search, so unlocks are not fair unless a command requests it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{MutexGuard, ReentrantMutex, ReentrantMutexGuard};

use super::super::model::{HELD, NONE, Outcome};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, execute_threads};

/// A command. Only a reentrant mutex has several guards of a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Acquires the guard, adds to the value, and returns it.
    Lock(i64),
    TryLock(i64),
    /// Drops the last guard.
    Drop,
    /// Drops the last guard, and gives the lock to the next thread.
    DropFair,
    /// Gives the lock to the next thread, if any, and waits for the lock.
    Bump,
    /// Adds to the value by the guard, and returns it.
    Add(i64),
    IsLocked,
    /// Returns 1 if the thread has a guard of a reentrant mutex.
    IsOwned,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Std,
    Lot,
    Reentrant,
}

fn kind(variant: u64) -> Kind {
    [Kind::Std, Kind::Lot, Kind::Reentrant, Kind::Reentrant][variant as usize % 4]
}

const LOCKED: u8 = 1;
const PARKED: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Wake {
    None,
    Normal,
    /// The thread has got the lock.
    HandedOver,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Guarded {
    kind: Kind,
    state: u8,
    value: i64,
    queue: VecDeque<usize>,
    /// The thread with the lock of the queue.
    has_queue: Option<usize>,
    /// The number of guards of each thread, the state that it has read, and its wake-up.
    threads: Vec<(u32, u8, Wake)>,
}

const SLOW: u32 = 10;
const UNLOCK: u32 = 30;
const DONE: u32 = 50;

impl Guarded {
    fn exchange(&mut self, from: u8, to: u8) -> Result<(), u8> {
        if self.state != from {
            return Err(self.state);
        }
        self.state = to;
        Ok(())
    }

    /// Performs an effect of an acquisition. It is over at the stage [`DONE`].
    fn acquire(&mut self, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let (_, state, wake) = self.threads[me];
        match local.stage {
            _ if self.kind == Kind::Std => {
                self.exchange(0, LOCKED).ok()?;
                local.go_to(DONE)
            }
            0 => {
                let is_acquired = self.exchange(0, LOCKED).is_ok();
                local.go_to(if is_acquired { DONE } else { SLOW })
            }
            SLOW => {
                self.threads[me].1 = self.state;
                local.go_to(SLOW + 1)
            }
            11 if state & LOCKED == 0 => match self.exchange(state, state | LOCKED) {
                Ok(()) => local.go_to(DONE),
                Err(other) => {
                    self.threads[me].1 = other;
                    local.go_to(SLOW + 1)
                }
            },
            11 if state & PARKED == 0 => match self.exchange(state, state | PARKED) {
                Ok(()) => local.go_to(SLOW + 2),
                Err(other) => {
                    self.threads[me].1 = other;
                    local.go_to(SLOW + 1)
                }
            },
            11 | 12 => {
                self.has_queue.is_none().then_some(())?;
                if self.state != LOCKED | PARKED {
                    return local.go_to(SLOW);
                }
                self.has_queue = Some(me);
                local.go_to(SLOW + 3)
            }
            13 => {
                self.queue.push_back(me);
                (self.has_queue, self.threads[me].2) = (None, Wake::None);
                local.go_to(SLOW + 4)
            }
            _ => match wake {
                Wake::None => None,
                Wake::Normal => local.go_to(SLOW),
                Wake::HandedOver => local.go_to(DONE),
            },
        }
    }

    /// Performs an effect of an unlock. Returns `true` after its end.
    fn unlock(&mut self, is_fair: bool, local: &mut Local) -> Option<bool> {
        match local.stage {
            _ if self.kind == Kind::Std => {
                self.state = 0;
                Some(true)
            }
            UNLOCK => match self.exchange(LOCKED, 0) {
                Ok(()) => Some(true),
                Err(_) => local.go_to(UNLOCK + 1),
            },
            _ => {
                self.has_queue.is_none().then_some(())?;
                let next = self.queue.pop_front();
                let is_handed_over = is_fair && next.is_some();
                let locked = if is_handed_over { LOCKED } else { 0 };
                self.state = locked | if self.queue.is_empty() { 0 } else { PARKED };
                if let Some(next) = next {
                    self.threads[next].2 =
                        if is_handed_over { Wake::HandedOver } else { Wake::Normal };
                }
                Some(true)
            }
        }
    }

    /// Removes the values between two effects.
    fn settle(&mut self, me: usize) {
        (self.threads[me].1, self.threads[me].2) = (0, Wake::None);
    }

    fn add(&mut self, by: i64, local: &mut Local) -> Option<bool> {
        self.value += by;
        Some(local.see(self.value))
    }
}

impl Subject for Guarded {
    type Act = Act;
    const NAME: &'static str = "Guarded";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, _: usize, variant: u64) -> Act {
        let by = numbers.one_of(&[1, 2, 3]);
        let by_kind = match (kind(variant), variant / 4 % 4) {
            (Kind::Std, _) | (_, 0) => Act::TryLock(by),
            (_, 1) => Act::DropFair,
            (_, 2) => Act::Bump,
            _ => numbers.one_of(&[Act::IsLocked, Act::IsOwned]),
        };
        numbers.one_of(&[
            Act::Lock(by),
            Act::Lock(by),
            Act::TryLock(by),
            Act::Drop,
            Act::Add(by),
            by_kind,
            by_kind,
        ])
    }

    fn first(program: &Program<Self>) -> Self {
        Guarded {
            kind: kind(program.variant),
            state: 0,
            value: 0,
            queue: VecDeque::new(),
            has_queue: None,
            threads: vec![(0, 0, Wake::None); program.threads.len()],
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        let count = self.threads[me].0;
        match (act, local.stage) {
            (Act::IsLocked, _) => Some(local.see((self.state & LOCKED).into())),
            (Act::IsOwned, _) => Some(local.see((count > 0).into())),
            (Act::Lock(_) | Act::TryLock(_), 0) if count > 0 && self.kind != Kind::Reentrant => {
                Some(local.see(NONE))
            }
            (Act::Lock(by) | Act::TryLock(by), stage) if stage == DONE || count > 0 => {
                self.threads[me].0 += 1;
                self.settle(me);
                self.add(by, local)
            }
            (Act::TryLock(_), _) if self.state & LOCKED != 0 => Some(local.see(HELD)),
            (Act::TryLock(by), _) => {
                self.state |= LOCKED;
                self.threads[me].0 = 1;
                self.add(by, local)
            }
            (Act::Lock(_), _) => self.acquire(local),
            (Act::Add(_), _) if count == 0 => Some(local.see(NONE)),
            (Act::Add(by), _) => self.add(by, local),
            (_, 0) if count == 0 => Some(true),
            (Act::Drop | Act::DropFair, 0) if count > 1 => {
                self.threads[me].0 -= 1;
                Some(true)
            }
            (Act::Drop | Act::DropFair, stage) => {
                local.stage = stage.max(UNLOCK);
                let is_over = self.unlock(act == Act::DropFair, local)?;
                self.threads[me].0 -= u32::from(is_over);
                Some(is_over)
            }
            // Only a thread with one guard gives up the lock.
            (Act::Bump, 0) if count > 1 || self.state & PARKED == 0 => Some(true),
            (Act::Bump, 0) => local.go_to(UNLOCK + 1),
            (Act::Bump, stage) if stage == UNLOCK + 1 => {
                self.unlock(true, local)?;
                local.go_to(1)
            }
            (Act::Bump, 1) => {
                let is_acquired = self.exchange(0, LOCKED).is_ok();
                local.go_to(if is_acquired { DONE } else { SLOW })
            }
            (Act::Bump, DONE) => {
                self.settle(me);
                Some(true)
            }
            (Act::Bump, _) => self.acquire(local),
        }
    }

    /// Drops the guards.
    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        local.stage = (local.stage - 1).max(UNLOCK);
        let own = &mut self.threads[local.me].0;
        if *own > 1 {
            *own = 1;
        }
        if *own == 0 {
            return Some(true);
        }
        let is_over = self.unlock(false, local)?;
        self.threads[local.me].0 -= u32::from(is_over);
        Some(is_over)
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        vec![self.value]
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let mutex = Arc::new(match kind(program.variant) {
            Kind::Std => Mutex::Std(std::sync::Mutex::new(0)),
            Kind::Lot => Mutex::Lot(parking_lot::Mutex::new(0)),
            Kind::Reentrant => Mutex::Reentrant(ReentrantMutex::new(Cell::new(0))),
        });
        let own = (Arc::default(), |_| mutex.clone());
        let outcome = execute_threads(program, own, |mutex, commands, words| {
            let mut guards = Vec::new();
            let seen = words.run(commands, |act| mutex.act(act, &mut guards));
            guards.into_iter().rev().for_each(drop);
            seen
        });
        let mutex = Arc::into_inner(mutex).expect("no other reference");
        Outcome { last: vec![mutex.into_inner()], ..outcome }
    }
}

enum Mutex {
    Std(std::sync::Mutex<i64>),
    Lot(parking_lot::Mutex<i64>),
    Reentrant(ReentrantMutex<Cell<i64>>),
}

enum Guard<'a> {
    Std(std::sync::MutexGuard<'a, i64>),
    Lot(MutexGuard<'a, i64>),
    Reentrant(ReentrantMutexGuard<'a, Cell<i64>>),
}

impl Guard<'_> {
    fn add(&mut self, by: i64) -> i64 {
        let value = match self {
            Guard::Std(guard) => &mut **guard,
            Guard::Lot(guard) => &mut **guard,
            Guard::Reentrant(guard) => {
                guard.set(guard.get() + by);
                return guard.get();
            }
        };
        *value += by;
        *value
    }
}

impl Mutex {
    fn act<'a>(&'a self, act: Act, guards: &mut Vec<Guard<'a>>) -> Option<i64> {
        let is_excluded = !guards.is_empty() && !matches!(self, Mutex::Reentrant(_));
        match (act, self) {
            (Act::Lock(_) | Act::TryLock(_), _) if is_excluded => Some(NONE),
            (Act::Lock(by), _) => {
                let mut guard = match self {
                    Mutex::Std(mutex) => Guard::Std(mutex.lock().unwrap()),
                    Mutex::Lot(mutex) => Guard::Lot(mutex.lock()),
                    Mutex::Reentrant(mutex) => Guard::Reentrant(mutex.lock()),
                };
                let value = guard.add(by);
                guards.push(guard);
                Some(value)
            }
            (Act::TryLock(by), _) => {
                let guard = match self {
                    Mutex::Std(mutex) => mutex.try_lock().ok().map(Guard::Std),
                    Mutex::Lot(mutex) => mutex.try_lock().map(Guard::Lot),
                    Mutex::Reentrant(mutex) => mutex.try_lock().map(Guard::Reentrant),
                };
                let Some(mut guard) = guard else { return Some(HELD) };
                let value = guard.add(by);
                guards.push(guard);
                Some(value)
            }
            (Act::Add(by), _) => Some(guards.last_mut().map_or(NONE, |guard| guard.add(by))),
            (Act::DropFair, _) => {
                match guards.pop() {
                    Some(Guard::Lot(guard)) => MutexGuard::unlock_fair(guard),
                    Some(Guard::Reentrant(guard)) => ReentrantMutexGuard::unlock_fair(guard),
                    other => drop(other),
                }
                None
            }
            (Act::Bump, _) => {
                match guards.last_mut() {
                    Some(Guard::Lot(guard)) => MutexGuard::bump(guard),
                    Some(Guard::Reentrant(guard)) => ReentrantMutexGuard::bump(guard),
                    _ => {}
                }
                None
            }
            (Act::Drop, _) => {
                drop(guards.pop());
                None
            }
            (Act::IsLocked, Mutex::Lot(mutex)) => Some(mutex.is_locked().into()),
            (Act::IsLocked, Mutex::Reentrant(mutex)) => Some(mutex.is_locked().into()),
            (Act::IsOwned, Mutex::Reentrant(mutex)) => {
                Some(mutex.is_owned_by_current_thread().into())
            }
            (Act::IsLocked | Act::IsOwned, _) => Some((!guards.is_empty()).into()),
        }
    }

    fn into_inner(self) -> i64 {
        match self {
            Mutex::Std(mutex) => mutex.into_inner().unwrap(),
            Mutex::Lot(mutex) => mutex.into_inner(),
            Mutex::Reentrant(mutex) => mutex.into_inner().get(),
        }
    }
}
