//! Errors of timeouts and timers.

use std::fmt;

/// The error of a [`timeout`](super::timeout()) whose deadline passed before its future was ready.
///
/// ```
/// use sim::time::{Duration, timeout};
///
/// # sim::block_on(async {
/// let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
/// assert_eq!(late.unwrap_err().to_string(), "deadline has elapsed");
/// # });
/// ```
#[derive(PartialEq, Eq, Debug)]
pub struct Elapsed(());

impl Elapsed {
    pub(crate) fn new() -> Elapsed {
        Elapsed(())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(_: Elapsed) -> std::io::Error {
        std::io::ErrorKind::TimedOut.into()
    }
}

/// A timer error: tokio's `Error`, for code that names this type. No function of this library returns
/// it.
///
/// ```
/// use sim::time::error::Error;
///
/// let error = Error::at_capacity();
/// assert!(error.is_at_capacity() && !error.is_shutdown());
/// assert_eq!(error.to_string(), "timer is at capacity and cannot create a new entry");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Error(TimeErrorKind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TimeErrorKind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// Returns the error for a timer that is shut down.
    pub fn shutdown() -> Error {
        Error(TimeErrorKind::Shutdown)
    }

    /// Returns `true` if the timer is shut down.
    pub fn is_shutdown(&self) -> bool {
        self.0 == TimeErrorKind::Shutdown
    }

    /// Returns the error for a timer at capacity.
    pub fn at_capacity() -> Error {
        Error(TimeErrorKind::AtCapacity)
    }

    /// Returns `true` if the timer is at capacity.
    pub fn is_at_capacity(&self) -> bool {
        self.0 == TimeErrorKind::AtCapacity
    }

    /// Returns the error for a duration that is too long.
    pub fn invalid() -> Error {
        Error(TimeErrorKind::Invalid)
    }

    /// Returns `true` if the duration is too long.
    pub fn is_invalid(&self) -> bool {
        self.0 == TimeErrorKind::Invalid
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The messages of tokio.
        f.write_str(match self.0 {
            TimeErrorKind::Shutdown => {
                "the timer is shutdown, must be called from the context of Tokio runtime"
            }
            TimeErrorKind::AtCapacity => "timer is at capacity and cannot create a new entry",
            TimeErrorKind::Invalid => "timer duration exceeds maximum duration",
        })
    }
}

impl std::error::Error for Error {}
