//! Fences: points that touch nothing. In runs with weak memory, a fence orders the operations of
//! its task.

use std::future::Future;
use std::sync::atomic::{self, Ordering};

use super::Here;
use super::point::{Backend, NoObject, Point};
use crate::run::op::Op;

/// Returns the point of a fence.
pub(crate) fn fence(here: Here, order: Ordering) -> impl Future<Output = ()> + Send {
    Point::new(&NoObject, &Op::FENCE, here, move |backend: &Backend<'_>| match backend {
        Backend::Run(pending) => pending.fence(order),
        Backend::Real => atomic::fence(order),
    })
}

/// Returns a point that touches nothing.
pub(crate) fn pass(op: &'static Op, here: Here) -> impl Future<Output = ()> + Send {
    Point::new(&NoObject, op, here, |backend: &Backend<'_>| {
        if let Backend::Run(pending) = backend {
            pending.finish();
        }
    })
}
