//! Parking threads: each thread has only one token, however often it is unparked.

use std::collections::VecDeque;

use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex};
use super::thread::{self, Thread};
use super::{Program, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "async_mutex",
        seeds: 400,
        buggy: || parking_mutex(false),
        fixed: || parking_mutex(true),
    },
    Program {
        name: "one_token",
        seeds: 200,
        buggy: || one_token(false),
        fixed: || one_token(true),
    },
    Program {
        name: "unpark_first",
        seeds: 100,
        buggy: || unpark_first(false),
        fixed: || unpark_first(true),
    },
    Program {
        name: "stale_token",
        seeds: 200,
        buggy: || stale_token(false),
        fixed: || stale_token(true),
    },
];

#[derive(Default)]
struct Lock {
    taken: AtomicBool,
    waiting: Mutex<VecDeque<Thread>>,
    owner: AtomicI64,
}

impl Lock {
    fn try_take(&self) -> bool {
        self.taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok()
    }

    /// Fixed: the waiter tries to take the lock again after it has entered the list of waiters.
    fn lock(&self, fixed: bool) {
        let me = thread::current();
        while !self.try_take() {
            self.waiting.lock().unwrap().push_back(me.clone());
            if fixed && self.try_take() {
                break;
            }
            thread::park();
        }
        self.waiting.lock().unwrap().retain(|waiter| waiter.id() != me.id());
    }

    fn unlock(&self) {
        self.taken.store(false, SeqCst);
        let first = self.waiting.lock().unwrap().pop_front();
        if let Some(first) = first {
            first.unpark();
        }
    }
}

/// A mutex that loses a wake-up: the owner releases the mutex between a waiter's attempt and the waiter's entry into
/// the list of waiters.
fn parking_mutex(fixed: bool) {
    let lock = Arc::new(Lock::default());
    let user = |me: i64| {
        on(&lock, move |lock| {
            lock.lock(fixed);
            lock.owner.store(me, SeqCst);
            assert_eq!(lock.owner.load(SeqCst), me, "two in the critical section");
            lock.unlock();
        })
    };
    together((0..3).map(user));
}

/// Parks once for each of two events, but their tokens merge into one. Fixed: parks until both events happened.
fn one_token(fixed: bool) {
    let events = Arc::new(AtomicI64::new(0));
    let waiter = thread::spawn(on(&events, move |events| {
        if !fixed {
            thread::park();
            thread::park();
        }
        while events.load(SeqCst) < 2 {
            thread::park();
        }
    }));
    let notifier = || {
        let waiter = waiter.thread().clone();
        on(&events, move |events| {
            events.fetch_add(1, SeqCst);
            waiter.unpark();
        })
    };
    together([notifier(), notifier()]);
    waiter.join().unwrap();
}

/// Unparks a thread before it sets the flag for which the thread waits. Fixed: the other way round.
fn unpark_first(fixed: bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let waiter = thread::spawn(on(&flag, |flag| {
        while !flag.load(SeqCst) {
            thread::park();
        }
    }));
    if !fixed {
        waiter.thread().unpark();
    }
    flag.store(true, SeqCst);
    if fixed {
        waiter.thread().unpark();
    }
    waiter.join().unwrap();
}

/// An event seen without parking leaves its token, which ends the wait for the next event. Fixed: the thread waits for
/// the event itself.
fn stale_token(fixed: bool) {
    let events = Arc::new([const { AtomicBool::new(false) }; 2]);
    let waiter = thread::spawn(on(&events, move |[first, second]| {
        while !first.load(SeqCst) {
            thread::park();
        }
        if !fixed {
            thread::park();
        }
        while fixed && !second.load(SeqCst) {
            thread::park();
        }
        assert!(second.load(SeqCst), "woken without the second event");
    }));
    for event in &*events {
        event.store(true, SeqCst);
        waiter.thread().unpark();
    }
    waiter.join().unwrap();
}
