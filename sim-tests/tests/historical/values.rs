//! Channels whose state consists of atomic words: the list of tokio's `mpsc`, and tokio's `oneshot`.

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Cell, spawn, spin_until};

use crate::Shows::Panic;

crate::bugs! {
    a_length_is_less_than_nothing:
        "tokio #8062", "`len` reads the tail and the mark of the close apart, and takes off a mark that the tail does not count",
        Panic("the length"), 100, length;
    a_sent_message_is_not_there:
        "tokio #3263", "`try_recv` takes a list for empty if the slot of an earlier send is not written yet",
        Panic("a send has returned"), 100, not_there;
    both_ends_take_the_value:
        "tokio #4225", "`send` marks the value as sent although the channel is closed, and takes it back",
        Panic("the value is gone"), 100, taken_by_both;
}

/// The list of a channel: each sender claims a slot and writes it. The mark of a close takes a slot, too.
struct List {
    tail: Atomic<u64>,
    /// True if the slot is written.
    written: [Atomic<bool>; 2],
    is_closed: Atomic<bool>,
}

impl List {
    fn new() -> Arc<List> {
        Arc::new(List {
            tail: Atomic::new(0).named("tail"),
            written: [(); 2].map(|()| Atomic::new(false).named("slot")),
            is_closed: Atomic::new(false).named("closed"),
        })
    }

    async fn send(&self) {
        let slot = self.tail.fetch_add(1, SeqCst).await;
        self.has_value(slot).store(true, SeqCst).await;
    }

    fn has_value(&self, slot: u64) -> &Atomic<bool> {
        &self.written[usize::try_from(slot).expect("it is small")]
    }

    /// Drops the last sender.
    async fn close(&self) {
        self.tail.fetch_add(1, SeqCst).await;
        self.is_closed.store(true, SeqCst).await;
    }

    /// Returns the number of messages for a receiver at position `head`.
    async fn len(&self, head: u64, looks_at_the_last: bool) -> u64 {
        let tail = self.tail.load(SeqCst).await;
        let len = tail - head;
        if !looks_at_the_last {
            let marks = u64::from(self.is_closed.load(SeqCst).await);
            return len.checked_sub(marks).expect("the length underflows");
        }
        if len == 0 {
            return 0;
        }
        // If the last slot is not written, it is the mark of the close or a message that is being sent.
        len - u64::from(!self.has_value(tail - 1).load(SeqCst).await)
    }

    /// Takes the message at `head`.
    async fn try_recv(&self, head: u64, waits_for_the_slot: bool) -> bool {
        if self.has_value(head).load(SeqCst).await {
            return true;
        }
        if !waits_for_the_slot || self.tail.load(SeqCst).await == head {
            return false;
        }
        spin_until(|| self.has_value(head).load(SeqCst)).await;
        true
    }
}

async fn length(is_fixed: bool) {
    let list = List::new();
    let sender = list.clone();
    let sending = spawn(async move {
        sender.send().await;
        sender.close().await;
    });
    let head = u64::from(list.try_recv(0, true).await);
    let len = list.len(head, is_fixed).await;
    assert!(len <= 1 - head, "the length is {len} after {head} of one message");
    sending.await.unwrap();
}

async fn not_there(is_fixed: bool) {
    let list = List::new();
    let other = list.clone();
    let other = spawn(async move { other.send().await });
    list.send().await;
    assert!(list.try_recv(0, is_fixed).await, "a send has returned");
    other.await.unwrap();
}

const VALUE_SENT: u8 = 1;
const CLOSED: u8 = 2;

/// A `oneshot`.
struct Once {
    state: Atomic<u8>,
    value: Cell<Option<u8>>,
}

impl Once {
    /// Sends, or gives the value back.
    async fn send(&self, value: u8, looks_at_closed: bool) -> Result<(), u8> {
        self.value.set(Some(value)).await;
        let update = |state| {
            let is_open = !looks_at_closed || state & CLOSED == 0;
            is_open.then_some(state | VALUE_SENT)
        };
        let before = match self.state.fetch_update(SeqCst, SeqCst, update).await {
            Ok(before) | Err(before) => before,
        };
        if before & CLOSED == 0 {
            return Ok(());
        }
        Err(self.value.take().await.expect("the value is gone"))
    }

    async fn close(&self) {
        self.state.fetch_or(CLOSED, SeqCst).await;
    }

    async fn try_recv(&self) -> Option<u8> {
        if self.state.load(SeqCst).await & VALUE_SENT == 0 {
            return None;
        }
        Some(self.value.take().await.expect("the value is gone"))
    }
}

async fn taken_by_both(is_fixed: bool) {
    let state = Atomic::new(0).named("state");
    let channel = Arc::new(Once { state, value: Cell::new(None).named("value") });
    let sender = channel.clone();
    let sending = spawn(async move { sender.send(7, is_fixed).await });
    channel.close().await;
    let received = channel.try_recv().await;
    let sent = sending.await.unwrap();
    assert_eq!(received.is_some(), sent.is_ok(), "{received:?}, {sent:?}");
}
