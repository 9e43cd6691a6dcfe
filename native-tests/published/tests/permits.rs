//! Semaphores, rate limiters and broadcasts of current releases: tests of docs/found.md.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use leaky_bucket::RateLimiter;

/// Two permits are returned, and two threads each wait for one.
#[sim::test(native, seeds = 20_000)]
fn async_lock_two_permits_come_back() {
    let semaphore = Arc::new(async_lock::Semaphore::new(2));
    let held = [semaphore.try_acquire_arc(), semaphore.try_acquire_arc()];
    let waiting =
        [semaphore.clone(), semaphore].map(|it| thread::spawn(move || it.acquire_arc_blocking()));
    drop(held);
    _ = waiting.map(|waiting| waiting.join().unwrap());
}

/// The same.
#[sim::test(native, seeds = 10_000)]
fn async_semaphore_two_permits_come_back() {
    let semaphore = Arc::new(async_semaphore::Semaphore::new(2));
    let held = [semaphore.try_acquire_arc(), semaphore.try_acquire_arc()];
    let waiting = [semaphore.clone(), semaphore]
        .map(|it| thread::spawn(move || published::block_on(it.acquire_arc())));
    drop(held);
    _ = waiting.map(|waiting| waiting.join().unwrap());
}

/// A receiver is added to a channel without receivers, in which a message waits to be sent.
#[sim::test(native, seeds = 10_000)]
fn async_broadcast_new_receiver() {
    let (sender, receiver) = async_broadcast::broadcast::<u8>(1);
    let _inactive = receiver.deactivate();
    let other = sender.clone();
    let sending = thread::spawn(move || other.broadcast_blocking(1).unwrap());
    let _receiver = sender.new_receiver();
    sending.join().unwrap();
}

/// A full channel is given more room while a sender waits.
#[sim::test(native, seeds = 10_000)]
fn async_broadcast_set_capacity() {
    let (sender, mut receiver) = async_broadcast::broadcast::<u8>(1);
    sender.try_broadcast(1).unwrap();
    let sending = thread::spawn(move || sender.broadcast_blocking(2).unwrap());
    receiver.set_capacity(2);
    sending.join().unwrap();
}

/// A call that finds too few permits, beside a call that finds enough.
#[sim::test(native, seeds = 10_000)]
fn leaky_bucket_has_too_few_permits_for_another_call() {
    let limiter = RateLimiter::builder().max(2).initial(2).fair(false).build();
    thread::scope(|scope| {
        scope.spawn(|| assert!(!limiter.try_acquire(3)));
        assert!(limiter.try_acquire(1));
    });
    assert_eq!(limiter.balance(), 1);
}

/// Two calls find too few permits. Later there are enough.
#[sim::test(native, seeds = 10_000)]
fn leaky_bucket_is_filled_again() {
    let limiter = RateLimiter::builder().max(2).initial(1).fair(false).build();
    thread::scope(|scope| {
        scope.spawn(|| _ = limiter.try_acquire(2));
        _ = limiter.try_acquire(2);
    });
    thread::sleep(Duration::from_secs(1));
    assert!(limiter.try_acquire(2), "it is filled again");
}
