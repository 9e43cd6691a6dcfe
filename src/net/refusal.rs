//! Resets: the reply to a message for a receiver that is gone. A reset crosses the link in the
//! reverse direction.
//!
//! The sender gets no notification before the reset arrives. So a cut of the reverse link holds the reset, and a
//! machine that is off sends no reset.

use std::sync::Arc;

use super::fabric::Link;
use super::stream::{Side, Sink, Stream, Then};
use crate::node::Death;
use crate::seam::{Here, Wrapped};

/// A stream without a receiver.
pub(super) trait Refused: Send + Sync {
    /// Handles the arrival of the reset.
    fn was_refused(&self, here: Here);
}

/// The sending end of the refused stream, which receives the reset.
pub(super) struct Refusal {
    mark: Arc<Wrapped>,
    of: Arc<dyn Refused>,
}

impl Refusal {
    /// Sends the reset over the reverse link.
    pub(super) fn send(of: Arc<dyn Refused>, back: Arc<Link>, here: Here) {
        let mark = Arc::new(Wrapped::outside_known("link", back.name(), None, here));
        let stream = Stream::over(back, Refusal { mark, of }, here);
        stream.shows.set(|Reset| "a reset".to_owned());
        stream.send_on(Some(Reset), here);
    }
}

/// The reset message.
struct Reset;

impl Sink<Reset> for Refusal {
    fn mark(&self) -> &Arc<Wrapped> {
        &self.mark
    }

    fn take_in(&self, _: Option<Reset>, here: Here) -> bool {
        self.of.was_refused(here);
        true
    }

    fn size(_: &Reset) -> usize {
        0
    }

    fn died(&self, _: Side, _: Death, _: Here) -> Then {
        Then::GoesOn
    }
}
