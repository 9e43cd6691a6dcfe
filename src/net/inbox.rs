//! Inboxes: they hold arrived messages until a task receives them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::queue::Queue;
use crate::run::op::{Access, Op, net};
use crate::seam::{Guard, Here, Latch, Passed, Wrapped};

const PUT: Op = Op::of_kind("put", Access::Tell, net::PUT).quiet();
const FIND_ROOM: Op = Op::of_kind("find_room", Access::Peek, net::LOOK).quiet();
const GET: Op = Op::of_kind("get", Access::Peek, net::GET).quiet();

/// The decision about a visited message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visit {
    /// Leaves this message and all later messages unchanged.
    Stop,
    /// The message was read but remains in the inbox.
    Look,
    /// Removes the message.
    Take,
}

/// A queue of arrived messages.
pub(crate) struct Inbox<T> {
    /// The object of the inbox in runs.
    pub(crate) mark: Arc<Wrapped>,
    here: Here,
    state: Mutex<InboxState<T>>,
}

struct InboxState<T> {
    messages: Queue<(T, Passed)>,
    /// The number of messages ever put into the inbox.
    put: usize,
    /// The latches of calls in a run that wait for a message or already have a message.
    latches: Queue<Latch>,
    /// The waiting tasks outside of runs.
    waiting: Vec<Waker>,
    is_closed: bool,
    /// The object of the end of the stream, if the end has arrived as a message.
    end: Option<Passed>,
}

impl<T> InboxState<T> {
    /// Returns `true` if a call would not wait.
    fn is_open(&self) -> bool {
        !self.messages.is_empty() || self.is_closed
    }

    fn take(&mut self) -> Option<(T, Passed)> {
        let message = self.messages.pop();
        if !self.is_open() {
            self.latches.each(|latch| latch.set(false));
        }
        message
    }

    /// Lets the waiting tasks continue. The caller must wake the returned wakers.
    #[must_use]
    fn open(&mut self) -> Vec<Waker> {
        self.latches.each(|latch| latch.set(true));
        std::mem::take(&mut self.waiting)
    }
}

impl<T> Inbox<T> {
    pub(crate) fn new(kind: &'static str, name: &'static str, here: Here) -> Inbox<T> {
        Inbox::at(Arc::new(Wrapped::outside_known(kind, name, None, here)), here)
    }

    /// Creates the inbox of an object.
    pub(crate) fn at(mark: Arc<Wrapped>, here: Here) -> Inbox<T> {
        let (latches, messages, waiting) = (Queue::default(), Queue::default(), Vec::new());
        let state = InboxState { messages, put: 0, latches, waiting, is_closed: false, end: None };
        Inbox { mark, here, state: Mutex::new(state) }
    }

    /// Puts a message into the inbox, in the step of its arrival. If the inbox is closed, drops the message and returns
    /// `false`.
    pub(crate) fn put(&self, message: T) -> bool {
        self.put_within(usize::MAX, message)
    }

    /// Like [`put`](Self::put), but also drops the message if the inbox contains `room` messages.
    pub(crate) fn put_within(&self, room: usize, message: T) -> bool {
        if self.is_full(room) {
            drop(message);
            return true;
        }
        let mut state = self.state();
        if state.is_closed {
            let _ = Passed::put("message", &PUT, self.here);
            drop(state);
            drop(message);
            return false;
        }
        let latches = &state.latches;
        let object = Passed::put_and_open("message", &PUT, self.here, |open| latches.each(open));
        state.messages.push((message, object));
        state.put += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        if !waiting.is_empty() {
            waiting.into_iter().for_each(Waker::wake);
        }
        true
    }

    /// Puts a message before all others, unless `is_same` accepts the first message or the inbox is closed.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn put_first(&self, message: T, is_same: impl Fn(&T) -> bool) {
        let mut state = self.state();
        let is_there = state.messages.first().is_some_and(|(first, _)| is_same(first));
        if is_there || state.is_closed {
            return;
        }
        let object = Passed::put("message", &PUT, self.here);
        state.messages.push_first((message, object));
        state.put += 1;
        let waiting = state.open();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Returns `true` if the inbox contains `room` messages, in the step of an arrival.
    pub(crate) fn is_full(&self, room: usize) -> bool {
        let (count, put) = {
            let state = self.state();
            (state.messages.len(), state.put)
        };
        if put >= room {
            // Calls that removed messages made room, so their order with this arrival matters.
            self.mark.record(&FIND_ROOM, self.here);
        }
        count >= room
    }

