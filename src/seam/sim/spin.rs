//! Loops that wait for a condition, in a run and outside of runs.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::Here;
use super::point::YieldPoint;
use crate::real::backoff::Backoff;
use crate::rt::{Awaited, HeldOp, ReadSet, WORLD, World, in_run, is_by_hand};
use crate::run::op::Op;

/// The state of a loop that evaluates a condition until it holds.
#[derive(Debug)]
pub(crate) struct Spin {
    here: Here,
    /// The backoff outside of runs.
    backoff: Backoff,
    /// The read set of the last evaluation, if it returned false and did nothing but read.
    looked: Option<ReadSet>,
    /// The changes that the next evaluation waits for: see [`World::awaited`].
    awaited: Option<Awaited>,
}

impl Spin {
    pub(crate) fn new(here: Here) -> Spin {
        Spin { here, backoff: Backoff::default(), looked: None, awaited: None }
    }

    /// Evaluates the condition once. In a run, waits until an object has changed that the last evaluation read.
    pub(crate) fn ask<F: Future<Output = bool>>(&mut self, condition: F) -> Ask<'_, F> {
        Ask { spin: self, condition, look: None, held: None }
    }

    /// Pauses after the condition was false, unless the read set determines when to evaluate it again.
    pub(crate) async fn rest(&mut self, op: &'static Op) {
        if self.looked.is_none() {
            if !in_run() {
                self.backoff.pause();
            }
            YieldPoint::new(op, self.here).await;
        }
    }
}

pin_project! {
    /// A single evaluation of a condition.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub(crate) struct Ask<'a, F> {
        spin: &'a mut Spin,
        #[pin]
        condition: F,
        // `None` before the first poll.
        look: Option<ReadSet>,
        held: Option<HeldOp>,
    }
}

impl<F: Future<Output = bool>> Future for Ask<'_, F> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = self.project();
        if !in_run() || is_by_hand(cx.waker()) {
            return this.condition.poll(cx);
        }
        let waits = |held: &HeldOp| WORLD.with(|world| world.keeps_waiting(held, cx.waker()));
        if this.held.as_ref().is_some_and(waits) {
            return Poll::Pending;
        }
        *this.held = None;
        let before = this.spin.looked.take();
        let look = this.look.get_or_insert_with(|| WORLD.with(World::begin_reads));
        WORLD.with(|world| world.before_condition(look));
        let awaited = this.spin.awaited.take();
        let waits = awaited.is_some();
        let word = awaited.clone().filter(|awaited| matches!(awaited, Awaited::Word(..)));
        if let Some(awaited) = awaited {
            WORLD.with(|world| world.begin_wait(awaited));
        }
        let polled = this.condition.poll(cx);
        WORLD.with(|world| world.after_condition(look));
        if waits {
            this.spin.awaited = WORLD.with(|world| world.end_wait(this.spin.here)).or(word);
        }
        match polled {
            Poll::Pending => {
                let here = this.spin.here;
                let hold = |before| WORLD.with(|world| world.hold(look, before, here));
                *this.held = before.and_then(hold);
            }
            Poll::Ready(true) => {}
            Poll::Ready(false) => {
                this.spin.awaited = WORLD.with(|world| world.awaited(look));
                this.spin.looked = this.look.take().filter(ReadSet::is_all);
            }
        }
        polled
    }
}
