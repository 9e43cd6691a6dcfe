//! Bells: the waiting side of condition variables.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use event_listener::{Event, EventListener};

use super::Here;

/// The tasks that wait for a notification.
#[derive(Debug)]
pub(crate) struct Bell(Event);

impl Bell {
    pub(crate) fn new(_: Here) -> Bell {
        Bell(Event::new())
    }

    /// Begins to wait.
    pub(crate) fn listen(&self, _: Here) -> Listen<'_> {
        Listen(self.0.listen(), PhantomData)
    }

    /// Notifies one of the waiting tasks.
    pub(crate) fn notify_one(&self, _: Here) {
        self.0.notify_additional(1);
    }

    /// Notifies all waiting tasks.
    pub(crate) fn notify_all(&self, _: Here) {
        self.0.notify(usize::MAX);
    }
}

/// A task that waits for a notification.
#[derive(Debug)]
pub(crate) struct Listen<'a>(EventListener, PhantomData<&'a ()>);

impl Future for Listen<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}
