//! Futures that may be dropped at any of their points.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use super::point::RunObject;
use crate::rt::{Cancellation, PendingOp, WORLD, in_run, object_id};
use crate::run::event::ValueKind;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op, cancellation};
use crate::seam::wakes_nobody;

const HEAR: Op = Op::of_kind("be_cancelled", Access::Wait, cancellation::HEAR);
const END: Op = Op::of_kind("end", Access::Tell, cancellation::END);

/// The decision about the drop of a future.
pub(crate) struct Cancel {
    here: Here,
    fate: Fate,
}

enum Fate {
    /// The future was not polled yet.
    Open,
    /// The future is not dropped.
    Safe,
    /// The future may be dropped.
    Endangered { cancellation: Arc<Cancellation>, pending: PendingOp },
}

impl RunObject for Cancellation {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(self.object(), ValueKind::Opaque, place, || 0))
    }
}

impl Cancel {
    pub(crate) fn new(here: Here) -> Cancel {
        Cancel { here, fate: Fate::Open }
    }

    /// Polls the future through `poll`. Returns `None` if the future must be dropped now.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Option<T>> {
        let here = self.here;
        if let (Fate::Open, true) = (&self.fate, in_run()) {
            let cancellation = Cancellation::new("future", here);
            let is_endangered = WORLD.with(|world| world.may_cancel(&cancellation, here));
            self.fate = match is_endangered {
                false => Fate::Safe,
                true => {
                    let object = cancellation.object();
                    WORLD.with(|world| world.created(object, ValueKind::Opaque, 0));
                    Fate::Endangered { cancellation, pending: PendingOp::new(&HEAR, here) }
                }
            };
        }
        let Fate::Endangered { cancellation, pending } = &mut self.fate else {
            return poll(cx).map(Some);
        };
        if !in_run() {
            return poll(cx).map(Some);
        }
        if cancellation.is_cancelled() {
            note(cancellation, &HEAR, here);
            self.fate = Fate::Safe;
            return Poll::Ready(None);
        }
        match poll(cx) {
            Poll::Ready(output) => {
                cancellation.end();
                note(cancellation, &END, here);
                self.fate = Fate::Safe;
                Poll::Ready(Some(output))
            }
            // The caller will not poll again.
            Poll::Pending if wakes_nobody(cx.waker()) => Poll::Pending,
            Poll::Pending => {
                if pending.poll_waiting(cx, &**cancellation).is_pending() {
                    cancellation.wait(pending);
                }
                Poll::Pending
            }
        }
    }
}

fn note(cancellation: &Cancellation, op: &'static Op, here: Here) {
    WORLD.with(|world| world.record_last(op, cancellation.object(), here));
}

impl Drop for Cancel {
    fn drop(&mut self) {
        // If the program itself drops the future, the fault is also over.
        if let (Fate::Endangered { cancellation, .. }, true) = (&self.fate, in_run()) {
            cancellation.end();
            note(cancellation, &END, self.here);
        }
    }
}
