//! `select!`, `join!` and `try_join!`, with tokio's grammar.

/// Waits for the first of several futures, and drops the others: tokio's `select!`.
///
/// A branch is `pattern = future, if condition => handler`, with or without the condition. All futures are polled in
/// one task. When a future is ready and its value matches its pattern, the other futures are dropped, and the handler
/// of that branch produces the result. A branch is not polled if its condition is false, nor polled again after its
/// value did not match its pattern. If no branch remains, the handler of `else` produces the result. Handlers may use
/// `?`, `break`, `return` and `.await`.
///
/// In a run, one poll of all branches is one step. The branch that is polled first is a decision of the run, drawn if
/// at least two branches may continue. The other branches follow in source order. With `biased;` before the branches,
/// they are polled in source order, without a decision. Outside of runs, the first branch is random.
///
/// An exhaustive search does not vary the first branch of a poll in which no operation of this library took effect and
/// no task was spawned. So it does not try both orders of the code before the first await of two branches. The bounded
/// searches `preemptions` and `delays` try both.
///
/// # Panics
/// If no branch remains and there is no `else`.
///
/// ```
/// use sim::time::{Duration, sleep};
///
/// # sim::block_on(async {
/// let mut numbers = vec![1, 2];
/// let mut sum = 0;
/// loop {
///     sim::select! {
///         Some(number) = async { numbers.pop() }, if sum < 10 => sum += number,
///         () = sleep(Duration::from_secs(60)) => panic!("no number for a minute"),
///         else => break,
///     }
///     if sum == 3 {
///         break;
///     }
/// }
///
/// let first = sim::select! {
///     biased;
///     a = async { "a" } => a,
///     b = async { "b" } => b,
/// };
/// assert_eq!(first, "a");
/// # });
/// ```
#[macro_export]
macro_rules! select {
    ($($branches:tt)*) => { $crate::__private::select!(($crate) $($branches)*) };
}

/// Waits for several futures, and returns all their outputs as a tuple: tokio's `join!`.
///
/// The futures are polled in one task, at first in source order. In a run, one poll of all futures is one step. In a
/// later step, the run decides which future is polled first, if at least two futures may continue. With `biased;`
/// before the futures, the first future is always polled first.
///
/// ```
/// # sim::block_on(async {
/// let (a, b) = sim::join!(async { 1 }, async { "b" });
/// assert_eq!((a, b), (1, "b"));
/// # });
/// ```
#[macro_export]
macro_rules! join {
    () => { async {}.await };
    (biased;) => { async {}.await };
    ($($futures:tt)*) => { $crate::__private::join!(($crate) $($futures)*) };
}

/// Waits until several futures have all ended, or until one of them ends with an error: tokio's `try_join!`.
///
/// Returns the values as a tuple in `Ok`, or the first error, after which the other futures are dropped. The futures
/// are polled like the futures of [`join!`](macro@crate::join).
///
/// ```
/// # sim::block_on(async {
/// assert_eq!(sim::try_join!(async { Ok::<_, &str>(1) }, async { Ok(2) }), Ok((1, 2)));
/// assert_eq!(sim::try_join!(async { Ok::<u8, _>(1) }, async { Err::<u8, _>("no") }), Err("no"));
/// # });
/// ```
#[macro_export]
macro_rules! try_join {
    () => { async { ::core::result::Result::Ok(()) }.await };
    (biased;) => { async { ::core::result::Result::Ok(()) }.await };
    ($($futures:tt)*) => { $crate::__private::try_join!(($crate) $($futures)*) };
}

pub use {join, select, try_join};
