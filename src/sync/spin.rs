//! Waiting for a condition on shared memory, without a loop that looks over and over.

use std::future::Future;

use crate::run::op::Op;
use crate::seam::{Spin, here};

/// Asks `condition` until it is true.
///
/// What a loop like `while !flag.load(Acquire).await {}` is meant to do. In a run such a loop has the
/// scheduler try every number of turns of it: a search comes to no end, and a run in which nobody sets
/// the flag takes all the steps it may. Here the task is asked again when something has changed that the
/// condition looked at, and waits until then: it takes no steps, and if nobody is left who could change
/// anything, the run is a deadlock that says what it waits for.
///
/// The condition is asked at once, and then at every change of an object it looked at the last time, by
/// whichever task. It should only look: load atomics, get cells, or try what changes nothing if it fails
/// (a compare-exchange, a `try_lock`). If it did more (stored, took a lock, drew a value, asked whether a
/// task has ended), or looked at nothing of this library, it is asked again and again with a
/// [`yield_now`](crate::task::yield_now) in between. What it looks at besides, such as a static of std,
/// is not seen to change. The operations in it are points of their own: between two loads of one
/// condition others may go.
///
/// Outside a run and in the real build it is the loop, with pauses: first of a few spins, then the
/// thread is given up each time. It also gives way to other tasks of the same executor. For a wait
/// that may be long, something that sleeps is better.
///
/// ```
/// use std::sync::Arc;
/// use sim::{Atomic, Ordering::{Acquire, Release}, Runner};
///
/// // What was published before the flag was set is seen by whoever has seen the flag.
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
/// A condition of several looks is an async closure:
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
    // Not `AsyncFnMut`, of whose futures nobody can say as yet that they are `Send`.
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
