//! Queues, decks, slabs and pointers.

use right::Plain;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread::{self, scope};

/// Tests of one queue: how it pushes (true if there was room) and pops.
macro_rules! queue {
    ($name:ident, $new:expr, |$q:ident, $v:ident| $push:expr, $pop:expr) => {
        mod $name {
            use super::*;

            #[sim::test(native, seeds = 60)]
            fn a_value_is_popped() {
                let queue = $new;
                let $q = &queue;
                scope(|scope| {
                    scope.spawn(move || {
                        let $v = Box::new(1_u64);
                        $push
                    });
                    let popped: Option<Box<u64>> = $pop;
                    assert!(popped.is_none_or(|popped| *popped == 1));
                });
            }

            #[sim::test(native, seeds = 60)]
            fn two_threads_push_and_pop() {
                let queue = $new;
                let $q = &queue;
                scope(|scope| {
                    for value in 0..2_u64 {
                        scope.spawn(move || {
                            let $v = Box::new(value);
                            $push;
                            let popped: Option<Box<u64>> = $pop;
                            assert!(popped.is_none_or(|popped| *popped < 2));
                        });
                    }
                });
            }

            #[sim::test(native, seeds = 60)]
            fn a_value_orders_plain_memory() {
                let (queue, plain) = ($new, Plain::default());
                let ($q, plain) = (&queue, &plain);
                scope(|scope| {
                    scope.spawn(move || {
                        plain.set(1);
                        let $v = Box::new(1_u64);
                        $push
                    });
                    let popped: Option<Box<u64>> = $pop;
                    if popped.is_some() {
                        assert_eq!(plain.get(), 1);
                    }
                });
            }
        }
    };
}

queue!(
    std_mutex,
    Mutex::new(VecDeque::new()),
    |q, v| {
        q.lock().unwrap().push_back(v);
        true
    },
    q.lock().unwrap().pop_front()
);
queue!(
    seg_queue,
    crossbeam_queue::SegQueue::new(),
    |q, v| {
        q.push(v);
        true
    },
    q.pop()
);
queue!(array_queue, crossbeam_queue::ArrayQueue::new(2), |q, v| q.push(v).is_ok(), q.pop());
queue!(
    concurrent_unbounded,
    concurrent_queue::ConcurrentQueue::unbounded(),
    |q, v| q.push(v).is_ok(),
    q.pop().ok()
);
queue!(
    concurrent_bounded,
    concurrent_queue::ConcurrentQueue::bounded(2),
    |q, v| q.push(v).is_ok(),
    q.pop().ok()
);
queue!(
    concurrent_single,
    concurrent_queue::ConcurrentQueue::bounded(1),
    |q, v| q.push(v).is_ok(),
    q.pop().ok()
);
queue!(
    injector,
    crossbeam_deque::Injector::new(),
    |q, v| {
        q.push(v);
        true
    },
    q.steal().success()
);

#[sim::test(native, seeds = 60)]
fn rtrb_pushes_and_pops() {
    let (mut producer, mut consumer) = rtrb::RingBuffer::new(1);
    let pushing =
        thread::spawn(move || (0..2_u64).filter(|&v| producer.push(Box::new(v)).is_ok()).count());
    let popped = (0..2).filter(|_| consumer.pop().is_ok()).count();
    assert!(popped <= pushing.join().unwrap());
}

#[sim::test(native, seeds = 60)]
fn rtrb_consumer_goes() {
    let (mut producer, consumer) = rtrb::RingBuffer::new(2);
    let pushing =
        thread::spawn(move || (0..2_u64).filter(|&v| producer.push(Box::new(v)).is_ok()).count());
    drop(consumer);
    pushing.join().unwrap();
}

#[sim::test(native, seeds = 60)]
fn ringbuf_pushes_and_pops() {
    use ringbuf::traits::{Consumer, Producer, Split};
    let (mut producer, mut consumer) = ringbuf::HeapRb::new(1).split();
    let pushing = thread::spawn(move || {
        (0..2_u64).filter(|&v| producer.try_push(Box::new(v)).is_ok()).count()
    });
    let popped = (0..2).filter(|_| consumer.try_pop().is_some()).count();
    assert!(popped <= pushing.join().unwrap());
}

#[sim::test(native, seeds = 60)]
fn deque_is_stolen_from() {
    let worker = crossbeam_deque::Worker::new_lifo();
    let stealer = worker.stealer();
    let stealing = thread::spawn(move || stealer.steal().success().map(|value: Box<u64>| *value));
    worker.push(Box::new(1));
    worker.push(Box::new(2));
    worker.pop();
    assert!(stealing.join().unwrap().is_none_or(|value| value < 3));
}

#[sim::test(native, seeds = 60)]
fn deque_is_stolen_in_a_batch() {
    let (worker, other) =
        (crossbeam_deque::Worker::new_fifo(), crossbeam_deque::Worker::new_fifo());
    let stealer = worker.stealer();
    let stealing = thread::spawn(move || {
        stealer.steal_batch_and_pop(&other).success().map(|value: Box<u64>| *value)
    });
    (1..4).for_each(|value| worker.push(Box::new(value)));
    worker.pop();
    assert!(stealing.join().unwrap().is_none_or(|value| value < 4));
}

#[sim::test(native, seeds = 60)]
fn arc_swap_stores_and_loads() {
    let swap = arc_swap::ArcSwap::from_pointee(1_u64);
    scope(|scope| {
        scope.spawn(|| swap.store(Arc::new(2)));
        scope.spawn(|| assert!(*swap.load_full() < 3));
        assert!(**swap.load() < 3);
    });
}

#[sim::test(native, seeds = 60)]
fn arc_swap_updates() {
    let swap = arc_swap::ArcSwap::from_pointee(0_u64);
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| swap.rcu(|value| **value + 1));
        }
    });
    assert_eq!(**swap.load(), 2);
}

#[sim::test(native, seeds = 60)]
fn slab_inserts_and_removes() {
    let slab = sharded_slab::Slab::new();
    scope(|scope| {
        let slab = &slab;
        let key = slab.insert(Box::new(1_u64)).unwrap();
        scope.spawn(move || slab.get(key).map(|value| assert_eq!(**value, 1)));
        scope.spawn(move || slab.remove(key));
    });
}

#[sim::test(native, seeds = 60)]
fn epoch_frees_what_is_unlinked() {
    use crossbeam_epoch::{Owned, pin};
    use std::sync::atomic::Ordering::{AcqRel, Acquire};
    let atomic = crossbeam_epoch::Atomic::new(1_u64);
    scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let guard = pin();
                let old = atomic.swap(Owned::new(2), AcqRel, &guard);
                guard.flush();
                assert!(!old.is_null());
                assert!(!atomic.load(Acquire, &guard).is_null());
            });
        }
    });
}

#[sim::test(native, seeds = 60)]
fn thread_pool_runs_its_jobs() {
    let pool = threadpool::ThreadPool::new(2);
    let plain = Arc::new(Mutex::new(0));
    for _ in 0..2 {
        let plain = plain.clone();
        pool.execute(move || *plain.lock().unwrap() += 1);
    }
    pool.join();
    assert_eq!(*plain.lock().unwrap(), 2);
}

#[sim::test(native, seeds = 60)]
fn rayon_joins_two_closures() {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (a, b) = (Plain::default(), Plain::default());
    pool.install(|| rayon_core::join(|| a.set(1), || b.set(2)));
    assert_eq!((a.get(), b.get()), (1, 2));
}
