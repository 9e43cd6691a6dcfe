//! The online checker of a history, which is fed while calls are recorded.
//!
//! Events are fed in the order of their stamps. A stamp may become known late. For example, the first access of an
//! explicit call is known only when the call ends, and on real threads a stamp is determined before the lock is
//! acquired. A call without a stamp is fed at the moment at which it was made. This rule can hide a violation, but
//! never creates a false one. If an event turns out to precede an event that was already fed, the checker restarts. A
//! violation is confirmed by such a restart, so that its evidence numbers the calls like the history.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::sort_by_key;

use super::records::{RecorderCall, Records, Stamp};
use super::{NODES, Recorder};
use crate::run::Failure;
use crate::run::ids::Place;
use crate::seam;
use unpause_check::online::{ClientEvent, MalformedEvent, OnlineChecker, OnlineStatus};
use unpause_check::verdict::{Evidence, Verdict};
use unpause_check::{Budget, Model};

/// An online checker for a history with the operations of `M`.
type Checker<M> = Box<dyn OnlineChecker<M> + Send>;

/// A function that creates a checker for an object in its initial state.
pub(crate) type Make<M> = Box<dyn Fn(M) -> Checker<M> + Send + Sync>;

type Event<M> = ClientEvent<<M as Model>::Op, <M as Model>::Ret>;

/// The checker of a history, and the place that configured it.
pub(super) struct Feed<M: Model> {
    /// Another panic cannot leave this closure in an inconsistent state.
    make: AssertUnwindSafe<Make<M>>,
    pub(super) place: Place,
    state: Mutex<FeedState<M>>,
}

struct FeedState<M: Model> {
    /// `None` before the first event.
    checker: Option<Checker<M>>,
    /// The calls, among the first `known` calls of the history, whose end was not fed yet.
    open: Vec<FedCall>,
    known: usize,
    /// The latest stamps of any fed event, and of any fed return.
    last: Stamp,
    last_return: Stamp,
}

/// A call whose end was not fed yet.
struct FedCall {
    call: usize,
    begun: bool,
    /// If the call was fed without a stamp: the latest return that was fed before it.
    unstamped: Option<Stamp>,
}

/// The events of one call that were not fed yet.
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

    /// Feeds the events since the previous call of this function. Returns the status after them.
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

    /// Returns the evidence of a violation, with the calls numbered like in the history. Returns `None` if the complete
    /// stamps show that there is no violation.
    pub(super) fn confirm(&self, initial: &M, records: &Records<M>) -> Option<Evidence> {
        *self.lock() = FeedState::default();
        let status = self.take(initial, records);
        let state = self.lock();
        let evidence = state.checker.as_ref().and_then(|checker| checker.evidence());
        evidence.filter(|_| status == Ok(OnlineStatus::Violated)).cloned()
    }
}

impl<M: Model> Recorder<M> {
    /// Feeds the online checker, if any, and ends the run if the checker finds a violation.
    pub(super) fn feed(&self) {
        if let Some(feed) = self.feed.get() {
            self.feed_to(feed);
        }
    }

    #[cold]
    fn feed_to(&self, feed: &Feed<M>) {
        let polled = self.lock().polled.clone();
        for (call, before) in polled {
            // `call` is an outer call that contains the current call.
            if seam::moved_since(before) {
                self.invoked(call, before);
            }
        }
        let is_replaced = self.lock().by_knowledge;
        let found = if is_replaced { None } else { self.take(feed) };
        if !is_replaced && found.is_none() {
            return;
        }
        let verdict = match (self.knowledge(), found) {
            // The checker was fed in real time, which orders more calls. From here on, whole checks replace the
            // checker.
            (Some(_), _) => self.check(&Budget::nodes(NODES), true),
            (None, Some(found)) => found,
            (None, None) => return,
        };
        if verdict.is_violated() {
            self.lock().verdict = Some(verdict.clone());
            self.not_linearizable(verdict, feed.place);
        }
    }

    /// Feeds the checker. Returns its verdict if it finds a violation in real time.
    fn take(&self, feed: &Feed<M>) -> Option<Verdict> {
        match feed.take(&self.initial, &self.lock()) {
            Ok(OnlineStatus::Violated) => {}
            Ok(OnlineStatus::Possible | OnlineStatus::Unknown) => return None,
            Err(error) => {
                let message = format!("an online check refuses a call: {error}");
                let place = feed.place.to_string();
                seam::fail(|| Failure::Misuse { message: message.clone(), place });
                panic!("{message}");
            }
        }
        self.stamp_open();
        let evidence = feed.confirm(&self.initial, &self.lock())?;
        Some(Verdict::Violated(Box::new(evidence)))
    }
}

impl<M: Model> FeedState<M> {
    /// Returns the events that were not fed yet, in their order. Returns `None` if one of these events precedes an
    /// event that was already fed.
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
        // Each call is a separate client, because a lane may start a new call before the loss of its previous call is
        // fed.
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
            // Some return events that were fed in the meantime may precede the invocation.
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
