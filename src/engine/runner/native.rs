//! Tests whose plain threads the scheduler controls. The body runs on a simulated thread.

use std::fmt;

use super::TestResult;
use crate::native;

pub(super) use crate::native::{alone, exclusive, of_closure};

/// The text of an error that a body returned.
pub(super) struct ErrorText(String);

impl ErrorText {
    pub(super) fn new(text: String) -> ErrorText {
        ErrorText(text)
    }
}

impl fmt::Debug for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs `body` and the threads that it spawns as tasks of the current run. The thread of `body` gets the name `name`,
/// if any. If `leaks` is true, a memory leak fails the run.
pub(super) async fn run<R: TestResult>(
    name: Option<String>,
    body: impl FnOnce() -> R + Send + 'static,
    leaks: bool,
) -> Result<(), ErrorText> {
    let error = native::run(name, Box::new(move || body().error()), leaks).await;
    error.map_or(Ok(()), |error| Err(ErrorText(error)))
}
