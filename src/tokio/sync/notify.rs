//! Notifications.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::Notify as Real;
use ::tokio::sync::futures::OwnedNotified as RealOwned;
use pin_project_lite::pin_project;

use super::later::Later;
use crate::run::event::Values;
use crate::run::op::of_tokio::tellings;
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Owner, Wrapped, clock, here, in_run, position};

const NOTIFIED: CallOps = CallOps::acting(
    ("hear", "listen"),
    [tellings::TAKE, tellings::TAKE, tellings::REGISTER, tellings::HEAR],
    Op::of_kind("stop_waiting", Access::Tell, tellings::LEAVE),
);
const CREATE: Op = Op::of_kind("notified", Access::Peek, tellings::CREATE);
const CREATE_QUIETLY: Op = CREATE.quiet();
const ENABLE: Op = Op::of_kind("enable", Access::Tell, tellings::REGISTER);
const ENABLE_TOOK: Op = Op::of_kind("enable", Access::Tell, tellings::TAKE);
const NOTIFY_ONE: Op = Op::of_kind("notify_one", Access::Tell, tellings::TELL_ONE);
const NOTIFY_LAST: Op = Op::of_kind("notify_last", Access::Tell, tellings::TELL_LAST);
const NOTIFY_WAITERS: Op = Op::of_kind("notify_waiters", Access::Tell, tellings::TELL_ALL);

/// tokio's [`Notify`](::tokio::sync::Notify): wakes one waiting task, or all waiting tasks.
///
/// Waiting is a point; notifying is not. If no task waits, a notification of one task is kept for the next waiting
/// task, but a notification of all tasks is lost. Cancel safe: the notification of a dropped wait passes to another
/// task.
///
/// ```
/// use sim::tokio::sync::Notify;
/// # sim::block_on(async {
/// let notify = Notify::new();
/// notify.notify_one();
/// notify.notified().await;
/// # });
/// ```
pub struct Notify {
    wrapped: Wrapped,
    /// The object that is used outside of runs, and also in runs unless this `Notify` is a static. The waiting futures
    /// share it.
    real: Later<(), Real>,
    is_static: bool,
}

fn make((): ()) -> Real {
    Real::new()
}

impl Notify {
    /// Creates a `Notify` on which no task waits.
    #[track_caller]
    pub fn new() -> Notify {
        Notify {
            wrapped: Wrapped::new("notify", here()),
            real: Later::new((), make),
            is_static: false,
        }
    }

    /// Like [`new`](Self::new), for a static: each run, and each life of a [node](crate::node()), has its own `Notify`.
    ///
    /// ```
    /// use sim::tokio::sync::Notify;
    ///
    /// static READY: Notify = Notify::const_new();
    ///
    /// let report = sim::Runner::new().hermetic().run(async || {
    ///     READY.notify_one();
    ///     READY.notified().await;
    /// });
    /// assert!(report.passed());
    /// ```
    #[track_caller]
    pub const fn const_new() -> Notify {
        let wrapped = Wrapped::by_run("notify", here());
        Notify { wrapped, real: Later::new((), make), is_static: true }
    }

    /// Waits for a notification. [`notify_waiters`](Self::notify_waiters) reaches the future from this call on. Other
    /// notifications reach it from its first poll on.
    ///
    /// In a run, `notify.notified().await` may miss a call of `notify_waiters`, like on a thread that is preempted
    /// before it listens. The call is missed if the notifying task has just changed an object that this task had read.
    ///
    /// ```
    /// use sim::tokio::sync::Notify;
    /// use std::pin::pin;
    ///
    /// let notify = Notify::new();
    /// let mut early = pin!(notify.notified());
    /// notify.notify_waiters();
    /// let mut late = pin!(notify.notified());
    /// assert!(early.as_mut().enable());
    /// assert!(!late.as_mut().enable());
    /// ```
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let here = here();
        let real = self.create(here, || self.real(here).notified_owned());
        let call = Call::new(self, &NOTIFIED, here, real, come as fn(&()) -> Came);
        Notified { call, made: Made::now(), is_done: false }
    }

    /// Like [`notified`](Self::notified); the future owns a reference to the `Notify`.
    ///
    /// ```
    /// use sim::tokio::sync::Notify;
    /// use std::sync::Arc;
    /// # sim::block_on(async {
    /// let notify = Arc::new(Notify::new());
    /// let task = sim::spawn(notify.clone().notified_owned());
    /// notify.notify_one();
    /// assert!(task.await.is_ok());
    /// # });
    /// ```
    #[track_caller]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let here = here();
        let real = self.create(here, || self.real(here).notified_owned());
        let call = Call::new(self, &NOTIFIED, here, real, come as fn(&()) -> Came);
        OwnedNotified { call, made: Made::now(), is_done: false }
    }

    /// Notifies the task that has waited longest, or keeps the notification for the next task. This call is not a
    /// point.
    ///
    /// ```
    /// use sim::tokio::sync::Notify;
    /// use std::pin::pin;
    /// # sim::block_on(async {
    /// let notify = Notify::new();
    /// notify.notify_one();
    /// notify.notify_one();
    /// // Only one notification is kept.
    /// notify.notified().await;
    /// assert!(!pin!(notify.notified()).enable());
    /// # });
    /// ```
    #[track_caller]
    pub fn notify_one(&self) {
        self.tell(&NOTIFY_ONE, here(), Real::notify_one);
    }

    /// Notifies the task that began to wait last, or keeps the notification for the next task. This call is not a
    /// point.
    ///
    /// ```
    /// use sim::tokio::sync::Notify;
    /// use std::pin::pin;
    ///
    /// let notify = Notify::new();
    /// let mut first = pin!(notify.notified());
    /// let mut last = pin!(notify.notified());
    /// assert!(!first.as_mut().enable() && !last.as_mut().enable());
    /// notify.notify_last();
    /// assert!(last.as_mut().enable());
    /// assert!(!first.as_mut().enable());
    /// ```
    #[track_caller]
    pub fn notify_last(&self) {
        self.tell(&NOTIFY_LAST, here(), Real::notify_last);
    }

    /// Notifies all waiting tasks. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::Notify;
    /// # sim::block_on(async {
    /// let notify = Notify::new();
    /// let wait = async || notify.notified().await;
    /// let woken = sim::join!(wait(), wait(), async { notify.notify_waiters() });
    /// assert_eq!(woken, ((), (), ()));
    /// # });
    /// ```
    #[track_caller]
    pub fn notify_waiters(&self) {
        self.tell(&NOTIFY_WAITERS, here(), Real::notify_waiters);
    }

    fn create<R>(&self, here: Here, make: impl FnOnce() -> R) -> R {
        self.wrapped.act(&CREATE, here, make)
    }

    fn tell(&self, op: &'static Op, here: Here, tell: impl FnOnce(&Real)) {
        self.wrapped.act(op, here, || tell(&self.real(here)));
    }

    /// Returns tokio's object. For a static, returns the object of the run.
    fn real(&self, here: Here) -> Arc<Real> {
        let own = if self.is_static { self.wrapped.value_of_run(here, Real::new) } else { None };
        own.unwrap_or_else(|| self.real.get().clone())
    }
}

