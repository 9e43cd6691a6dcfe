//! Channels and queues: in a search, an operation takes few steps. Generated programs have the outcomes and the
//! deadlocks of a search that steps all instructions.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;

use super::{Compared, compare_with, outcome};

bodies! { 240: 0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 180 190 200 210 220 230 }

/// Counts the dropped messages and the other commands.
static WORD: AtomicU64 = AtomicU64::new(0);

/// A message. If the channel drops it, threads see this.
struct Message(u64);

impl Message {
    /// Returns the value of a received or refused message.
    fn value(self) -> u64 {
        let value = self.0;
        std::mem::forget(self);
        value
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        WORD.fetch_add(100, SeqCst);
    }
}

/// The results of operations that find no message, no place for a message, and no other end.
const EMPTY: u64 = 70;
const FULL: u64 = 80;
const CLOSED: u64 = 90;

/// Sends a value, or tries to do so.
type Sender = Box<dyn Fn(u64, bool) -> u64 + Send>;
/// Receives a value, or tries to do so.
type Receiver = Box<dyn Fn(bool) -> u64 + Send>;

/// Returns the sending and the receiving ends of each thread for a channel of this kind.
fn ends(kind: u64, threads: usize) -> Vec<(Option<Sender>, Option<Receiver>)> {
    let single = |sender: &dyn Fn() -> Sender, receiver: Receiver| {
        let mut ends: Vec<_> = (0..threads).map(|_| (Some(sender()), None)).collect();
        ends[0].1 = Some(receiver);
        ends
    };
    match kind {
        0 => {
            let (sender, receiver) = mpsc::channel();
            let sender = || -> Sender {
                let sender = sender.clone();
                Box::new(move |value, _| match sender.send(Message(value)) {
                    Ok(()) => 0,
                    Err(refused) => CLOSED + refused.0.value(),
                })
            };
            single(&sender, of_std(receiver))
        }
        1 => {
            let (sender, receiver) = mpsc::sync_channel(1);
            let sender = || of_sync_sender(sender.clone());
            single(&sender, of_std(receiver))
        }
        2 => of_crossbeam(crossbeam_channel::unbounded(), threads),
        3 => of_crossbeam(crossbeam_channel::bounded(1), threads),
        4 => {
            let queue = Arc::new(crossbeam_queue::ArrayQueue::new(1));
            let end = |_| -> (Option<Sender>, Option<Receiver>) {
                let (own, other) = (queue.clone(), queue.clone());
                let push = move |value, _| {
                    own.push(Message(value)).map_or_else(|m| FULL + m.value(), |()| 0)
                };
                (
                    Some(Box::new(push)),
                    Some(Box::new(move |_| other.pop().map_or(EMPTY, Message::value))),
                )
            };
            (0..threads).map(end).collect()
        }
        6 => {
            let (sender, receiver) = mpsc::sync_channel(0);
            let sender = || of_sync_sender(sender.clone());
            single(&sender, of_std(receiver))
        }
        7 => of_crossbeam(crossbeam_channel::bounded(0), threads),
        _ => {
            let queue = Arc::new(crossbeam_queue::SegQueue::new());
            let end = |_| -> (Option<Sender>, Option<Receiver>) {
                let (own, other) = (queue.clone(), queue.clone());
                let push = move |value, _| {
                    own.push(Message(value));
                    0
                };
                (
                    Some(Box::new(push)),
                    Some(Box::new(move |_| other.pop().map_or(EMPTY, Message::value))),
                )
            };
            (0..threads).map(end).collect()
        }
    }
}

fn of_sync_sender(sender: mpsc::SyncSender<Message>) -> Sender {
    Box::new(move |value, tries| match tries {
        false => sender.send(Message(value)).map_or_else(|e| CLOSED + e.0.value(), |()| 0),
        true => sender.try_send(Message(value)).map_or_else(
            |error| match error {
                mpsc::TrySendError::Full(message) => FULL + message.value(),
                mpsc::TrySendError::Disconnected(message) => CLOSED + message.value(),
            },
            |()| 0,
        ),
    })
}

