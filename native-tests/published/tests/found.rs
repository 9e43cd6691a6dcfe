//! Bugs in current releases: the tests of docs/found.md.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use postage::sink::Sink;
use postage::stream::Stream;
use published::{block_on, poll_once};

/// A receiver is dropped after its first poll, while the message is sent.
#[sim::test(native, seeds = 20_000)]
fn oneshot_receiver_is_dropped_while_a_message_is_sent() {
    let (sender, receiver) = oneshot::async_channel::<u8>();
    let sending = thread::spawn(move || drop(sender.send(1)));
    poll_once(receiver);
    sending.join().unwrap();
}

/// One receiver takes the message for which another receiver was woken.
#[sim::test(native, seeds = 20_000)]
fn flume_receiver_is_woken_for_a_message_that_is_gone() {
    let (sender, receiver) = flume::unbounded();
    let (other, _last) = (receiver.clone(), receiver.clone());
    let waiting = thread::spawn(move || block_on(receiver.recv_async()).unwrap());
    let taking = thread::spawn(move || other.try_recv());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    _ = taking.join().unwrap();
    waiting.join().unwrap();
}

/// A receiver gives up while a message is sent, and another receiver waits.
#[sim::test(native, seeds = 100_000)]
fn crossfire_receiver_gives_up_while_it_is_woken() {
    let (sender, receiver) = crossfire::mpmc::unbounded_async::<u8>();
    let other = receiver.clone();
    let waiting = thread::spawn(move || block_on(receiver.recv()).unwrap());
    let giving_up = thread::spawn(move || poll_once(other.recv()));
    sender.send(1).unwrap();
    if giving_up.join().unwrap().is_some() {
        sender.send(2).unwrap();
    }
    waiting.join().unwrap();
}

/// A message cannot be sent in time.
#[sim::test(native)]
fn kanal_message_that_is_not_sent_in_time_is_dropped() {
    let message = Arc::new(());
    let (sender, _receiver) = kanal::bounded(0);
    let sent = sender.send_timeout(message.clone(), Duration::from_millis(1));
    assert!(sent.is_err());
    drop(sent);
    assert_eq!(Arc::strong_count(&message), 1, "references to the message");
}

/// A sender waits for its receiver, which is polled at the same time.
#[sim::test(native, seeds = 10_000)]
fn async_oneshot_sender_waits_for_a_receiver_that_is_there() {
    let (sender, receiver) = async_oneshot::oneshot::<u8>();
    let sending = thread::spawn(move || block_on(sender.wait()).unwrap().send(1).unwrap());
    assert_eq!(block_on(receiver).unwrap(), 1);
    sending.join().unwrap();
}

/// A receiver is dropped after the message was sent.
#[sim::test(native, seeds = 10_000, leaks)]
fn async_oneshot_message_is_sent_and_not_received() {
    let (mut sender, receiver) = async_oneshot::oneshot::<Box<u8>>();
    let sending = thread::spawn(move || _ = sender.send(Box::new(1)));
    drop(receiver);
    sending.join().unwrap();
}

/// The only sender sends and is dropped, while the receiver looks.
#[sim::test(native, seeds = 10_000)]
fn postage_mpsc_sends_and_is_dropped() {
    let (mut sender, mut receiver) = postage::mpsc::channel::<u8>(1);
    let sending = thread::spawn(move || block_on(sender.send(1)).unwrap());
    assert_eq!(block_on(receiver.recv()), Some(1));
    sending.join().unwrap();
}

/// The same with a broadcast channel: each receiver gets all messages.
#[sim::test(native, seeds = 10_000)]
fn postage_broadcast_sends_and_is_dropped() {
    let (mut sender, mut receiver) = postage::broadcast::channel::<u8>(1);
    let sending = thread::spawn(move || block_on(sender.send(1)).unwrap());
    assert_eq!(block_on(receiver.recv()), Some(1));
    sending.join().unwrap();
}

/// The same with a watch channel: receivers see the last value.
#[sim::test(native, seeds = 10_000)]
fn postage_watch_sends_and_is_dropped() {
    let (mut sender, mut receiver) = postage::watch::channel_with::<u8>(0);
    let sending = thread::spawn(move || block_on(sender.send(1)).unwrap());
    let mut last = 0;
    while let Some(value) = block_on(receiver.recv()) {
        last = value;
    }
    assert_eq!(last, 1);
    sending.join().unwrap();
}

/// A sender gives up while a message is received, and another sender waits.
#[sim::test(native, seeds = 10_000)]
fn thingbuf_sender_gives_up_while_it_is_woken() {
    let (sender, receiver) = thingbuf::mpsc::channel::<u8>(1);
    sender.try_send(1).unwrap();
    let other = sender.clone();
    let waiting = thread::spawn(move || block_on(sender.send(2)).unwrap());
    let giving_up = thread::spawn(move || poll_once(other.send(3)).is_some());
    assert_eq!(receiver.try_recv(), Ok(1));
    if giving_up.join().unwrap() {
        assert_eq!(receiver.try_recv(), Ok(3));
    }
    waiting.join().unwrap();
}
