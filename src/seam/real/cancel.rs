//! Futures that may be dropped at any of their points. In a stress test, the point is drawn.

use std::task::{Context, Poll};

use super::Here;
use crate::real::jitter;

/// The maximum number of points that a future passes before it is dropped.
const POINTS: u64 = 16;

/// The decision about the drop of a future.
pub(crate) struct Cancel(Fate);

enum Fate {
    /// The future was not polled yet.
    Open,
    /// The future is not dropped.
    Safe,
    /// The future is dropped after `left` more points.
    Dropped { left: u32 },
}

impl Cancel {
    pub(crate) fn new(_: Here) -> Cancel {
        Cancel(Fate::Open)
    }

    /// Polls the future through `poll`. Returns `None` if the future must be dropped now.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Option<T>> {
        if let Fate::Open = self.0 {
            self.0 = match jitter::is_disturbed() && jitter::draw(2) == 1 {
                true => Fate::Dropped { left: 1 + jitter::draw(POINTS) as u32 },
                false => Fate::Safe,
            };
        }
        let Fate::Dropped { left } = &mut self.0 else { return poll(cx).map(Some) };
        let (polled, passed) = jitter::up_to(*left, || poll(cx));
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Some(output));
        }
        *left = left.saturating_sub(passed + 1);
        match *left {
            0 => {
                self.0 = Fate::Safe;
                Poll::Ready(None)
            }
            _ => Poll::Pending,
        }
    }
}
