//! Models with loom's names, as loom's users write them.

#![allow(unsafe_code, reason = "accesses of cells, which safe code cannot make")]

use std::collections::BTreeSet;
use std::rc::Rc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicI16, AtomicUsize};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;

#[test]
fn increments_are_counted() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || other.fetch_add(1, Relaxed));
        number.fetch_add(1, Relaxed);
        thread.join().unwrap();
        assert_eq!(number.load(Relaxed), 2);
    });
}

/// Must fail: the search finds it.
#[test]
fn an_increment_in_two_steps_is_lost() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let increment = |number: &AtomicUsize| number.store(number.load(SeqCst) + 1, SeqCst);
        let thread = thread::spawn(move || increment(&other));
        increment(&number);
        thread.join().unwrap();
        assert_eq!(number.load(SeqCst), 2, "an increment is lost");
    });
}

#[test]
#[should_panic(expected = "an increment is lost")]
fn some_interleaving_panics_with_the_message() {
    an_increment_in_two_steps_is_lost();
}

/// The closures are not `Send`.
#[test]
#[should_panic(expected = "deadlock")]
fn two_locks_in_two_orders_are_a_deadlock() {
    loom::model(|| {
        let locks = Rc::new([Mutex::new(0), Mutex::new(0)]);
        let other = locks.clone();
        let thread = thread::spawn(move || {
            let _first = other[0].lock().unwrap();
            let _second = other[1].lock().unwrap();
        });
        let first = locks[1].lock().unwrap();
        let second = locks[0].lock().unwrap();
        drop((first, second));
        thread.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "of another thread")]
fn a_write_beside_a_read_is_found() {
    loom::model(|| {
        let cell = Rc::new(UnsafeCell::new(0));
        let other = cell.clone();
        // SAFETY: none: the model must fail.
        let thread = thread::spawn(move || other.with_mut(|value| unsafe { *value = 1 }));
        // SAFETY: as above.
        cell.with(|value| unsafe { *value });
        thread.join().unwrap();
    });
}

fn publishes(order: loom::sync::atomic::Ordering) {
    loom::model(move || {
        let message = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
        let other = message.clone();
        let thread = thread::spawn(move || {
            other.0.store(1, Relaxed);
            other.1.store(true, order);
        });
        if message.1.load(Acquire) {
            assert_eq!(message.0.load(Relaxed), 1, "no message");
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_message_is_published_by_release() {
    publishes(Release);
}

#[test]
#[should_panic(expected = "no message")]
fn a_message_is_not_published_by_relaxed() {
    publishes(Relaxed);
}

#[test]
#[should_panic(expected = "Arc leaked")]
fn a_reference_that_is_left_is_found() {
    loom::model(|| std::mem::forget(Arc::new(1)));
}

#[test]
fn a_thread_that_nobody_joins_ends_before_the_run() {
    loom::model(|| {
        let (set, done) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let others = (set.clone(), done.clone());
        drop(thread::spawn(move || {
            others.1.wait();
            others.0.store(true, SeqCst);
        }));
        done.notify();
    });
}

#[test]
#[should_panic(expected = "of a thread")]
fn a_panic_of_a_thread_fails_the_model_although_nobody_asks() {
    loom::model(|| {
        drop(thread::spawn(|| panic!("of a thread")));
    });
}

#[test]
fn values_are_gathered_over_all_runs() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = seen.clone();
    loom::model(move || {
        let number = Arc::new(AtomicI16::new(-5));
        let other = number.clone();
        let thread = thread::spawn(move || other.fetch_max(7, SeqCst));
        let value = number.fetch_min(-6, SeqCst);
        thread.join().unwrap();
        of_runs.lock().unwrap().insert(value);
    });
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([-5, 7]));
}

loom::lazy_static! {
    static ref LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());
}

loom::thread_local! {
    static OWN: std::cell::Cell<usize> = std::cell::Cell::new(1);
}

#[test]
fn statics_and_thread_locals_are_new_in_each_run() {
    loom::model(|| {
        let thread = thread::spawn(|| {
            LIST.lock().unwrap().push(OWN.replace(2));
        });
        LIST.lock().unwrap().push(OWN.replace(3));
        thread.join().unwrap();
        assert_eq!(*LIST.lock().unwrap(), [1, 1]);
    });
}

#[test]
fn a_bound_of_preemptions_ends_the_search() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.check(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2].map(|_| {
            let number = number.clone();
            thread::spawn(move || number.fetch_add(1, SeqCst))
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

static OUTER: std::sync::OnceLock<String> = std::sync::OnceLock::new();

#[test]
fn statics_have_the_values_of_the_test_after_the_runs() {
    assert_eq!(OUTER.get_or_init(|| "of the test".to_owned()), "of the test");
    loom::model(|| {
        assert_eq!(OUTER.get_or_init(|| "of a run".to_owned()), "of a run");
    });
    assert_eq!(OUTER.get().map(String::as_str), Some("of the test"));
}

/// Without a model it is stepped like any test: must fail.
#[test]
fn a_test_without_a_model_is_stepped() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    let number = Arc::new(AtomicUsize::new(0));
    let threads = [1, 2].map(|_| {
        let number = number.clone();
        std::thread::spawn(move || number.store(number.load(SeqCst) + 1, SeqCst))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(number.load(SeqCst), 2);
}
