//! RUSTSEC-2025-0024 (0.5.14 frees messages twice), issues 972 and 1084 (0.5.7: a race in the first block, its leak).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crossbeam_channel::unbounded;

/// A value that counts how often it was dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[sim::test(native, seeds = 10_000)]
fn two_senders_and_a_receiver_that_goes() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = unbounded();
    let senders = [sender.clone(), sender].map(|sender| {
        let value = Counted(dropped.clone());
        thread::spawn(move || drop(sender.send(value)))
    });
    drop(receiver);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    assert_eq!(dropped.load(Ordering::SeqCst), 2, "drops of two messages");
}

#[sim::test(native, seeds = 10_000, leaks)]
fn the_first_block_is_freed() {
    let (sender, receiver) = unbounded();
    let sending = thread::spawn(move || _ = sender.send(1_u64));
    drop(receiver);
    sending.join().unwrap();
}
