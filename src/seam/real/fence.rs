//! Fences: in this build, the fences of std.

use std::future::Future;
use std::sync::atomic::{self, Ordering};

use super::Here;
use super::point::point;
use crate::run::op::Op;

/// Executes a std fence on the thread that polls.
#[inline(always)]
pub(crate) fn fence(_: Here, order: Ordering) -> impl Future<Output = ()> + Send {
    point(move |_| atomic::fence(order))
}

/// Returns a point that touches nothing.
#[inline(always)]
pub(crate) fn pass(_: &'static Op, _: Here) -> impl Future<Output = ()> + Send {
    point(|_| ())
}
