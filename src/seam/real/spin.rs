//! Loops that wait for a condition.

use std::future::Future;

use super::Here;
use super::point::YieldPoint;
use crate::real::backoff::Backoff;
use crate::run::op::Op;

/// The state of a loop that evaluates a condition until it holds.
#[derive(Debug)]
pub(crate) struct Spin {
    backoff: Backoff,
    here: Here,
}

impl Spin {
    pub(crate) fn new(here: Here) -> Spin {
        Spin { backoff: Backoff::default(), here }
    }

    /// Evaluates the condition once.
    #[inline(always)]
    pub(crate) fn ask<F: Future<Output = bool>>(&mut self, condition: F) -> F {
        condition
    }

    /// Pauses after the condition was false.
    pub(crate) fn rest(&mut self, op: &'static Op) -> YieldPoint {
        self.backoff.pause();
        YieldPoint::new(op, self.here)
    }
}
