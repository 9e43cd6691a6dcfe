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
/// The condition is evaluated at once, and then at every change of an object that its last evaluation read, by
/// any task. It should only read: load atomics, get cells, or try operations that change nothing if they fail
/// (a compare-exchange, a `try_lock`). If it did more (stored, took a lock, drew a value, checked if a
/// task has ended), or read nothing of this library, it is evaluated again and again with a
/// [`yield_now`](crate::task::yield_now) in between. Changes of other state that it reads, such as a static of std,
/// are not detected. The operations in it are points of their own: other tasks may step between two loads of one
/// condition.
///
/// Outside a run and in the real build it is a loop with pauses: first of a few spins, then the
/// thread is yielded each time. It also yields to other tasks of the same executor. For a wait
/// that may be long, a primitive that sleeps is better.
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
