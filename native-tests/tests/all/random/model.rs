//! A model of the objects of generated programs. It enumerates all interleavings of a program, one effect at a time,
//! and returns the outcomes. It shares no code with the engine.

use std::collections::BTreeSet;

use super::interleavings::explore;
use super::program::{Act, Channel, ENDLESS, Family, Program, Width};

/// The end of a program: the values that each thread has seen, and the last values of the objects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Outcome {
    pub(super) seen: Vec<Vec<i64>>,
    pub(super) last: Vec<i64>,
}

/// The outcomes of a program.
pub(super) struct Outcomes {
    pub(super) ends: BTreeSet<Outcome>,
    /// True if the threads can wait for each other for ever.
    pub(super) has_deadlock: bool,
    /// The number of states.
    pub(super) states: usize,
}

/// The value of [`Act::Receive`] without senders.
pub(super) const DISCONNECTED: i64 = -101;
/// The value of [`Act::TryReceive`] from an empty channel.
pub(super) const EMPTY: i64 = -102;
/// The value of [`Act::Send`] without a receiver.
pub(super) const REFUSED: i64 = -103;
/// The value of a lock that is held by another thread.
pub(super) const HELD: i64 = -104;
/// The value of [`Act::Get`] without a value, of [`Act::Upgrade`] without references, and of [`Act::Until`] after its
/// last round.
pub(super) const NONE: i64 = -105;

/// The first values of the words.
pub(super) const FIRST: [i64; 2] = [0, 2];

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lock {
    owner: Option<usize>,
    readers: u32,
    value: i64,
}

