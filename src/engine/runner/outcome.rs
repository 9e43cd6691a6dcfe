//! Test bodies and their results.

use std::fmt::Debug;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures::future::OptionFuture;

/// The result of a test body: nothing, or a `Result`. An error fails the run.
///
/// ```
/// #[sim::test(seeds = 1)]
/// async fn seven_is_a_number() -> Result<(), std::num::ParseIntError> {
///     assert_eq!("7".parse::<u32>()?, 7);
///     Ok(())
/// }
/// # fn main() {}
/// ```
pub trait TestResult {
    /// Returns the text of the error, or `None` if the result is not an error.
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

/// The type-erased body of a test. The trait allows the engines to be compiled once, in this crate, instead of once for
/// each test. A separate compilation for each test would take long, and debug builds would not optimize it.
pub(crate) trait TestBody: Sync {
    /// Calls `act` with a new future of the body. The future returns the text of the error, if the body returns an
    /// error.
    fn begin(&self, act: &mut dyn FnMut(TestFuture<'_>));

    /// Returns `true` if the body is a closure that has captured values, or a pointer to a function.
    #[allow(dead_code, reason = "the real build has no searches")]
    fn has_captured(&self) -> bool;
}

/// A body that has begun. Dropping this value drops the future of the test, so the drop happens within the run.
pub(crate) struct TestFuture<'a>(Pin<&'a mut dyn BegunBody>);

/// A future that can be dropped in place.
trait BegunBody {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>>;

    fn clear(self: Pin<&mut Self>);
}

impl<F: Future<Output = Option<String>>> BegunBody for OptionFuture<F> {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        Future::poll(self, cx).map(Option::flatten)
    }

    fn clear(mut self: Pin<&mut Self>) {
        self.set(OptionFuture::from(None));
    }
}

impl Future for TestFuture<'_> {
    type Output = Option<String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        self.0.as_mut().poll(cx)
    }
}

impl Drop for TestFuture<'_> {
    fn drop(&mut self) {
        self.0.as_mut().clear();
    }
}

/// A function as a test body.
pub(crate) struct FunctionBody<B, R>(B, PhantomData<fn() -> R>);

impl<B, R> FunctionBody<B, R>
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    pub(crate) fn new(function: B) -> Self {
        FunctionBody(function, PhantomData)
    }
}

impl<B, R> TestBody for FunctionBody<B, R>
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    fn begin(&self, act: &mut dyn FnMut(TestFuture<'_>)) {
        // The function is called within the future, because it may act before it returns its own future.
        let future = async { (self.0)().await.error() };
        act(TestFuture(pin!(OptionFuture::from(Some(future)))));
    }

    fn has_captured(&self) -> bool {
        size_of::<B>() > 0
    }
}
