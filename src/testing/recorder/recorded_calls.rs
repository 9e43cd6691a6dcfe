//! A call under recording, as a future or as explicit events.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::History;
use crate::seam::on_carrier;
use crate::seam::{self, SPENT};
use unpause_check::Model;

/// A call that was started with [`History::invoke`]. If it is dropped without an outcome, the outcome
/// is unknown.
///
/// ```
/// use sim::History;
/// use sim::check::models::{Register, RegisterOp, RegisterRet};
///
/// let history = History::new(Register::new(0));
/// drop(history.invoke(RegisterOp::Write(7)));
/// // The write may have taken effect or not.
/// history.invoke(RegisterOp::Read).ok(RegisterRet::Value(7));
/// assert!(history.check().is_consistent());
/// ```
#[derive(Debug)]
pub struct Invoked<M: Model> {
    pub(super) history: History<M>,
    /// `None` after the outcome was recorded.
    pub(super) call: Option<usize>,
}

impl<M: Model> Invoked<M> {
    /// Records that the call returned `ret`.
    pub fn ok(mut self, ret: M::Ret) {
        self.end(Some(ret));
    }

    /// Records that the call failed: it did not take effect and never will.
    ///
    /// ```
    /// use sim::History;
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    ///
    /// let history = History::new(Register::new(0));
    /// history.invoke(RegisterOp::Write(7)).fail();
    /// history.invoke(RegisterOp::Read).ok(RegisterRet::Value(7));
    /// assert!(history.check().is_violated());
    /// ```
    pub fn fail(mut self) {
        let Some(call) = self.call.take() else { return };
        on_carrier(|| {
            let recorder = &self.history.recorder;
            let mut records = recorder.lock();
            records.calls[call].failed = true;
            records.close(call);
            drop(records);
            recorder.feed();
        });
    }

    /// Records that the outcome is unknown: the call may have taken effect, or may take effect
    /// later.
    ///
    /// ```
    /// use sim::History;
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    ///
    /// let history = History::new(Register::new(0));
    /// history.invoke(RegisterOp::Write(7)).info();
    /// // The write takes effect between the two reads.
    /// history.invoke(RegisterOp::Read).ok(RegisterRet::Value(0));
    /// history.invoke(RegisterOp::Read).ok(RegisterRet::Value(7));
    /// assert!(history.check().is_consistent());
    /// ```
    pub fn info(mut self) {
        self.end(None);
    }
}

impl<M: Model> Invoked<M> {
    fn end(&mut self, ret: Option<M::Ret>) {
        let Some(call) = self.call.take() else { return };
        let recorder = &self.history.recorder;
        on_carrier(|| {
            let returns = ret.is_some();
            recorder.stamp_explicit(call);
            recorder.ended(call, seam::clock(), ret);
            // A lost call decides nothing, and dropping a call must not fail.
            if returns {
                recorder.feed();
            }
        });
    }
}

impl<M: Model> Drop for Invoked<M> {
    fn drop(&mut self) {
        self.end(None);
    }
}

pin_project! {
    /// The future of [`History::call`].
    ///
    /// ```
    /// use sim::History;
    /// use sim::check::models::{Register, RegisterOp, RegisterRet};
    /// use sim::time::{Duration, timeout};
    ///
    /// # sim::block_on(async {
    /// let history = History::new(Register::new(0));
    /// let write = history.call(RegisterOp::Write(7), std::future::pending());
    /// assert!(timeout(Duration::from_millis(1), write).await.is_err());
    /// // The outcome of the dropped call is unknown.
    /// history.invoke(RegisterOp::Read).ok(RegisterRet::Value(7));
    /// assert!(history.check().is_consistent());
    /// # });
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Recorded<M: Model, F> {
        pub(super) history: History<M>,
        // `None` after the first poll, because the polling task then makes the call.
        pub(super) op: Option<M::Op>,
        pub(super) call: OpenCall,
        // `true` if the call begins with its first poll instead of its first access.
        pub(super) at_once: bool,
        #[pin]
        pub(super) future: F,
    }

    impl<M: Model, F> PinnedDrop for Recorded<M, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Some(call) = this.call.0.take() {
                this.history.recorder.ended(call, seam::clock(), None);
            }
        }
    }
}

/// The number of a call that has started but not returned.
pub(super) struct OpenCall(pub(super) Option<usize>);

impl<M, F> Future for Recorded<M, F>
where
    M: Model,
    F: Future<Output = M::Ret>,
{
    type Output = M::Ret;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<M::Ret> {
        let this = self.project();
        let recorder = &this.history.recorder;
        let (before, announced) = (seam::clock(), seam::announced());
        if let Some(op) = this.op.take() {
            let call = recorder.open(op, before, false);
            this.call.0 = Some(call);
            if !seam::in_run() {
                // On real threads, other threads may see the effects of the call during this poll.
                recorder.invoked(call, before);
            } else if *this.at_once {
                recorder.waits(call, before);
            }
        }
        let call = this.call.0.expect(SPENT);
        let is_fed = seam::in_run() && recorder.feed.get().is_some();
        if is_fed {
            recorder.lock().polled.push((call, before));
        }
        let polled = this.future.poll(cx);
        if is_fed {
            recorder.lock().polled.pop();
        }
        if seam::in_run() && seam::moved_since(before) {
            recorder.invoked(call, before);
        } else if seam::in_run() && polled.is_pending() && seam::announced() == announced {
            recorder.waits(call, before);
        }
        let ret = ready!(polled);
        recorder.ended(call, seam::clock(), Some(ret.clone()));
        this.call.0 = None;
        recorder.feed();
        Poll::Ready(ret)
    }
}

impl<M: Model, F> fmt::Debug for Recorded<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").finish_non_exhaustive()
    }
}
