//! Bounded channels: tokio's channels, which count their room with a semaphore, and the channel of async-std.

use std::collections::VecDeque;
use std::sync::Arc;

use sim::{Mutex, spawn};

use crate::Shows::{Deadlock, Panic};
use crate::parts::Sleeper;

crate::bugs! {
    the_last_permit_is_released_after_the_close:
        "tokio #8075", "`OwnedPermit::release` does not wake the receiver of a closed channel",
        Deadlock, 100, released;
    a_reservation_gives_a_part_back:
        "tokio #8260", "a `reserve_many` that fails gives its part back and does not wake the receiver",
        Deadlock, 500, gives_a_part_back;
    a_channel_with_a_permit_is_disconnected:
        "tokio #8074", "`try_recv` takes a closed channel for finished while a permit is outstanding",
        Panic("a message came after the end"), 100, disconnected;
    a_sender_outlives_the_receivers:
        "async-std #472", "the drop of the last receiver wakes no sender that waits for room",
        Deadlock, 100, outlived;
}

/// A bounded channel of tokio. The receiver closes the channel; senders stay.
struct Channel {
    permits: Mutex<Permits>,
    list: Mutex<VecDeque<u8>>,
    /// The waker of the receiver.
    receiver: Mutex<Option<Arc<Sleeper>>>,
}

struct Permits {
    capacity: usize,
    free: usize,
    is_closed: bool,
    waiters: VecDeque<Waiter>,
}

/// A reservation that waits.
struct Waiter {
    needs: usize,
    got: usize,
    told: Arc<Sleeper>,
}

impl Permits {
    /// Gives `count` permits to waiters and then to the channel. Returns the waiters that are complete.
    fn add(&mut self, mut count: usize) -> Vec<Arc<Sleeper>> {
        let mut complete = Vec::new();
        while let Some(first) = self.waiters.front_mut().filter(|_| !self.is_closed) {
            let given = count.min(first.needs - first.got);
            first.got += given;
            count -= given;
            if first.got < first.needs {
                return complete;
            }
            complete.push(self.waiters.pop_front().expect("it was seen").told);
        }
        self.free += count;
        complete
    }
}

#[derive(PartialEq, Debug)]
enum TryRecvError {
    Empty,
    Disconnected,
}

impl Channel {
    fn new(capacity: usize) -> Arc<Channel> {
        let waiters = VecDeque::new();
        let permits = Permits { capacity, free: capacity, is_closed: false, waiters };
        Arc::new(Channel {
            permits: Mutex::new(permits).named("permits"),
            list: Mutex::new(VecDeque::new()).named("list"),
            receiver: Mutex::new(None).named("receiver"),
        })
    }

    /// Reserves room. An error means that the channel is closed.
    async fn reserve(&self, needs: usize, wakes_receiver: bool) -> Result<(), ()> {
        let mut permits = self.permits.lock().await;
        if permits.is_closed {
            return Err(());
        }
        let got = needs.min(permits.free);
        permits.free -= got;
        if got == needs {
            return Ok(());
        }
        let told = Sleeper::new();
        permits.waiters.push_back(Waiter { needs, got, told: told.clone() });
        drop(permits);
        told.sleep().await;

        let mut permits = self.permits.lock().await;
        let is_me = |waiter: &Waiter| Arc::ptr_eq(&waiter.told, &told);
        let Some(place) = permits.waiters.iter().position(is_me) else { return Ok(()) };
        // The channel was closed: the part that it got goes back.
        let me = permits.waiters.remove(place).expect("it was seen");
        permits.add(me.got);
        drop(permits);
        if wakes_receiver {
            self.wake_receiver_of_idle().await;
        }
        Err(())
    }

    async fn add_permits(&self, count: usize) {
        let complete = self.permits.lock().await.add(count);
        for told in complete {
            told.wake().await;
        }
    }

    /// The drop of a permit.
    async fn drop_permit(&self) {
        self.add_permits(1).await;
        self.wake_receiver_of_idle().await;
    }

    /// `OwnedPermit::release`.
    async fn release(&self, wakes_receiver: bool) {
        self.add_permits(1).await;
        if wakes_receiver {
            self.wake_receiver_of_idle().await;
        }
    }

    /// Sends with a permit, which the receiver gives back.
    async fn send(&self, message: u8) {
        self.list.lock().await.push_back(message);
        self.wake_receiver().await;
    }

    async fn wake_receiver(&self) {
        let receiver = self.receiver.lock().await.take();
        if let Some(receiver) = receiver {
            receiver.wake().await;
        }
    }

