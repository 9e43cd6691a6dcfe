//! Channels of std and crossbeam, also without a buffer: calls that only try, lengths, and ends that are dropped early.

use std::collections::VecDeque;
use std::sync::{Arc, mpsc};
use std::thread;

use super::super::any_channel::{Receiver, Sender};
use super::super::model::{DISCONNECTED, EMPTY, HELD, NONE, Outcome, REFUSED};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, Words};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    Send(i64),
    TrySend(i64),
    Receive,
    TryReceive,
    DropSender,
    DropReceiver,
    /// The number of messages. Only crossbeam shows it.
    Length,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Rendezvous {
    capacity: usize,
    queue: VecDeque<i64>,
    /// The threads with a sender, and with a receiver.
    senders: Vec<bool>,
    receivers: Vec<bool>,
    /// The waiting threads of a channel without a buffer.
    sending: VecDeque<(usize, i64)>,
    receiving: VecDeque<usize>,
    /// The result for a thread that waited.
    results: Vec<Option<i64>>,
}

const UNBOUNDED: usize = usize::MAX;

/// Returns the capacity of the channel, and `true` for a channel of std.
fn kind(variant: u64) -> (usize, bool) {
    ([0, 0, 1, 2, UNBOUNDED][variant as usize % 5], (variant / 5).is_multiple_of(2))
}

impl Rendezvous {
    fn offer(&mut self, value: i64, local: &mut Local, waits: bool) -> Option<bool> {
        if local.stage > 0 {
            let result = self.results[local.me].take()?;
            return Some(local.see(result));
        }
        let is_refused = !self.receivers.contains(&true);
        if self.capacity > 0 {
            return match self.queue.len() < self.capacity {
                _ if is_refused => Some(local.see(REFUSED)),
                true => {
                    self.queue.push_back(value);
                    Some(local.see(0))
                }
                false if waits => None,
                false => Some(local.see(HELD)),
            };
        }
        match self.receiving.pop_front() {
            Some(receiver) => {
                self.results[receiver] = Some(value);
                Some(local.see(0))
            }
            None if is_refused => Some(local.see(REFUSED)),
            None if waits => {
                self.sending.push_back((local.me, value));
                Some(false)
            }
            None => Some(local.see(HELD)),
        }
    }

    fn take(&mut self, local: &mut Local, waits: bool) -> Option<bool> {
        if local.stage > 0 {
            let result = self.results[local.me].take()?;
            return Some(local.see(result));
        }
        let is_over = !self.senders.contains(&true);
        if self.capacity > 0 {
            return match self.queue.pop_front() {
                Some(value) => Some(local.see(value)),
                None if is_over => Some(local.see(DISCONNECTED)),
                None if waits => None,
                None => Some(local.see(EMPTY)),
            };
        }
        match self.sending.pop_front() {
            Some((sender, value)) => {
                self.results[sender] = Some(0);
                Some(local.see(value))
            }
            None if is_over => Some(local.see(DISCONNECTED)),
            None if waits => {
                self.receiving.push_back(local.me);
                Some(false)
            }
            None => Some(local.see(EMPTY)),
        }
    }

    fn drop_sender(&mut self, me: usize) -> bool {
        self.senders[me] = false;
        if !self.senders.contains(&true) {
            for receiver in std::mem::take(&mut self.receiving) {
                self.results[receiver] = Some(DISCONNECTED);
            }
        }
        true
    }

    /// Drops a receiver. The last one first ends the sends, and then drops the messages of a channel without a limit.
    fn drop_receiver(&mut self, local: &mut Local) -> bool {
        let has_receivers = |receivers: &[bool]| receivers.contains(&true);
        if std::mem::take(&mut self.receivers[local.me]) {
            if has_receivers(&self.receivers) {
                return true;
            }
            local.kept = 1;
            for (sender, _) in std::mem::take(&mut self.sending) {
                self.results[sender] = Some(REFUSED);
            }
        } else if local.kept == 1 {
            self.queue.clear();
        }
        local.kept == 0 || self.capacity < UNBOUNDED || self.queue.is_empty()
    }
}

