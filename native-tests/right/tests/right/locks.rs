//! Locks: their guards order the accesses under them and around them.

use right::{Plain, block_on};
use std::thread::scope;

/// Tests of a lock that one thread holds at a time: its constructor, and how it is locked.
macro_rules! lock {
    ($name:ident, $new:path, |$l:ident| $lock:expr) => {
        mod $name {
            use super::*;

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn it_counts() {
                let lock = $new(0);
                scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            for _ in 0..2 {
                                let $l = &lock;
                                let mut guard = $lock;
                                *guard += 1;
                            }
                        });
                    }
                });
                let $l = &lock;
                assert_eq!(*$lock, 4);
            }

            #[sim::test(native, seeds = 60)]
            fn it_orders_plain_memory() {
                let (lock, plain) = ($new(()), Plain::default());
                scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| {
                            let $l = &lock;
                            let _guard = $lock;
                            plain.add(1);
                        });
                    }
                });
                assert_eq!(plain.get(), 3);
            }

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn it_keeps_a_box() {
                let lock = $new(Some(Box::new(1_u64)));
                scope(|scope| {
                    scope.spawn(|| {
                        let $l = &lock;
                        let mut guard = $lock;
                        guard.take()
                    });
                    let $l = &lock;
                    let mut guard = $lock;
                    *guard = Some(Box::new(2));
                });
            }
        }
    };
}

lock!(std_mutex, std::sync::Mutex::new, |l| l.lock().unwrap());
lock!(std_rwlock, std::sync::RwLock::new, |l| l.write().unwrap());
lock!(parking_lot_mutex, parking_lot::Mutex::new, |l| l.lock());
lock!(parking_lot_fair_mutex, parking_lot::FairMutex::new, |l| l.lock());
lock!(parking_lot_rwlock, parking_lot::RwLock::new, |l| l.write());
lock!(async_mutex, async_lock::Mutex::new, |l| l.lock_blocking());
lock!(async_rwlock, async_lock::RwLock::new, |l| l.write_blocking());
lock!(tokio_mutex, tokio::sync::Mutex::new, |l| block_on(l.lock()));
lock!(tokio_rwlock, tokio::sync::RwLock::new, |l| block_on(l.write()));
lock!(spin_mutex, spin::Mutex::new, |l| l.lock());
lock!(spin_rwlock, spin::RwLock::new, |l| l.write());
lock!(crossbeam_sharded_lock, crossbeam_utils::sync::ShardedLock::new, |l| l.write().unwrap());

/// Tests of a lock with readers.
macro_rules! readers {
    ($name:ident, $new:path, |$l:ident| $read:expr, $write:expr) => {
        mod $name {
            use super::*;

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn readers_see_the_writer() {
                let (lock, plain) = ($new(Box::new(0_u64)), Plain::default());
                scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            let $l = &lock;
                            let guard = $read;
                            assert_eq!(plain.get(), **guard);
                        });
                    }
                    let $l = &lock;
                    let mut guard = $write;
                    *guard = Box::new(1);
                    plain.set(1);
                });
            }

            #[sim::test(native, seeds = 60)]
            #[allow(unused_mut)]
            fn a_writer_follows_readers() {
                let (lock, plain) = ($new(0_u64), Plain::default());
                scope(|scope| {
                    scope.spawn(|| {
                        for _ in 0..2 {
                            let $l = &lock;
                            let mut guard = $write;
                            *guard += 1;
                            plain.add(1);
                        }
                    });
                    let $l = &lock;
                    let first = {
                        let guard = $read;
                        assert_eq!(plain.get(), *guard);
                        *guard
                    };
                    let second = {
                        let guard = $read;
                        assert_eq!(plain.get(), *guard);
                        *guard
                    };
                    assert!(first <= second);
                });
            }
        }
    };
}

readers!(std_readers, std::sync::RwLock::new, |l| l.read().unwrap(), l.write().unwrap());
readers!(parking_lot_readers, parking_lot::RwLock::new, |l| l.read(), l.write());
readers!(async_readers, async_lock::RwLock::new, |l| l.read_blocking(), l.write_blocking());
readers!(tokio_readers, tokio::sync::RwLock::new, |l| block_on(l.read()), block_on(l.write()));
readers!(spin_readers, spin::RwLock::new, |l| l.read(), l.write());
readers!(
    crossbeam_readers,
    crossbeam_utils::sync::ShardedLock::new,
    |l| l.read().unwrap(),
    l.write().unwrap()
);
