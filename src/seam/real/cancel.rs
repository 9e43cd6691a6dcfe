//! Futures that may be dropped at any of their points: in a stress test, at a point that is drawn.

use std::task::{Context, Poll};

use super::Here;
use crate::real::jitter;

/// The maximum number of points that a future passes before it is dropped.
const POINTS: u64 = 16;

/// The chance of a future to be dropped.
pub(crate) struct Cancel(Fate);

enum Fate {
    /// It was not polled.
    Open,
    /// It is not dropped.
    Safe,
    /// It is dropped when it has passed so many more points.
    Dropped { left: u32 },
}

impl Cancel {
    pub(crate) fn new(_: Here) -> Cancel {
        Cancel(Fate::Open)
    }

    /// Polls the future by `poll`, unless it is to be dropped now: `None`.
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
