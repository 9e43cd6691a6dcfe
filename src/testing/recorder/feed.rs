//! A checker that is fed while calls are recorded.
//!
//! Events are fed in the order of their stamps. A stamp may become known late: the first access of an explicit call
//! when the call ends, and on real threads each stamp is taken before the lock. A call without a stamp is fed where it
//! was made, which can hide a violation and makes none. If an event turns out to come before an event that was already
//! fed, the checker begins anew. A violation is confirmed in the same way, so that its evidence counts the calls as the
//! history does.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::sort_by_key;

use super::records::{RecorderCall, Records, Stamp};
use crate::run::ids::Place;
use unpause_check::Model;
use unpause_check::online::{ClientEvent, MalformedEvent, OnlineChecker, OnlineStatus};
use unpause_check::verdict::Evidence;

/// A checker of a history with the operations of `M`.
type Checker<M> = Box<dyn OnlineChecker<M> + Send>;

/// Makes a checker of an object in its first state.
pub(crate) type Make<M> = Box<dyn Fn(M) -> Checker<M> + Send + Sync>;

type Event<M> = ClientEvent<<M as Model>::Op, <M as Model>::Ret>;

/// The checker of a history, and the place that asked for it.
pub(super) struct Feed<M: Model> {
    /// A panic elsewhere leaves it as it is.
    make: AssertUnwindSafe<Make<M>>,
    pub(super) place: Place,
    state: Mutex<FeedState<M>>,
}

struct FeedState<M: Model> {
    /// None before the first event.
    checker: Option<Checker<M>>,
    /// The calls whose ends were not fed, among the first `known` calls of the history.
    open: Vec<FedCall>,
    known: usize,
    /// The latest stamps of an event fed, and of a return fed.
    last: Stamp,
    last_return: Stamp,
}

/// A call whose end was not fed.
struct FedCall {
    call: usize,
    begun: bool,
    /// If it was fed without a stamp: the last return that was fed before it.
    unstamped: Option<Stamp>,
}

/// The events of one call that were not fed before.
struct News<M: Model> {
    events: Vec<(Stamp, Event<M>)>,
    has_ended: bool,
    /// True if the call was fed too early.
    was_early: bool,
}

impl<M: Model> Default for FeedState<M> {
    fn default() -> FeedState<M> {
        let (last, last_return) = (Stamp::FIRST, Stamp::FIRST);
        FeedState { checker: None, open: Vec::new(), known: 0, last, last_return }
    }
}

impl<M: Model> Feed<M> {
    pub(super) fn new(make: Make<M>, place: Place) -> Feed<M> {
        Feed { make: AssertUnwindSafe(make), place, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, FeedState<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Feeds the events since the last time. Returns the status after them.
    pub(super) fn take(
        &self,
        initial: &M,
        records: &Records<M>,
    ) -> Result<OnlineStatus, MalformedEvent> {
        let state = &mut *self.lock();
        let events = match state.news(records) {
            Some(events) => events,
            None => {
                *state = FeedState::default();
                state.news(records).expect("no event comes before the first one")
            }
        };
        let checker = state.checker.get_or_insert_with(|| (self.make)(initial.clone()));
        let mut status = OnlineStatus::Possible;
        for event in events {
            status = checker.feed(event)?;
            if status == OnlineStatus::Violated {
                break;
            }
        }
        Ok(status)
    }

    /// The evidence of a violation, whose calls are counted as in the history. `None` if all stamps
    /// together show that there is no violation.
    pub(super) fn confirm(&self, initial: &M, records: &Records<M>) -> Option<Evidence> {
        *self.lock() = FeedState::default();
        let status = self.take(initial, records);
        let state = self.lock();
        let evidence = state.checker.as_ref().and_then(|checker| checker.evidence());
        evidence.filter(|_| status == Ok(OnlineStatus::Violated)).cloned()
    }
}

impl<M: Model> FeedState<M> {
    /// The events that were not fed, in their order. `None` if one of them comes before an event
    /// that was already fed.
    fn news(&mut self, records: &Records<M>) -> Option<Vec<Event<M>>> {
        let new = self.known..records.calls.len();
        self.known = new.end;
        self.open.extend(new.map(|call| FedCall { call, begun: false, unstamped: None }));
        let last_return = self.last_return;
        let mut all = Vec::new();
        let mut is_late = false;
        self.open.retain_mut(|fed| {
            let News { events, has_ended, was_early } =
                fed.news(&records.calls[fed.call], last_return);
            all.extend(events);
            is_late |= was_early;
            !has_ended
        });
        sort_by_key(&mut all, |(stamp, _)| *stamp);
        is_late |= all.first().is_some_and(|(stamp, _)| *stamp < self.last);
        for (stamp, event) in all.iter().filter(|(stamp, _)| *stamp != Stamp::LAST) {
            self.last = self.last.max(*stamp);
            if let ClientEvent::Return { .. } = event {
                self.last_return = self.last_return.max(*stamp);
            }
        }
        (!is_late).then(|| all.into_iter().map(|(_, event)| event).collect())
    }
}

impl FedCall {
    fn news<M: Model>(&mut self, call: &RecorderCall<M>, last_return: Stamp) -> News<M> {
        // Each call is a client of its own: a lane starts a new call while the loss of the previous
        // one is not fed.
        let client = self.call as u32;
        let mut events = Vec::new();
        let mut was_early = false;
        if call.failed {
            events.extend(self.begun.then_some((Stamp::LAST, ClientEvent::Failed { client })));
            return News { events, has_ended: true, was_early };
        }
        let begins = |stamp| (stamp, ClientEvent::Invoke { client, op: call.op.clone() });
        match (call.invoked, self.begun) {
            (Some(stamp), false) => events.push(begins(stamp)),
            (None, false) if call.explicit => {
                self.unstamped = Some(last_return);
                events.push(begins(Stamp::before(call.made)));
            }
            (None, _) => {}
            // Returns that were fed since then may have come before it.
            (Some(_), true) => {
                was_early = self.unstamped.take().is_some_and(|mark| mark < last_return);
            }
        }
        self.begun |= !events.is_empty();
        let returned = call.returned.as_ref();
        events.extend(
            returned.map(|(ret, stamp)| (*stamp, ClientEvent::Return { client, ret: ret.clone() })),
        );
        let is_lost = call.lost && self.begun;
        events.extend(is_lost.then_some((Stamp::LAST, ClientEvent::Lost { client })));
        News { events, has_ended: returned.is_some() || is_lost, was_early }
    }
}
