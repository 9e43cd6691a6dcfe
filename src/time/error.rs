//! Errors of time-outs.

use std::fmt;

/// The deadline of a [`timeout`](super::timeout()) passed before its future was ready.
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
