//! Signals that a run raises, and their handlers.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use planted::process::{handle, raise_signal};
use planted::threads::{
    block, is_pending, poll_for_signal, send_signal, this_thread, unblock, wait_for_signal,
};
use sim::Runner;

/// `SIGUSR1`.
const SIGNAL: i32 = 10;

/// The end of a connection that the handler writes to.
static TOLD: OnceLock<UnixStream> = OnceLock::new();

extern "C" fn tells(signal: i32) {
    // The test may have returned, and dropped the other end.
    let _ = TOLD.get().unwrap().write_all(&[signal as u8]);
}

/// Raises a signal, whose handler must have written when `raise` returns. A second thread does the same. The run may
/// end while that thread is in the handler.
fn raises() {
    let (mut told, end) = UnixStream::pair().unwrap();
    told.set_nonblocking(true).unwrap();
    TOLD.set(end).unwrap();
    handle(SIGNAL, tells);
    assert_eq!(raise_signal(SIGNAL), 0);
    assert_eq!((told.read(&mut [0; 8]).ok(), TOLD.get().is_some()), (Some(1), true));
    thread::spawn(|| raise_signal(SIGNAL));
    thread::yield_now();
}

#[test]
fn a_run_that_ends_in_a_handler_leaves_its_signal_to_later_runs() {
    let report = Runner::new().hermetic().seeds(0..300).run_native(raises);
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
}

/// The number of handled signals.
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn counts(_: i32) {
    HANDLED.fetch_add(1, SeqCst);
}

#[sim::test(native, seeds = 100)]
fn each_thread_blocks_signals_of_its_own() {
    handle(SIGNAL, counts);
    let unblocked = thread::spawn(|| {
        thread::yield_now();
        // Handled at once, whatever the other threads block.
        assert_eq!(raise_signal(SIGNAL), 0);
        assert!(HANDLED.load(SeqCst) >= 1);
    });
    assert!(!block(SIGNAL));
    assert_eq!(raise_signal(SIGNAL), 0);
    assert!(is_pending(SIGNAL));
    let child = thread::spawn(|| {
        // It blocks what its creator blocks, but its creator's signals do not wait for it.
        assert!(!is_pending(SIGNAL));
        assert!(unblock(SIGNAL));
        let before = HANDLED.load(SeqCst);
        assert_eq!(raise_signal(SIGNAL), 0);
        assert!(HANDLED.load(SeqCst) > before);
    });
    for thread in [unblocked, child] {
        thread.join().unwrap();
    }
    assert_eq!((HANDLED.load(SeqCst), is_pending(SIGNAL)), (2, true));
    assert!(unblock(SIGNAL));
    assert_eq!((HANDLED.load(SeqCst), is_pending(SIGNAL)), (3, false));
}

#[sim::test(native, seeds = 20)]
fn a_signal_to_a_thread_that_blocks_it_waits_for_the_thread() {
    handle(SIGNAL, counts);
    block(SIGNAL);
    let own = this_thread();
    thread::spawn(move || assert_eq!(send_signal(own, SIGNAL), 0)).join().unwrap();
    assert_eq!((HANDLED.load(SeqCst), is_pending(SIGNAL)), (0, true));
    unblock(SIGNAL);
    assert_eq!(HANDLED.load(SeqCst), 1);
}

#[sim::test(native, seeds = 10)]
fn a_wait_that_unblocks_a_waiting_signal_is_interrupted() {
    handle(SIGNAL, counts);
    block(SIGNAL);
    let waits: [(fn() -> bool, u32); 2] = [(wait_for_signal, 1), (poll_for_signal, 2)];
    for (wait, handled) in waits {
        assert_eq!(raise_signal(SIGNAL), 0);
        assert_eq!((HANDLED.load(SeqCst), is_pending(SIGNAL)), (handled - 1, true));
        assert!(wait());
        assert_eq!((HANDLED.load(SeqCst), is_pending(SIGNAL)), (handled, false));
        // The signal is blocked again.
        assert!(block(SIGNAL));
    }
}
