//! Waiting until a deadline.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::Instant;
use crate::run::op::{Access, Op, clock};
use crate::seam::{self, Here, here};

const SET: Op = Op::of_kind("set_timer", Access::Peek, clock::READ);
const RESET: Op = Op::of_kind("reset_timer", Access::Tell, clock::RESET);
const SLEEP: Op = Op::of_kind("sleep", Access::Wait, clock::DUE);

/// Waits until `duration` has passed since this call (not since the first poll).
///
/// A point, even if `duration` is zero. Dropping the future ends the wait.
///
/// ```
/// use sim::time::{Duration, Instant, sleep};
///
/// # sim::block_on(async {
/// let begin = Instant::now();
/// sleep(Duration::from_millis(1)).await;
/// assert!(begin.elapsed() >= Duration::from_millis(1));
/// # });
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::after(duration, here())
}

/// Waits until `deadline`; see [`sleep`].
///
/// ```
/// use sim::time::{Duration, Instant, sleep_until};
///
/// # sim::block_on(async {
/// sleep_until(Instant::now() + Duration::from_millis(1)).await;
/// # });
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::until(deadline, here())
}

pin_project! {
    /// The future of [`sleep`] and [`sleep_until`].
    ///
    /// ```
    /// use sim::time::{Duration, Instant, sleep};
    /// use std::pin::pin;
    ///
    /// # sim::block_on(async {
    /// let mut sleep = pin!(sleep(Duration::from_secs(3600)));
    /// sleep.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// sleep.as_mut().await;
    /// assert!(sleep.is_elapsed());
    /// # });
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Sleep {
        deadline: Instant,
        here: Here,
        // `None` after the sleep was ready.
        timer: Option<seam::Timer>,
        // Pinned like tokio's `Sleep`, so that code written for this type compiles with tokio.
        #[pin]
        pinned: std::marker::PhantomPinned,
    }
}

impl Sleep {
    pub(super) fn until(deadline: Instant, here: Here) -> Sleep {
        let timer = Some(timer(deadline, here));
        Sleep { deadline, here, timer, pinned: std::marker::PhantomPinned }
    }

    pub(super) fn after(duration: Duration, here: Here) -> Sleep {
        Sleep::until(Instant::from_std(seam::deadline(&SET, duration, here)), here)
    }

    /// Marks the sleep as the deadline of another future.
    pub(super) fn racing(mut self) -> Sleep {
        self.timer.iter_mut().for_each(seam::Timer::race);
        self
    }

    /// Returns the deadline.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns `true` if the deadline has passed, even if the sleep was not polled. This call is not a point.
    ///
    /// ```
    /// use sim::time::{Duration, sleep};
    ///
    /// # sim::block_on(async {
    /// let [now, later] = [Duration::ZERO, Duration::from_secs(3600)].map(sleep);
    /// assert!(now.is_elapsed() && !later.is_elapsed());
    /// # });
    /// ```
    #[track_caller]
    pub fn is_elapsed(&self) -> bool {
        self.timer.is_none() || self.deadline <= Instant::now()
    }

    /// Changes the deadline, even if the sleep was already ready. This call is not a point. The task that polled the
    /// sleep last is woken at the new deadline.
    ///
    /// ```
    /// use sim::time::{Duration, Instant, sleep};
    /// use std::pin::pin;
    ///
    /// # sim::block_on(async {
    /// let mut sleep = pin!(sleep(Duration::from_millis(1)));
    /// sleep.as_mut().await;
    /// sleep.as_mut().reset(Instant::now() + Duration::from_secs(3600));
    /// assert!(!sleep.is_elapsed());
    /// # });
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        let here: Here = *this.here;
        *this.deadline = deadline;
        match this.timer {
            Some(timer) => timer.reset(&RESET, deadline.into_std()),
            None => *this.timer = Some(timer(deadline, here)),
        }
    }
}

fn timer(deadline: Instant, here: Here) -> seam::Timer {
    seam::Timer::new(&SLEEP, deadline.into_std(), here)
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.project().timer;
        let Some(waits) = timer else { return Poll::Ready(()) };
        let polled = waits.poll(cx);
        if polled.is_ready() {
            *timer = None;
        }
        polled
    }
}
