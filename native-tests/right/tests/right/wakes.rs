//! Waits: the steps of a thread before it wakes another thread are ordered before the later steps of the other thread.

use right::{Plain, block_on};
use std::future::poll_fn;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Barrier, Condvar, Mutex};
use std::task::Poll;
use std::thread::{self, scope};

/// A plain value is written, another thread is notified, and reads it. The second expression returns once notified.
macro_rules! told {
    ($name:ident, $new:expr, |$w:ident| $tell:expr, $wait:expr) => {
        #[sim::test(native, seeds = 60)]
        fn $name() {
            let (signal, plain) = ($new, Plain::default());
            let ($w, plain) = (&signal, &plain);
            scope(|scope| {
                scope.spawn(move || {
                    plain.set(1);
                    $tell;
                });
                $wait;
                assert_eq!(plain.get(), 1);
                plain.set(2);
            });
        }
    };
}

told!(
    std_condvar,
    (Mutex::new(false), Condvar::new()),
    |w| {
        *w.0.lock().unwrap() = true;
        w.1.notify_one()
    },
    drop(w.1.wait_while(w.0.lock().unwrap(), |told| !*told).unwrap())
);
told!(
    parking_lot_condvar,
    (parking_lot::Mutex::new(false), parking_lot::Condvar::new()),
    |w| {
        *w.0.lock() = true;
        w.1.notify_one()
    },
    w.1.wait_while(&mut w.0.lock(), |told| !*told)
);
told!(std_barrier, Barrier::new(2), |w| w.wait(), w.wait());
told!(
    crossbeam_parker,
    {
        let parker = crossbeam_utils::sync::Parker::new();
        let unparker = parker.unparker().clone();
        (Mutex::new(Some(parker)), unparker)
    },
    |w| w.1.unpark(),
    {
        let parker = w.0.lock().unwrap().take().unwrap();
        parker.park()
    }
);
told!(
    parking_pair,
    {
        let (parker, unparker) = parking::pair();
        (Mutex::new(Some(parker)), unparker)
    },
    |w| w.1.unpark(),
    {
        let parker = w.0.lock().unwrap().take().unwrap();
        parker.park()
    }
);
told!(
    flag_in_a_loop,
    AtomicBool::new(false),
    |w| w.store(true, Release),
    while !w.load(Acquire) {
        thread::yield_now()
    }
);
told!(flag_with_backoff, AtomicBool::new(false), |w| w.store(true, Release), {
    let backoff = crossbeam_utils::Backoff::new();
    while !w.load(Acquire) {
        backoff.snooze()
    }
});
told!(
    thread_is_unparked,
    (AtomicBool::new(false), thread::current()),
    |w| {
        w.0.store(true, Release);
        w.1.unpark()
    },
    while !w.0.load(Acquire) {
        thread::park()
    }
);
told!(
    atomic_waker,
    (AtomicBool::new(false), atomic_waker::AtomicWaker::new()),
    |w| {
        w.0.store(true, Release);
        w.1.wake()
    },
    block_on(poll_fn(|context| {
        w.1.register(context.waker());
        if w.0.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }))
);
told!(
    event_listener,
    (AtomicBool::new(false), event_listener::Event::new()),
    |w| {
        w.0.store(true, Release);
        w.1.notify(1)
    },
    loop {
        if w.0.load(Acquire) {
            break;
        }
        let listener = w.1.listen();
        if w.0.load(Acquire) {
            break;
        }
        event_listener::Listener::wait(listener)
    }
);
told!(tokio_notify, tokio::sync::Notify::new(), |w| w.notify_one(), block_on(w.notified()));
told!(
    tokio_oneshot,
    {
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        (Mutex::new(Some(sender)), Mutex::new(Some(receiver)))
    },
    |w| {
        let sender = w.0.lock().unwrap().take().unwrap();
        sender.send(()).unwrap()
    },
    {
        let receiver = w.1.lock().unwrap().take().unwrap();
        block_on(receiver).unwrap()
    }
);
told!(tokio_watch, tokio::sync::watch::channel(false).0, |w| w.send_replace(true), {
    let mut receiver = w.subscribe();
    block_on(receiver.wait_for(|told| *told)).map(drop).unwrap()
});
told!(
    tokio_semaphore,
    tokio::sync::Semaphore::new(0),
    |w| w.add_permits(1),
    block_on(w.acquire()).unwrap().forget()
);
told!(tokio_barrier, tokio::sync::Barrier::new(2), |w| block_on(w.wait()), block_on(w.wait()));
told!(
    async_semaphore,
    async_lock::Semaphore::new(0),
    |w| w.add_permits(1),
    w.acquire_blocking().forget()
);
told!(async_barrier, async_lock::Barrier::new(2), |w| w.wait_blocking(), w.wait_blocking());
told!(spin_barrier, spin::Barrier::new(2), |w| drop(w.wait()), drop(w.wait()));

#[sim::test(native, seeds = 60)]
fn a_joined_thread_is_ordered() {
    let plain = Plain::default();
    scope(|scope| {
        scope.spawn(|| plain.set(1)).join().unwrap();
        assert_eq!(plain.get(), 1);
        scope.spawn(|| plain.add(1));
    });
    assert_eq!(plain.get(), 2);
}

#[sim::test(native, seeds = 60)]
fn wait_group_is_ordered() {
    let (group, plain) =
        (crossbeam_utils::sync::WaitGroup::new(), std::sync::Arc::new(Mutex::new(0)));
    for _ in 0..2 {
        let (group, plain) = (group.clone(), plain.clone());
        thread::spawn(move || {
            *plain.lock().unwrap() += 1;
            drop(group);
        });
    }
    group.wait();
    assert_eq!(*plain.lock().unwrap(), 2);
}

#[sim::test(native, seeds = 60)]
fn left_right_readers_see_a_whole_value() {
    use left_right::Absorb;
    #[derive(Clone, Default)]
    struct Twice(Box<u64>, Box<u64>);
    struct Set(u64);
    impl Absorb<Set> for Twice {
        fn absorb_first(&mut self, set: &mut Set, _: &Self) {
            *self = Twice(Box::new(set.0), Box::new(set.0));
        }
        fn sync_with(&mut self, first: &Self) {
            *self = first.clone();
        }
    }
    let (mut write, read) = left_right::new::<Twice, Set>();
    let reading = thread::spawn(move || {
        for _ in 0..2 {
            assert!(read.enter().is_none_or(|value| value.0 == value.1));
        }
    });
    write.append(Set(1)).publish();
    write.append(Set(2)).publish();
    reading.join().unwrap();
}

#[sim::test(native, seeds = 60)]
fn tokio_broadcast_reaches_both() {
    let (sender, mut first) = tokio::sync::broadcast::channel::<std::sync::Arc<u64>>(2);
    let mut second = sender.subscribe();
    let receiving = thread::spawn(move || *block_on(second.recv()).unwrap());
    sender.send(std::sync::Arc::new(1)).unwrap();
    assert_eq!(*block_on(first.recv()).unwrap(), 1);
    assert_eq!(receiving.join().unwrap(), 1);
}
