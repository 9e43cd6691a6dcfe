//! `RwLock` of std, with guards that a thread holds while it performs other commands. The model performs the atomic
//! operations of std's implementation for Linux, and its waits.

use std::collections::VecDeque;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::super::model::{HELD, NONE, Outcome};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, execute_threads};

/// A command on the lock with the number in the first field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Acquires a guard, and returns the value. Does nothing if the thread would wait for itself.
    Read(usize),
    TryRead(usize),
    /// Acquires the guard, adds to the value, and returns it. Does nothing if the thread would wait for itself.
    Write(usize, i64),
    TryWrite(usize, i64),
    /// Drops the last guard.
    Drop(usize),
    /// Turns the guard of a writer into the guard of a reader.
    Downgrade(usize),
    /// Reads the value by the last guard.
    Peek(usize),
}

const MASK: u32 = (1 << 30) - 1;
const WRITTEN: u32 = MASK;
const READERS: u32 = 1 << 30;
const WRITERS: u32 = 1 << 31;

fn is_free(state: u32) -> bool {
    state & MASK == 0
}

fn is_readable(state: u32) -> bool {
    state & MASK < MASK - 1 && state & (READERS | WRITERS) == 0
}

/// Returns `true` if a reader that was woken may read, because a writer has turned its guard into a reader's guard.
fn is_readable_after_wait(state: u32) -> bool {
    state & MASK < MASK - 1 && state & READERS == 0 && !is_free(state)
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lock {
    state: u32,
    /// The number of notifications of writers.
    notified: u32,
    /// The waiting threads.
    readers: Vec<usize>,
    writers: VecDeque<usize>,
    value: i64,
}

impl Lock {
    /// Exchanges the state. Returns the other state if it fails.
    fn exchange(&mut self, from: u32, to: u32) -> Result<(), u32> {
        if self.state != from {
            return Err(self.state);
        }
        self.state = to;
        Ok(())
    }
}

/// The guards of a thread, and its values between two effects.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Own {
    reads: [u32; 2],
    writes: [bool; 2],
    state: u32,
    notified: u32,
    has_slept: bool,
    others: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Held {
    locks: [Lock; 2],
    threads: Vec<Own>,
}

/// The first stages of a release, and of the wake-ups after it.
const RELEASE: u32 = 10;
const WAKE: u32 = 40;

impl Held {
    /// Performs an effect of `read`. Returns `true` after its end.
    fn read(&mut self, at: usize, local: &mut Local) -> Option<bool> {
        let (lock, own) = (&mut self.locks[at], &mut self.threads[local.me]);
        match local.stage {
            0 => {
                own.state = lock.state;
                return local.go_to(if is_readable(own.state) { 1 } else { 2 });
            }
            1 => {
                if lock.exchange(own.state, own.state + 1).is_err() {
                    return local.go_to(2);
                }
            }
            2 => {
                own.state = lock.state;
                return local.go_to(3);
            }
            3 => {
                let state = own.state;
                if own.has_slept && is_readable_after_wait(state) || is_readable(state) {
                    if let Err(other) = lock.exchange(state, state + 1) {
                        own.state = other;
                        return local.go_to(3);
                    }
                } else {
                    if state & READERS == 0
                        && let Err(other) = lock.exchange(state, state | READERS)
                    {
                        own.state = other;
                        return local.go_to(3);
                    }
                    return local.go_to(4);
                }
            }
            4 => {
                own.has_slept = true;
                if lock.state != own.state | READERS {
                    return local.go_to(2);
                }
                lock.readers.push(local.me);
                return local.go_to(5);
            }
            _ => {
                (!lock.readers.contains(&local.me)).then_some(())?;
                own.state = lock.state;
                return local.go_to(3);
            }
        }
        own.reads[at] += 1;
        let value = lock.value;
        self.settle(local.me);
        Some(local.see(value))
    }

    /// Performs an effect of `write`. Returns `true` after its end.
    fn write(&mut self, at: usize, by: i64, local: &mut Local) -> Option<bool> {
        let (lock, own) = (&mut self.locks[at], &mut self.threads[local.me]);
        match local.stage {
            0 => {
                if lock.exchange(0, WRITTEN).is_err() {
                    return local.go_to(1);
                }
            }
            1 => {
                own.state = lock.state;
                return local.go_to(2);
            }
            2 => {
                let state = own.state;
                if is_free(state) {
                    if let Err(other) = lock.exchange(state, state | WRITTEN | own.others) {
                        own.state = other;
                        return local.go_to(2);
                    }
                } else {
                    if state & WRITERS == 0
                        && let Err(other) = lock.exchange(state, state | WRITERS)
                    {
                        own.state = other;
                        return local.go_to(2);
                    }
                    own.others = WRITERS;
                    return local.go_to(3);
                }
            }
            3 => {
                own.notified = lock.notified;
                return local.go_to(4);
            }
            4 => {
                own.state = lock.state;
                let retries = is_free(own.state) || own.state & WRITERS == 0;
                return local.go_to(if retries { 2 } else { 5 });
            }
            5 => {
                if lock.notified != own.notified {
                    return local.go_to(1);
                }
                lock.writers.push_back(local.me);
                return local.go_to(6);
            }
            _ => {
                (!lock.writers.contains(&local.me)).then_some(())?;
                own.state = lock.state;
                return local.go_to(2);
            }
        }
        own.writes[at] = true;
        lock.value += by;
        let value = lock.value;
        self.settle(local.me);
        Some(local.see(value))
    }

    /// Removes the values between two effects.
    fn settle(&mut self, me: usize) {
        let own = &mut self.threads[me];
        (own.state, own.notified, own.has_slept, own.others) = (0, 0, false, 0);
    }

    /// Performs an effect of the end of a guard. Returns `true` after its end.
    fn release(&mut self, at: usize, local: &mut Local) -> Option<bool> {
        let (lock, own) = (&mut self.locks[at], &mut self.threads[local.me]);
        let state = own.state;
        match local.stage {
            RELEASE => {
                let wakes = if std::mem::take(&mut own.writes[at]) {
                    lock.state -= WRITTEN;
                    lock.state & (READERS | WRITERS) != 0
                } else {
                    own.reads[at] -= 1;
                    lock.state -= 1;
                    is_free(lock.state) && lock.state & WRITERS != 0
                };
                own.state = lock.state;
                if wakes {
                    return local.go_to(WAKE);
                }
            }
            WAKE if state == WRITERS => {
                match lock.exchange(state, 0) {
                    Ok(()) => return local.go_to(WAKE + 1),
                    Err(other) => own.state = other,
                }
                if is_free(own.state) {
                    return local.go_to(WAKE);
                }
            }
            WAKE if state == READERS | WRITERS => {
                if lock.exchange(state, READERS).is_ok() {
                    return local.go_to(WAKE + 3);
                }
            }
            WAKE if state == READERS => {
                if lock.exchange(state, 0).is_ok() {
                    return local.go_to(WAKE + 5);
                }
            }
            WAKE => {}
            stage if stage == WAKE + 1 || stage == WAKE + 3 => {
                lock.notified += 1;
                return local.go_to(stage + 1);
            }
            stage if stage == WAKE + 2 || stage == WAKE + 4 => {
                let woken = lock.writers.pop_front();
                if stage == WAKE + 4 && woken.is_none() {
                    own.state = READERS;
                    return local.go_to(WAKE);
                }
            }
            _ => lock.readers.clear(),
        }
        self.settle(local.me);
        Some(true)
    }

    fn downgrade(&mut self, at: usize, local: &mut Local) -> Option<bool> {
        let (lock, own) = (&mut self.locks[at], &mut self.threads[local.me]);
        match local.stage {
            0 => {
                (own.writes[at], own.reads[at]) = (false, 1);
                let has_readers = lock.state & READERS != 0;
                lock.state = lock.state - WRITTEN + 1;
                Some(!has_readers)
            }
            1 => {
                lock.state -= READERS;
                Some(false)
            }
            _ => {
                lock.readers.clear();
                Some(true)
            }
        }
    }
}

impl Subject for Held {
    type Act = Act;
    const NAME: &'static str = "Held";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, _: usize, variant: u64) -> Act {
        // Two locks, or reads while the thread reads, make deadlocks.
        let at = if variant.is_multiple_of(4) { numbers.below(2) as usize } else { 0 };
        let by = numbers.one_of(&[1, 2, 3]);
        let by_kind = match variant / 4 % 4 {
            0 => Act::TryRead(at),
            1 => Act::TryWrite(at, by),
            2 => Act::Downgrade(at),
            _ => Act::Peek(at),
        };
        let read = if variant % 4 == 1 { Act::Read(at) } else { by_kind };
        numbers.one_of(&[
            Act::Read(at),
            Act::Write(at, by),
            Act::Write(at, by),
            Act::Drop(at),
            by_kind,
            read,
        ])
    }

    fn first(program: &Program<Self>) -> Self {
        let threads = vec![Own::default(); program.threads.len()];
        Held { locks: Default::default(), threads }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        let own = &mut self.threads[me];
        let is_first = local.stage == 0;
        match act {
            Act::Read(at) if is_first && own.writes[at] => Some(local.see(NONE)),
            Act::Read(at) => self.read(at, local),
            Act::Write(at, _) if is_first && (own.writes[at] || own.reads[at] > 0) => {
                Some(local.see(NONE))
            }
            Act::Write(at, by) => self.write(at, by, local),
            Act::TryRead(at) => {
                let lock = &mut self.locks[at];
                if !is_readable(lock.state) {
                    return Some(local.see(HELD));
                }
                lock.state += 1;
                own.reads[at] += 1;
                Some(local.see(lock.value))
            }
            Act::TryWrite(at, by) => {
                let lock = &mut self.locks[at];
                if !is_free(lock.state) {
                    return Some(local.see(HELD));
                }
                lock.state += WRITTEN;
                lock.value += by;
                own.writes[at] = true;
                Some(local.see(lock.value))
            }
            Act::Drop(at) => match local.stage {
                0 if !own.writes[at] && own.reads[at] == 0 => Some(true),
                0 => {
                    local.stage = RELEASE;
                    self.release(at, local)
                }
                _ => self.release(at, local),
            },
            Act::Downgrade(at) if is_first && !own.writes[at] => Some(true),
            Act::Downgrade(at) => self.downgrade(at, local),
            Act::Peek(at) => {
                let has_guard = own.writes[at] || own.reads[at] > 0;
                Some(local.see(if has_guard { self.locks[at].value } else { NONE }))
            }
        }
    }

    /// Drops the guards of the first lock, then the guards of the second.
    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let own = &self.threads[local.me];
        local.stage = (local.stage - 1).max(RELEASE);
        let at = usize::from(local.kept > 0);
        if local.stage == RELEASE && !own.writes[at] && own.reads[at] == 0 {
            local.kept = 1;
            return Some(at == 1);
        }
        if self.release(at, local)? {
            local.stage = RELEASE;
        }
        Some(false)
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        self.locks.iter().map(|lock| lock.value).collect()
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let locks: Arc<[RwLock<i64>; 2]> = Arc::default();
        let own = (Arc::default(), |_| locks.clone());
        let outcome = execute_threads(program, own, |locks, commands, words| {
            let mut guards = Guards { locks: &locks, own: Default::default() };
            let seen = words.run(commands, |act| guards.act(act));
            for own in guards.own {
                own.into_iter().rev().for_each(drop);
            }
            seen
        });
        Outcome { last: locks.iter().map(|lock| *lock.read().unwrap()).collect(), ..outcome }
    }
}

