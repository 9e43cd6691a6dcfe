//! `RwLock` of parking_lot, with guards that a thread holds while it performs other commands: readers, writers,
//! upgradable readers, and the changes from one to another.

use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};

use super::super::model::{HELD, NONE, Outcome};
use super::super::program::Numbers;
use super::lot_lock::{
    DONE, Kind, ONE, PARKED, UNLOCK, UPGRADABLE, Upgrades, WAIT, WAKE, WRITER, has_readers,
};
use super::subject::{Local, Program, Subject, execute_threads};

/// A command. The commands that acquire a guard do nothing if the thread has one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    Read,
    TryRead,
    Upgradable,
    TryUpgradable,
    /// Acquires the guard, adds to the value, and returns it.
    Write(i64),
    TryWrite(i64),
    /// Turns an upgradable guard into the guard of a writer, and adds to the value.
    Upgrade(i64),
    TryUpgrade(i64),
    /// Turns the guard of a writer, or an upgradable guard, into the guard of a reader.
    Downgrade,
    /// Turns the guard of a writer into an upgradable guard.
    ToUpgradable,
    Drop,
    /// Drops the guard of a writer, and gives the lock to the next thread.
    DropFair,
    /// Reads the value by the guard.
    Peek,
    /// Reads the value by a further guard, also if a writer waits.
    Recursive,
    IsLocked,
    IsExclusive,
}

impl Upgrades {
    fn add(&mut self, by: i64, local: &mut Local) -> bool {
        self.value += by;
        local.see(self.value)
    }

    /// Performs an effect of a command on the thread's guard.
    fn change(&mut self, act: Act, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let guard = self.threads[me].guard;
        match (act, local.stage) {
            (Act::Upgrade(_) | Act::TryUpgrade(_), 0) if guard != ONE | UPGRADABLE => {
                Some(local.see(NONE))
            }
            (Act::TryUpgrade(by), _) => {
                if self.state / ONE != 1 {
                    return Some(local.see(HELD));
                }
                self.state = self.state - guard + WRITER;
                self.threads[me].guard = WRITER;
                Some(self.add(by, local))
            }
            (Act::Upgrade(_), 0) => {
                let state = self.state;
                self.state = state - guard + WRITER;
                local.go_to(if state / ONE == 1 { DONE } else { WAIT })
            }
            (Act::Upgrade(by), DONE) => {
                (self.threads[me].guard, self.threads[me].state) = (WRITER, 0);
                Some(self.add(by, local))
            }
            (Act::Upgrade(_), _) => self.wait(local),
            (Act::ToUpgradable, 0) if guard != WRITER => Some(true),
            (Act::Downgrade, 0) if guard == ONE || guard == 0 => Some(true),
            (Act::Downgrade | Act::ToUpgradable, 0) => {
                let new = if act == Act::Downgrade { ONE } else { ONE | UPGRADABLE };
                let has_waiting = self.state & PARKED != 0;
                self.state = self.state - guard + new;
                self.threads[me].guard = new;
                if has_waiting { local.go_to(WAKE) } else { Some(true) }
            }
            (Act::Downgrade | Act::ToUpgradable, _) => self.wake(guard),
            (Act::Drop | Act::DropFair, 0) if guard == 0 => Some(true),
            (_, stage) => {
                local.stage = stage.max(UNLOCK);
                self.release(act == Act::DropFair, local)
            }
        }
    }
}

impl Subject for Upgrades {
    type Act = Act;
    const NAME: &'static str = "Upgrades";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, _: usize, variant: u64) -> Act {
        let by = numbers.one_of(&[1, 2, 3]);
        let by_kind: [Act; 4] = match variant % 6 {
            0 => [Act::Upgradable, Act::Upgradable, Act::Upgrade(by), Act::Read],
            1 => [Act::Upgradable, Act::TryUpgradable, Act::TryUpgrade(by), Act::Downgrade],
            2 => [Act::Write(by), Act::Downgrade, Act::ToUpgradable, Act::TryRead],
            3 => [Act::Write(by), Act::TryWrite(by), Act::DropFair, Act::IsExclusive],
            4 => [Act::Upgradable, Act::Recursive, Act::Upgrade(by), Act::IsLocked],
            _ => [Act::Write(by), Act::ToUpgradable, Act::Upgrade(by), Act::TryUpgradable],
        };
        match numbers.below(8) {
            0 => Act::Read,
            1 => Act::Write(by),
            2 => Act::Drop,
            3 => Act::Peek,
            _ => numbers.one_of(&by_kind),
        }
    }

    fn first(program: &Program<Self>) -> Self {
        Upgrades::new(program.threads.len())
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        let guard = self.threads[me].guard;
        let kind = match act {
            Act::Read | Act::TryRead => Kind::Read,
            Act::Upgradable | Act::TryUpgradable => Kind::Upgradable,
            Act::Write(_) | Act::TryWrite(_) => Kind::Write,
            Act::Peek => return Some(local.see(if guard == 0 { NONE } else { self.value })),
            Act::IsLocked => {
                let is_locked = self.state & WRITER != 0 || has_readers(self.state);
                return Some(local.see(is_locked.into()));
            }
            Act::IsExclusive => return Some(local.see((self.state & WRITER != 0).into())),
            // The guard of the thread shows that there are readers.
            Act::Recursive => match local.stage {
                0 if guard & ONE == 0 => return Some(local.see(NONE)),
                0 => {
                    self.state += ONE;
                    local.see(self.value);
                    return Some(false);
                }
                stage => {
                    local.stage = if stage == 1 { UNLOCK } else { stage };
                    self.threads[me].guard = ONE;
                    let is_over = self.release(false, local);
                    self.threads[me].guard = guard;
                    return is_over;
                }
            },
            act => return self.change(act, local),
        };
        if local.stage == 0 && guard != 0 {
            return Some(local.see(NONE));
        }
        let is_over = match act {
            Act::TryRead | Act::TryUpgradable | Act::TryWrite(_) => {
                if !self.try_acquire(kind, me) {
                    return Some(local.see(HELD));
                }
                true
            }
            _ => self.acquire(kind, local)?,
        };
        if is_over {
            self.value += if let Act::Write(by) | Act::TryWrite(by) = act { by } else { 0 };
            local.see(self.value);
        }
        Some(is_over)
    }

    /// Drops the guard.
    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        local.stage = (local.stage - 1).max(UNLOCK);
        if self.threads[local.me].guard == 0 {
            return Some(true);
        }
        self.release(false, local)
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        vec![self.value]
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let lock: Arc<RwLock<i64>> = Arc::default();
        let own = (Arc::default(), |_| lock.clone());
        let outcome = execute_threads(program, own, |lock, commands, words| {
            let mut guards = Guards { lock: &lock, own: Guard::None };
            words.run(commands, |act| guards.act(act))
        });
        Outcome { last: vec![*lock.read()], ..outcome }
    }
}

