//! Channels of current releases that lose the last message: tests of docs/found.md. Each has a sender that sends and
//! is dropped, while the receiver looks.

use std::thread;

use lockfree::channel::{RecvErr, mpmc};
use magnetic::buffer::dynamic::DynamicBuffer;
use magnetic::{Consumer, Producer};
use published::block_on;

#[sim::test(native, seeds = 10_000)]
fn async_priority_channel_sends_and_is_dropped() {
    let (sender, receiver) = async_priority_channel::unbounded::<u8, u8>();
    let sending = thread::spawn(move || block_on(sender.send(1, 0)).unwrap());
    assert_eq!(block_on(receiver.recv()), Ok((1, 0)));
    sending.join().unwrap();
}

/// Sends one message through a queue of magnetic.
fn one_message(producer: impl Producer<u8> + Send + 'static, consumer: impl Consumer<u8>) {
    let pushing = thread::spawn(move || producer.push(1).unwrap());
    assert_eq!(consumer.pop(), Ok(1));
    pushing.join().unwrap();
}

#[sim::test(native, seeds = 10_000)]
fn magnetic_spsc_pushes_and_is_dropped() {
    let (producer, consumer) = magnetic::spsc::spsc_queue(DynamicBuffer::new(1).unwrap());
    one_message(producer, consumer);
}

#[sim::test(native, seeds = 10_000)]
fn magnetic_spmc_pushes_and_is_dropped() {
    let (producer, consumer) = magnetic::spmc::spmc_queue(DynamicBuffer::new(1).unwrap());
    one_message(producer, consumer);
}

#[sim::test(native, seeds = 10_000)]
fn magnetic_mpsc_pushes_and_is_dropped() {
    let (producer, consumer) = magnetic::mpsc::mpsc_queue(DynamicBuffer::new(1).unwrap());
    one_message(producer, consumer);
}

#[sim::test(native, seeds = 10_000)]
fn magnetic_mpmc_pushes_and_is_dropped() {
    let (producer, consumer) = magnetic::mpmc::mpmc_queue(DynamicBuffer::new(1).unwrap());
    one_message(producer, consumer);
}

#[sim::test(native, seeds = 10_000)]
fn lockfree_mpmc_sends_and_is_dropped() {
    let (sender, receiver) = mpmc::create::<u8>();
    let sending = thread::spawn(move || sender.send(1).unwrap());
    let received = loop {
        match receiver.recv() {
            Err(RecvErr::NoMessage) => thread::yield_now(),
            received => break received,
        }
    };
    assert_eq!(received, Ok(1));
    sending.join().unwrap();
}
