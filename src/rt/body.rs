//! The future of a task, and later its result.
//!
//! One box contains the future until it completes, and then its result until the handle takes it. The executor uses the
//! box as a [`Body`]; the handle takes the result by its type.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// The executor's interface to the future of a task.
pub(crate) trait Body {
    /// Runs the task to its next point. Returns `Ready` exactly once.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>;

    /// Drops the future or the result, whichever the box contains.
    fn clear(self: Pin<&mut Self>);

    /// Moves the result into `into`, which is an `Option<T>`. Returns `false` if the box contains no result.
    fn take(self: Pin<&mut Self>, into: &mut dyn Any) -> bool;
}

/// The body of a spawned task.
//
// The future need not be `Send`: all tasks of a run are on one thread, and tasks of a `LocalSet` may contain values
// that are not `Send`.
pub(crate) type BoxBody = Pin<Box<dyn Body>>;

pin_project! {
    #[project = TaskProjection]
    pub(crate) enum TaskBody<F: Future> {
        Running { #[pin] future: F },
        Ended { output: Option<F::Output> },
    }
}

impl<F: Future> TaskBody<F> {
    pub(crate) fn new(future: F) -> TaskBody<F> {
        TaskBody::Running { future }
    }
}

impl<F: Future> Body for TaskBody<F>
where
    F::Output: 'static,
{
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let output = match self.as_mut().project() {
            TaskProjection::Running { future } => match future.poll(cx) {
                Poll::Ready(output) => output,
                Poll::Pending => return Poll::Pending,
            },
            TaskProjection::Ended { .. } => return Poll::Ready(()),
        };
        self.set(TaskBody::Ended { output: Some(output) });
        Poll::Ready(())
    }

    fn clear(mut self: Pin<&mut Self>) {
        self.set(TaskBody::Ended { output: None });
    }

    fn take(self: Pin<&mut Self>, into: &mut dyn Any) -> bool {
        let TaskProjection::Ended { output } = self.project() else {
            return false;
        };
        match into.downcast_mut::<Option<F::Output>>() {
            Some(into) if output.is_some() => {
                *into = output.take();
                true
            }
            _ => false,
        }
    }
}
