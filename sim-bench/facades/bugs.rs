//! Planted bugs of usual kinds, with shuttle's names. `sim-bench facades` compiles this file over shuttle and over
//! `unpause-shuttle`.
//!
//! A test searches its bug in some ranges of seeds, and prints a line for each: the run that has found it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as Counter;

use shuttle::sync::atomic::Ordering::SeqCst;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread::{self, JoinHandle};

/// Ranges of seeds, the runs of each at most, and the distance of their first seeds.
const RANGES: u64 = 20;
const RUNS: usize = 2_000;
const DISTANCE: u64 = 1_000_000;

fn search(name: &str, body: fn()) {
    for range in 0..RANGES {
        let runs = Arc::new(Counter::new(0));
        let counted = runs.clone();
        let run = move || {
            counted.fetch_add(1, SeqCst);
            body();
        };
        let check = || shuttle::check_random_with_seed(run, range * DISTANCE, RUNS);
        match catch_unwind(AssertUnwindSafe(check)) {
            // The facade repeats a failing run, so its screen shows the seed instead.
            Err(_) => println!("\nfound {name} {range} {}", runs.load(SeqCst)),
            Ok(()) => println!("\npassed {name} {range}"),
        }
    }
}

fn spawn(count: usize, body: impl Fn(usize) + Send + Sync + 'static) -> Vec<JoinHandle<()>> {
    let body = Arc::new(body);
    let thread = |nth| {
        let body = body.clone();
        thread::spawn(move || body(nth))
    };
    (0..count).map(thread).collect()
}

fn join(threads: Vec<JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Three threads add in two steps. The sum is one only if all three read the same value.
#[test]
fn lost_updates() {
    search("lost_updates", || {
        let sum = Arc::new(AtomicUsize::new(0));
        let of_threads = sum.clone();
        join(spawn(3, move |_| {
            for _ in 0..2 {
                let read = of_threads.load(SeqCst);
                of_threads.store(read + 1, SeqCst);
            }
        }));
        assert!(sum.load(SeqCst) > 2, "too many updates are lost");
    });
}

/// The flag of a slot is set before its value is written.
#[test]
fn publish_before_write() {
    search("publish_before_write", || {
        let slots: Arc<[(AtomicBool, AtomicUsize); 4]> = Arc::default();
        let of_reader = slots.clone();
        let reader = thread::spawn(move || {
            for (is_ready, value) in of_reader.iter().rev() {
                assert!(!is_ready.load(SeqCst) || value.load(SeqCst) != 0, "a slot without its value");
            }
        });
        for (is_ready, value) in slots.iter() {
            is_ready.store(true, SeqCst);
            value.store(1, SeqCst);
        }
        reader.join().unwrap();
    });
}

/// The flag is set, and the condition variable notified, without the lock.
#[test]
fn missed_notification() {
    search("missed_notification", || {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(0), Condvar::new()));
        let of_waiter = shared.clone();
        let waiter = thread::spawn(move || {
            let (is_ready, lock, changed) = &*of_waiter;
            let mut guard = lock.lock().unwrap();
            while !is_ready.load(SeqCst) {
                guard = changed.wait(guard).unwrap();
            }
        });
        let (is_ready, lock, changed) = &*shared;
        for _ in 0..4 {
            *lock.lock().unwrap() += 1;
        }
        is_ready.store(true, SeqCst);
        changed.notify_all();
        waiter.join().unwrap();
    });
}

/// Each of four threads takes its lock and then the next lock.
#[test]
fn wrong_order_of_locks() {
    search("wrong_order_of_locks", || {
        let locks: Arc<[Mutex<usize>; 4]> = Arc::default();
        join(spawn(4, move |nth| {
            let first = locks[nth].lock().unwrap();
            let mut second = locks[(nth + 1) % 4].lock().unwrap();
            *second += *first;
        }));
    });
}

/// A consumer looks whether there is a value, and takes it in a second critical section.
#[test]
fn double_take() {
    search("double_take", || {
        let queue = Arc::new(Mutex::new(vec![1, 2, 3, 4]));
        join(spawn(2, move |_| {
            for _ in 0..3 {
                let is_empty = queue.lock().unwrap().is_empty();
                if !is_empty {
                    queue.lock().unwrap().pop().expect("the value is taken twice");
                }
            }
        }));
    });
}

