//! What a test body is, and what it may return.

use std::fmt::Debug;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};

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

/// The body of a test, whatever its type. The engines are compiled once, in this crate, and not for
/// each test anew: that would take long, and a debug build of the tests would have them unoptimized.
pub(crate) trait TestBody: Sync {
    /// Calls `act` with a new future of the body. It gives the text of the error, if it ends with one.
    fn begin(&self, act: &mut dyn FnMut(TestFuture<'_>));
}

/// A body that has begun.
pub(crate) type TestFuture<'a> = Pin<&'a mut dyn Future<Output = Option<String>>>;

/// A function as the body of a test.
pub(super) struct FunctionBody<B, R>(B, PhantomData<fn() -> R>);

impl<B, R> FunctionBody<B, R>
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    pub(super) fn new(function: B) -> Self {
        FunctionBody(function, PhantomData)
    }
}

impl<B, R> TestBody for FunctionBody<B, R>
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    fn begin(&self, act: &mut dyn FnMut(TestFuture<'_>)) {
        // Called within the future: a function may do something before it gives its own.
        act(pin!(async { (self.0)().await.error() }));
    }
}
