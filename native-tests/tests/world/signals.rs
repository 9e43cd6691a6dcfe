//! Signals that a run raises, and their handlers.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::thread;

use planted::process::{handle, raise_signal};
use sim::Runner;

/// `SIGUSR1`.
const SIGNAL: i32 = 10;

/// The end of a connection that the handler writes to.
static TOLD: OnceLock<UnixStream> = OnceLock::new();

extern "C" fn tells(signal: i32) {
    TOLD.get().unwrap().write_all(&[signal as u8]).unwrap();
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
