//! The channel for the last value. The last task has the sender, and each task has a receiver.

use sim::tokio::sync::watch;

use super::lent_end::Slot;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Send(i64),
    /// Replaces the value. Notifies the receivers only if it differs from the previous value.
    SendIfNew(i64),
    Replace(i64),
    DropSender,
    /// Waits until there is no receiver.
    Closed,
    Changed,
    WaitFor(i64),
    Borrow,
    BorrowAndUpdate,
    HasChanged,
    DropReceiver,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, task: usize, tasks: usize) -> Call {
        let value = 1 + dice.below(2) as i64;
        if task + 1 == tasks && dice.below(3) > 0 {
            return [
                Call::Send(value),
                Call::Send(value),
                Call::SendIfNew(value),
                Call::Replace(value),
                Call::DropSender,
                Call::Closed,
                Call::DropReceiver,
            ][dice.below(7)];
        }
        match dice.below(9) {
            0..=2 => Call::Changed,
            3..=4 => Call::WaitFor(value),
            5 => Call::Borrow,
            6 => Call::BorrowAndUpdate,
            7 => Call::HasChanged,
            _ => Call::DropReceiver,
        }
    }

    fn is_point(self) -> bool {
        matches!(self, Call::Changed | Call::WaitFor(_) | Call::Closed)
    }

    fn is_exclusive(self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    last: usize,
    has_sender: bool,
    value: i64,
    version: u32,
    /// The version that each receiver has seen.
    receivers: Vec<Option<u32>>,
    /// The planted fault: `wait_for` does not mark the version as seen.
    is_faulty: bool,
}

impl State {
    fn send(&mut self, value: i64) -> i64 {
        self.version += 1;
        std::mem::replace(&mut self.value, value)
    }

    fn of_sender(&mut self, call: Call) -> Option<i64> {
        let has_receiver = self.receivers.iter().any(Option::is_some);
        Some(match call {
            Call::Send(_) if !has_receiver => CLOSED,
            Call::Send(value) => {
                self.send(value);
                0
            }
            Call::SendIfNew(value) => {
                let is_new = self.value != value;
                if is_new {
                    self.send(value);
                }
                is_new.into()
            }
            Call::Replace(value) => self.send(value),
            Call::DropSender => {
                self.has_sender = false;
                0
            }
            _ if has_receiver => return None,
            _ => 0,
        })
    }

    fn of_receiver(&mut self, call: Call, me: usize, seen: u32) -> Option<i64> {
        let is_new = seen != self.version;
        Some(match call {
            Call::Changed if is_new => {
                self.receivers[me] = Some(self.version);
                0
            }
            Call::WaitFor(value) => {
                self.receivers[me] = Some(if self.is_faulty { seen } else { self.version });
                match () {
                    () if self.value == value => value,
                    () if !self.has_sender => CLOSED,
                    () => return None,
                }
            }
            Call::Changed if self.has_sender => return None,
            Call::Changed => CLOSED,
            Call::Borrow => self.value,
            Call::BorrowAndUpdate => {
                self.receivers[me] = Some(self.version);
                self.value
            }
            Call::HasChanged if !self.has_sender => CLOSED,
            Call::HasChanged => is_new.into(),
            _ => {
                self.receivers[me] = None;
                0
            }
        })
    }
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, _: usize) -> State {
        let receivers = vec![Some(0); tasks];
        let last = tasks - 1;
        State { last, has_sender: true, value: 0, version: 0, receivers, is_faulty: false }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, (me, _): Caller) -> Polled {
        let got = match is_of_sender(call) {
            true if !self.has_sender || me != self.last => Some(NOTHING),
            true => self.of_sender(call),
            false => match self.receivers[me] {
                None => Some(NOTHING),
                Some(seen) => self.of_receiver(call, me, seen),
            },
        };
        got.map_or(Polled::Waits, Polled::Done)
    }

    fn end(&mut self, task: usize, _: bool) {
        self.receivers[task] = None;
        if task == self.last {
            self.has_sender = false;
        }
    }
}

fn is_of_sender(call: Call) -> bool {
    use Call::{Closed, DropSender, Replace, Send, SendIfNew};
    matches!(call, Send(_) | SendIfNew(_) | Replace(_) | DropSender | Closed)
}

pub(super) struct Ends {
    sender: Slot<watch::Sender<i64>>,
    receiver: Slot<watch::Receiver<i64>>,
}

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let (sender, receiver) = watch::channel(0);
    let mut sender = Some(sender);
    let ends = |task| Ends {
        sender: Slot::new(if task + 1 == tasks { sender.take() } else { None }),
        receiver: Slot::new(Some(receiver.clone())),
    };
    (0..tasks).map(ends).collect()
}

impl Ends {
    async fn of_sender(&self, call: Call) -> Option<i64> {
        let sender = self.sender.lend()?;
        Some(match call {
            Call::Send(value) => sender.send(value).map_or(CLOSED, |()| 0),
            Call::SendIfNew(value) => {
                let replace = |old: &mut i64| std::mem::replace(old, value) != value;
                sender.send_if_modified(replace).into()
            }
            Call::Replace(value) => sender.send_replace(value),
            Call::Closed => {
                sender.closed().await;
                0
            }
            _ => {
                sender.end();
                0
            }
        })
    }

    async fn of_receiver(&self, call: Call) -> Option<i64> {
        let mut receiver = self.receiver.lend()?;
        Some(match call {
            Call::Changed => receiver.changed().await.map_or(CLOSED, |()| 0),
            Call::WaitFor(value) => {
                receiver.wait_for(|now| *now == value).await.map_or(CLOSED, |now| *now)
            }
            Call::Borrow => *receiver.borrow(),
            Call::BorrowAndUpdate => *receiver.borrow_and_update(),
            Call::HasChanged => receiver.has_changed().map_or(CLOSED, i64::from),
            _ => {
                receiver.end();
                0
            }
        })
    }

    pub(super) async fn perform(&self, call: Call) -> i64 {
        let got = match is_of_sender(call) {
            true => self.of_sender(call).await,
            false => self.of_receiver(call).await,
        };
        super::or_nothing(got, call).await
    }
}
