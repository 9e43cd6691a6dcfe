//! Loops that wait for a condition: what the scheduler knows of them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::Here;
use super::point::Turn;
use crate::rt::{Held, Look, WORLD, World, in_run};
use crate::run::op::Op;
use crate::seam::backoff::Backoff;

/// Asks a condition until it holds.
#[derive(Debug)]
pub(crate) struct Spin {
    here: Here,
    /// Outside a run.
    backoff: Backoff,
    /// What the condition looked at when it did not hold, unless it did more than look.
    looked: Option<Look>,
}

impl Spin {
    pub(crate) fn new(here: Here) -> Spin {
        Spin { here, backoff: Backoff::default(), looked: None }
    }

    /// Asks it once. In a run, not before something has changed that it looked at when it was asked
    /// before.
    pub(crate) fn ask<F: Future<Output = bool>>(&mut self, condition: F) -> Ask<'_, F> {
        Ask { spin: self, condition, look: None, held: None }
    }

    /// It did not hold: a pause, unless it is known when it is worth while to ask again.
    pub(crate) async fn rest(&mut self, op: &'static Op) {
        if self.looked.is_none() {
            if !in_run() {
                self.backoff.pause();
            }
            Turn::new(op, self.here).await;
        }
    }
}

pin_project! {
    /// Asks a condition once.
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub(crate) struct Ask<'a, F> {
        spin: &'a mut Spin,
        #[pin]
        condition: F,
        // None before it was polled.
        look: Option<Look>,
        held: Option<Held>,
    }
}

impl<F: Future<Output = bool>> Future for Ask<'_, F> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let this = self.project();
        if !in_run() {
            return this.condition.poll(cx);
        }
        let waits = |held: &Held| WORLD.with(|world| world.keeps_waiting(held, cx.waker()));
        if this.held.as_ref().is_some_and(waits) {
            return Poll::Pending;
        }
        *this.held = None;
        let before = this.spin.looked.take();
        let look = this.look.get_or_insert_with(|| WORLD.with(World::look));
        WORLD.with(|world| world.before_look(look));
        let polled = this.condition.poll(cx);
        WORLD.with(|world| world.after_look(look));
        match polled {
            Poll::Pending => {
                let here = this.spin.here;
                let hold = |before| WORLD.with(|world| world.hold(look, before, here));
                *this.held = before.and_then(hold);
            }
            Poll::Ready(true) => {}
            Poll::Ready(false) => {
                this.spin.looked = this.look.take().filter(Look::is_all);
            }
        }
        polled
    }
}
