//! Signals: tokio's. No run has any.

use std::future::Future;
use std::io;
use std::panic::Location;

use sim::__private::refuse;

#[cfg(windows)]
pub use real::signal::windows;

const REFUSED: &str = "the signals of the process are no part of a run: hand the code under test a future that the test ends";

/// Waits for "ctrl-c". In a run it fails the run.
///
/// # Errors
/// If the system refuses to listen.
#[track_caller]
pub fn ctrl_c() -> impl Future<Output = io::Result<()>> {
    let place = Location::caller();
    async move {
        refuse(REFUSED, place);
        real::signal::ctrl_c().await
    }
}

/// Signals of Unix.
#[cfg(unix)]
pub mod unix {
    use super::{Location, REFUSED, io, refuse};

    pub use real::signal::unix::*;

    /// Listens for a signal. In a run it fails the run.
    ///
    /// # Errors
    /// If the system refuses to listen.
    #[track_caller]
    pub fn signal(kind: SignalKind) -> io::Result<Signal> {
        refuse(REFUSED, Location::caller());
        real::signal::unix::signal(kind)
    }
}
