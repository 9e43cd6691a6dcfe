//! The channel that sends each message to all receivers. The first task has a receiver, and the others have a sender
//! and a receiver each.

use sim::tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

use super::lent_end::Slot;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Send(i64),
    DropSender,
    /// Waits until there is no receiver.
    Closed,
    Recv,
    TryRecv,
    Len,
    Resubscribe,
    DropReceiver,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, task: usize, _: usize) -> Call {
        if task > 0 && dice.below(3) > 0 {
            let value = 1 + dice.below(3) as i64;
            return [
                Call::Send(value),
                Call::Send(value),
                Call::Send(value),
                Call::DropSender,
                Call::DropReceiver,
                Call::Closed,
            ][dice.below(6)];
        }
        match dice.below(8) {
            0..=3 => Call::Recv,
            4 => Call::TryRecv,
            5 => Call::Len,
            6 => Call::Resubscribe,
            _ => Call::DropReceiver,
        }
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
    capacity: usize,
    sent: Vec<i64>,
    senders: Vec<bool>,
    /// The number of the next message of each receiver.
    receivers: Vec<Option<usize>>,
    /// The planted fault: a receiver is told one missed message too few.
    is_faulty: bool,
}

/// Messages that were missed are counted from this value downwards.
const LAGGED: i64 = -100;

fn capacity(variant: usize) -> usize {
    1 + variant % 2
}

impl State {
    fn receive(&mut self, task: usize, next: usize) -> Option<i64> {
        let oldest = self.sent.len().saturating_sub(self.capacity);
        if next < oldest {
            self.receivers[task] = Some(oldest);
            return Some(LAGGED - (oldest - next) as i64 + i64::from(self.is_faulty));
        }
        if let Some(message) = self.sent.get(next) {
            self.receivers[task] = Some(next + 1);
            return Some(*message);
        }
        self.senders.iter().all(|has| !has).then_some(CLOSED)
    }
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, variant: usize) -> State {
        State {
            capacity: capacity(variant),
            sent: Vec::new(),
            senders: (0..tasks).map(|task| task > 0).collect(),
            receivers: vec![Some(0); tasks],
            is_faulty: false,
        }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, (me, _): Caller) -> Polled {
        let receivers = self.receivers.iter().flatten().count();
        let got = match call {
            Call::Send(_) | Call::DropSender | Call::Closed if !self.senders[me] => NOTHING,
            Call::Send(_) if receivers == 0 => CLOSED,
            Call::Send(value) => {
                self.sent.push(value);
                receivers as i64
            }
            Call::DropSender => {
                self.senders[me] = false;
                0
            }
            Call::Closed if receivers > 0 => return Polled::Waits,
            Call::Closed => 0,
            _ => {
                let Some(next) = self.receivers[me] else { return Polled::Done(NOTHING) };
                match call {
                    Call::Recv => match self.receive(me, next) {
                        Some(got) => got,
                        None => return Polled::Waits,
                    },
                    Call::TryRecv => self.receive(me, next).unwrap_or(WOULD_WAIT),
                    Call::Len => (self.sent.len() - next) as i64,
                    Call::Resubscribe => {
                        self.receivers[me] = Some(self.sent.len());
                        0
                    }
                    _ => {
                        self.receivers[me] = None;
                        0
                    }
                }
            }
        };
        Polled::Done(got)
    }

    fn end(&mut self, task: usize, _: bool) {
        (self.senders[task], self.receivers[task]) = (false, None);
    }
}

pub(super) struct Ends {
    sender: Slot<broadcast::Sender<i64>>,
    receiver: Slot<broadcast::Receiver<i64>>,
}

pub(super) fn ends(tasks: usize, variant: usize) -> Vec<Ends> {
    let (sender, receiver) = broadcast::channel(capacity(variant));
    let ends = |task| Ends {
        sender: Slot::new((task > 0).then(|| sender.clone())),
        receiver: Slot::new(Some(receiver.resubscribe())),
    };
    (0..tasks).map(ends).collect()
}

impl Ends {
    async fn of_sender(&self, call: Call) -> Option<i64> {
        let sender = self.sender.lend()?;
        Some(match call {
            Call::Send(value) => sender.send(value).map_or(CLOSED, |receivers| receivers as i64),
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
            Call::Recv => match receiver.recv().await {
                Ok(message) => message,
                Err(RecvError::Closed) => CLOSED,
                Err(RecvError::Lagged(missed)) => LAGGED - missed as i64,
            },
            Call::TryRecv => match receiver.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Empty) => WOULD_WAIT,
                Err(TryRecvError::Closed) => CLOSED,
                Err(TryRecvError::Lagged(missed)) => LAGGED - missed as i64,
            },
            Call::Len => receiver.len() as i64,
            Call::Resubscribe => {
                let new = receiver.resubscribe();
                *receiver = new;
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
            Call::Send(_) | Call::DropSender | Call::Closed => self.of_sender(call).await,
            _ => self.of_receiver(call).await,
        };
        super::or_nothing(got, call).await
    }
}
