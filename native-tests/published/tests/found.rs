//! Bugs in current releases: the tests of docs/found.md.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use published::{block_on, poll_once};

/// A receiver is dropped after its first poll, while the message is sent.
#[sim::test(native, seeds = 20_000)]
fn oneshot_receiver_is_dropped_while_a_message_is_sent() {
    let (sender, receiver) = oneshot::async_channel::<u8>();
    let sending = thread::spawn(move || drop(sender.send(1)));
    poll_once(receiver);
    sending.join().unwrap();
}

/// One receiver takes the message that another one was woken for.
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

/// A receiver gives up while a message is sent, and another one waits.
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
