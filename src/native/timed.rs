//! The end of a wait in a queue: by a wake, by a timeout, or by chance.

use std::sync::Arc;

use super::chances::{self, ENDS_EARLY, WAKES_SPURIOUSLY};
use super::ops::TIME_OUT;
use super::threads::with;
use super::waiter::Waiter;
use crate::rt::WORLD;
use crate::run::chances::Chance;
use crate::run::event::Values;
use crate::run::ids::Place;
use crate::run::op::Op;
use crate::seam::ForeignWord;

/// A wait of the current task that has joined its queue.
pub(super) struct TimedWait<'a> {
    /// The key of the queue that the wait has joined.
    pub(super) queue: usize,
    /// The object of this queue.
    pub(super) word: &'a ForeignWord,
    pub(super) waiter: &'a Arc<Waiter>,
    /// The virtual time of the timeout, if any.
    pub(super) deadline: Option<u64>,
}

/// The reason for the end of a wait, as the thread sees it.
pub(super) enum Woken {
    /// A wake, or a spurious wake-up.
    InTime,
    /// The timeout.
    TooLate,
}

impl TimedWait<'_> {
    /// Waits for the end of the wait, announced as `op`. If `spurious` returns true, the wait may end without a wake.
    pub(super) async fn end(
        self,
        op: &'static Op,
        place: Place,
        spurious: impl FnOnce() -> bool,
    ) -> Woken {
        let TimedWait { queue, word, waiter, deadline } = self;
        let early = deadline.is_some() && chances::happens(Chance::Timer);
        let spurious = !early && spurious();
        if let Some(deadline) = deadline.filter(|_| !early) {
            chances::note_wait_for_time();
            WORLD.with(|world| world.set_timer(deadline));
        }
        chances::resume(word, op, place, early || spurious).await;
        let has_timer = deadline.is_some() && !early;
        let in_time = !has_timer || WORLD.with(|world| world.clear_timer());
        if waiter.is_woken() {
            return Woken::InTime;
        }
        let moved = with(|threads| {
            threads.give_up(waiter.queue(), waiter);
            (waiter.queue() != queue).then(|| threads.known_word(waiter.queue())).flatten()
        });
        // The end is recorded as an operation on the queue, so that a search tries it before and
        // after each wake.
        let left = |op| moved.as_deref().unwrap_or(word).note(op, place, Values::Changed(0, 1));
        match deadline {
            Some(deadline) if early => {
                left(&ENDS_EARLY);
                chances::pass_time(deadline);
                Woken::TooLate
            }
            Some(deadline) if !in_time => {
                // Otherwise, the resumption itself is an operation on the queue.
                if moved.is_some() {
                    left(&TIME_OUT);
                }
                // The clock moves past the deadline, and not just to it. Otherwise a loop that
                // waits for the rest of a duration would not terminate.
                with(|threads| threads.execution().advance_past(deadline));
                Woken::TooLate
            }
            _ => {
                left(&WAKES_SPURIOUSLY);
                Woken::InTime
            }
        }
    }
}
