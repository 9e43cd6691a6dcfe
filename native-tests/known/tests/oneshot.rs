//! Issues 60 and 74: a receiver that was polled is dropped while the message is sent (0.1.10, 0.1.11). The current
//! release has it still: docs/found.md.

use std::thread;

use known::poll_once;

#[sim::test(native, seeds = 10_000)]
fn a_receiver_is_polled_and_dropped() {
    let (sender, receiver) = oneshot::channel::<u8>();
    let sending = thread::spawn(move || drop(sender.send(1)));
    poll_once(receiver);
    sending.join().unwrap();
}
