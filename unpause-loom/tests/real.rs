//! Models without the engine: they run on real threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use loom::cell::{Cell, UnsafeCell};
use loom::sync::Mutex;
use loom::sync::mpsc::{RecvTimeoutError, channel};
use loom::thread;

#[test]
fn a_model_runs_some_times_with_all_its_threads() {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (begun.clone(), ended.clone());
    loom::model(move || {
        counts.0.fetch_add(1, SeqCst);
        let ended = counts.1.clone();
        // Nobody joins it.
        drop(thread::spawn(move || ended.fetch_add(1, SeqCst)));
    });
    let runs = begun.load(SeqCst);
    assert!((1..=100).contains(&runs), "{runs}");
    assert_eq!(ended.load(SeqCst), runs);
}

#[test]
#[should_panic(expected = "the second run")]
fn a_panic_fails_the_model_with_its_message() {
    let runs = AtomicUsize::new(0);
    loom::model(move || assert!(runs.fetch_add(1, SeqCst) == 0, "the second run"));
}

#[test]
#[should_panic(expected = "of a thread")]
fn a_panic_of_a_thread_fails_the_model_although_nobody_asks() {
    loom::model(|| drop(thread::spawn(|| assert_eq!(1 + 1, 3, "of a thread"))));
}

#[test]
#[should_panic(expected = "of a thread")]
fn a_panic_of_a_joined_thread_has_the_message_of_the_thread() {
    loom::model(|| thread::spawn(|| assert_eq!(1 + 1, 3, "of a thread")).join().unwrap());
}

#[test]
#[should_panic(expected = "of a thread")]
fn a_panic_that_the_joiner_ignores_fails_the_model() {
    loom::model(|| drop(thread::spawn(|| assert_eq!(1 + 1, 3, "of a thread")).join()));
}

#[test]
#[should_panic(expected = "unreachable_unchecked was reached")]
fn code_that_claims_to_be_unreachable_fails_the_model() {
    // SAFETY: loom's function panics.
    loom::model(|| unsafe { loom::hint::unreachable_unchecked() });
}

#[test]
#[should_panic(expected = "Arc leaked")]
fn a_reference_that_is_left_fails_the_model() {
    loom::model(|| std::mem::forget(loom::sync::Arc::new(1)));
}

#[test]
#[should_panic(expected = "Allocation leaked")]
fn an_allocation_that_is_left_fails_the_model() {
    loom::model(|| std::mem::forget(loom::alloc::Track::new(1)));
}

#[test]
#[should_panic(expected = "a read of an UnsafeCell beside a write")]
fn a_read_within_a_write_fails_the_model() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        cell.with_mut(|_| cell.with(|_| ()));
    });
}

#[test]
#[should_panic(expected = "a read of an UnsafeCell beside a write")]
fn a_destructor_uses_the_cell_of_a_failed_access() {
    struct Owner(UnsafeCell<u8>);

    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.with_mut(|_| ());
        }
    }

    loom::model(|| {
        let owner = Owner(UnsafeCell::new(1));
        owner.0.with_mut(|_| owner.0.with(|_| ()));
    });
}

#[test]
fn a_pointer_ends_its_access_although_the_cell_has_moved() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        let pointer = cell.get();
        let moved = Box::new(cell);
        drop(pointer);
        moved.with_mut(|_| ());
        let pointer = moved.get_mut();
        assert_eq!(moved.into_inner(), 1);
        drop(pointer);
    });
}

/// The receiver sees that the result, a sender, is dropped.
#[test]
fn the_result_of_a_thread_without_a_handle_is_dropped_by_the_thread() {
    loom::model(|| {
        let (sender, receiver) = channel::<u8>();
        drop(thread::spawn(move || sender));
        let received = receiver.recv_timeout(Duration::from_secs(5));
        assert_eq!(received, Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn a_result_with_a_destructor_is_returned() {
    loom::model(|| {
        let result = thread::spawn(|| vec![1]).join();
        assert_eq!(result.unwrap(), [1]);
    });
}

loom::thread_local! {
    static COUNT: std::cell::Cell<usize> = std::cell::Cell::new(0);
}

#[test]
#[should_panic(expected = "Arc leaked")]
fn a_thread_local_without_a_destructor_hides_no_leak() {
    loom::model(|| {
        COUNT.with(|count| count.set(1));
        std::mem::forget(loom::sync::Arc::new(1));
    });
}

#[test]
fn references_are_counted_as_those_of_std() {
    loom::model(|| {
        let value = loom::sync::Arc::new(Mutex::new(1));
        let other = value.clone();
        assert!(loom::sync::Arc::ptr_eq(&value, &other));
        assert_eq!(loom::sync::Arc::strong_count(&value), 2);
        let raw = loom::sync::Arc::into_raw(other);
        // SAFETY: of `into_raw`, once.
        drop(unsafe { loom::sync::Arc::from_raw(raw) });
        let value = loom::sync::Arc::try_unwrap(value).unwrap();
        assert_eq!(value.into_inner().unwrap(), 1);
        let shared: loom::sync::Arc<dyn Fn() -> i32> = loom::sync::Arc::from_std(Arc::new(|| 7));
        assert_eq!(shared(), 7);
    });
}

#[test]
fn cells_have_values() {
    let (first, second) = (Cell::new(1), Cell::new(2));
    first.swap(&second);
    first.swap(&first);
    assert_eq!((first.get(), second.replace(3), second.take()), (2, 1, 3));
}

#[cfg(feature = "futures")]
#[test]
fn a_future_leaves_the_park_token_to_the_program() {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Instant;

    thread::current().unpark();
    let mut has_yielded = false;
    loom::future::block_on(poll_fn(|context| match std::mem::replace(&mut has_yielded, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }));
    let (begin, long) = (Instant::now(), Duration::from_secs(5));
    std::thread::park_timeout(long);
    assert!(begin.elapsed() < long);
}

loom::lazy_static! {
    static ref DROPPED: Dropped = Dropped;
    pub static ref NUMBER: usize = 7;
}

struct Dropped;

static DROPS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Dropped {
    fn drop(&mut self) {
        DROPS.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_static_is_dropped_at_the_end_of_its_run() {
    loom::model(|| {
        assert_eq!(*NUMBER, 7);
        let _: &Dropped = &DROPPED;
    });
    assert!(DROPS.load(SeqCst) > 0);
}

loom::lazy_static! {
    static ref USES_OTHER: UsesOther = UsesOther;
}

struct UsesOther;

impl Drop for UsesOther {
    fn drop(&mut self) {
        assert_eq!(*NUMBER, 7);
    }
}

#[test]
#[should_panic(expected = "lazy_static during shutdown")]
fn a_static_that_another_uses_at_the_end_of_a_run_fails_the_model() {
    loom::model(|| {
        let _: &UsesOther = &USES_OTHER;
    });
}
