//! The channel with room for one or two messages. The first task has the receiver, and the others have a sender each.

use sim::tokio::sync::mpsc;
use sim::tokio::sync::mpsc::error::{TryRecvError, TrySendError};

use super::fair_queue::Permits;
use super::lent_end::Slot;
use super::{CLOSED, Callable, Caller, Dice, Model, NOTHING, Polled, WOULD_WAIT};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Send(i64),
    TrySend(i64),
    /// Turns the sender into a permit.
    Reserve,
    TryReserve,
    SendReserved(i64),
    Release,
    /// Reserves room for two messages, and sends one.
    ReserveTwo(i64),
    DropSender,
    /// Waits until the receiver is closed or dropped.
    Closed,
    Capacity,
    Recv,
    /// Receives at most two messages. Returns them as digits.
    RecvMany,
    TryRecv,
    Close,
    DropReceiver,
    Len,
}

impl Callable for Call {
    fn draw(dice: &mut Dice, task: usize, _: usize) -> Call {
        let value = 1 + dice.below(3) as i64;
        if task == 0 {
            return match dice.below(9) {
                0..=3 => Call::Recv,
                4 => Call::RecvMany,
                5 => Call::TryRecv,
                6 => Call::Close,
                7 => Call::DropReceiver,
                _ => Call::Len,
            };
        }
        match dice.below(14) {
            0..=3 => Call::Send(value),
            4 => Call::TrySend(value),
            5 | 6 => Call::Reserve,
            7 => Call::TryReserve,
            8 => Call::SendReserved(value),
            9 => Call::Release,
            10 => Call::ReserveTwo(value),
            11 => Call::DropSender,
            12 => Call::Closed,
            _ => Call::Capacity,
        }
    }

    fn is_point(self) -> bool {
        use Call::{Closed, Recv, RecvMany, Reserve, ReserveTwo, Send};
        matches!(self, Send(_) | Reserve | ReserveTwo(_) | Closed | Recv | RecvMany)
    }

