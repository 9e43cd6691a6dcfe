//! The interface of online checkers, which receive events from a recorder.

use super::{ClientEvent, MalformedEvent, Online, OnlineStatus};
use crate::chain::{Chain, Id};
use crate::model::Model;
use crate::models::{VersionedRegisterOp, VersionedRegisterRet};
use crate::verdict::Evidence;

/// A checker that receives the events of an object with the operations of `M`, one after another.
///
/// Implement this trait for a condition of your own. A violation must be final, and evidence must name operations by
/// the number of their invocation, from 0.
///
/// ```
/// use unpause_check::Model;
/// use unpause_check::models::Register;
/// use unpause_check::online::{ClientEvent, MalformedEvent, Online, OnlineChecker, OnlineStatus};
/// use unpause_check::verdict::Evidence;
///
/// /// Counts the events of a register.
/// struct Counted(Online<Register>, u64);
///
/// type Event = ClientEvent<<Register as Model>::Op, <Register as Model>::Ret>;
///
/// impl OnlineChecker<Register> for Counted {
///     fn feed(&mut self, event: Event) -> Result<OnlineStatus, MalformedEvent> {
///         self.1 += 1;
///         self.0.feed(event)
///     }
///     fn evidence(&self) -> Option<&Evidence> {
///         self.0.evidence()
///     }
/// }
/// ```
pub trait OnlineChecker<M: Model> {
    /// Processes the next event and returns the new status.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the event contradicts earlier events. The event is then ignored.
    fn feed(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<OnlineStatus, MalformedEvent>;

    /// Returns the reason for a violation, if any.
    fn evidence(&self) -> Option<&Evidence>;
}

impl<M: Model> OnlineChecker<M> for Online<M> {
    fn feed(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<OnlineStatus, MalformedEvent> {
        Online::feed(self, event)
    }

    fn evidence(&self) -> Option<&Evidence> {
        Online::evidence(self)
    }
}

impl<I, M> OnlineChecker<M> for Chain<I>
where
    I: Id,
    M: Model<Op = VersionedRegisterOp<I>, Ret = VersionedRegisterRet<I>>,
{
    fn feed(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<OnlineStatus, MalformedEvent> {
        Chain::feed(self, event)
    }

    fn evidence(&self) -> Option<&Evidence> {
        Chain::evidence(self)
    }
}
