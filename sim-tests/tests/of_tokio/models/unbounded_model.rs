//! The channel for any number of messages. The first task has the receiver, and the others have a sender and a weak
//! sender each.

use sim::tokio::sync::mpsc::{self, error::TryRecvError};

use super::lent_end::Slot;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Send(i64),
    DropSender,
    /// Makes a sender of the weak sender, if there is a sender. The task then has this sender.
    Upgrade,
    Closed,
    Recv,
    TryRecv,
    Close,
    DropReceiver,
    IsClosed,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, task: usize, _: usize) -> Call {
        let value = 1 + dice.below(3) as i64;
        match (task, dice.below(8)) {
            (0, 0..=3) => Call::Recv,
            (0, 4) => Call::TryRecv,
            (0, 5) => Call::Close,
            (0, 6) => Call::DropReceiver,
            (0, _) => Call::IsClosed,
            (_, 0..=3) => Call::Send(value),
            (_, 4) => Call::DropSender,
            (_, 5) => Call::Closed,
            _ => Call::Upgrade,
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
    messages: Vec<i64>,
    senders: Vec<bool>,
    has_receiver: bool,
    is_closed: bool,
    /// The planted fault: a weak sender can always be upgraded.
    is_faulty: bool,
}

impl State {
    fn receive(&mut self) -> Option<i64> {
        if !self.messages.is_empty() {
            return Some(self.messages.remove(0));
        }
        (self.is_closed || !self.senders.contains(&true)).then_some(CLOSED)
    }

    fn of_receiver(&mut self, call: Call) -> Option<i64> {
        match call {
            Call::Recv => return self.receive(),
            Call::TryRecv => return Some(self.receive().unwrap_or(WOULD_WAIT)),
            Call::IsClosed => {
                return Some((self.is_closed || !self.senders.contains(&true)).into());
            }
            Call::Close => self.is_closed = true,
            _ => self.end(0, false),
        }
        Some(0)
    }
}

fn is_of_receiver(call: Call) -> bool {
    use Call::{Close, DropReceiver, IsClosed, Recv, TryRecv};
    matches!(call, Recv | TryRecv | Close | DropReceiver | IsClosed)
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, _: usize) -> State {
        State {
            messages: Vec::new(),
            senders: (0..tasks).map(|task| task > 0).collect(),
            has_receiver: true,
            is_closed: false,
            is_faulty: false,
        }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, (me, _): Caller) -> Polled {
        let got = match call {
            call if is_of_receiver(call) => match me == 0 && self.has_receiver {
                true => self.of_receiver(call),
                false => Some(NOTHING),
            },
            Call::Upgrade if me == 0 => Some(NOTHING),
            Call::Upgrade => {
                let is_possible = self.is_faulty || self.senders.contains(&true);
                self.senders[me] |= is_possible;
                Some(is_possible.into())
            }
            _ if !self.senders[me] => Some(NOTHING),
            Call::Send(_) if self.is_closed => Some(CLOSED),
            Call::Send(value) => {
                self.messages.push(value);
                Some(0)
            }
            Call::Closed => self.is_closed.then_some(0),
            _ => {
                self.senders[me] = false;
                Some(0)
            }
        };
        got.map_or(Polled::Waits, Polled::Done)
    }

    fn end(&mut self, task: usize, _: bool) {
        self.senders[task] = false;
        if task == 0 {
            (self.has_receiver, self.is_closed) = (false, true);
            self.messages.clear();
        }
    }
}

pub(super) struct Ends {
    sender: Slot<mpsc::UnboundedSender<i64>>,
    weak: Option<mpsc::WeakUnboundedSender<i64>>,
    receiver: Slot<mpsc::UnboundedReceiver<i64>>,
}

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut receiver = Some(receiver);
    let ends = |task| Ends {
        sender: Slot::new((task > 0).then(|| sender.clone())),
        weak: (task > 0).then(|| sender.downgrade()),
        receiver: Slot::new(receiver.take()),
    };
    (0..tasks).map(ends).collect()
}

impl Ends {
    async fn of_sender(&self, call: Call) -> Option<i64> {
        if call == Call::Upgrade {
            let sender = self.weak.as_ref()?.upgrade();
            let is_possible = sender.is_some();
            sender.into_iter().for_each(|sender| self.sender.put(sender));
            return Some(is_possible.into());
        }
        let sender = self.sender.lend()?;
        Some(match call {
            Call::Send(value) => sender.send(value).map_or(CLOSED, |()| 0),
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
            Call::Recv => receiver.recv().await.unwrap_or(CLOSED),
            Call::TryRecv => match receiver.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Empty) => WOULD_WAIT,
                Err(TryRecvError::Disconnected) => CLOSED,
            },
            Call::IsClosed => receiver.is_closed().into(),
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
        let got = match is_of_receiver(call) {
            true => self.of_receiver(call).await,
            false => self.of_sender(call).await,
        };
        super::or_nothing(got, call).await
    }
}
