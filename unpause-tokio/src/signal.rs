//! tokio's signals. In a run, no signal arrives.

use std::io;
#[cfg(unix)]
use std::panic::Location;

use sim::__private::in_run;
#[cfg(unix)]
use sim::__private::refuse;

#[cfg(windows)]
pub use real::signal::windows;

#[cfg(unix)]
const REFUSED: &str = "the signals of the process are no part of a run: hand the code under test a future that the test ends";

/// Waits for "ctrl-c". In a run, this signal never arrives: to stop a server, pass it a future that the test completes.
///
/// # Errors
/// If the system cannot register the listener.
pub async fn ctrl_c() -> io::Result<()> {
    if in_run() {
        std::future::pending::<()>().await;
    }
    real::signal::ctrl_c().await
}

/// Unix signals.
#[cfg(unix)]
pub mod unix {
    use super::{Location, REFUSED, io, refuse};

    pub use real::signal::unix::*;

    /// Listens for a signal. In a run, this call fails the run.
    ///
    /// # Errors
    /// If the system cannot register the listener.
    #[track_caller]
    pub fn signal(kind: SignalKind) -> io::Result<Signal> {
        refuse(REFUSED, Location::caller());
        real::signal::unix::signal(kind)
    }
}