    /// Puts the end of the stream into the inbox, in the step of its arrival. Nothing arrives after the end.
    pub(crate) fn put_end(&self) {
        let end = Passed::put("message", &PUT, self.here);
        {
            let mut state = self.state();
            // If a death closed the inbox before, receiving tasks observe the death and not this end.
            if !state.is_closed {
                state.end = Some(end);
            }
        }
        self.close(false);
    }

    /// Removes the first message, if any.
    pub(crate) fn try_take(&self) -> Option<T> {
        let (taken, end) = {
            let mut state = self.state();
            let taken = state.take();
            let end = state.end.filter(|_| taken.is_none());
            (taken, end)
        };
        end.into_iter().for_each(|end| end.get(&GET, self.here));
        let (message, object) = taken?;
        object.get(&GET, self.here);
        Some(message)
    }

    /// Gives access to the messages, for a call that reads several.
    pub(crate) fn look(&self) -> Looking<'_, T> {
        Looking { state: self.state(), taken: None, here: self.here }
    }

    /// Records that a call observes the end, if the end has arrived.
    pub(crate) fn look_at_end(&self) {
        let end = self.state().end;
        end.into_iter().for_each(|end| end.get(&GET, self.here));
    }

    /// Records that a call observes the reason not to wait: the first message, or the end. Returns `false` if neither
    /// has arrived, because the inbox was closed for another reason.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn look_at_first(&self) -> bool {
        let seen = {
            let state = self.state();
            state.messages.first().map(|(_, object)| *object).or(state.end)
        };
        seen.inspect(|object| object.get(&GET, self.here)).is_some()
    }

    /// Removes the first message, outside of runs. Returns `None` if the inbox is empty and closed.
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.state();
        match state.take() {
            Some((message, _)) => Poll::Ready(Some(message)),
            None if state.is_closed => Poll::Ready(None),
            None => {
                state.waiting.retain(|waker| !waker.will_wake(cx.waker()));
                state.waiting.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Returns the number of messages in the inbox.
    pub(crate) fn len(&self) -> usize {
        self.state().messages.len()
    }

    /// Returns `true` if no more messages can arrive.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Closes the inbox to further messages. Messages in the inbox can still be received, unless `forgotten` is set.
    pub(crate) fn close(&self, forgotten: bool) {
        let (waiting, messages) = {
            let mut state = self.state();
            state.is_closed = true;
            let kept =
                if forgotten { std::mem::take(&mut state.messages) } else { Queue::default() };
            (state.open(), kept)
        };
        waiting.into_iter().for_each(Waker::wake);
        drop(messages);
    }

    fn state(&self) -> MutexGuard<'_, InboxState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The messages of an inbox, locked in the turn of a call.
pub(crate) struct Looking<'a, T> {
    state: MutexGuard<'a, InboxState<T>>,
    /// Dropped after the lock is released.
    taken: Option<(T, Passed)>,
    here: Here,
}

impl<T> Looking<'_, T> {
    /// Returns the sum of the message sizes.
    pub(crate) fn sum(&self, size: impl Fn(&T) -> usize) -> usize {
        self.state.messages.iter().map(|(message, _)| size(message)).sum()
    }

    /// Calls `visit` with each message, in arrival order.
    pub(crate) fn visit(mut self, mut visit: impl FnMut(&mut T) -> Visit) {
        let mut seen = 0;
        while let Some((message, object)) = self.state.messages.get_mut(seen) {
            match visit(message) {
                Visit::Stop => break,
                Visit::Look => {
                    object.get(&GET, self.here);
                    seen += 1;
                }
                Visit::Take => {
                    object.get(&GET, self.here);
                    debug_assert_eq!(seen, 0, "messages are taken in their order");
                    self.taken = self.state.take();
                }
            }
        }
    }
}

impl<T> Guard for Inbox<T> {
    fn mark(&self) -> &Arc<Wrapped> {
        &self.mark
    }

    fn add(&self, latch: Latch) -> bool {
        let mut state = self.state();
        state.latches.push(latch);
        state.is_open()
    }

    fn is_open(&self) -> bool {
        self.state().is_open()
    }

    fn remove(&self, latch: Latch) {
        self.state().latches.retain(|other| *other != latch);
    }
}
