//! Orders of current releases that are too weak, found by `cargo unpause test --races`: tests of docs/found.md.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use async_once_cell::OnceCell;
use awaitgroup::WaitGroup;
use leaky_bucket::{Acquire, RateLimiter};
use lockfree_object_pool::LinearObjectPool;
use magnetic::buffer::dynamic::DynamicBuffer;
use magnetic::{Consumer, Producer};
use planted::Plain;
use published::block_on;

/// Two threads initialise a cell.
#[sim::test(native, seeds = 20_000, races)]
fn async_once_cell_is_initialised_twice() {
    let cell = OnceCell::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(block_on(cell.get_or_init(async { 1 })), &1));
        }
    });
}

/// Two producers push one message each.
#[sim::test(native, seeds = 10_000, races)]
fn magnetic_mpsc_has_two_producers() {
    let (producer, consumer) = magnetic::mpsc::mpsc_queue(DynamicBuffer::new(2).unwrap());
    let pushing = [producer.clone(), producer.clone()]
        .map(|producer| thread::spawn(move || producer.push(Box::new(1_u8)).unwrap()));
    for _ in 0..2 {
        assert_eq!(*consumer.pop().unwrap(), 1);
    }
    pushing.into_iter().for_each(|pushing| pushing.join().unwrap());
    drop(producer);
}

/// Two threads add a page to a pool, and take an object of it each.
#[sim::test(native, seeds = 10_000, races)]
fn lockfree_object_pool_adds_a_page() {
    let pool = LinearObjectPool::new(|| 1, |_| ());
    let _pulled: Vec<_> = (0..32).map(|_| pool.pull()).collect();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(*pool.pull(), 1));
        }
    });
}

fn poll(acquire: &mut Pin<Box<Acquire<'_>>>) -> Poll<()> {
    acquire.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// A future is polled once more while its permit is given to it.
#[sim::test(native, seeds = 10_000, races)]
fn leaky_bucket_is_polled_while_it_is_woken() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let limiter = RateLimiter::builder().initial(1).build();
    let mut first = Box::pin(limiter.acquire(2));
    assert!(poll(&mut first).is_pending(), "one permit of two");
    thread::scope(|scope| {
        scope.spawn(|| {
            let _inside = runtime.enter();
            let mut second = Box::pin(limiter.acquire(1));
            _ = poll(&mut second);
            _ = poll(&mut second);
        });
        drop(first);
    });
}

/// A thread writes and is done. Another thread waits for it and reads.
#[sim::test(native, seeds = 10_000, races)]
fn awaitgroup_worker_writes_and_is_done() {
    let value = Arc::new(Plain::default());
    let written = value.clone();
    let mut group = WaitGroup::new();
    let worker = group.worker();
    let writing = thread::spawn(move || {
        written.set(1);
        worker.done();
    });
    block_on(group.wait());
    assert_eq!(value.get(), 1);
    writing.join().unwrap();
}
