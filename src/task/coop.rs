//! tokio's `task::coop`: the budget after which a task of a runtime gives way.
//!
//! A run has none. Every await of a primitive is a point, at which any other task may go first.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::run::op::{Access, Op};
use crate::seam::{self, here};

const CONSUME: Op = Op::new("consume_budget", Access::Yield);

/// A future that is not made to give way: there is no budget, so it is polled as it is.
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

/// Lets other tasks go first, if the budget is used up. In a run it is a point that touches nothing, as
/// [`yield_now`](super::yield_now); outside, it gives way once in 128 calls.
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

/// Returns `true`: a task has no budget that it could use up.
///
/// ```
/// assert!(sim::task::coop::has_budget_remaining());
/// ```
pub fn has_budget_remaining() -> bool {
    true
}
