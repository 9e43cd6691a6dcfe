//! tokio's `task::coop`: the budget after which a task of a runtime yields.
//!
//! In a run there is no budget, because every await of a primitive is a point, at which any other task may run first.
//! Outside of runs, the budget is the thread's count in `seam::budget`.

use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::run::op::{Access, Op};
use crate::seam::{self, here};

const CONSUME: Op = Op::new("consume_budget", Access::Yield);

/// Returns a future that never yields for the budget. As there is no budget, the future is polled unchanged.
///
/// ```
/// # sim::block_on(async {
/// assert_eq!(sim::task::coop::unconstrained(async { 1 }).await, 1);
/// # });
/// ```
pub fn unconstrained<F: Future>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

pin_project! {
    /// The future of [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Unconstrained<F> {
        #[pin]
        inner: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().inner.poll(cx)
    }
}

/// Lets other tasks run first if the budget is used up. In a run, this call is a point that touches nothing, like
/// [`yield_now`](super::yield_now). Outside of runs, this call yields once in 128 calls.
///
/// ```
/// # sim::block_on(async {
/// for _ in 0..1000 {
///     sim::task::coop::consume_budget().await;
/// }
/// # });
/// ```
#[track_caller]
pub fn consume_budget() -> impl Future<Output = ()> + Send {
    let mut point = seam::YieldPoint::new(&CONSUME, here());
    let mut has_given_way = false;
    std::future::poll_fn(move |cx| {
        if seam::in_run() {
            return Pin::new(&mut point).poll(cx);
        }
        if has_given_way {
            return Poll::Ready(());
        }
        has_given_way = true;
        seam::budget::spend(cx)
    })
}

/// Returns `true` if the task need not yield yet. Always `true` in a run, where a task has no budget.
///
/// ```
/// assert!(sim::task::coop::has_budget_remaining());
/// ```
pub fn has_budget_remaining() -> bool {
    seam::in_run() || seam::budget::left() > 0
}

/// Spends one unit of the task's budget. Pending if the budget is used up: the task must yield, and its waker has been
/// called. Always ready in a run.
///
/// For futures that wait for something other than a primitive. Dropping the result restores the budget, unless
/// [`made_progress`](RestoreOnPending::made_progress) was called.
///
/// ```
/// use std::future::poll_fn;
/// use std::task::{Poll, ready};
///
/// # sim::block_on(async {
/// let mut numbers = 1..=1000;
/// let next = poll_fn(|cx| {
///     let coop = ready!(sim::task::coop::poll_proceed(cx));
///     let number = numbers.next();
///     coop.made_progress();
///     Poll::Ready(number)
/// });
/// assert_eq!(next.await, Some(1));
/// # });
/// ```
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    if seam::in_run() {
        return Poll::Ready(RestoreOnPending::new(None));
    }
    let before = seam::budget::left();
    seam::budget::spend(cx).map(|()| RestoreOnPending::new(Some(before)))
}

/// Restores the budget when it is dropped, unless the task [made progress](Self::made_progress). See [`poll_proceed`].
#[derive(Debug)]
#[must_use]
pub struct RestoreOnPending {
    before: Cell<Option<u32>>,
    /// Not `Send`, because the budget belongs to this thread.
    stays: PhantomData<*mut ()>,
}

impl RestoreOnPending {
    fn new(before: Option<u32>) -> RestoreOnPending {
        RestoreOnPending { before: Cell::new(before), stays: PhantomData }
    }

    /// Keeps the current budget, so the drop does not restore it.
    pub fn made_progress(&self) {
        self.before.set(None);
    }
}

impl Drop for RestoreOnPending {
    fn drop(&mut self) {
        if let Some(before) = self.before.get() {
            seam::budget::restore(before);
        }
    }
}

/// Returns a future that spends one unit of its task's budget when it is ready, and yields if the budget is used up. In
/// a run it is polled unchanged.
///
/// ```
/// # sim::block_on(async {
/// for n in 0..1000 {
///     assert_eq!(sim::task::coop::cooperative(async { n }).await, n);
/// }
/// # });
/// ```
pub fn cooperative<F: Future>(fut: F) -> Coop<F> {
    Coop { fut }
}

pin_project! {
    /// The future of [`cooperative`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Coop<F> {
        #[pin]
        fut: F,
    }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let coop = ready!(poll_proceed(cx));
        let output = ready!(self.project().fut.poll(cx));
        coop.made_progress();
        Poll::Ready(output)
    }
}
