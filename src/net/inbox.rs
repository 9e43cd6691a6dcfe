//! Inboxes: messages that have arrived, until a task takes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::queue::Queue;
use crate::run::op::{Access, Op, net};
use crate::seam::{Guard, Here, Latch, Passed, Wrapped};

const PUT: Op = Op::of_kind("put", Access::Tell, net::PUT).quiet();
const FIND_ROOM: Op = Op::of_kind("find_room", Access::Peek, net::LOOK).quiet();
const GET: Op = Op::of_kind("get", Access::Peek, net::GET).quiet();

/// The fate of a message that is visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visit {
    /// It and all later messages are left as they are.
    Stop,
    /// It was looked at.
    Look,
    /// It is taken out.
    Take,
}

/// Messages that have arrived.
pub(crate) struct Inbox<T> {
    /// Its object in runs.
    pub(crate) mark: Arc<Wrapped>,
    here: Here,
    state: Mutex<InboxState<T>>,
}

struct InboxState<T> {
    messages: Queue<(T, Passed)>,
    /// The number of messages that were ever put in.
    put: usize,
    /// The calls of a run that wait for a message or have one.
    latches: Queue<Latch>,
    /// The waiting tasks outside of runs.
    waiting: Vec<Waker>,
    is_closed: bool,
    /// The end as an object, if it has arrived as a message does.
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

    /// Lets the waiting tasks continue. The caller wakes what is returned.
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

    /// The inbox of an object.
    pub(crate) fn at(mark: Arc<Wrapped>, here: Here) -> Inbox<T> {
        let (latches, messages, waiting) = (Queue::default(), Queue::default(), Vec::new());
        let state = InboxState { messages, put: 0, latches, waiting, is_closed: false, end: None };
        Inbox { mark, here, state: Mutex::new(state) }
    }

    /// Puts a message in, in the step of its arrival. If it is closed the message is dropped. Returns `false` then.
    pub(crate) fn put(&self, message: T) -> bool {
        self.put_within(usize::MAX, message)
    }

    /// The same as for [`put`](Self::put). The message is dropped, too, if there are `room` of
    /// them.
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

    /// Puts a message before all others, unless the first one `is_same` or nothing arrives any more.
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

    /// Returns `true` if there are `room` messages, in the step of an arrival.
    pub(crate) fn is_full(&self, room: usize) -> bool {
        let (count, put) = {
            let state = self.state();
            (state.messages.len(), state.put)
        };
        if put >= room {
            // Calls that took messages made room, so they make a difference.
            self.mark.record(&FIND_ROOM, self.here);
        }
        count >= room
    }

    /// The end arrives, in the step of its arrival: nothing does after it.
    pub(crate) fn put_end(&self) {
        let end = Passed::put("message", &PUT, self.here);
        {
            let mut state = self.state();
            // A death that came first closed it: tasks that find the end do not see this one.
            if !state.is_closed {
                state.end = Some(end);
            }
        }
        self.close(false);
    }

    /// Takes the first message, if any.
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

    /// The messages that are there, for a call that looks at several.
    pub(crate) fn look(&self) -> Looking<'_, T> {
        Looking { state: self.state(), taken: None, here: self.here }
    }

    /// Records that a call sees the end, which has arrived.
    pub(crate) fn look_at_end(&self) {
        let end = self.state().end;
        end.into_iter().for_each(|end| end.get(&GET, self.here));
    }

    /// Records that a call sees the reason not to wait: the first message, or the end. Returns `false` if neither has
    /// arrived, because something else has closed the inbox.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn look_at_first(&self) -> bool {
        let seen = {
            let state = self.state();
            state.messages.first().map(|(_, object)| *object).or(state.end)
        };
        seen.inspect(|object| object.get(&GET, self.here)).is_some()
    }

    /// Takes the first message, outside of runs. `None` if there are none and there will be none.
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

    /// The number of messages that are there.
    pub(crate) fn len(&self) -> usize {
        self.state().messages.len()
    }

    /// Returns `true` if nothing arrives any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// Has nothing arrive any more. The messages that are there can be taken, unless they are to be `forgotten`.
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

/// The messages of an inbox, in the turn of a call.
pub(crate) struct Looking<'a, T> {
    state: MutexGuard<'a, InboxState<T>>,
    /// Dropped after the lock is free.
    taken: Option<(T, Passed)>,
    here: Here,
}

impl<T> Looking<'_, T> {
    /// The sum of the sizes of the messages.
    pub(crate) fn sum(&self, size: impl Fn(&T) -> usize) -> usize {
        self.state.messages.iter().map(|(message, _)| size(message)).sum()
    }

    /// Calls `visit` with the messages, the first one first.
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
