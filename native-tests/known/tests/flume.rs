//! Issue 120: 0.10.14 loses a message that is sent, with the sender's end, between two checks of `recv_async`.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

#[sim::test(native, seeds = 10_000)]
fn the_last_message_is_received() {
    let (sender, receiver) = flume::unbounded();
    let sending = thread::spawn(move || sender.send(1).unwrap());
    let mut received = pin!(receiver.recv_async());
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = received.as_mut().poll(&mut context) {
            assert_eq!(result, Ok(1));
            break;
        }
        thread::yield_now();
    }
    sending.join().unwrap();
}
