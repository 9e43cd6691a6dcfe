//! Messages in flight. A transport keeps them, and the executor of a run decides when they arrive.

use std::fmt;
use std::sync::Arc;

/// A transport of messages, as the executor of a run sees it: a stream, or the network side of a socket. The transport
/// keeps the messages in flight, each with a number.
pub trait Delivery: Send + Sync {
    /// Delivers a message, in the step of its carrier.
    fn arrive(self: Arc<Self>, number: u64);

    /// Drops a message, which will not arrive.
    fn lose(&self, number: u64);
}

/// A message in flight.
pub struct InFlight {
    /// The transport of the message.
    pub over: Arc<dyn Delivery>,
    /// The number of the message in its transport.
    pub number: u64,
}

impl InFlight {
    /// Drops the message, which will not arrive.
    #[inline]
    pub fn lose(self) {
        self.over.lose(self.number);
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("number", &self.number).finish_non_exhaustive()
    }
}
