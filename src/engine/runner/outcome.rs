//! Test bodies and their results.

use std::fmt::Debug;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures::future::OptionFuture;

/// The result of a test body: nothing, or a `Result` whose error fails the run.
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
    /// The text of the error, if the result is one.
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

/// The body of a test, whatever its type. The engines are compiled once, in this crate, and not again for each test:
/// that would take long, and a debug build of the tests would have them unoptimized.
pub(crate) trait TestBody: Sync {
    /// Calls `act` with a new future of the body. It gives the text of the error, if it ends with one.
    fn begin(&self, act: &mut dyn FnMut(TestFuture<'_>));
}

/// A body that has begun. Dropping this drops the future of the test, and so within the run.
pub(crate) struct TestFuture<'a>(Pin<&'a mut dyn BegunBody>);

/// A future that can be dropped where it is.
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
        let future = async { (self.0)().await.error() };
        act(TestFuture(pin!(OptionFuture::from(Some(future)))));
    }
}
