//! Objects whose operations a run records. This build records nothing, so each call is just the
//! wrapped call.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use crate::run::event::{ValueKind, Values};
use crate::run::op::kind::Kind;
use crate::run::op::{Access, Op};
use crate::seam::transport::{Arrival, Guard, Transport};

/// The identity of a wrapped object in runs.
#[derive(Debug)]
pub(crate) struct Wrapped;

/// The operations of a call that may have to wait.
#[derive(Debug)]
pub(crate) struct CallOps;

/// The effect of a call's result on the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// The call is done.
    Done,
    /// The call failed and changed nothing.
    ToNothing,
    /// The call is done, and recorded as this operation.
    As(&'static Op),
}

impl CallOps {
    pub(crate) const fn acting(_: (&str, &str), _: [Kind; 4], _: Op) -> CallOps {
        CallOps
    }

    pub(crate) const fn quiet(self) -> CallOps {
        self
    }

    pub(crate) const fn stop_waiting(look: Kind) -> Op {
        Op::of_kind("stop_waiting", Access::Peek, look)
    }
}

impl Wrapped {
    pub(crate) fn outside(_: &'static str, _: Here) -> Wrapped {
        Wrapped
    }

    pub(crate) fn outside_named(_: &'static str, _: &str, _: Here) -> Wrapped {
        Wrapped
    }

    pub(crate) fn outside_known(
        _: &'static str,
        _: &'static str,
        _: Option<u32>,
        _: Here,
    ) -> Wrapped {
        Wrapped
    }

    pub(crate) fn outside_keyed(_: &'static str, _: &str, _: u32, _: Here) -> Wrapped {
        Wrapped
    }

    pub(crate) fn outside_word(_: &str, _: ValueKind, _: u32, _: Here) -> Wrapped {
        Wrapped
    }

    pub(crate) fn now<R>(
        &self,
        _: Here,
        act: impl FnOnce() -> R,
        _: impl FnOnce(&R) -> (&'static Op, Values),
    ) -> R {
        act()
    }

    pub(crate) fn act<R>(&self, _: &'static Op, _: Here, act: impl FnOnce() -> R) -> R {
        act()
    }

    pub(crate) fn attempt<R, E>(
        &self,
        _: [&'static Op; 2],
        _: Here,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        act()
    }

    pub(crate) fn last(&self, _: &'static Op, _: Here) {}

    pub(crate) fn record(&self, _: &'static Op, _: Here) {}
}

/// An object, and an operation on it.
pub(crate) type Deed<'a> = (&'a Wrapped, &'static Op);

#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn record_all<const N: usize>(_: [Option<Deed<'_>>; N], _: Here) {}

/// A value that one operation puts down and another operation picks up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed;

impl Passed {
    pub(crate) fn put(_: &'static str, _: &'static Op, _: Here) -> Passed {
        Passed
    }

    pub(crate) fn put_and_open(
        _: &'static str,
        _: &'static Op,
        _: Here,
        _: impl FnOnce(&mut dyn FnMut(&Latch)),
    ) -> Passed {
        Passed
    }

    pub(crate) fn get(self, _: &'static Op, _: Here) {}
}

/// The state of a call that never waits.
#[derive(Debug)]
pub(crate) struct PlainCall;

impl PlainCall {
    pub(crate) fn new(_: &'static Op, _: Here) -> PlainCall {
        PlainCall
    }

    /// Performs the call by `act`.
    pub(crate) fn poll<R>(
        &mut self,
        _: &Wrapped,
        _: &mut Context<'_>,
        act: impl FnOnce() -> R,
        _: impl FnOnce(&R) -> Values,
    ) -> Poll<R> {
        Poll::Ready(act())
    }
}

/// The state of a call during its point and its waits.
#[derive(Debug)]
pub(crate) struct Turn;

impl Turn {
    pub(crate) fn new(_: &'static CallOps, _: Here) -> Turn {
        Turn
    }

    pub(crate) fn renew(&mut self, _: Here) {}

    pub(crate) fn poll<R>(
        &mut self,
        _: &Wrapped,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        _: impl FnOnce(&R) -> Came,
    ) -> Poll<R> {
        ask(cx)
    }

    pub(crate) fn poll_at_once<R>(
        &mut self,
        _: &Wrapped,
        _: &mut Context<'_>,
        act: impl FnOnce() -> R,
        _: impl FnOnce(&R) -> Came,
    ) -> Poll<R> {
        Poll::Ready(act())
    }

    pub(crate) fn leave(&mut self, _: &Wrapped) {}
}

/// The state of one guarded call.
#[derive(Debug)]
pub(crate) struct GuardedCall;

impl GuardedCall {
    pub(crate) fn new(_: &'static [Op; 2], _: Here) -> GuardedCall {
        GuardedCall
    }

    /// Performs the call by `ask`.
    pub(crate) fn poll<R>(
        &mut self,
        _: &impl Guard,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        _: impl FnOnce() -> R,
    ) -> Poll<R> {
        ask(cx)
    }

    /// Like [`poll`](Self::poll); this build records no operation.
    pub(crate) fn poll_as<R>(
        &mut self,
        _: &impl Guard,
        cx: &mut Context<'_>,
        ask: impl FnOnce(&mut Context<'_>) -> Poll<R>,
        _: impl FnOnce() -> (R, &'static Op),
    ) -> Poll<R> {
        ask(cx)
    }

    pub(crate) fn leave(&mut self, _: &impl Guard, _: Here) {}
}

/// An announcement that is enabled while a condition holds. This build has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Latch;

impl Latch {
    pub(crate) fn set(self, _: bool) {}
}

/// Delivers a message at once.
pub(crate) fn send<L: Transport>(over: &Arc<L>, message: L::Message, _: Arrival<'_>, _: Here) {
    let (number, is_open) = over.take(message, Some(Latch));
    if is_open {
        over.clone().arrive(number);
    }
}

/// Returns 0: this build injects no fault.
pub(crate) fn suffers(_: usize, _: (u64, u8), _: &'static str) -> u64 {
    0
}

/// Returns 0: this build injects no fault.
pub(crate) fn suffers_if(_: usize, _: (u64, u8), _: &'static str, _: impl Fn(u64) -> bool) -> u64 {
    0
}

/// Returns `false`: this build injects no fault.
pub(crate) fn suffers_rarely(_: usize, _: (u64, u8), _: &'static str) -> bool {
    false
}
