//! Errors of time-outs.

use std::fmt;

pub use real::time::error::Error;

/// The deadline of a [`timeout`](super::timeout()) passed before its future was ready.
#[derive(PartialEq, Eq, Debug)]
pub struct Elapsed(());

impl Elapsed {
    pub(super) fn new() -> Elapsed {
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