    fn is_exclusive(self) -> bool {
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Sending {
    Gone,
    Has,
    /// The sender is a part of a permit.
    Permit,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    all: u32,
    room: Permits,
    messages: Vec<i64>,
    senders: Vec<Sending>,
    has_receiver: bool,
    /// The planted fault: a received message makes no room.
    is_faulty: bool,
}

fn capacity(variant: usize) -> usize {
    1 + variant % 2
}

impl State {
    fn receive(&mut self, limit: usize) -> Option<i64> {
        let count = limit.min(self.messages.len());
        if count > 0 {
            let got = self.messages.drain(..count).fold(0, |sum, message| 10 * sum + message);
            self.room.add(if self.is_faulty { 0 } else { count as u32 });
            return Some(got);
        }
        let has_senders = self.senders.iter().any(|sender| *sender != Sending::Gone);
        let is_over = !has_senders || self.room.is_closed && self.room.is_idle(self.all);
        is_over.then_some(CLOSED)
    }

    fn drop_receiver(&mut self) {
        self.has_receiver = false;
        self.room.close();
        let count = self.messages.drain(..).count();
        self.room.add(count as u32);
    }

    fn push(&mut self, value: i64) -> i64 {
        // Without a receiver, a message that had room already is lost, and keeps its room.
        self.messages.extend(self.has_receiver.then_some(value));
        0
    }

    fn of_receiver(&mut self, call: Call) -> Option<i64> {
        match call {
            Call::Recv => self.receive(1),
            Call::RecvMany => self.receive(2),
            Call::TryRecv => self.receive(1).or(Some(WOULD_WAIT)),
            Call::Len => Some(self.messages.len() as i64),
            Call::Close => {
                self.room.close();
                Some(0)
            }
            _ => {
                self.drop_receiver();
                Some(0)
            }
        }
    }

    fn of_permit(&mut self, call: Call, me: usize) -> i64 {
        self.senders[me] = Sending::Has;
        match call {
            Call::SendReserved(value) => self.push(value),
            _ => {
                self.room.add(1);
                0
            }
        }
    }

    fn of_sender(&mut self, call: Call, caller: Caller) -> Option<i64> {
        let me = caller.0;
        Some(match call {
            Call::Send(value) => match self.room.poll(caller, 1)? {
                true => self.push(value),
                false => CLOSED,
            },
            Call::TrySend(value) => match self.room.take(1) {
                0 => self.push(value),
                why => why,
            },
            Call::Reserve => match self.room.poll(caller, 1)? {
                true => {
                    self.senders[me] = Sending::Permit;
                    0
                }
                false => {
                    self.senders[me] = Sending::Gone;
                    CLOSED
                }
            },
            Call::TryReserve => {
                let got = self.room.take(1);
                if got == 0 {
                    self.senders[me] = Sending::Permit;
                }
                got
            }
            Call::ReserveTwo(_) if self.all < 2 => CLOSED,
            Call::ReserveTwo(value) => match self.room.poll(caller, 2)? {
                true => {
                    self.push(value);
                    self.room.add(1);
                    0
                }
                false => CLOSED,
            },
            Call::DropSender => {
                self.senders[me] = Sending::Gone;
                0
            }
            Call::Closed if !self.room.is_closed => return None,
            Call::Closed => 0,
            _ => self.room.free.into(),
        })
    }
}

impl Model for State {
    type Call = Call;

    fn new(tasks: usize, variant: usize) -> State {
        let all = capacity(variant) as u32;
        let sender = |task| if task == 0 { Sending::Gone } else { Sending::Has };
        State {
            all,
            room: Permits::new(all),
            messages: Vec::new(),
            senders: (0..tasks).map(sender).collect(),
            has_receiver: true,
            is_faulty: false,
        }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, caller: Caller) -> Polled {
        let me = caller.0;
        let got = match kind(call) {
            Kind::Receiver if me != 0 || !self.has_receiver => Some(NOTHING),
            Kind::Receiver => self.of_receiver(call),
            Kind::Permit if self.senders[me] == Sending::Permit => Some(self.of_permit(call, me)),
            Kind::Sender if self.senders[me] == Sending::Has => self.of_sender(call, caller),
            _ => Some(NOTHING),
        };
        got.map_or(Polled::Waits, Polled::Done)
    }

    fn cancel(&mut self, call: Call, caller: Caller) {
        let sender = &mut self.senders[caller.0];
        if call == Call::Reserve && *sender == Sending::Has {
            *sender = Sending::Gone;
        }
        self.room.cancel(caller);
    }

    fn end(&mut self, task: usize, _: bool) {
        if task == 0 && self.has_receiver {
            self.drop_receiver();
        }
        if std::mem::replace(&mut self.senders[task], Sending::Gone) == Sending::Permit {
            self.room.add(1);
        }
    }
}

enum Kind {
    Receiver,
    Sender,
    Permit,
}

fn kind(call: Call) -> Kind {
    use Call::{Close, DropReceiver, Len, Recv, RecvMany, Release, SendReserved, TryRecv};
    match call {
        Recv | RecvMany | TryRecv | Close | DropReceiver | Len => Kind::Receiver,
        SendReserved(_) | Release => Kind::Permit,
        _ => Kind::Sender,
    }
}

pub(super) struct Ends {
    sender: Slot<mpsc::Sender<i64>>,
    permit: Slot<mpsc::OwnedPermit<i64>>,
    receiver: Slot<mpsc::Receiver<i64>>,
}

pub(super) fn ends(tasks: usize, variant: usize) -> Vec<Ends> {
    let (sender, receiver) = mpsc::channel(capacity(variant));
    let mut receiver = Some(receiver);
    let ends = |task| Ends {
        sender: Slot::new((task > 0).then(|| sender.clone())),
        permit: Slot::new(None),
        receiver: Slot::new(receiver.take()),
    };
    (0..tasks).map(ends).collect()
}

fn reason<T>(error: &TrySendError<T>) -> i64 {
    match error {
        TrySendError::Full(_) => WOULD_WAIT,
        TrySendError::Closed(_) => CLOSED,
    }
}

impl Ends {
    async fn of_sender(&self, call: Call) -> Option<i64> {
        let sender = self.sender.lend()?;
        Some(match call {
            Call::Send(value) => sender.send(value).await.map_or(CLOSED, |()| 0),
            Call::TrySend(value) => sender.try_send(value).map_or_else(|why| reason(&why), |()| 0),
            Call::ReserveTwo(value) => match sender.reserve_many(2).await {
                Ok(mut permits) => {
                    permits.next()?.send(value);
                    0
                }
                Err(_) => CLOSED,
            },
            Call::DropSender => {
                sender.end();
                0
            }
            Call::Closed => {
                sender.closed().await;
                0
            }
            _ => sender.capacity() as i64,
        })
    }

    async fn reserve(&self, call: Call) -> Option<i64> {
        let sender = self.sender.take()?;
        let permit = match call {
            Call::Reserve => match sender.reserve_owned().await {
                Ok(permit) => permit,
                Err(_) => return Some(CLOSED),
            },
            _ => match sender.try_reserve_owned() {
                Ok(permit) => permit,
                Err(why) => {
                    let reason = reason(&why);
                    self.sender.put(why.into_inner());
                    return Some(reason);
                }
            },
        };
        self.permit.put(permit);
        Some(0)
    }

    fn of_permit(&self, call: Call) -> Option<i64> {
        let permit = self.permit.take()?;
        self.sender.put(match call {
            Call::SendReserved(value) => permit.send(value),
            _ => permit.release(),
        });
        Some(0)
    }

    async fn of_receiver(&self, call: Call) -> Option<i64> {
        let mut receiver = self.receiver.lend()?;
        Some(match call {
            Call::Recv => receiver.recv().await.unwrap_or(CLOSED),
            Call::RecvMany => {
                let mut got = Vec::new();
                match receiver.recv_many(&mut got, 2).await {
                    0 => CLOSED,
                    _ => got.iter().fold(0, |sum, message| 10 * sum + message),
                }
            }
            Call::TryRecv => match receiver.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Empty) => WOULD_WAIT,
                Err(TryRecvError::Disconnected) => CLOSED,
            },
            Call::Close => {
                receiver.close();
                0
            }
            Call::Len => receiver.len() as i64,
            _ => {
                receiver.end();
                0
            }
        })
    }

    pub(super) async fn perform(&self, call: Call) -> i64 {
        let got = match (call, kind(call)) {
            (Call::Reserve | Call::TryReserve, _) => self.reserve(call).await,
            (_, Kind::Receiver) => self.of_receiver(call).await,
            (_, Kind::Sender) => self.of_sender(call).await,
            (_, Kind::Permit) => self.of_permit(call),
        };
        super::or_nothing(got, call).await
    }
}
