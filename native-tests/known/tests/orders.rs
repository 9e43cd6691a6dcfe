//! Memory orders that are too weak, in affinitypool, arc-swap, basedrop and spin.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use arc_swap::ArcSwap;
use known::block_on;

/// arc-swap, issues 198 and 200: a value is loaded beside a store that frees it.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn a_value_is_loaded_while_another_one_is_stored() {
    let shared = ArcSwap::from_pointee(AtomicUsize::new(1));
    thread::scope(|scope| {
        scope.spawn(|| shared.load().load(Relaxed));
        scope.spawn(|| shared.store(Arc::new(AtomicUsize::new(2))));
    });
}

/// basedrop, issue 10: a value is read beside a store that hands it to the collector.
#[cfg(feature = "basedrop")]
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn a_value_is_read_while_another_one_is_set() {
    use basedrop::{Collector, Shared, SharedCell};

    let mut collector = Collector::new();
    let handle = collector.handle();
    let cell = SharedCell::new(Shared::new(&handle, 1_u64));
    thread::scope(|scope| {
        scope.spawn(|| assert!([1, 2].contains(&*cell.get())));
        let writing = scope.spawn(|| cell.set(Shared::new(&handle, 2)));
        writing.join().unwrap();
        collector.collect();
    });
}

/// RUSTSEC-2019-0013: a writer leaves a lock with a relaxed store.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn two_writers_add_in_a_lock() {
    let lock = spin::RwLock::new(AtomicUsize::new(0));
    let add = || {
        let value = lock.write();
        value.store(value.load(Relaxed) + 1, Relaxed);
    };
    thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(lock.read().load(Relaxed), 2);
}

/// affinitypool, issue 21: a worker parks beside the drop of its pool, which waits for it.
#[sim::test(native, memory = "c11", seeds = 10_000)]
fn a_pool_is_dropped_while_its_worker_parks() {
    let pool = affinitypool::Threadpool::new(1);
    assert_eq!(block_on(pool.spawn(|| 7)), 7);
}
