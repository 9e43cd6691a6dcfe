//! The reset that answers a message to a receiver that is gone. It crosses the link back.
//!
//! A sender learns nothing before it arrives. So a cut of the link back holds the news, and a machine that is off sends
//! none.

use std::sync::Arc;

use super::fabric::Link;
use super::stream::{Side, Sink, Stream, Then};
use crate::node::Death;
use crate::seam::{Here, Wrapped};

/// A stream whose messages nobody receives.
pub(super) trait Refused: Send + Sync {
    /// The answer has arrived.
    fn was_refused(&self, here: Here);
}

/// The sending end of the refused stream: the reset arrives there.
pub(super) struct Refusal {
    mark: Arc<Wrapped>,
    of: Arc<dyn Refused>,
}

impl Refusal {
    /// Sends the answer over the link back.
    pub(super) fn send(of: Arc<dyn Refused>, back: Arc<Link>, here: Here) {
        let mark = Arc::new(Wrapped::outside_known("link", back.name(), None, here));
        let stream = Stream::over(back, Refusal { mark, of }, here);
        stream.shows.set(|Reset| "a reset".to_owned());
        stream.send_on(Some(Reset), here);
    }
}

/// The answer.
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
