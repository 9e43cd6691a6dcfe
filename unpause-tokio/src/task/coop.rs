//! tokio's `task::coop`: the budget after which a task of a runtime yields. A run has no budget.

use std::future::Future;

use sim::__private::in_run;

pub use real::task::coop::*;

/// Yields to other tasks if the budget is used up. In a run, this call is a point.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// tokio::task::coop::consume_budget().await;
/// # });
/// ```
#[track_caller]
pub fn consume_budget() -> impl Future<Output = ()> + Send {
    let in_run = in_run().then(sim::task::consume_budget);
    async move {
        match in_run {
            Some(point) => point.await,
            None => real::task::coop::consume_budget().await,
        }
    }
}