fn of_std(receiver: mpsc::Receiver<Message>) -> Receiver {
    Box::new(move |tries| match tries {
        false => receiver.recv().map_or(CLOSED, Message::value),
        true => match receiver.try_recv() {
            Ok(message) => message.value(),
            Err(mpsc::TryRecvError::Empty) => EMPTY,
            Err(mpsc::TryRecvError::Disconnected) => CLOSED,
        },
    })
}

fn of_crossbeam(
    (sender, receiver): (crossbeam_channel::Sender<Message>, crossbeam_channel::Receiver<Message>),
    threads: usize,
) -> Vec<(Option<Sender>, Option<Receiver>)> {
    use crossbeam_channel::{TryRecvError, TrySendError};
    let end = |_| -> (Option<Sender>, Option<Receiver>) {
        let (sender, receiver) = (sender.clone(), receiver.clone());
        let send: Sender = Box::new(move |value, tries| match tries {
            false => sender.send(Message(value)).map_or_else(|e| CLOSED + e.0.value(), |()| 0),
            true => match sender.try_send(Message(value)) {
                Ok(()) => 0,
                Err(TrySendError::Full(message)) => FULL + message.value(),
                Err(TrySendError::Disconnected(message)) => CLOSED + message.value(),
            },
        });
        let recv: Receiver = Box::new(move |tries| match tries {
            false => receiver.recv().map_or(CLOSED, Message::value),
            true => match receiver.try_recv() {
                Ok(message) => message.value(),
                Err(TryRecvError::Empty) => EMPTY,
                Err(TryRecvError::Disconnected) => CLOSED,
            },
        });
        (Some(send), Some(recv))
    };
    (0..threads).map(end).collect()
}

/// Executes the commands of a thread, and returns the values that it saw.
fn act(
    commands: &[u64],
    (mut sender, mut receiver): (Option<Sender>, Option<Receiver>),
) -> Vec<u64> {
    let act = |(at, command): (usize, &u64)| match (command, &sender, &receiver) {
        (0 | 1, Some(send), _) => send(1 + at as u64, *command == 1),
        (2 | 3, _, Some(receive)) => receive(*command == 3),
        (4, ..) => {
            sender = None;
            0
        }
        (5, ..) => {
            receiver = None;
            0
        }
        _ => WORD.fetch_add(1, SeqCst),
    };
    commands.iter().enumerate().map(act).collect()
}

/// Runs the generated program of this number.
fn generated(number: u64) {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 11;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let kind = if number < 160 { number % 6 } else { 6 + number % 2 };
    let threads = if below(4) == 0 { 3 } else { 2 };
    // With more commands, there are too many interleavings of instructions.
    let plan: Vec<Vec<u64>> =
        (0..threads).map(|_| (0..1 + below(2)).map(|_| below(7)).collect()).collect();
    let mut ends = ends(kind, threads);
    let others: Vec<_> = plan[1..]
        .iter()
        .cloned()
        .zip(ends.drain(1..))
        .map(|(commands, ends)| thread::spawn(move || act(&commands, ends)))
        .collect();
    let mut seen = vec![act(&plan[0], ends.pop().unwrap())];
    seen.extend(others.into_iter().map(|other| other.join().unwrap()));
    outcome(&format!("channels_{number}"), (plan, seen, WORD.load(SeqCst)));
}

fn searches(numbers: Range<usize>) -> impl Iterator<Item = [(fn(), &'static str); 2]> {
    numbers.map(|number| [(IN_DETAIL[number], "default"), (BODIES[number], "default")])
}

#[test]
fn operations_of_channels_have_the_same_outcomes_as_their_instructions() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (160, 60_000) } else { (60, 1_500) };
    let Compared { programs: compared, fail } =
        compare_with("channels", searches(0..programs).enumerate(), most);
    assert!(compared > programs / 4 && fail > 2, "{compared} programs, {fail} with a deadlock");
}

#[test]
fn rendezvous_have_the_same_outcomes_as_their_instructions() {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (programs, most) = if long { (80, 60_000) } else { (40, 1_500) };
    let searches = (160..).zip(searches(160..160 + programs));
    let Compared { programs: compared, fail } = compare_with("channels", searches, most);
    assert!(compared > programs / 6 && fail > 2, "{compared} programs, {fail} with a deadlock");
}
