//! The contract between the net and a run: messages in flight, and calls that are announced with a guard.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Here, Latch, Wrapped};
use crate::run::board::Route;
use crate::run::in_flight::Delivery;
use crate::run::op::Op;

/// A transport of messages, for example a stream. A transport keeps the messages in flight, each with a number.
pub(crate) trait Transport: Delivery + 'static {
    type Message;

    /// Accepts a message that is sent, and returns its number. With a latch, also does the same as
    /// [`may_arrive`](Self::may_arrive), and returns its result.
    fn take(&self, message: Self::Message, latch: Option<Latch>) -> (u64, bool);

    /// Returns `true` if a message may arrive now. If the message may not arrive now, opens `latch` when it may arrive.
    fn may_arrive(&self, number: u64, latch: Latch) -> bool;

    /// Describes a message in words, for reports. Called only in runs that are shown.
    fn describe(&self, number: u64) -> Option<String>;
}

/// A message with a transport of its own.
pub(crate) trait Cargo: Send + 'static {
    /// Describes the message in words, for reports. Called only in runs that are shown.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Delivers the message, in the step of its carrier.
    fn arrive(self);
}

/// The transport of a single message.
struct Lone<C>(Mutex<Option<C>>);

impl<C> Lone<C> {
    fn cargo(&self) -> MutexGuard<'_, Option<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Cargo> Transport for Lone<C> {
    type Message = C;

    fn take(&self, cargo: C, _: Option<Latch>) -> (u64, bool) {
        *self.cargo() = Some(cargo);
        (0, true)
    }

    fn may_arrive(&self, _: u64, _: Latch) -> bool {
        true
    }

    fn describe(&self, _: u64) -> Option<String> {
        self.cargo().as_ref()?.describe()
    }
}

impl<C: Cargo> Delivery for Lone<C> {
    fn arrive(self: Arc<Self>, _: u64) {
        let cargo = self.cargo().take();
        cargo.into_iter().for_each(C::arrive);
    }

    fn lose(&self, _: u64) {
        let cargo = self.cargo().take();
        drop(cargo);
    }
}

/// Sends `cargo`, like [`send`](super::send). Must be called in a run.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn carry<C: Cargo>(cargo: C, arrival: Arrival<'_>, here: Here) {
    super::send(&Arc::new(Lone(Mutex::default())), cargo, arrival, here);
}

/// The planned arrival of a message, and its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// The operation by which the message arrives, and its object.
    pub(crate) op: &'static Op,
    pub(crate) at: &'a Arc<Wrapped>,
    /// The route, for reports.
    pub(crate) route: &'static Route,
    /// The earliest arrival time; `None` if the message may arrive at any time.
    pub(crate) not_before: Option<Instant>,
}

/// A guard of calls: it decides when they may proceed.
pub(crate) trait Guard {
    /// Returns the object of the guard in runs.
    fn mark(&self) -> &Arc<Wrapped>;

    /// Adds the latch of a call that was announced. Returns `true` if the latch is open.
    fn add(&self, latch: Latch) -> bool;

    /// Returns `true` if a call would not wait.
    fn is_open(&self) -> bool;

    /// Removes the latch of a call that is over.
    fn remove(&self, latch: Latch);
}
