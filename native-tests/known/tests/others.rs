//! Known bugs of spin, internment and loole.

use std::thread;

use internment::ArcIntern;

/// RUSTSEC-2023-0031: one initialiser fails while another thread waits for it.
#[sim::test(native, seeds = 10_000)]
fn a_value_is_initialised_after_an_error() {
    let once = spin::Once::<Box<u8>>::new();
    thread::scope(|scope| {
        scope.spawn(|| once.try_call_once(|| Err(())).is_err());
        assert_eq!(**once.call_once(|| Box::new(1)), 1);
    });
}

/// RUSTSEC-2020-0017: the last reference is dropped while the same value is interned again.
#[sim::test(native, seeds = 10_000)]
fn a_value_is_interned_while_it_is_dropped() {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(*ArcIntern::new(1_u64), 1));
        }
    });
}

/// A sender wakes the receiver that waits.
#[sim::test(native, seeds = 10_000)]
fn each_receiver_is_woken_for_its_message() {
    let (sender, receiver) = loole::bounded::<u8>(1);
    let receiving =
        [receiver.clone(), receiver].map(|receiver| thread::spawn(move || receiver.recv()));
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    let received = receiving.map(|receiver| receiver.join().unwrap().unwrap());
    assert_eq!(received.iter().sum::<u8>(), 3);
}