/// A stack of indices, whose `pop` compares only the head.
#[test]
fn aba() {
    const NONE: usize = 9;
    struct Stack {
        head: AtomicUsize,
        next: [AtomicUsize; 3],
    }
    impl Stack {
        fn pop(&self) -> Option<usize> {
            loop {
                let head = self.head.load(SeqCst);
                if head == NONE {
                    return None;
                }
                let next = self.next[head].load(SeqCst);
                if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                    return Some(head);
                }
            }
        }

        fn push(&self, index: usize) {
            loop {
                let head = self.head.load(SeqCst);
                self.next[index].store(head, SeqCst);
                if self.head.compare_exchange(head, index, SeqCst, SeqCst).is_ok() {
                    return;
                }
            }
        }
    }
    search("aba", || {
        let next = [1, 2, NONE].map(AtomicUsize::new);
        let stack = Arc::new(Stack { head: AtomicUsize::new(0), next });
        let of_thread = stack.clone();
        let thread = thread::spawn(move || of_thread.pop());
        let (first, second) = (stack.pop(), stack.pop());
        if let Some(first) = first {
            stack.push(first);
        }
        let mut taken = vec![second, thread.join().unwrap(), stack.pop(), stack.pop(), stack.pop()];
        taken.retain(Option::is_some);
        taken.sort();
        let before = taken.len();
        taken.dedup();
        assert_eq!(taken.len(), before, "an index is in the stack twice");
    });
}

/// A balance is read in one critical section and changed in another. Two threads visit the accounts in opposite orders.
#[test]
fn check_then_act() {
    search("check_then_act", || {
        let accounts: Arc<[Mutex<i32>; 3]> = Arc::new([1, 1, 1].map(Mutex::new));
        let of_threads = accounts.clone();
        join(spawn(2, move |thread| {
            for nth in 0..3 {
                let account = &of_threads[if thread == 0 { nth } else { 2 - nth }];
                if *account.lock().unwrap() > 0 {
                    *account.lock().unwrap() -= 1;
                }
            }
        }));
        let is_overdrawn = accounts.iter().any(|account| *account.lock().unwrap() < 0);
        assert!(!is_overdrawn, "more is taken than there was");
    });
}

/// A waiter that is woken does not look again.
#[test]
fn condvar_without_loop() {
    search("condvar_without_loop", || {
        let shared = Arc::new((Mutex::new(0_i32), Condvar::new()));
        let of_threads = shared.clone();
        let consumers = spawn(3, move |_| {
            let (items, changed) = &*of_threads;
            let mut items = items.lock().unwrap();
            if *items == 0 {
                items = changed.wait(items).unwrap();
            }
            *items -= 1;
            assert!(*items >= 0, "an item that does not exist");
        });
        let (items, changed) = &*shared;
        for _ in 0..3 {
            *items.lock().unwrap() += 1;
            changed.notify_all();
        }
        join(consumers);
    });
}

/// The channel is marked as closed before its last value is in it.
#[test]
fn closed_early() {
    search("closed_early", || {
        let shared = Arc::new((Mutex::new(Vec::new()), AtomicBool::new(false)));
        let of_reader = shared.clone();
        let reader = thread::spawn(move || {
            let (values, is_closed) = &*of_reader;
            let mut seen = 0;
            for _ in 0..20 {
                seen += values.lock().unwrap().drain(..).count();
                if is_closed.load(SeqCst) {
                    // The text before the mark.
                    seen += values.lock().unwrap().drain(..).count();
                    assert_eq!(seen, 4, "a value comes after the end");
                    return;
                }
                thread::yield_now();
            }
        });
        let (values, is_closed) = &*shared;
        for value in 0..4 {
            if value == 3 {
                is_closed.store(true, SeqCst);
            }
            values.lock().unwrap().push(value);
        }
        reader.join().unwrap();
    });
}

/// A sequence lock whose reader does not compare the number at the end.
#[test]
fn torn_pair() {
    search("torn_pair", || {
        let shared: Arc<(AtomicUsize, AtomicUsize, AtomicUsize)> = Arc::default();
        let of_reader = shared.clone();
        let reader = thread::spawn(move || {
            let (number, left, right) = &*of_reader;
            for _ in 0..2 {
                if number.load(SeqCst) % 2 == 0 {
                    let pair = (left.load(SeqCst), right.load(SeqCst));
                    assert_eq!(pair.0, pair.1, "half of a change");
                }
            }
        });
        let (number, left, right) = &*shared;
        for value in 1..3 {
            number.fetch_add(1, SeqCst);
            left.store(value, SeqCst);
            right.store(value, SeqCst);
            number.fetch_add(1, SeqCst);
        }
        reader.join().unwrap();
    });
}
