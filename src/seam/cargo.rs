//! The contract between the net and a run: messages that are carried, and calls that are announced with a guard.

use std::sync::Arc;
use std::time::Instant;

use super::{Latch, Wrapped};
use crate::run::op::Op;

/// A message on its way.
pub(crate) trait Cargo: Send + 'static {
    /// The object at which it arrives.
    fn at(&self) -> &Wrapped;

    /// Returns `true` if it may arrive. If not, `latch` is opened when it may.
    fn may_arrive(&mut self, latch: Latch) -> bool;

    /// The message in words, for reports. Called in runs that are shown.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Arrives, in the step of its carrier.
    fn arrive(self);
}

/// The way of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The operation by which it arrives.
    pub(crate) op: &'static Op,
    /// The time before which it does not arrive; none if that is any.
    pub(crate) not_before: Option<Instant>,
}

/// Something that guards calls.
pub(crate) trait Guard {
    /// Its object in runs.
    fn mark(&self) -> &Arc<Wrapped>;

    /// Adds the latch of a call that was announced. Returns `true` if it is open.
    fn add(&self, latch: Latch) -> bool;

    /// Returns `true` if a call would not wait.
    fn is_open(&self) -> bool;

    /// Forgets the latch of a call that is over.
    fn remove(&self, latch: Latch);
}
