//! Broadcast channels of tokio: a ring of slots, and a sender that waits for readers of a slot.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex, spawn};

use crate::Shows::{Deadlock, Panic};
use crate::parts::{Condvar, Sleeper};

crate::bugs! {
    a_sender_is_notified_between_its_look_and_its_wait:
        "tokio #2123", "a reader notifies the sender without the lock under which the sender looks and waits",
        Deadlock, 100, notified_without_lock;
    a_close_takes_the_slot_of_a_message:
        "tokio #2425", "the close is written into a slot of the ring, over the last message",
        Panic("Lagged"), 100, last_message;
    a_receiver_made_after_the_close_waits:
        "tokio #4814", "the close is a mark in a slot, and a new receiver begins behind it",
        Deadlock, 100, subscribed_late;
}

/// A slot as tokio 0.2 had it: a count of readers above the bit of the sender.
#[derive(Default)]
struct Guarded {
    readers: Atomic<u64>,
    tail: Mutex<()>,
    condvar: Condvar,
}

const SENDER: u64 = 1;
const READER: u64 = 2;

impl Guarded {
    /// The sender overwrites the slot. The sender keeps out new readers, and waits for the current readers.
    async fn write(&self) {
        let mut tail = self.tail.lock().await;
        self.readers.fetch_or(SENDER, SeqCst).await;
        while self.readers.load(SeqCst).await != SENDER {
            self.condvar.wait(tail).await;
            tail = self.tail.lock().await;
        }
        self.readers.store(0, SeqCst).await;
    }

    /// The end of a read.
    async fn unlock(&self, takes_lock: bool) {
        if self.readers.fetch_sub(READER, SeqCst).await == READER + SENDER {
            if takes_lock {
                // The sender is before its look, or waits.
                drop(self.tail.lock().await);
            }
            self.condvar.notify_one().await;
        }
    }
}

async fn notified_without_lock(is_fixed: bool) {
    let slot = Arc::new(Guarded { readers: Atomic::new(READER), ..Guarded::default() });
    let reading = slot.clone();
    let reading = spawn(async move { reading.unlock(is_fixed).await });
    slot.write().await;
    reading.await.unwrap();
}

/// The record of a close.
#[derive(Clone, Copy, PartialEq)]
enum Close {
    /// An empty message in the next slot.
    TakesSlot,
    /// A mark of the next slot, which keeps the message there.
    MarksSlot,
    /// A mark of the ring.
    MarksRing,
}

/// A broadcast channel.
struct Ring {
    close: Close,
    state: Mutex<State>,
}

struct State {
    slots: Vec<Slot>,
    /// The position of the next message.
    next: usize,
    is_closed: bool,
    waiting: Vec<Arc<Sleeper>>,
}

#[derive(Clone, Default)]
struct Slot {
    /// The position after the message in this slot.
    end: usize,
    message: Option<u8>,
    is_closed: bool,
}

#[derive(PartialEq, Debug)]
enum RecvError {
    Closed,
    Lagged(usize),
}

/// The position of a receiver.
struct Receiver(usize);

impl Ring {
    fn new(capacity: usize, close: Close) -> Arc<Ring> {
        let slots = vec![Slot::default(); capacity];
        let state = State { slots, next: 0, is_closed: false, waiting: Vec::new() };
        Arc::new(Ring { close, state: Mutex::new(state).named("ring") })
    }

    async fn subscribe(&self) -> Receiver {
        Receiver(self.state.lock().await.next)
    }

    async fn send(&self, message: u8) {
        let mut state = self.state.lock().await;
        let slot = state.take_slot();
        *slot = Slot { message: Some(message), ..slot.clone() };
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        wake(waiting).await;
    }

    /// Drops the last sender.
    async fn close(&self) {
        let mut state = self.state.lock().await;
        state.is_closed = true;
        match self.close {
            Close::TakesSlot => state.take_slot().message = None,
            Close::MarksSlot => state.take_slot().is_closed = true,
            Close::MarksRing => {}
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        wake(waiting).await;
    }

    async fn recv(&self, receiver: &mut Receiver) -> Result<u8, RecvError> {
        loop {
            let mut state = self.state.lock().await;
            if let Some(result) = state.read(receiver, self.close) {
                return result;
            }
            let me = Sleeper::new();
            state.waiting.push(me.clone());
            drop(state);
            me.sleep().await;
        }
    }
}

async fn wake(waiting: Vec<Arc<Sleeper>>) {
    for one in waiting {
        one.wake().await;
    }
}

impl State {
    /// The slot for the next position.
    fn take_slot(&mut self) -> &mut Slot {
        let at = self.next % self.slots.len();
        self.next += 1;
        self.slots[at].end = self.next;
        &mut self.slots[at]
    }

    /// The result of a receiver; `None` if it has to wait.
    fn read(&self, receiver: &mut Receiver, close: Close) -> Option<Result<u8, RecvError>> {
        let length = self.slots.len();
        let slot = &self.slots[receiver.0 % length];
        if slot.end != receiver.0 + 1 {
            if receiver.0 == self.next {
                let is_end = close == Close::MarksRing && self.is_closed;
                return is_end.then_some(Err(RecvError::Closed));
            }
            // The mark of a close has a position, but takes no slot.
            let marks = usize::from(close == Close::MarksSlot && self.is_closed);
            let oldest = self.next - length - marks;
            let missed = oldest - receiver.0;
            if missed > 0 {
                receiver.0 = oldest;
                return Some(Err(RecvError::Lagged(missed)));
            }
        } else if slot.is_closed {
            return Some(Err(RecvError::Closed));
        }
        receiver.0 += 1;
        Some(slot.message.ok_or(RecvError::Closed))
    }
}

/// Sends one message through a ring that has room for one.
async fn last_message(is_fixed: bool) {
    let ring = Ring::new(1, if is_fixed { Close::MarksSlot } else { Close::TakesSlot });
    let mut receiver = ring.subscribe().await;
    let sending = ring.clone();
    let sending = spawn(async move {
        sending.send(7).await;
        sending.close().await;
    });
    assert_eq!(ring.recv(&mut receiver).await, Ok(7));
    assert_eq!(ring.recv(&mut receiver).await, Err(RecvError::Closed));
    sending.await.unwrap();
}

async fn subscribed_late(is_fixed: bool) {
    let ring = Ring::new(4, if is_fixed { Close::MarksRing } else { Close::MarksSlot });
    let closing = ring.clone();
    let closing = spawn(async move { closing.close().await });
    let mut receiver = ring.subscribe().await;
    assert_eq!(ring.recv(&mut receiver).await, Err(RecvError::Closed));
    closing.await.unwrap();
}