impl Lock {
    fn is_free(&self) -> bool {
        self.owner.is_none() && self.readers == 0
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Thread {
    /// The number of completed commands, and of completed effects of the current command.
    at: usize,
    stage: u32,
    seen: Vec<i64>,
    /// True while it waits for a notification.
    is_asleep: bool,
    /// True if it was unparked.
    token: bool,
    /// A value between two effects of a command.
    kept: i64,
    /// The number of its references.
    own: u32,
    is_done: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    words: [i64; 2],
    locks: [Lock; 3],
    shared: Lock,
    condition: Lock,
    queue: Vec<i64>,
    senders: usize,
    has_receiver: bool,
    /// The number of threads at the barrier, and the number of times that it has opened.
    arrived: usize,
    opened: i64,
    /// The initialising thread, and the value.
    initialiser: Option<usize>,
    value: Option<i64>,
    references: u32,
    /// True while a thread has the spin lock.
    is_spinning: bool,
    threads: Vec<Thread>,
}

/// Returns the value that a word of this width stores.
pub(super) fn wrapped(width: Width, value: i64) -> i64 {
    match width {
        Width::U8 => i64::from(value as u8),
        Width::I8 => i64::from(value as i8),
        Width::U16 => i64::from(value as u16),
        Width::I16 => i64::from(value as i16),
        Width::U32 => i64::from(value as u32),
        Width::I32 => i64::from(value as i32),
        // Numbers above `i64::MAX` are shown as negative numbers.
        Width::U64 | Width::I64 | Width::Usize | Width::Isize => value,
    }
}

fn is_greater(width: Width, one: i64, two: i64) -> bool {
    match width {
        Width::U64 | Width::Usize => one as u64 > two as u64,
        _ => one > two,
    }
}

impl Program {
    /// Returns the outcomes of all interleavings.
    pub(super) fn outcomes(&self) -> Outcomes {
        let first = State {
            words: FIRST,
            locks: Default::default(),
            shared: Lock::default(),
            condition: Lock::default(),
            queue: Vec::new(),
            senders: self.threads.len() - 1,
            has_receiver: true,
            arrived: 0,
            opened: 0,
            initialiser: None,
            value: None,
            references: self.threads.len() as u32,
            is_spinning: false,
            threads: vec![Thread { own: 1, ..Thread::default() }; self.threads.len()],
        };
        let outcome = |state: &State| {
            let is_over = state.threads.iter().all(|thread| thread.is_done);
            is_over.then(|| state.outcome())
        };
        explore(first, self.threads.len(), |state, thread| state.step(self, thread), outcome)
    }
}

impl State {
    fn outcome(&self) -> Outcome {
        let seen = self.threads.iter().map(|thread| thread.seen.clone()).collect();
        let locks = self.locks.iter().chain([&self.shared, &self.condition]);
        let last = self.words.into_iter().chain(locks.map(|lock| lock.value)).collect();
        Outcome { seen, last }
    }

    /// Performs the next effect of a thread. Returns `None` if the thread waits or has ended.
    fn step(&mut self, program: &Program, me: usize) -> Option<()> {
        if self.threads[me].is_done {
            return None;
        }
        let Some(act) = program.threads[me].get(self.threads[me].at) else {
            return self.end(program, me);
        };
        let stage = self.threads[me].stage;
        self.threads[me].stage += 1;
        let is_over = match *act {
            Act::Load(word) => self.see(me, self.words[word]),
            Act::Store(word, by) => self.set(program, word, by),
            Act::Swap(word, by) => {
                self.see(me, self.words[word]);
                self.set(program, word, by)
            }
            Act::Add(word, by) => {
                self.see(me, self.words[word]);
                self.set(program, word, self.words[word].wrapping_add(by))
            }
            Act::And(word, by) => {
                self.see(me, self.words[word]);
                self.set(program, word, self.words[word] & by)
            }
            Act::Max(word, by) | Act::Min(word, by) => {
                let (old, by) = (self.words[word], wrapped(program.width, by));
                self.see(me, old);
                let wants_greater = matches!(act, Act::Max(..));
                if old != by && is_greater(program.width, by, old) == wants_greater {
                    self.words[word] = by;
                }
                true
            }
            Act::Exchange(word, from, to) => {
                let old = self.words[word];
                self.see(me, old);
                old != wrapped(program.width, from) || self.set(program, word, to)
            }
            Act::Lock(lock, by) => self.lock(me, stage, lock, |value| *value = 2 * *value + by)?,
            Act::TryLock(lock, _) if stage == 0 && !self.locks[lock].is_free() => {
                self.see(me, HELD)
            }
            Act::TryLock(lock, by) => self.lock(me, stage, lock, |value| *value += by)?,
            Act::LockAdd(lock, by) => match stage {
                0 => self.acquire(me, lock)?,
                1 => {
                    self.see(me, self.words[0]);
                    self.set(program, 0, self.words[0].wrapping_add(by));
                    false
                }
                _ => self.release(lock),
            },
            Act::LockBoth(lock) => match stage {
                0 => self.acquire(me, lock)?,
                1 => {
                    self.acquire(me, 1 - lock)?;
                    self.locks[1 - lock].value += self.locks[lock].value + 1;
                    self.see(me, self.locks[1 - lock].value);
                    false
                }
                2 => {
                    self.release(1 - lock);
                    false
                }
                _ => self.release(lock),
            },
            Act::Read if stage == 0 => {
                self.shared.owner.is_none().then_some(())?;
                self.shared.readers += 1;
                self.see(me, self.shared.value);
                false
            }
            Act::Read => {
                self.shared.readers -= 1;
                true
            }
            Act::TryWrite(_) if stage == 0 && !self.shared.is_free() => self.see(me, HELD),
            Act::Write(by) | Act::TryWrite(by) if stage == 0 => {
                self.shared.is_free().then_some(())?;
                self.shared.owner = Some(me);
                self.shared.value += by;
                self.see(me, self.shared.value);
                false
            }
            Act::Write(_) | Act::TryWrite(_) => {
                self.shared.owner = None;
                true
            }
            Act::Wait => self.wait(me, stage)?,
            Act::Notify(by, wakes_all) => self.notify(me, stage, by, wakes_all)?,
            Act::Park => std::mem::take(&mut self.threads[me].token).then_some(true)?,
            Act::Unpark(other) => {
                self.threads[other].token = true;
                true
            }
            Act::Send(_) if !self.has_receiver => self.see(me, REFUSED),
            Act::Send(by) => {
                let capacity = match program.channel {
                    Channel::Unbounded | Channel::Crossbeam => usize::MAX,
                    Channel::Bounded(capacity) | Channel::CrossbeamBounded(capacity) => capacity,
                };
                (self.queue.len() < capacity).then_some(())?;
                self.queue.push(by);
                self.see(me, 0)
            }
            Act::Receive | Act::TryReceive | Act::PollReceive => {
                let received = match self.queue.is_empty() {
                    false => self.queue.remove(0),
                    true if self.senders == 0 => DISCONNECTED,
                    true => matches!(act, Act::TryReceive).then_some(EMPTY)?,
                };
                self.see(me, received)
            }
            Act::Arrive => self.arrive(me, stage)?,
            Act::Init(by) => self.init(program, me, stage, by)?,
            Act::Get => self.see(me, self.value.unwrap_or(NONE)),
            Act::PollGet => {
                let value = self.value?;
                self.see(me, value)
            }
            Act::Clone => {
                self.references += 1;
                self.threads[me].own += 1;
                true
            }
            Act::Drop => self.drop_one(me),
            Act::Count => self.see(me, i64::from(self.references)),
            Act::PollCount => (self.references == self.threads[me].own).then_some(true)?,
            Act::Upgrade if stage == 0 && self.references == 0 => self.see(me, NONE),
            Act::Upgrade if stage == 0 => {
                self.references += 1;
                self.see(me, 1);
                false
            }
            Act::Upgrade => {
                self.references -= 1;
                true
            }
            Act::Until(word, value, ..) if self.words[word] == value => self.see(me, value),
            Act::Until(_, _, ENDLESS, _) => return None,
            Act::Until(_, _, most, _) => stage + 1 == most && self.see(me, NONE),
            Act::SpinAdd(by, _) => match stage {
                0 => {
                    (!self.is_spinning).then_some(())?;
                    self.is_spinning = true;
                    false
                }
                1 => {
                    self.set(program, 0, self.words[0].wrapping_add(by));
                    false
                }
                _ => {
                    self.is_spinning = false;
                    true
                }
            },
            Act::ExchangeAdd(word, by) => {
                let (known, now) = (self.threads[me].kept, self.words[word]);
                self.threads[me].kept = now;
                let is_over = stage > 0 && known == now;
                if is_over {
                    self.threads[me].kept = 0;
                    self.see(me, now);
                    self.set(program, word, now.wrapping_add(by));
                }
                // The number of attempts makes no difference.
                self.threads[me].stage = 1;
                is_over
            }
            Act::TryUntil(lock, by) => self.lock(me, stage, lock, |value| *value += by)?,
            Act::Poll(lock) if self.locks[lock].value == 0 => return None,
            Act::Poll(lock) => self.lock(me, stage, lock, |_| {})?,
        };
        if is_over {
            self.threads[me].at += 1;
            self.threads[me].stage = 0;
        }
        Some(())
    }

    /// Performs an effect after the last command of a thread.
    fn end(&mut self, program: &Program, me: usize) -> Option<()> {
        match program.family {
            Family::Counts if self.threads[me].own > 0 => {
                self.drop_one(me);
                return Some(());
            }
            Family::Channels if me == 0 => self.has_receiver = false,
            Family::Channels => self.senders -= 1,
            _ => {}
        }
        self.threads[me].is_done = true;
        Some(())
    }

    fn see(&mut self, me: usize, value: i64) -> bool {
        self.threads[me].seen.push(value);
        true
    }

    fn set(&mut self, program: &Program, word: usize, value: i64) -> bool {
        self.words[word] = wrapped(program.width, value);
        true
    }

    /// Acquires a lock. Returns `false`, because the command is not over.
    fn acquire(&mut self, me: usize, lock: usize) -> Option<bool> {
        self.locks[lock].is_free().then_some(())?;
        self.locks[lock].owner = Some(me);
        Some(false)
    }

    fn release(&mut self, lock: usize) -> bool {
        self.locks[lock].owner = None;
        true
    }

    /// Changes the value of a lock, and releases the lock in the second effect.
    fn lock(
        &mut self,
        me: usize,
        stage: u32,
        lock: usize,
        change: impl FnOnce(&mut i64),
    ) -> Option<bool> {
        if stage > 0 {
            return Some(self.release(lock));
        }
        self.acquire(me, lock)?;
        change(&mut self.locks[lock].value);
        self.see(me, self.locks[lock].value);
        Some(false)
    }

    fn wait(&mut self, me: usize, stage: u32) -> Option<bool> {
        let thread = &mut self.threads[me];
        match stage {
            // Acquires the lock, also after a notification.
            0 => {
                (self.condition.is_free() && !thread.is_asleep).then_some(())?;
                self.condition.owner = Some(me);
                if self.condition.value != 0 {
                    // The next effect is the release.
                    thread.stage = 2;
                }
                Some(false)
            }
            // Releases the lock, and waits.
            1 => {
                self.condition.owner = None;
                (thread.is_asleep, thread.stage) = (true, 0);
                Some(false)
            }
            _ => {
                self.condition.owner = None;
                let value = self.condition.value;
                Some(self.see(me, value))
            }
        }
    }

    fn notify(&mut self, me: usize, stage: u32, by: i64, wakes_all: bool) -> Option<bool> {
        match stage {
            0 => {
                self.condition.is_free().then_some(())?;
                (self.condition.owner, self.condition.value) = (Some(me), by);
                Some(false)
            }
            1 => {
                self.condition.owner = None;
                Some(false)
            }
            _ => {
                let asleep = self.threads.iter_mut().filter(|thread| thread.is_asleep);
                let woken = asleep.take(if wakes_all { usize::MAX } else { 1 });
                woken.for_each(|thread| thread.is_asleep = false);
                Some(true)
            }
        }
    }

    fn arrive(&mut self, me: usize, stage: u32) -> Option<bool> {
        if stage > 0 {
            (self.opened != self.threads[me].kept).then_some(())?;
            return Some(self.see(me, 0));
        }
        self.arrived += 1;
        if self.arrived == self.threads.len() {
            (self.arrived, self.opened) = (0, self.opened + 1);
            return Some(self.see(me, 1));
        }
        self.threads[me].kept = self.opened;
        Some(false)
    }

    fn init(&mut self, program: &Program, me: usize, stage: u32, by: i64) -> Option<bool> {
        match (stage, self.value) {
            (0, Some(value)) => Some(self.see(me, value)),
            (0, None) => {
                self.initialiser.is_none().then_some(())?;
                self.initialiser = Some(me);
                Some(false)
            }
            (1, _) => {
                self.threads[me].kept = self.words[0];
                self.set(program, 0, self.words[0].wrapping_add(by));
                Some(false)
            }
            _ => {
                let value = self.threads[me].kept;
                (self.initialiser, self.value) = (None, Some(value));
                Some(self.see(me, value))
            }
        }
    }

    fn drop_one(&mut self, me: usize) -> bool {
        self.references -= 1;
        self.threads[me].own -= 1;
        true
    }
}
