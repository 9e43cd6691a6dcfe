//! Fences: points that touch nothing, because memory is sequentially consistent.

use std::future::Future;
use std::sync::atomic::{self, Ordering};

use super::Here;
use super::point::{Backend, NoObject, Point};
use crate::run::op::{Access, Op};

const FENCE: Op = Op::new("fence", Access::Yield);

/// The point of a fence.
pub(crate) fn fence(here: Here, order: Ordering) -> impl Future<Output = ()> + Send {
    Point::new(&NoObject, &FENCE, here, move |backend: &Backend<'_>| match backend {
        Backend::Run(pending) => pending.finish(),
        Backend::Real => atomic::fence(order),
    })
}

/// A point that touches nothing.
pub(crate) fn pass(op: &'static Op, here: Here) -> impl Future<Output = ()> + Send {
    Point::new(&NoObject, op, here, |backend: &Backend<'_>| {
        if let Backend::Run(pending) = backend {
            pending.finish();
        }
    })
}
