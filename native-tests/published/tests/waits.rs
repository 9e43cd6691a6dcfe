//! Waits of current releases that never end: tests of docs/found.md.

use std::thread;

use futures_util::FutureExt;
use published::{block_on, poll_once};
use synchronoise::SignalEvent;

/// One clone of a shared future gives up while the future completes, and another clone waits.
#[sim::test(native, seeds = 20_000)]
fn futures_shared_gives_up_while_it_is_woken() {
    let (sender, receiver) = futures_channel::oneshot::channel::<u8>();
    let waiting = receiver.shared();
    let other = waiting.clone();
    let waiting = thread::spawn(move || block_on(waiting).unwrap());
    let giving_up = thread::spawn(move || poll_once(other).is_some());
    sender.send(1).unwrap();
    giving_up.join().unwrap();
    assert_eq!(waiting.join().unwrap(), 1);
}

/// A receiver gives up while a message is sent, and another receiver waits.
#[sim::test(native, seeds = 10_000)]
fn loole_receiver_gives_up_while_it_is_woken() {
    let (sender, receiver) = loole::bounded::<u8>(0);
    let other = receiver.clone();
    let waiting = thread::spawn(move || block_on(receiver.recv_async()).unwrap());
    let giving_up = thread::spawn(move || poll_once(other.recv_async()).is_some());
    sender.send(1).unwrap();
    if giving_up.join().unwrap() {
        sender.send(2).unwrap();
    }
    waiting.join().unwrap();
}

/// Two threads wait for one signal each.
#[sim::test(native, seeds = 10_000)]
fn synchronoise_thread_is_woken_for_a_signal_that_is_gone() {
    let event = SignalEvent::auto(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| event.wait());
        }
        event.signal();
        while event.status() {
            thread::yield_now();
        }
        event.signal();
    });
}

/// The barrier's number of threads is odd, and all of them wait.
#[sim::test(native)]
fn usync_barrier_of_three_threads() {
    let barrier = usync::Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| barrier.wait());
        }
    });
}
