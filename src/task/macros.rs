//! `select!`, `join!` and `try_join!`, with the grammar of tokio's.

/// Waits for the first of several futures, and drops the others: tokio's `select!`.
///
/// A branch is `pattern = future, if condition => handler`, with or without the condition. The futures are polled in
/// one task. The first that is ready with a value of its pattern ends the others, which are dropped, and its handler is
/// the result. A branch is not polled if its condition is false, and not polled again if its value does not match its
/// pattern. If no branch is left, the handler of `else` is the result. Handlers may use `?`, `break`, `return` and
/// `.await`.
///
/// In a run, one poll of all branches is one step. The branch that is polled first is a decision of
/// the run, drawn if two branches may continue; the others follow as they are written. With
/// `biased;` before the branches, they are polled in the order of the source, without a decision.
/// Outside of runs, the first branch is a random one.
///
/// A search does not vary the first branch of a poll in which no operation of this library took effect and no task was
/// spawned: code of two branches before their first await is not tried in both orders.
///
/// # Panics
/// If no branch is left and there is no `else`.
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

/// Waits for all of several futures, and gives their outputs as a tuple: tokio's `join!`.
///
/// They are polled in one task, at first in the order of the source. In a run, one poll of all of
/// them is one step. The future that is polled first in a later step is a decision of the run,
/// drawn if two futures may continue; with `biased;` before the futures, it is always the first.
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

/// Waits for all of several futures, or until one ends with an error: tokio's `try_join!`.
///
/// Gives the values as a tuple in `Ok`, or the first error; the other futures are then dropped. The
/// futures are polled like the futures of [`join!`](macro@crate::join).
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
