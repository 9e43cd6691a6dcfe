//! Conditions of std and parking_lot: waits without a loop, single notifications of several waiters, with and without
//! the lock, and the results of parking_lot's notifications. The queues are in the order of arrival.

use std::sync::{Arc, Condvar, Mutex};

use super::super::model::Outcome;
use super::super::program::Numbers;
use super::condition::Condition;
use super::subject::{Command, Local, Program, Subject, execute};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Waits once if the value is 0. Then adds to the value, and returns it.
    WaitOnce(i64),
    /// Waits until the value is not 0, and returns it.
    WaitWhile,
    /// Adds to the value.
    Set(i64),
    NotifyOne,
    NotifyAll,
    /// Adds to the value and notifies one or all, with the lock.
    SetNotify(i64, bool),
    /// Acquires the lock if it is free. Returns the value, or [`FREE`].
    Try,
}

const HELD: i64 = super::super::model::HELD;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Notified {
    is_of_std: bool,
    condition: Condition,
    value: i64,
    /// The notifications of std.
    counter: i64,
}

impl Notified {
    /// Performs an effect of a wait, which begins with the stage 10. Returns `true` after its end, with the lock.
    fn wait(&mut self, local: &mut Local) -> Option<bool> {
        let me = local.me;
        match (local.stage, self.is_of_std) {
            (10, true) => {
                local.kept = self.counter;
                local.go_to(11)
            }
            (10, false) => {
                self.condition.join(me);
                local.go_to(11)
            }
            (11, is_of_std) => {
                self.condition.release();
                local.go_to(if is_of_std { 12 } else { 13 })
            }
            (12, _) => {
                self.condition.is_woken[me] = self.counter != local.kept;
                if !self.condition.is_woken[me] {
                    self.condition.queue.push_back(me);
                }
                local.go_to(13)
            }
            (13, _) => {
                self.condition.is_woken[me].then_some(())?;
                local.go_to(14)
            }
            // A woken thread joins the queue of the mutex again if another thread was faster.
            _ if self.is_of_std => {
                self.condition.acquire(me)?;
                Some(true)
            }
            (14, _) => {
                if self.condition.acquire(me).is_some() {
                    return Some(true);
                }
                self.condition.requeue(me);
                local.go_to(13)
            }
            _ => unreachable!(),
        }
    }
}

impl Subject for Notified {
    type Act = Act;
    const NAME: &'static str = "Notified";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, thread: usize, _: u64) -> Act {
        let all = numbers.below(2) == 0;
        if thread == 0 || numbers.below(4) == 0 {
            return numbers.one_of(&[
                Act::Set(1),
                Act::NotifyOne,
                Act::NotifyOne,
                Act::NotifyAll,
                Act::SetNotify(1, all),
                Act::Try,
            ]);
        }
        numbers.one_of(&[Act::WaitOnce(0), Act::WaitOnce(1), Act::WaitOnce(-1), Act::WaitWhile])
    }

    /// The first thread ends all waits, in most programs.
    fn finish(program: &mut Program<Self>) {
        if !(program.variant / 2).is_multiple_of(8) {
            program.threads[0].push(Command::Own(Act::SetNotify(5, true)));
        }
    }

    fn first(program: &Program<Self>) -> Self {
        Notified {
            is_of_std: program.variant.is_multiple_of(2),
            condition: Condition::new(program.variant.is_multiple_of(2), program.threads.len()),
            value: 0,
            counter: 0,
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        match (act, local.stage) {
            (Act::Try, 0) if self.condition.owner.is_some() => Some(local.see(HELD)),
            (Act::Try, 0) => {
                self.condition.owner = Some(me);
                local.see(self.value);
                local.go_to(1)
            }
            (Act::WaitOnce(_) | Act::WaitWhile, 0) => {
                self.condition.acquire(me)?;
                local.go_to(if self.value == 0 { 10 } else { 1 })
            }
            (Act::Set(by), 0) => {
                self.condition.acquire(me)?;
                self.value += by;
                local.go_to(2)
            }
            (Act::SetNotify(by, _), 0) => {
                self.condition.acquire(me)?;
                self.value += by;
                local.go_to(3)
            }
            (Act::SetNotify(..) | Act::NotifyOne | Act::NotifyAll, stage)
                if stage == 0 || stage == 3 || stage == 4 =>
            {
                let all = matches!(act, Act::NotifyAll | Act::SetNotify(_, true));
                if self.is_of_std && stage != 4 {
                    self.counter += 1;
                    return local.go_to(4);
                }
                let number = self.condition.notify(all);
                if !self.is_of_std {
                    local.see(number);
                }
                match act {
                    Act::SetNotify(..) => local.go_to(2),
                    _ => Some(true),
                }
            }
            (Act::WaitOnce(by), 1) => {
                self.value += by;
                local.see(self.value);
                local.go_to(2)
            }
            (Act::WaitWhile, 1) => {
                local.see(self.value);
                local.go_to(2)
            }
            (_, 1 | 2) => {
                self.condition.release();
                Some(true)
            }
            _ => {
                if self.wait(local)? {
                    let again = act == Act::WaitWhile && self.value == 0;
                    return local.go_to(if again { 10 } else { 1 });
                }
                Some(false)
            }
        }
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let objects = if program.variant.is_multiple_of(2) {
            Objects::Std(Mutex::new(0), Condvar::new())
        } else {
            Objects::Lot(parking_lot::Mutex::new(0), parking_lot::Condvar::new())
        };
        execute(program, (Arc::default(), objects), |objects, act, _| objects.act(act))
    }
}

enum Objects {
    Std(Mutex<i64>, Condvar),
    Lot(parking_lot::Mutex<i64>, parking_lot::Condvar),
}

impl Objects {
    fn act(&self, act: Act) -> Option<i64> {
        match self {
            Objects::Std(lock, changed) => {
                match act {
                    Act::WaitOnce(by) => {
                        let mut value = lock.lock().unwrap();
                        if *value == 0 {
                            value = changed.wait(value).unwrap();
                        }
                        *value += by;
                        return Some(*value);
                    }
                    Act::WaitWhile => {
                        let value = changed.wait_while(lock.lock().unwrap(), |value| *value == 0);
                        return Some(*value.unwrap());
                    }
                    Act::Set(by) => *lock.lock().unwrap() += by,
                    Act::NotifyOne => changed.notify_one(),
                    Act::NotifyAll => changed.notify_all(),
                    Act::SetNotify(by, all) => {
                        let mut value = lock.lock().unwrap();
                        *value += by;
                        if all { changed.notify_all() } else { changed.notify_one() }
                    }
                    Act::Try => return Some(lock.try_lock().map_or(HELD, |value| *value)),
                }
                None
            }
            Objects::Lot(lock, changed) => Some(match act {
                Act::WaitOnce(by) => {
                    let mut value = lock.lock();
                    if *value == 0 {
                        changed.wait(&mut value);
                    }
                    *value += by;
                    *value
                }
                Act::WaitWhile => {
                    let mut value = lock.lock();
                    changed.wait_while(&mut value, |value| *value == 0);
                    *value
                }
                Act::Set(by) => {
                    *lock.lock() += by;
                    return None;
                }
                Act::NotifyOne => changed.notify_one().into(),
                Act::NotifyAll => changed.notify_all() as i64,
                Act::SetNotify(by, all) => {
                    let mut value = lock.lock();
                    *value += by;
                    if all { changed.notify_all() as i64 } else { changed.notify_one().into() }
                }
                Act::Try => lock.try_lock().map_or(HELD, |value| *value),
            }),
        }
    }
}