impl Subject for Rendezvous {
    type Act = Act;
    const NAME: &'static str = "Rendezvous";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, thread: usize, variant: u64) -> Act {
        let by = numbers.one_of(&[1, 2, 3]);
        let (_, is_of_std) = kind(variant);
        let sends = [Act::Send(by), Act::Send(by), Act::TrySend(by), Act::TrySend(by)];
        let receives = [Act::Receive, Act::Receive, Act::TryReceive, Act::TryReceive];
        match numbers.below(8) {
            0 if thread > 0 => Act::DropSender,
            0 => Act::DropReceiver,
            1 if !is_of_std => Act::Length,
            _ if thread == 0 || !is_of_std && numbers.below(4) == 0 => numbers.one_of(&receives),
            _ => numbers.one_of(&sends),
        }
    }

    fn first(program: &Program<Self>) -> Self {
        let (capacity, is_of_std) = kind(program.variant);
        let count = program.threads.len();
        Rendezvous {
            capacity,
            queue: VecDeque::new(),
            senders: (0..count).map(|thread| thread > 0).collect(),
            receivers: (0..count).map(|thread| thread == 0 || !is_of_std).collect(),
            sending: VecDeque::new(),
            receiving: VecDeque::new(),
            results: vec![None; count],
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        let has_end = match act {
            Act::Send(_) | Act::TrySend(_) | Act::DropSender => self.senders[me],
            Act::Receive | Act::TryReceive => self.receivers[me],
            Act::DropReceiver => self.receivers[me] || local.stage > 0,
            Act::Length => self.senders[me] || self.receivers[me],
        };
        if !has_end {
            return Some(local.see(NONE));
        }
        match act {
            Act::Send(by) => self.offer(by, local, true),
            Act::TrySend(by) => self.offer(by, local, false),
            Act::Receive => self.take(local, true),
            Act::TryReceive => self.take(local, false),
            Act::DropSender => Some(self.drop_sender(me)),
            Act::DropReceiver => Some(self.drop_receiver(local)),
            Act::Length => Some(local.see(self.queue.len() as i64)),
        }
    }

    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let is_last = !self.senders[local.me];
        if !is_last {
            self.drop_sender(local.me);
            return Some(false);
        }
        Some(self.drop_receiver(local))
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let words = Arc::new(Words::default());
        let (capacity, is_of_std) = kind(program.variant);
        let count = program.threads.len();
        let mut ends: Vec<Ends> = (0..count).map(|_| Ends::default()).collect();
        let mut give = |sender: &Sender, receiver: Receiver| {
            for (thread, own) in ends.iter_mut().enumerate() {
                own.sender = (thread > 0).then(|| sender.clone());
                if let (false, Receiver::Crossbeam(receiver)) = (is_of_std, &receiver) {
                    own.receiver = Some(Receiver::Crossbeam(receiver.clone()));
                }
            }
            if is_of_std {
                ends[0].receiver = Some(receiver);
            }
        };
        match (is_of_std, capacity) {
            (true, UNBOUNDED) => {
                let (sender, receiver) = mpsc::channel();
                give(&Sender::Unbounded(sender), Receiver::Std(receiver));
            }
            (true, capacity) => {
                let (sender, receiver) = mpsc::sync_channel(capacity);
                give(&Sender::Bounded(sender), Receiver::Std(receiver));
            }
            (false, capacity) => {
                let (sender, receiver) = match capacity {
                    UNBOUNDED => crossbeam_channel::unbounded(),
                    capacity => crossbeam_channel::bounded(capacity),
                };
                give(&Sender::Crossbeam(sender), Receiver::Crossbeam(receiver));
            }
        }
        let mut ends = ends.into_iter();
        let first = ends.next().unwrap();
        let others: Vec<_> = ends
            .zip(&program.threads[1..])
            .map(|(mut own, commands)| {
                let (words, commands) = (words.clone(), commands.clone());
                thread::spawn(move || words.run(&commands, |act| own.act(act)))
            })
            .collect();
        let mut own = first;
        let mut seen = vec![words.run(&program.threads[0], |act| own.act(act))];
        drop(own);
        seen.extend(others.into_iter().map(|other| other.join().unwrap()));
        Outcome { seen, last: words.last() }
    }
}

/// The ends of a thread. The sender is dropped first, as in the model.
#[derive(Default)]
struct Ends {
    sender: Option<Sender>,
    receiver: Option<Receiver>,
}

impl Ends {
    fn act(&mut self, act: Act) -> Option<i64> {
        let value = match (act, &self.sender, &self.receiver) {
            (Act::DropSender, Some(_), _) => {
                self.sender = None;
                return None;
            }
            (Act::DropReceiver, _, Some(_)) => {
                self.receiver = None;
                return None;
            }
            (Act::Send(by), Some(sender), _) => sender.send(by),
            (Act::TrySend(by), Some(sender), _) => sender.try_send(by),
            (Act::Receive, _, Some(receiver)) => receiver.receive(),
            (Act::TryReceive, _, Some(receiver)) => receiver.try_receive(),
            (Act::Length, Some(Sender::Crossbeam(sender)), _) => sender.len() as i64,
            (Act::Length, _, Some(Receiver::Crossbeam(receiver))) => receiver.len() as i64,
            _ => NONE,
        };
        Some(value)
    }
}