    async fn wake_receiver_of_idle(&self) {
        if self.is_finished().await {
            self.wake_receiver().await;
        }
    }

    /// Returns `true` if the channel is closed and no permit is outstanding.
    async fn is_finished(&self) -> bool {
        let permits = self.permits.lock().await;
        permits.is_closed && permits.free == permits.capacity
    }

    async fn close(&self) {
        let mut permits = self.permits.lock().await;
        permits.is_closed = true;
        let all: Vec<_> = permits.waiters.iter().map(|waiter| waiter.told.clone()).collect();
        drop(permits);
        for told in all {
            told.wake().await;
        }
    }

    async fn pop(&self) -> Option<u8> {
        let message = self.list.lock().await.pop_front()?;
        self.add_permits(1).await;
        Some(message)
    }

    async fn recv(&self) -> Option<u8> {
        loop {
            if let Some(message) = self.pop().await {
                return Some(message);
            }
            let me = Sleeper::new();
            *self.receiver.lock().await = Some(me.clone());
            if let Some(message) = self.pop().await {
                return Some(message);
            }
            if self.is_finished().await {
                return None;
            }
            me.sleep().await;
        }
    }

    /// `try_recv` of a receiver that has closed the channel.
    async fn try_recv_closed(&self, counts_permits: bool) -> Result<u8, TryRecvError> {
        match self.pop().await {
            Some(message) => Ok(message),
            // The permit of a message is returned when the message is received. So if all permits are available, no
            // further message can arrive.
            None if !counts_permits || self.is_finished().await => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

async fn released(is_fixed: bool) {
    let channel = Channel::new(1);
    channel.reserve(1, is_fixed).await.unwrap();
    let permit = channel.clone();
    let releasing = spawn(async move { permit.release(is_fixed).await });
    channel.close().await;
    assert_eq!(channel.recv().await, None);
    releasing.await.unwrap();
}

async fn gives_a_part_back(is_fixed: bool) {
    let channel = Channel::new(2);
    channel.reserve(1, is_fixed).await.unwrap();
    let (many, one) = (channel.clone(), channel.clone());
    let many = spawn(async move {
        if many.reserve(2, is_fixed).await.is_ok() {
            many.drop_permit().await;
            many.drop_permit().await;
        }
    });
    let one = spawn(async move { one.drop_permit().await });
    channel.close().await;
    assert_eq!(channel.recv().await, None);
    many.await.unwrap();
    one.await.unwrap();
}

async fn disconnected(is_fixed: bool) {
    let channel = Channel::new(1);
    channel.reserve(1, is_fixed).await.unwrap();
    let permit = channel.clone();
    let sending = spawn(async move { permit.send(7).await });
    channel.close().await;
    let first = channel.try_recv_closed(is_fixed).await;
    sending.await.unwrap();
    if first == Err(TryRecvError::Disconnected) {
        let next = channel.try_recv_closed(is_fixed).await;
        assert_eq!(next, first, "a message came after the end");
    }
}

/// A bounded channel of async-std.
#[derive(Default)]
struct Bounded {
    state: Mutex<Room>,
}

#[derive(Default)]
struct Room {
    message: Option<u8>,
    is_disconnected: bool,
    senders: Vec<Arc<Sleeper>>,
}

impl Bounded {
    async fn send(&self, message: u8) {
        loop {
            let mut room = self.state.lock().await;
            if room.is_disconnected {
                return;
            }
            if room.message.is_none() {
                room.message = Some(message);
                return;
            }
            let me = Sleeper::new();
            room.senders.push(me.clone());
            drop(room);
            me.sleep().await;
        }
    }

    async fn try_recv(&self) -> Option<u8> {
        let mut room = self.state.lock().await;
        let message = room.message.take()?;
        let sender = room.senders.pop();
        drop(room);
        if let Some(sender) = sender {
            sender.wake().await;
        }
        Some(message)
    }

    /// The drop of the last receiver.
    async fn disconnect(&self) {
        let mut room = self.state.lock().await;
        room.is_disconnected = true;
        let senders = std::mem::take(&mut room.senders);
        drop(room);
        for sender in senders {
            sender.wake().await;
        }
    }
}

async fn outlived(is_fixed: bool) {
    let channel = Arc::new(Bounded::default());
    let receiver = channel.clone();
    let receiver = spawn(async move {
        receiver.try_recv().await;
        if is_fixed {
            receiver.disconnect().await;
        }
    });
    channel.send(1).await;
    channel.send(2).await;
    receiver.await.unwrap();
}
