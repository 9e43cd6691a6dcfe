//! Waiting for a condition on shared memory, without a busy loop.

use std::future::Future;

use crate::run::op::Op;
use crate::seam::{Spin, here};

/// Waits until `condition` is true.
///
/// Replaces loops like `while !flag.load(Acquire).await {}`. In a run, the scheduler explores every number of
/// iterations of such a loop: a search does not end, and a run in which no task sets
/// the flag reaches its step limit. `spin_until` evaluates the condition again only after a change of an object that
/// the condition has read. Until then the task takes no steps. If no task is left that could change
/// one of these objects, the run fails with a deadlock, and the report names the objects.
///
/// The condition is evaluated at once, and then at every change of an object that its last evaluation read, by any
/// task. The condition should only read: load atomics, get cells, or try operations that change nothing if they fail (a
/// compare-exchange, a `try_lock`). The condition may also do more, for example store, acquire a lock, draw a value or
/// check if a task has ended, or read no object of this library. Such a condition is evaluated repeatedly, with a
/// [`yield_now`](crate::task::yield_now) in between. Changes of other state, such as a std static, are not detected.
/// Each operation in the condition is a point: other tasks may step between two loads of the same condition.
///
/// Outside a run and in the real build this function is a loop with pauses: it first spins a few times, then yields the
/// thread at each iteration. The loop also yields to other tasks of the same executor. For a long wait, use a primitive
/// that sleeps.
///
/// ```
/// use std::sync::Arc;
/// use sim::{Atomic, Ordering::{Acquire, Release}, Runner};
///
/// // A task that has seen the flag sees the value that was stored before it.
/// let report = Runner::new().strategy("exhaustive").run(async || {
///     let shared = Arc::new((Atomic::new(0), Atomic::new(false)));
///     let writer = sim::spawn({
///         let shared = shared.clone();
///         async move {
///             shared.0.store(7, Release).await;
///             shared.1.store(true, Release).await;
///         }
///     });
///     sim::spin_until(|| shared.1.load(Acquire)).await;
///     assert_eq!(shared.0.load(Acquire).await, 7);
///     writer.await.unwrap();
/// });
/// assert!(report.passed());
/// ```
///
/// A condition with several reads is an async closure:
///
/// ```
/// # use sim::{Atomic, Ordering::SeqCst};
/// # sim::block_on(async {
/// let (head, tail) = (Atomic::new(3), Atomic::new(3));
/// sim::spin_until(async || head.load(SeqCst).await == tail.load(SeqCst).await).await;
/// # });
/// ```
#[track_caller]
pub fn spin_until<C, F>(mut condition: C) -> impl Future<Output = ()> + use<C, F>
where
    // Not `AsyncFnMut`, because a bound cannot state yet that its futures are `Send`.
    C: FnMut() -> F,
    F: Future<Output = bool>,
{
    let mut spin = Spin::new(here());
    async move {
        while !spin.ask(condition()).await {
            spin.rest(&Op::SPIN_UNTIL).await;
        }
    }
}
