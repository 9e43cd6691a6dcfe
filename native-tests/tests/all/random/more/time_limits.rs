//! Waits with time limits: conditions of std and parking_lot, channels of std and crossbeam, `park_timeout`, `sleep`.
//! Time passes only while no thread can step, to the next end of a wait.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::super::any_channel::{Receiver, Sender, channel};
use super::super::model::{DISCONNECTED, EMPTY, HELD, Outcome, REFUSED};
use super::super::program::{Channel, Numbers};
use super::condition::Condition;
use super::subject::{Command, Local, Program, Subject, execute_threads};

/// A command. The last number of a wait is its limit in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Waits once if the value is 0. Then adds to the value, and returns it. The result is greater by [`LATE`] if the
    /// wait has reached its limit.
    Wait(i64, i64),
    /// Adds to the value.
    Set(i64),
    NotifyOne,
    NotifyAll,
    /// Receives. Only the first thread has the receiver.
    Receive(i64),
    Send(i64),
    /// Sends, with a limit. Only crossbeam has it.
    SendFor(i64, i64),
    Park(i64),
    /// Unparks the first thread.
    Unpark,
    Sleep(i64),
    /// Reads the clock.
    Now,
}

const LATE: i64 = 1000;

/// The kind of the objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Std,
    Lot,
    /// Channels of std and crossbeam, with a capacity.
    Channel(usize),
    Crossbeam(usize),
    Parking,
}

const UNBOUNDED: usize = usize::MAX;

fn kind(variant: u64) -> Kind {
    match variant % 8 {
        0 | 1 => Kind::Std,
        2 => Kind::Lot,
        3 => Kind::Channel(UNBOUNDED),
        4 => Kind::Channel(1),
        5 => Kind::Crossbeam(UNBOUNDED),
        6 => Kind::Crossbeam(1),
        _ => Kind::Parking,
    }
}

/// The state of the first thread for `park`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Token {
    Empty,
    Notified,
    Parked,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Timed {
    kind: Kind,
    now: i64,
    /// The ends of the waits of all threads.
    ends: Vec<Option<i64>>,
    condition: Condition,
    value: i64,
    /// The notifications of std's condition.
    counter: i64,
    messages: VecDeque<i64>,
    senders: usize,
    has_receiver: bool,
    token: Token,
    /// True while the first thread waits for an `unpark`.
    is_parked: bool,
}

impl Timed {
    fn begin(&mut self, me: usize, limit: i64) {
        self.ends[me] = Some(self.now + limit);
    }

    fn is_late(&self, me: usize) -> bool {
        self.ends[me].is_some_and(|end| end <= self.now)
    }

    /// Performs an effect of a wait, which begins with the stage 10. `kept` is 1 if it has reached its limit.
    fn wait(&mut self, limit: i64, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let is_of_std = self.kind == Kind::Std;
        match local.stage {
            10 => {
                if is_of_std {
                    local.kept = self.counter;
                } else {
                    self.condition.join(me);
                    self.begin(me, limit);
                }
                local.go_to(11)
            }
            11 => {
                self.condition.release();
                if is_of_std {
                    self.begin(me, limit);
                }
                local.go_to(if is_of_std { 12 } else { 13 })
            }
            12 => {
                self.condition.is_woken[me] = self.counter != local.kept;
                if !self.condition.is_woken[me] {
                    self.condition.queue.push_back(me);
                }
                local.kept = 0;
                local.go_to(13)
            }
            13 => {
                if !self.condition.is_woken[me] {
                    self.is_late(me).then_some(())?;
                    // A thread that waits for the mutex of parking_lot was notified.
                    local.kept = self.condition.queue.contains(&me).into();
                    self.condition.queue.retain(|thread| *thread != me);
                    self.condition.requeued.retain(|thread| *thread != me);
                }
                self.ends[me] = None;
                local.go_to(14)
            }
            14 if self.condition.acquire(me).is_some() => local.go_to(1),
            14 if is_of_std => None,
            14 => {
                self.condition.requeue(me);
                local.go_to(15)
            }
            _ => {
                self.condition.is_woken[me].then_some(())?;
                local.go_to(14)
            }
        }
    }

    /// Performs an effect of `park_timeout` by the first thread.
    fn park(&mut self, limit: i64, stage: u32) -> Option<bool> {
        match stage {
            0 if self.token == Token::Notified => {
                self.token = Token::Empty;
                return Some(true);
            }
            0 => self.token = Token::Parked,
            1 if self.token == Token::Parked => {
                self.is_parked = true;
                self.begin(0, limit);
            }
            1 => {}
            2 => {
                (!self.is_parked || self.is_late(0)).then_some(())?;
                (self.is_parked, self.ends[0]) = (false, None);
            }
            _ => self.token = Token::Empty,
        }
        Some(stage == 3)
    }

