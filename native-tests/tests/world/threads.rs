//! Threads of libc: values for keys, ends by `pthread_exit`, signals to threads, `vfork`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;

use planted::process::{handle, raise_signal};
use planted::threads::{self, Key};
use sim::Runner;
use sim::run::{Failure, Outcome};

/// `EINVAL`, `ENOSYS`, `SIGUSR1`, `SIGUSR2`.
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;
const SIGNAL: i32 = 10;
const BLOCKED: i32 = 12;

fn runner() -> Runner {
    Runner::new().hermetic()
}

/// The outcomes of runs that must not fail.
fn passes(body: fn(), seeds: u64) {
    let report = runner().seeds(0..seeds).run_native(body);
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
}

/// A key in a static of C outlives the runs, but the values for it do not.
#[test]
fn a_value_for_a_key_ends_with_its_thread() {
    threads::make_key_in_c();
    passes(
        || {
            for _ in 0..2 {
                let before = || (threads::exchange_value_in_c(7), threads::exchange_value_in_c(8));
                assert_eq!(thread::spawn(before).join().unwrap(), (0, 7));
            }
            assert_eq!((threads::exchange_value_in_c(9), threads::exchange_value_in_c(9)), (0, 9));
        },
        10,
    );
}

/// A run ends the keys that it creates. libc has only 1,024 keys.
#[test]
fn runs_do_not_use_up_the_keys() {
    passes(
        || {
            let key = Key::new(None).unwrap();
            assert_eq!((key.get(), key.set(7 as *mut c_void)), (null_mut(), 0));
            assert_eq!((key.get() as usize, key.delete(), key.delete()), (7, 0, EINVAL));
            assert_eq!((key.get(), key.set(null_mut())), (null_mut(), EINVAL));
            // Not deleted.
            Key::new(None).unwrap();
        },
        1_100,
    );
}

/// The calls of the destructor, and the sum of its arguments.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static SUM: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(value: *mut c_void) {
    CALLS.fetch_add(1, SeqCst);
    SUM.fetch_add(value as usize, SeqCst);
}

/// The key of the destructor below.
static AGAIN: AtomicU32 = AtomicU32::new(0);

extern "C" fn set_again(value: *mut c_void) {
    count(value);
    Key(AGAIN.load(SeqCst)).set(value);
}

#[sim::test(native, seeds = 50)]
fn destructors_of_keys_run_at_the_end_of_a_thread() {
    let (one, two, none) = (Key::new(Some(count)), Key::new(Some(count)), Key::new(None));
    let [one, two, none] = [one, two, none].map(Result::unwrap);
    let value = |number: usize| number as *mut c_void;
    thread::spawn(move || {
        one.set(value(1));
        one.set(value(2));
        two.set(value(4));
        two.set(null_mut());
        none.set(value(8));
        assert_eq!(CALLS.load(SeqCst), 0);
    })
    .join()
    .unwrap();
    assert_eq!((CALLS.swap(0, SeqCst), SUM.swap(0, SeqCst)), (1, 2));
    threads::end_early_with_value(one);
    assert_eq!((CALLS.swap(0, SeqCst), SUM.swap(0, SeqCst)), (1, 7));
    // libc gives up after four rounds.
    let again = Key::new(Some(set_again)).unwrap();
    AGAIN.store(again.0, SeqCst);
    thread::spawn(move || again.set(value(3))).join().unwrap();
    assert_eq!((CALLS.load(SeqCst), SUM.load(SeqCst)), (4, 12));
}

#[sim::test(native, seeds = 50)]
fn a_thread_of_libc_may_end_before_its_function_returns() {
    assert_eq!(threads::result_of_early_end(7), 7);
    let other = thread::spawn(|| threads::result_of_early_end(8));
    assert_eq!((threads::result_of_early_end(9), other.join().unwrap()), (9, 8));
}

/// Outside of runs, the process would end.
#[test]
fn a_thread_of_std_that_ends_early_aborts() {
    let report = runner().seeds(0..3).run_native(|| {
        let _ = thread::spawn(threads::end_early).join();
    });
    let outcome = report.finding.expect("std does not allow it").run.outcome;
    let Outcome::Failed(Failure::Crash { cause, .. }) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(cause, "abort");
}

/// The number of handled signals.
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn handles(_: i32) {
    HANDLED.fetch_add(1, SeqCst);
}

#[sim::test(native, seeds = 20)]
fn a_signal_to_the_own_thread_is_handled_at_once() {
    handle(SIGNAL, handles);
    thread::spawn(|| {
        assert_eq!(threads::send_signal(threads::this_thread(), SIGNAL), 0);
        assert_eq!(HANDLED.load(SeqCst), 1);
        assert_eq!(threads::send_signal(threads::this_thread(), 1_000), EINVAL);
    })
    .join()
    .unwrap();
}

#[sim::test(native, seeds = 20)]
fn a_thread_is_joined_by_attempts_after_its_end() {
    assert_eq!(threads::result_by_attempts(7), (7, ENOSYS));
}

#[sim::test(native, seeds = 20)]
fn signals_to_other_threads_and_cancellations_are_refused() {
    handle(SIGNAL, handles);
    let own = threads::this_thread();
    thread::spawn(move || {
        assert_eq!((threads::send_signal(own, 0), threads::send_signal(own, SIGNAL)), (0, ENOSYS));
        assert_eq!(threads::cancel(own), ENOSYS);
    })
    .join()
    .unwrap();
    assert_eq!(HANDLED.load(SeqCst), 0);
}

#[test]
fn a_deadly_signal_to_a_thread_ends_the_run() {
    let report = runner().seeds(0..3).run_native(|| {
        let own = threads::this_thread();
        thread::spawn(move || threads::send_signal(own, 15)).join().unwrap();
    });
    let outcome = report.finding.expect("it ends the process").run.outcome;
    let Outcome::Failed(Failure::Crash { cause, .. }) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(cause, "termination");
}

/// A signal that a run blocks and raises does not reach the next run, or the process.
#[test]
fn blocked_signals_end_with_the_run() {
    passes(
        || {
            assert!(!threads::is_pending(BLOCKED));
            assert_eq!((threads::block(BLOCKED), raise_signal(BLOCKED)), (false, 0));
            assert!(threads::is_pending(BLOCKED));
        },
        10,
    );
    assert!(!threads::is_pending(BLOCKED));
}

#[sim::test(native, seeds = 3)]
fn a_process_of_vfork_ends_alone() {
    assert_eq!(threads::code_of_vfork(7), 7);
    assert_eq!(thread::spawn(|| threads::code_of_vfork(8)).join().unwrap(), 8);
    assert_eq!(threads::code_of_plain_fork(9), 9);
}
