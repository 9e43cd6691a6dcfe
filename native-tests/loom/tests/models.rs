//! Models with loom's names, as loom's users write them.

#![allow(unsafe_code, reason = "accesses of cells, which safe code cannot make")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use loom::cell::UnsafeCell;
use loom::future::block_on;
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
        // SAFETY: violated, so the model must fail.
        let thread = thread::spawn(move || other.with_mut(|value| unsafe { *value = 1 }));
        // SAFETY: as above.
        cell.with(|value| unsafe { *value });
        thread.join().unwrap();
    });
}

/// The search has one run.
#[test]
fn reads_of_a_cell_commute() {
    loom::model(|| {
        let shared = Arc::new(UnsafeCell::new(1));
        let threads = [0, 1].map(|_| {
            let other = shared.clone();
            // SAFETY: no thread writes the value while these threads run.
            thread::spawn(move || other.with(|value| assert_eq!(unsafe { *value }, 1)))
        });
        // SAFETY: as above.
        shared.with(|value| assert_eq!(unsafe { *value }, 1));
        for thread in threads {
            thread.join().unwrap();
        }
        // SAFETY: the threads have ended.
        shared.with_mut(|value| unsafe { *value = 2 });
    });
}

/// A read begins before the write of another thread, or ends after it.
#[test]
#[should_panic(expected = "of another thread")]
fn a_write_beside_one_of_two_reads_is_found() {
    loom::model(|| {
        let cell = Arc::new(UnsafeCell::new(0));
        let (first, second) = (cell.clone(), cell.clone());
        // SAFETY: violated, so the model must fail.
        let threads = [
            thread::spawn(move || first.with(|value| unsafe { *value })),
            thread::spawn(move || second.with(|value| unsafe { *value })),
        ];
        // SAFETY: as above.
        cell.with_mut(|value| unsafe { *value = 1 });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

loom::lazy_static! {
    static ref FIVE: usize = 5;
}

/// The first thread that needs the value creates it. The other thread waits, or finds the value.
#[test]
fn two_threads_need_a_lazy_value() {
    loom::model(|| {
        let thread = thread::spawn(|| assert_eq!(*FIVE, 5));
        assert_eq!(*FIVE, 5);
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

/// The accesses of the cell never overlap.
fn hands_over(order: loom::sync::atomic::Ordering) {
    loom::model(move || {
        let slot = Rc::new((UnsafeCell::new(0), AtomicBool::new(false)));
        let other = slot.clone();
        let thread = thread::spawn(move || {
            // SAFETY: the model must fail if `order` is too weak.
            other.0.with_mut(|value| unsafe { *value = 1 });
            other.1.store(true, order);
        });
        if slot.1.load(Acquire) {
            // SAFETY: as above.
            slot.0.with(|value| assert_eq!(unsafe { *value }, 1));
        }
        thread.join().unwrap();
        // SAFETY: the thread has ended.
        slot.0.with_mut(|value| unsafe { *value = 2 });
    });
}

#[test]
fn a_cell_is_handed_over_by_release() {
    hands_over(Release);
}

#[test]
#[should_panic(expected = "a read of an UnsafeCell that no memory order puts")]
fn a_cell_is_not_handed_over_by_relaxed() {
    hands_over(Relaxed);
}

#[test]
#[should_panic(expected = "an unsync_load beside a store of another thread")]
fn a_load_without_synchronization_beside_a_store_is_found() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        // SAFETY: violated, so the model must fail.
        let thread = thread::spawn(move || unsafe { other.unsync_load() });
        number.store(1, Relaxed);
        thread.join().unwrap();
    });
}

#[test]
fn the_only_writer_of_a_number_may_load_it_without_synchronization() {
    loom::model(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || {
            other.store(1, Release);
            // SAFETY: no other thread writes.
            assert_eq!(unsafe { other.unsync_load() }, 1);
        });
        number.load(Acquire);
        thread.join().unwrap();
        // SAFETY: the thread has ended.
        assert_eq!(unsafe { number.unsync_load() }, 1);
    });
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
#[should_panic(expected = "lazy_static during shutdown")]
fn a_static_that_a_thread_uses_after_the_return_of_the_closure_is_found() {
    loom::model(|| drop(thread::spawn(|| drop(LIST.lock().unwrap()))));
}

#[test]
fn a_bound_of_preemptions_ends_the_search() {
    // unpause has no search with the second bound.
    for bound in [1, 9] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(bound);
        // In effect no limit.
        builder.max_duration = Some(std::time::Duration::MAX);
        builder.max_branches = usize::MAX;
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

/// A future that is ready at the second poll, but never calls its waker.
struct Twice(bool);

impl Future for Twice {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_lost_wake_is_a_deadlock() {
    loom::model(|| block_on(Twice(false)));
}

/// The future may also be woken without cause, and the thread's wake-up remains ordered before the next poll.
#[test]
fn a_wake_up_beside_another_happens_before_the_next_poll() {
    loom::model(|| {
        let is_ready = Arc::new(AtomicBool::new(false));
        let mut wakes = None;
        block_on(poll_fn(|context| {
            wakes.get_or_insert_with(|| {
                let (is_ready, waker) = (is_ready.clone(), context.waker().clone());
                thread::spawn(move || {
                    is_ready.store(true, Relaxed);
                    waker.wake();
                })
            });
            match is_ready.load(Relaxed) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        wakes.unwrap().join().unwrap();
    });
}

/// Ready at the second poll, for which the first poll wakes.
fn yields() -> impl Future<Output = ()> {
    let mut has_yielded = false;
    poll_fn(move |context| match std::mem::replace(&mut has_yielded, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
}

#[test]
fn a_future_leaves_the_park_token_to_the_program() {
    loom::model(|| {
        thread::current().unpark();
        block_on(yields());
        thread::park();
    });
}

#[test]
fn an_inner_future_leaves_the_wake_up_of_the_outer_future() {
    loom::model(|| {
        let mut is_first = true;
        block_on(poll_fn(|context| {
            if !std::mem::replace(&mut is_first, false) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            block_on(yields());
            Poll::Pending
        }));
    });
}

#[test]
fn a_future_is_polled_once_more_in_some_runs() {
    let polls = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let of_runs = polls.clone();
    loom::model(move || {
        let is_set = Arc::new(AtomicBool::new(false));
        let mut count = 0;
        block_on(poll_fn(|context| {
            count += 1;
            if count == 1 {
                let (is_set, waker) = (is_set.clone(), context.waker().clone());
                thread::spawn(move || {
                    is_set.store(true, SeqCst);
                    waker.wake();
                });
            }
            match is_set.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        of_runs.lock().unwrap().insert(count);
    });
    assert_eq!(*polls.lock().unwrap(), BTreeSet::from([1, 2, 3]));
}

loom::thread_local! {
    static KEPT: RefCell<Option<Arc<u8>>> = RefCell::new(None);
}

/// The value is dropped with the first thread, after the end of the run.
#[test]
fn a_thread_local_of_the_first_thread_may_own_an_arc() {
    loom::model(|| KEPT.with(|kept| *kept.borrow_mut() = Some(Arc::new(1))));
}

#[test]
#[should_panic(expected = "Arc leaked")]
fn a_thread_local_of_another_thread_hides_no_leak() {
    loom::model(|| {
        thread::spawn(|| KEPT.with(|kept| *kept.borrow_mut() = Some(Arc::new(1)))).join().unwrap();
        std::mem::forget(Arc::new(2));
    });
}