    fn transfer(&mut self, act: Act, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let (Kind::Channel(capacity) | Kind::Crossbeam(capacity)) = self.kind else {
            unreachable!("a channel");
        };
        let result = match act {
            Act::Receive(_) => match self.messages.pop_front() {
                Some(message) => Some(message),
                None => (self.senders == 0).then_some(DISCONNECTED),
            },
            Act::Send(by) | Act::SendFor(by, _) => match self.messages.len() < capacity {
                _ if !self.has_receiver => Some(REFUSED),
                true => {
                    self.messages.push_back(by);
                    Some(0)
                }
                false => None,
            },
            _ => unreachable!("no command of channels"),
        };
        let result = match (result, act, local.stage) {
            (Some(result), ..) => result,
            (None, Act::Receive(limit) | Act::SendFor(_, limit), 0) => {
                self.begin(me, limit);
                return Some(false);
            }
            _ if !self.is_late(me) => return None,
            (None, Act::Receive(_), _) => EMPTY,
            _ => HELD,
        };
        self.ends[me] = None;
        Some(local.see(result))
    }
}

impl Subject for Timed {
    type Act = Act;
    const NAME: &'static str = "Timed";
    const IS_SAME_WITH_C11: bool = false;
    const HAS_LIMITS: bool = true;

    fn draw(numbers: &mut Numbers, thread: usize, variant: u64) -> Act {
        let (by, limit) = (numbers.one_of(&[1, 2, 3]), numbers.one_of(&[5, 5, 10, 15]));
        let other = [Act::Sleep(limit), Act::Sleep(limit), Act::Now];
        match (numbers.below(3), kind(variant)) {
            (0, _) => numbers.one_of(&other),
            (_, Kind::Std | Kind::Lot) => numbers.one_of(&[
                Act::Wait(0, limit),
                Act::Wait(0, limit),
                Act::Wait(by, limit),
                Act::Set(by),
                Act::NotifyOne,
                Act::NotifyAll,
            ]),
            (_, Kind::Parking) if thread == 0 => Act::Park(limit),
            (_, Kind::Parking) => Act::Unpark,
            (_, Kind::Channel(_) | Kind::Crossbeam(_)) if thread == 0 => Act::Receive(limit),
            (_, Kind::Crossbeam(_)) => numbers.one_of(&[Act::Send(by), Act::SendFor(by, limit)]),
            (_, Kind::Channel(_)) => Act::Send(by),
        }
    }

    /// Most programs end with the time.
    fn finish(program: &mut Program<Self>) {
        if (program.variant / 8).is_multiple_of(2) {
            program.threads.iter_mut().for_each(|commands| commands.push(Command::Own(Act::Now)));
        }
    }

    fn first(program: &Program<Self>) -> Self {
        let count = program.threads.len();
        Timed {
            kind: kind(program.variant),
            now: 0,
            ends: vec![None; count],
            condition: Condition::new(kind(program.variant) == Kind::Std, count),
            value: 0,
            counter: 0,
            messages: VecDeque::new(),
            senders: count - 1,
            has_receiver: true,
            token: Token::Empty,
            is_parked: false,
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        match (act, local.stage) {
            (Act::Now, _) => Some(local.see(self.now)),
            (Act::Sleep(limit), 0) => {
                self.begin(me, limit);
                Some(false)
            }
            (Act::Sleep(_), _) => {
                self.is_late(me).then_some(())?;
                self.ends[me] = None;
                Some(true)
            }
            (Act::Park(limit), stage) => self.park(limit, stage),
            (Act::Unpark, 0) => {
                let old = std::mem::replace(&mut self.token, Token::Notified);
                Some(old != Token::Parked)
            }
            // This may be late, and then ends a later wait.
            (Act::Unpark, _) => {
                self.is_parked = false;
                Some(true)
            }
            (Act::Receive(_) | Act::Send(_) | Act::SendFor(..), _) => self.transfer(act, local),
            (Act::Set(by), 0) => {
                self.condition.acquire(me)?;
                self.value += by;
                local.go_to(2)
            }
            (Act::NotifyOne | Act::NotifyAll, 0) if self.kind == Kind::Std => {
                self.counter += 1;
                Some(false)
            }
            (Act::NotifyOne | Act::NotifyAll, _) => {
                self.condition.notify(act == Act::NotifyAll);
                Some(true)
            }
            (Act::Wait(..), 0) => {
                self.condition.acquire(me)?;
                local.go_to(if self.value == 0 { 10 } else { 1 })
            }
            (Act::Wait(by, _), 1) => {
                self.value += by;
                local.see(self.value + if local.kept == 1 { LATE } else { 0 });
                local.go_to(2)
            }
            (_, 2) => {
                self.condition.release();
                Some(true)
            }
            (Act::Wait(_, limit), _) => self.wait(limit, local),
            _ => unreachable!(),
        }
    }

    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        match local.me {
            0 => self.has_receiver = false,
            _ => self.senders -= 1,
        }
        Some(true)
    }

