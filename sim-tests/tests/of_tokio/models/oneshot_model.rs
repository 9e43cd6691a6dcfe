//! The channel for one value. The first task has the sender, and the last task has the receiver.

use sim::tokio::sync::oneshot::{self, error::TryRecvError};

use super::lent_end::Slot;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Send(i64),
    DropSender,
    /// Waits until the receiver is closed or dropped.
    Closed,
    IsClosed,
    Recv,
    TryRecv,
    Close,
    DropReceiver,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, task: usize, _: usize) -> Call {
        if task == 0 {
            let value = 1 + dice.below(3) as i64;
            return [
                Call::Send(value),
                Call::Send(value),
                Call::DropSender,
                Call::Closed,
                Call::Closed,
                Call::IsClosed,
            ][dice.below(6)];
        }
        [Call::Recv, Call::Recv, Call::Recv, Call::TryRecv, Call::Close, Call::DropReceiver]
            [dice.below(6)]
    }

    fn is_point(self) -> bool {
        matches!(self, Call::Recv | Call::Closed)
    }

    fn is_exclusive(self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    last: usize,
    has_sender: bool,
    has_receiver: bool,
    is_closed: bool,
    value: Option<i64>,
    /// The planted fault: a close loses the value.
    is_faulty: bool,
}

impl State {
    fn drop_receiver(&mut self) {
        (self.has_receiver, self.is_closed, self.value) = (false, true, None);
    }

    /// Receives. Returns `None` if no value is there yet.
    fn receive(&mut self) -> Option<i64> {
        let got = match self.value.take() {
            Some(value) => value,
            None if !self.has_sender || self.is_closed => CLOSED,
            None => return None,
        };
        self.drop_receiver();
        Some(got)
    }
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, _: usize) -> State {
        let last = tasks - 1;
        let (has_sender, has_receiver, is_closed) = (true, true, false);
        State { last, has_sender, has_receiver, is_closed, value: None, is_faulty: false }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        let is_sender = matches!(
            call,
            Call::Send(_) | Call::DropSender | Call::Closed | Call::IsClosed
        );
        let has_end = match is_sender {
            true => self.has_sender && caller.0 == 0,
            false => self.has_receiver && caller.0 == self.last,
        };
        if !has_end {
            return Polled::Done(NOTHING);
        }
        Polled::Done(match call {
            Call::Send(value) => {
                self.has_sender = false;
                if self.is_closed {
                    return Polled::Done(CLOSED);
                }
                self.value = Some(value);
                0
            }
            Call::DropSender => {
                self.has_sender = false;
                0
            }
            Call::Closed if !self.is_closed => return Polled::Waits,
            Call::Closed => 0,
            Call::IsClosed => self.is_closed.into(),
            Call::Recv => match self.receive() {
                Some(got) => got,
                None => return Polled::Waits,
            },
            Call::TryRecv => self.receive().unwrap_or(WOULD_WAIT),
            Call::Close => {
                self.is_closed = true;
                if self.is_faulty {
                    self.value = None;
                }
                0
            }
            Call::DropReceiver => {
                self.drop_receiver();
                0
            }
        })
    }

    fn end(&mut self, task: usize, _: bool) {
        if task == 0 {
            self.has_sender = false;
        }
        if task == self.last && self.has_receiver {
            self.drop_receiver();
        }
    }
}

pub(super) struct Ends {
    sender: Slot<oneshot::Sender<i64>>,
    receiver: Slot<oneshot::Receiver<i64>>,
}

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let (sender, receiver) = oneshot::channel();
    let (mut sender, mut receiver) = (Some(sender), Some(receiver));
    let ends = |task| Ends {
        sender: Slot::new(if task == 0 { sender.take() } else { None }),
        receiver: Slot::new(if task + 1 == tasks { receiver.take() } else { None }),
    };
    (0..tasks).map(ends).collect()
}

impl Ends {
    async fn of_sender(&self, call: Call) -> Option<i64> {
        Some(match call {
            Call::Send(value) => self.sender.take()?.send(value).map_or(CLOSED, |()| 0),
            Call::DropSender => {
                drop(self.sender.take()?);
                0
            }
            Call::Closed => {
                self.sender.lend()?.closed().await;
                0
            }
            _ => self.sender.lend()?.is_closed().into(),
        })
    }

    async fn of_receiver(&self, call: Call) -> Option<i64> {
        let mut receiver = self.receiver.lend()?;
        Some(match call {
            Call::Recv => {
                let got = (&mut *receiver).await.unwrap_or(CLOSED);
                receiver.end();
                got
            }
            Call::TryRecv => match receiver.try_recv() {
                Err(TryRecvError::Empty) => WOULD_WAIT,
                got => {
                    receiver.end();
                    got.unwrap_or(CLOSED)
                }
            },
            Call::Close => {
                receiver.close();
                0
            }
            _ => {
                receiver.end();
                0
            }
        })
    }

    pub(super) async fn perform(&self, call: Call) -> i64 {
        let got = match call {
            Call::Send(_) | Call::DropSender | Call::Closed | Call::IsClosed => {
                self.of_sender(call).await
            }
            _ => self.of_receiver(call).await,
        };
        super::or_nothing(got, call).await
    }
}
