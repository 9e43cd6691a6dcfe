//! The branches of `select!`, `join!` and `try_join!`, for the expansions of these macros.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::seam;

/// The branches of a combinator: which branches to poll, and in which order.
#[derive(Debug)]
pub struct Branches<const N: usize> {
    turns: seam::Turns<N>,
    /// For each branch, `true` if the branch must still be polled.
    open: [bool; N],
    /// `true` if a branch is pending.
    waits: bool,
    /// The first branch of this poll, and the number of branches polled so far.
    start: usize,
    polled: usize,
    /// The branch being polled, with the position of the run before this poll.
    current: Option<(usize, seam::Before)>,
}

impl<const N: usize> Branches<N> {
    /// Creates the branches of `select!`. Any of them may be polled first.
    #[inline]
    pub fn select(biased: bool) -> Branches<N> {
        Branches::new(seam::Turns::select(biased))
    }

    /// Creates the branches of `join!`. The first poll is in source order.
    #[inline]
    pub fn join(biased: bool) -> Branches<N> {
        Branches::new(seam::Turns::join(biased))
    }

    fn new(turns: seam::Turns<N>) -> Branches<N> {
        Branches { turns, open: [true; N], waits: false, start: 0, polled: 0, current: None }
    }

    /// Excludes a branch from all polls.
    pub fn disable(&mut self, branch: usize) {
        self.open[branch] = false;
    }

    /// Begins a poll.
    pub fn begin(&mut self) {
        self.start = self.turns.start(&self.open);
        (self.polled, self.waits, self.current) = (0, false, None);
    }

    /// Returns the next branch to poll, or `None` if all branches have been polled.
    #[allow(
        clippy::should_implement_trait,
        reason = "the end of one poll is not that of the branches"
    )]
    pub fn next(&mut self) -> Option<usize> {
        while self.polled < N {
            let branch = (self.start + self.polled) % N;
            self.polled += 1;
            if self.open[branch] {
                self.current = Some((branch, self.turns.before_branch()));
                return Some(branch);
            }
        }
        None
    }

    /// Records that the polled branch is pending.
    pub fn waits(&mut self) {
        self.waits = true;
        if let Some((branch, before)) = self.current {
            self.turns.after_branch(before, Some(branch));
        }
    }

    /// Records that the polled branch has ended and must not be polled again.
    pub fn ended(&mut self) {
        if let Some((branch, before)) = self.current {
            self.open[branch] = false;
            self.turns.after_branch(before, None);
        }
    }

    /// Ends a poll of all branches. Ready if no branch is pending.
    pub fn finish(&mut self) -> Poll<()> {
        self.turns.all_polled();
        if self.waits { Poll::Pending } else { Poll::Ready(()) }
    }
}

pin_project! {
    /// A future of `join!`, with its output once it has ended.
    //
    // The type has no bounds, so that an expression that is not a future causes only one error.
    #[project = JoinedProjection]
    #[allow(missing_docs, reason = "its fields are documented by their names, and not for users")]
    pub enum Joined<F, T> {
        Running { #[pin] future: F },
        Ended { output: Option<T> },
    }
}

/// Creates an unpolled future of `join!`.
pub fn join_later<F: IntoFuture>(future: F) -> Joined<F::IntoFuture, F::Output> {
    Joined::Running { future: future.into_future() }
}

/// Creates an unpolled future of `try_join!`.
pub fn try_join_later<T, E, F: IntoFuture<Output = Result<T, E>>>(
    future: F,
) -> Joined<F::IntoFuture, Result<T, E>> {
    join_later(future)
}

/// Polls a future of `join!`, and drops it once it has ended.
pub fn poll<F: Future>(
    mut joined: Pin<&mut Joined<F, F::Output>>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    if let JoinedProjection::Running { future } = joined.as_mut().project() {
        let Poll::Ready(output) = future.poll(cx) else { return Poll::Pending };
        joined.set(Joined::Ended { output: Some(output) });
    }
    Poll::Ready(())
}

/// Takes the output of a future of `join!` that has ended.
pub fn take<F, T>(joined: Pin<&mut Joined<F, T>>) -> T {
    match joined.project() {
        JoinedProjection::Ended { output } => output.take().expect("it is taken once"),
        JoinedProjection::Running { .. } => unreachable!("all branches have ended"),
    }
}

/// Polls a future of `try_join!`. Returns the error if the future ended with an error.
pub fn try_poll<T, E, F: Future<Output = Result<T, E>>>(
    mut joined: Pin<&mut Joined<F, Result<T, E>>>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), E>> {
    if poll(joined.as_mut(), cx).is_pending() {
        return Poll::Pending;
    }
    let JoinedProjection::Ended { output } = joined.project() else { unreachable!("it has ended") };
    match output.take() {
        Some(Err(error)) => Poll::Ready(Err(error)),
        kept => {
            *output = kept;
            Poll::Ready(Ok(()))
        }
    }
}

/// Takes the value of a future of `try_join!` that has ended without an error.
pub fn take_value<F, T, E>(joined: Pin<&mut Joined<F, Result<T, E>>>) -> T {
    match take(joined) {
        Ok(value) => value,
        Err(_) => unreachable!("an error ends the combinator"),
    }
}
