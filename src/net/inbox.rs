//! Inboxes: messages that have arrived, until a task takes them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::seam::{Here, Wrapped};

/// Messages that have arrived.
pub(crate) struct Inbox<T> {
    /// Its object in runs.
    pub(crate) mark: std::sync::Arc<Wrapped>,
    state: Mutex<InboxState<T>>,
}

struct InboxState<T> {
    messages: VecDeque<T>,
    waiting: Vec<Waker>,
    is_closed: bool,
}

impl<T> Inbox<T> {
    pub(crate) fn new(kind: &'static str, here: Here) -> Inbox<T> {
        let state = InboxState { messages: VecDeque::new(), waiting: Vec::new(), is_closed: false };
        let mark = std::sync::Arc::new(Wrapped::outside(kind, here));
        Inbox { mark, state: Mutex::new(state) }
    }

    /// Puts a message in, in the step of its arrival. Returns `false` if it is closed: the message is dropped.
    pub(crate) fn put(&self, message: T) -> bool {
        let (waiting, unwanted) = {
            let mut state = self.state();
            match state.is_closed {
                true => (Vec::new(), Some(message)),
                false => {
                    state.messages.push_back(message);
                    (std::mem::take(&mut state.waiting), None)
                }
            }
        };
        waiting.into_iter().for_each(Waker::wake);
        unwanted.is_none()
    }

    /// Takes the first message. `None` if there are none and there will be none.
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.state();
        match state.messages.pop_front() {
            Some(message) => Poll::Ready(Some(message)),
            None if state.is_closed => Poll::Ready(None),
            None => {
                state.waiting.retain(|waker| !waker.will_wake(cx.waker()));
                state.waiting.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Takes the first message if there is one.
    pub(crate) fn try_take(&self) -> Option<T> {
        self.state().messages.pop_front()
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
            let messages =
                if forgotten { std::mem::take(&mut state.messages) } else { VecDeque::new() };
            (std::mem::take(&mut state.waiting), messages)
        };
        waiting.into_iter().for_each(Waker::wake);
        drop(messages);
    }

    fn state(&self) -> MutexGuard<'_, InboxState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