/// The moment at which a future was created.
///
/// A future that is awaited where it is created may be created again in the step of its first operation. The reason: a
/// real thread may be preempted between its last operation and the creation, but a task cannot. Otherwise, code that
/// checks a condition and then waits would never miss a notification in between.
///
/// The run cannot distinguish this code from code that creates the future and then checks plain memory. The latter code
/// misses nothing. So the future is created again only if another task has changed an object that this task used just
/// before the creation, and has then called `notify_waiters`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Made {
    step: u32,
    operations: u64,
}

impl Made {
    fn now() -> Option<Made> {
        in_run().then(|| Made { step: position().1, operations: clock() })
    }
}

fn come((): &()) -> Came {
    Came::Done
}

/// Returns a future that is created late. Returns `None` if a notification of one task is kept, which this future would
/// take: in the order in which the task waits before the notifications, the task takes it, too. The first future leaves
/// it to another wait, and no other order has this result.
fn late(real: &Arc<Real>) -> Option<RealOwned> {
    if pin!(real.clone().notified_owned()).enable() {
        real.notify_one();
        return None;
    }
    Some(real.clone().notified_owned())
}

impl Owner for Notify {
    fn wrapped(&self) -> &Wrapped {
        &self.wrapped
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_static && in_run() {
            // A static has the state of the run. This text does not change the run by its first use of the static.
            true => match self.wrapped.known_value_of_run::<Real>() {
                Some(own) => own.fmt(f),
                None => Real::new().fmt(f),
            },
            false => self.real.get().fmt(f),
        }
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Notify {
        Notify::new()
    }
}

/// Writes a future that waits for a notification.
macro_rules! notified {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $owner:ty, $again:expr) => {
        pin_project! {
            $(#[$doc])*
            #[must_use = "futures do nothing unless you `.await` or poll them"]
            pub struct $name $(<$life>)? {
                #[pin]
                call: Call<$owner, RealOwned, fn(&()) -> Came>,
                // `None` once the future was polled, or if it must not be created again.
                made: Option<Made>,
                is_done: bool,
            }
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Waits from now on, without a poll. Returns `true` if this wait is already notified. This call is not a
            /// point.
            #[track_caller]
            pub fn enable(self: Pin<&mut Self>) -> bool {
                let this = self.project();
                let (real, owner, turn) = this.call.parts();
                let told = |told: &bool| match told {
                    true => (&ENABLE_TOOK, Values::None),
                    false => (&ENABLE, Values::None),
                };
                let is_told = owner.wrapped().now(here(), || real.enable(), told);
                *this.made = None;
                match is_told {
                    true => *this.is_done = true,
                    false => turn.enqueue(),
                }
                is_told
            }
        }

        impl $(<$life>)? Future for $name $(<$life>)? {
            type Output = ();

            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                let this = self.project();
                // Like tokio's future, it may be polled again.
                if *this.is_done {
                    return Poll::Ready(());
                }
                let mut call = this.call;
                if let Some(made) = this.made.take() {
                    if Some(made) == Made::now() {
                        call.as_mut().may_make_again(&CREATE, &CREATE_QUIETLY);
                    }
                }
                let polled = call.poll_making(cx, tellings::TELL_ALL, $again);
                *this.is_done = polled.is_ready();
                polled
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

notified! {
    /// Waits for a notification; see [`Notify::notified`].
    Notified<'a>, &'a Notify, |notify: &&'a Notify| late(&notify.real(here()))
}

notified! {
    /// Waits for a notification; see [`Notify::notified_owned`].
    OwnedNotified, Arc<Notify>, |notify: &Arc<Notify>| late(&notify.real(here()))
}
