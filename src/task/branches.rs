//! The branches of `select!`, `join!` and `try_join!`, as the expansions of these macros use them.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::seam;

/// The branches of a combinator: the branches to poll, and their order.
#[derive(Debug)]
pub struct Branches<const N: usize> {
    turns: seam::Turns<N>,
    /// True for a branch that is still polled.
    open: [bool; N],
    /// True if a branch waits.
    waits: bool,
    /// The first branch of this poll, and the number of branches that had their turn.
    start: usize,
    polled: usize,
    /// The branch that is polled now, with the position of the run before its poll.
    current: Option<(usize, seam::Before)>,
}

impl<const N: usize> Branches<N> {
    /// The branches of `select!`. Any of them may be polled first.
    #[inline]
    pub fn select(biased: bool) -> Branches<N> {
        Branches::new(seam::Turns::select(biased))
    }

    /// The branches of `join!`. They are first polled in the order of the source.
    #[inline]
    pub fn join(biased: bool) -> Branches<N> {
        Branches::new(seam::Turns::join(biased))
    }

    fn new(turns: seam::Turns<N>) -> Branches<N> {
        Branches { turns, open: [true; N], waits: false, start: 0, polled: 0, current: None }
    }

    /// Does not poll a branch at all.
    pub fn disable(&mut self, branch: usize) {
        self.open[branch] = false;
    }

    /// Begins a poll.
    pub fn begin(&mut self) {
        self.start = self.turns.start(&self.open);
        (self.polled, self.waits, self.current) = (0, false, None);
    }

    /// The next branch to poll; `None` if all had their turn.
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

    /// The branch that was polled waits.
    pub fn waits(&mut self) {
        self.waits = true;
        if let Some((branch, before)) = self.current {
            self.turns.after_branch(before, Some(branch));
        }
    }

    /// The branch that was polled has ended: it is not polled again.
    pub fn ended(&mut self) {
        if let Some((branch, before)) = self.current {
            self.open[branch] = false;
            self.turns.after_branch(before, None);
        }
    }

    /// Ends a poll in which all branches had their turn. Ready if none waits.
    pub fn finish(&mut self) -> Poll<()> {
        self.turns.all_polled();
        if self.waits { Poll::Pending } else { Poll::Ready(()) }
    }
}

pin_project! {
    /// A future of `join!`, with its output once it has ended.
    //
    // Without bounds, so that an expression that is no future is one error.
    #[project = JoinedProjection]
    #[allow(missing_docs, reason = "its fields are documented by their names, and not for users")]
    pub enum Joined<F, T> {
        Running { #[pin] future: F },
        Ended { output: Option<T> },
    }
}

/// A future of `join!` that was not polled.
pub fn join_later<F: IntoFuture>(future: F) -> Joined<F::IntoFuture, F::Output> {
    Joined::Running { future: future.into_future() }
}

/// A future of `try_join!` that was not polled.
pub fn try_join_later<T, E, F: IntoFuture<Output = Result<T, E>>>(
    future: F,
) -> Joined<F::IntoFuture, Result<T, E>> {
    join_later(future)
}

/// Polls a future of `join!`. It is dropped when it has ended.
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

/// The output of a future of `join!`, which has ended.
pub fn take<F, T>(joined: Pin<&mut Joined<F, T>>) -> T {
    match joined.project() {
        JoinedProjection::Ended { output } => output.take().expect("it is taken once"),
        JoinedProjection::Running { .. } => unreachable!("all branches have ended"),
    }
}

/// Polls a future of `try_join!`. Ready with the error that it ended with, if it did.
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

/// The value of a future of `try_join!`, which has ended without an error.
pub fn take_value<F, T, E>(joined: Pin<&mut Joined<F, Result<T, E>>>) -> T {
    match take(joined) {
        Ok(value) => value,
        Err(_) => unreachable!("an error ends the combinator"),
    }
}
