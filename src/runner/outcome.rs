//! What a test body may return.

use std::fmt::Debug;

/// What a test body may return: nothing, or a `Result` whose error fails the run.
pub trait TestResult {
    /// The text of the error, if it is one.
    fn error(self) -> Option<String>;
}

impl TestResult for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<T, E: Debug> TestResult for Result<T, E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

impl TestResult for std::convert::Infallible {
    fn error(self) -> Option<String> {
        match self {}
    }
}
