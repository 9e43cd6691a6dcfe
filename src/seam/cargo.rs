//! The contract between the net and a run: messages that are carried, and calls that are announced with a guard.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Here, Latch, Wrapped};
use crate::run::board::Route;
use crate::run::op::Op;

/// Something that messages go over, such as a stream. It keeps the messages on their way, each by a
/// number.
pub(crate) trait Transit: Send + Sync + 'static {
    type Message;

    /// Takes a message that is sent. Returns its number, and with a latch what [`may_arrive`](Self::may_arrive) does.
    fn take(&self, message: Self::Message, latch: Option<Latch>) -> (u64, bool);

    /// Returns `true` if a message may arrive. If not, `latch` is opened when it may.
    fn may_arrive(&self, number: u64, latch: Latch) -> bool;

    /// A message in words, for reports. Called in runs that are shown.
    fn describe(&self, number: u64) -> Option<String>;

    /// Lets a message arrive, in the step of its carrier.
    fn arrive(self: Arc<Self>, number: u64);

    /// Drops a message, which does not arrive any more.
    fn lose(&self, number: u64);
}

/// A message that goes over a way of its own.
pub(crate) trait Cargo: Send + 'static {
    /// The message in words, for reports. Called in runs that are shown.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Arrives, in the step of its carrier.
    fn arrive(self);
}

/// The way of one message.
struct Lone<C>(Mutex<Option<C>>);

impl<C> Lone<C> {
    fn cargo(&self) -> MutexGuard<'_, Option<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Cargo> Transit for Lone<C> {
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

    fn arrive(self: Arc<Self>, _: u64) {
        let cargo = self.cargo().take();
        cargo.into_iter().for_each(C::arrive);
    }

    fn lose(&self, _: u64) {
        let cargo = self.cargo().take();
        drop(cargo);
    }
}

/// Sends `cargo` on its way, as [`send`](super::send) does. In a run.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(crate) fn carry<C: Cargo>(cargo: C, way: Way<'_>, here: Here) {
    super::send(&Arc::new(Lone(Mutex::default())), cargo, way, here);
}

/// The way of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way<'a> {
    /// The operation by which it arrives, and its object.
    pub(crate) op: &'static Op,
    pub(crate) at: &'a Arc<Wrapped>,
    /// For reports.
    pub(crate) route: &'static Route,
    /// The earliest time of its arrival; `None` if it may arrive at any time.
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