enum Guard<'a> {
    None,
    Read(RwLockReadGuard<'a, i64>),
    Upgradable(RwLockUpgradableReadGuard<'a, i64>),
    Write(RwLockWriteGuard<'a, i64>),
}

impl Guard<'_> {
    fn value(&self) -> i64 {
        match self {
            Guard::None => NONE,
            Guard::Read(guard) => **guard,
            Guard::Upgradable(guard) => **guard,
            Guard::Write(guard) => **guard,
        }
    }

    /// Adds to the value of a writer, and returns it.
    fn add(&mut self, by: i64) -> i64 {
        if let Guard::Write(guard) = self {
            **guard += by;
        }
        self.value()
    }
}

/// The guard of a thread.
struct Guards<'a> {
    lock: &'a RwLock<i64>,
    own: Guard<'a>,
}

impl Guards<'_> {
    fn act(&mut self, act: Act) -> Option<i64> {
        let lock = self.lock;
        let has_guard = !matches!(self.own, Guard::None);
        let acquires = match act {
            Act::Peek => return Some(self.own.value()),
            Act::IsLocked => return Some(lock.is_locked().into()),
            Act::IsExclusive => return Some(lock.is_locked_exclusive().into()),
            Act::Recursive => match self.own {
                Guard::Read(_) | Guard::Upgradable(_) => return Some(*lock.read_recursive()),
                _ => return Some(NONE),
            },
            Act::Read | Act::Upgradable | Act::Write(_) => true,
            Act::TryRead | Act::TryUpgradable | Act::TryWrite(_) => true,
            _ => false,
        };
        if acquires && has_guard {
            return Some(NONE);
        }
        let by = match act {
            Act::Write(by) | Act::TryWrite(by) | Act::Upgrade(by) | Act::TryUpgrade(by) => by,
            _ => 0,
        };
        let (own, is_seen) = match (act, std::mem::replace(&mut self.own, Guard::None)) {
            (Act::Read, _) => (Guard::Read(lock.read()), true),
            (Act::TryRead, _) => (lock.try_read().map_or(Guard::None, Guard::Read), true),
            (Act::Upgradable, _) => (Guard::Upgradable(lock.upgradable_read()), true),
            (Act::TryUpgradable, _) => {
                (lock.try_upgradable_read().map_or(Guard::None, Guard::Upgradable), true)
            }
            (Act::Write(_), _) => (Guard::Write(lock.write()), true),
            (Act::TryWrite(_), _) => (lock.try_write().map_or(Guard::None, Guard::Write), true),
            (Act::Upgrade(_), Guard::Upgradable(own)) => {
                (Guard::Write(RwLockUpgradableReadGuard::upgrade(own)), true)
            }
            (Act::TryUpgrade(_), Guard::Upgradable(own)) => {
                match RwLockUpgradableReadGuard::try_upgrade(own) {
                    Ok(own) => (Guard::Write(own), true),
                    Err(own) => {
                        self.own = Guard::Upgradable(own);
                        return Some(HELD);
                    }
                }
            }
            (Act::Upgrade(_) | Act::TryUpgrade(_), own) => {
                self.own = own;
                return Some(NONE);
            }
            (Act::Downgrade, Guard::Write(own)) => {
                (Guard::Read(RwLockWriteGuard::downgrade(own)), false)
            }
            (Act::Downgrade, Guard::Upgradable(own)) => {
                (Guard::Read(RwLockUpgradableReadGuard::downgrade(own)), false)
            }
            (Act::ToUpgradable, Guard::Write(own)) => {
                (Guard::Upgradable(RwLockWriteGuard::downgrade_to_upgradable(own)), false)
            }
            (Act::DropFair, Guard::Write(own)) => {
                RwLockWriteGuard::unlock_fair(own);
                (Guard::None, false)
            }
            (Act::Drop | Act::DropFair, own) => {
                drop(own);
                (Guard::None, false)
            }
            (_, own) => (own, false),
        };
        self.own = own;
        let value = self.own.add(by);
        is_seen.then_some(if value == NONE { HELD } else { value })
    }
}