enum Guard<'a> {
    Read(RwLockReadGuard<'a, i64>),
    Write(RwLockWriteGuard<'a, i64>),
}

impl Guard<'_> {
    fn value(&self) -> i64 {
        match self {
            Guard::Read(guard) => **guard,
            Guard::Write(guard) => **guard,
        }
    }
}

/// The guards of a thread.
struct Guards<'a> {
    locks: &'a [RwLock<i64>; 2],
    own: [Vec<Guard<'a>>; 2],
}

impl Guards<'_> {
    fn act(&mut self, act: Act) -> Option<i64> {
        let locks = self.locks;
        let writes = |own: &[Guard]| matches!(own, [Guard::Write(_)]);
        let (at, guard) = match act {
            Act::Read(at) if writes(&self.own[at]) => return Some(NONE),
            Act::Read(at) => (at, Some(Guard::Read(locks[at].read().unwrap()))),
            Act::TryRead(at) => (at, locks[at].try_read().ok().map(Guard::Read)),
            Act::Write(at, _) if !self.own[at].is_empty() => return Some(NONE),
            Act::Write(at, by) => {
                let mut guard = locks[at].write().unwrap();
                *guard += by;
                (at, Some(Guard::Write(guard)))
            }
            Act::TryWrite(at, by) => {
                let guard = locks[at].try_write().ok().map(|mut guard| {
                    *guard += by;
                    Guard::Write(guard)
                });
                (at, guard)
            }
            Act::Drop(at) => {
                drop(self.own[at].pop());
                return None;
            }
            Act::Downgrade(at) => {
                if let Some(guard) = self.own[at].pop() {
                    let guard = match guard {
                        Guard::Write(guard) => Guard::Read(RwLockWriteGuard::downgrade(guard)),
                        guard => guard,
                    };
                    self.own[at].push(guard);
                }
                return None;
            }
            Act::Peek(at) => return Some(self.own[at].last().map_or(NONE, Guard::value)),
        };
        let value = guard.as_ref().map_or(HELD, Guard::value);
        self.own[at].extend(guard);
        Some(value)
    }
}