    fn pass(&mut self) -> Option<()> {
        self.now = self.ends.iter().flatten().copied().filter(|end| *end > self.now).min()?;
        Some(())
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let (sender, receiver) = channel(match kind(program.variant) {
            Kind::Channel(UNBOUNDED) => Channel::Unbounded,
            Kind::Crossbeam(UNBOUNDED) => Channel::Crossbeam,
            Kind::Crossbeam(capacity) => Channel::CrossbeamBounded(capacity),
            _ => Channel::Bounded(1),
        });
        let (mut sender, mut receiver) = (Some(sender), Some(receiver));
        let count = program.threads.len();
        let objects = Arc::new(Objects {
            is_of_std: kind(program.variant) == Kind::Std,
            begin: Instant::now(),
            std: Default::default(),
            lot: Default::default(),
            first: thread::current(),
        });
        let own = |me| {
            let sender = if me + 1 == count { sender.take() } else { sender.clone() };
            let sender = sender.filter(|_| me > 0);
            Own { objects: objects.clone(), sender, receiver: receiver.take() }
        };
        execute_threads(program, (Arc::default(), own), |own, commands, words| {
            words.run(commands, |act| own.act(act))
        })
    }
}

/// The objects of all threads.
struct Objects {
    is_of_std: bool,
    begin: Instant,
    std: (Mutex<i64>, Condvar),
    lot: (parking_lot::Mutex<i64>, parking_lot::Condvar),
    first: Thread,
}

/// The objects of a thread.
struct Own {
    objects: Arc<Objects>,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
}

fn milliseconds(limit: i64) -> Duration {
    Duration::from_millis(limit.unsigned_abs())
}

fn shown(value: i64, is_late: bool) -> i64 {
    value + if is_late { LATE } else { 0 }
}

impl Own {
    fn act(&self, act: Act) -> Option<i64> {
        match (act, &self.sender, &self.receiver) {
            (Act::Receive(limit), _, Some(receiver)) => {
                let limit = milliseconds(limit);
                Some(match receiver {
                    Receiver::Std(receiver) => match receiver.recv_timeout(limit) {
                        Ok(value) => value,
                        Err(mpsc::RecvTimeoutError::Timeout) => EMPTY,
                        Err(mpsc::RecvTimeoutError::Disconnected) => DISCONNECTED,
                    },
                    Receiver::Crossbeam(receiver) => match receiver.recv_timeout(limit) {
                        Ok(value) => value,
                        Err(crossbeam_channel::RecvTimeoutError::Timeout) => EMPTY,
                        Err(crossbeam_channel::RecvTimeoutError::Disconnected) => DISCONNECTED,
                    },
                })
            }
            (Act::SendFor(by, limit), Some(Sender::Crossbeam(sender)), _) => {
                Some(match sender.send_timeout(by, milliseconds(limit)) {
                    Ok(()) => 0,
                    Err(crossbeam_channel::SendTimeoutError::Timeout(_)) => HELD,
                    Err(crossbeam_channel::SendTimeoutError::Disconnected(_)) => REFUSED,
                })
            }
            (Act::Send(by), Some(sender), _) => Some(sender.send(by)),
            (act, ..) => self.objects.act(act),
        }
    }
}

impl Objects {
    fn act(&self, act: Act) -> Option<i64> {
        let ((lock, changed), (lot_lock, lot_changed)) = (&self.std, &self.lot);
        match act {
            // Readings at the same time can differ by nanoseconds.
            Act::Now => return Some((self.begin.elapsed().as_micros() as i64 + 500) / 1000),
            Act::Sleep(limit) => thread::sleep(milliseconds(limit)),
            Act::Park(limit) => thread::park_timeout(milliseconds(limit)),
            Act::Unpark => self.first.unpark(),
            Act::Wait(by, limit) if self.is_of_std => {
                let (mut value, mut is_late) = (lock.lock().unwrap(), false);
                if *value == 0 {
                    let (locked, result) =
                        changed.wait_timeout(value, milliseconds(limit)).unwrap();
                    (value, is_late) = (locked, result.timed_out());
                }
                *value += by;
                return Some(shown(*value, is_late));
            }
            Act::Wait(by, limit) => {
                let (mut value, mut is_late) = (lot_lock.lock(), false);
                if *value == 0 {
                    is_late = lot_changed.wait_for(&mut value, milliseconds(limit)).timed_out();
                }
                *value += by;
                return Some(shown(*value, is_late));
            }
            Act::Set(by) if self.is_of_std => *lock.lock().unwrap() += by,
            Act::Set(by) => *lot_lock.lock() += by,
            Act::NotifyOne if self.is_of_std => changed.notify_one(),
            Act::NotifyOne => _ = lot_changed.notify_one(),
            Act::NotifyAll if self.is_of_std => changed.notify_all(),
            Act::NotifyAll => _ = lot_changed.notify_all(),
            Act::Receive(_) | Act::Send(_) | Act::SendFor(..) => unreachable!("an own end"),
        }
        None
    }
}
