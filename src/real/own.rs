//! The state that belongs to a task outside of runs: its parking token, and the work to do at its end.

use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use event_listener::Event;
use pin_project_lite::pin_project;

/// Work to do at the end of a task.
pub(crate) type AtEnd = Box<dyn FnOnce() + Send>;

/// The maximum number of rounds of end work, because end work may add more end work.
const END_ROUNDS_MAX: u32 = 16;

/// The state of one task.
#[derive(Default)]
struct Own {
    parking: RealParking,
    at_end: Vec<AtEnd>,
}

/// A parking token.
#[derive(Clone, Debug, Default)]
pub(crate) struct RealParking(Arc<Token>);

#[derive(Debug, Default)]
struct Token {
    is_there: AtomicBool,
    given: Event,
}

thread_local! {
    /// The state of the task that this thread polls; `None` outside of tasks.
    static OF_TASK: RefCell<Option<Own>> = const { RefCell::new(None) };
    /// The parking token of code that this thread polls outside of tasks.
    static OF_THREAD: OnceCell<RealParking> = const { OnceCell::new() };
}

impl RealParking {
    /// Returns the token of the task that this thread polls. Outside of tasks, returns the token of the thread.
    pub(crate) fn current() -> RealParking {
        let of_task = OF_TASK.with_borrow(|own| own.as_ref().map(|own| own.parking.clone()));
        of_task.unwrap_or_else(|| OF_THREAD.with(|own| own.get_or_init(Self::default).clone()))
    }

    /// Makes the token available.
    pub(crate) fn unpark(&self) {
        // A store would end the release sequence of an earlier token. The task would then not see what happened before.
        self.0.is_there.swap(true, Ordering::SeqCst);
        self.0.given.notify(usize::MAX);
    }

    /// Waits for the token and consumes it.
    pub(crate) async fn park(self) {
        let take = || self.0.is_there.swap(false, Ordering::SeqCst);
        while !take() {
            let given = self.0.given.listen();
            if take() {
                return;
            }
            given.await;
        }
    }
}

/// Registers `work` to be done at the end of the task that this thread polls. Outside of tasks, returns `work` as the
/// error.
pub(crate) fn at_end(work: AtEnd) -> Result<(), AtEnd> {
    OF_TASK.with_borrow_mut(|own| match own {
        Some(own) => {
            own.at_end.push(work);
            Ok(())
        }
        None => Err(work),
    })
}

/// Does the end work of the task that this thread polls, in reverse order of registration.
fn end() {
    for _ in 0..END_ROUNDS_MAX {
        let take = |own: &mut Option<Own>| own.as_mut().map(|own| std::mem::take(&mut own.at_end));
        let work = OF_TASK.try_with(|own| take(&mut own.borrow_mut())).ok().flatten();
        match work {
            Some(work) if !work.is_empty() => work.into_iter().rev().for_each(|work| work()),
            _ => return,
        }
    }
}

/// Calls `work` as a part of the task with the state `own`.
fn during<R>(own: &mut Option<Own>, work: impl FnOnce() -> R) -> R {
    struct Restore<'a>(&'a mut Option<Own>);

    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            exchange(self.0);
        }
    }

    exchange(own);
    let _restore = Restore(own);
    work()
}

fn exchange(own: &mut Option<Own>) {
    // A task may be dropped while its thread ends.
    let _ = OF_TASK.try_with(|current| std::mem::swap(&mut *current.borrow_mut(), own));
}

pin_project! {
    /// The future of a task outside of runs, with the state of the task.
    pub(crate) struct Owning<F> {
        // The state is in `OF_TASK` while the task is polled.
        own: Option<Own>,
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Owning<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.future.is_some() {
                during(this.own, || {
                    this.future.set(None);
                    end();
                });
            }
        }
    }
}

impl<F> Owning<F> {
    pub(crate) fn new(future: F) -> Owning<F> {
        Owning::with(RealParking::default(), future)
    }

    /// Returns the future of a task that parks on this token.
    pub(crate) fn with(parking: RealParking, future: F) -> Owning<F> {
        Owning { own: Some(Own { parking, at_end: Vec::new() }), future: Some(future) }
    }
}

impl<F: Future> Future for Owning<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        during(this.own, || {
            let future = this.future.as_mut().as_pin_mut().expect("it is there until the end");
            let polled = future.poll(cx);
            if polled.is_ready() {
                this.future.set(None);
                end();
            }
            polled
        })
    }
}
