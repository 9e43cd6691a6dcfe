//! Notifications.

use std::future::Future;
use std::pin::Pin;
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
const ENABLE: Op = Op::of_kind("enable", Access::Tell, tellings::REGISTER);
const ENABLE_TOOK: Op = Op::of_kind("enable", Access::Tell, tellings::TAKE);
const NOTIFY_ONE: Op = Op::of_kind("notify_one", Access::Tell, tellings::TELL_ONE);
const NOTIFY_LAST: Op = Op::of_kind("notify_last", Access::Tell, tellings::TELL_LAST);
const NOTIFY_WAITERS: Op = Op::of_kind("notify_waiters", Access::Tell, tellings::TELL_ALL);

/// tokio's [`Notify`](::tokio::sync::Notify): wakes one task that waits, or all.
///
/// To wait is a point; to notify is not. If no task waits, a notification of one task is kept for
/// the next waiting task; a notification of all tasks is not kept. Cancel safe: the notification of
/// a dropped wait passes to another task.
///
/// ```
/// use sim::tokio::sync::Notify;
/// # sim::block_on(async {
/// let notify = Notify::new();
/// notify.notify_one();
/// notify.notified().await;
/// # });
/// ```
#[derive(Debug)]
pub struct Notify {
    wrapped: Wrapped,
    /// Outside of runs, and in runs if it is no static. Waits share it.
    real: Later<(), Real>,
    is_static: bool,
}

fn make((): ()) -> Real {
    Real::new()
}

impl Notify {
    /// A notification that nobody waits for.
    #[track_caller]
    pub fn new() -> Notify {
        Notify {
            wrapped: Wrapped::new("notify", here()),
            real: Later::new((), make),
            is_static: false,
        }
    }

    /// Like [`new`](Self::new), for a static: each run, and each life of a [node](crate::node()),
    /// has its own.
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

    /// Waits until it is notified, from the first poll on; [`notify_waiters`](Self::notify_waiters)
    /// notifies it from the call of this function on.
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let here = here();
        let real = self.create(here, || self.real(here).notified_owned());
        let call = Call::new(self, &NOTIFIED, here, real, come as fn(&()) -> Came);
        Notified { call, made: Made::now(), is_done: false }
    }

    /// Like [`notified`](Self::notified); the future keeps the notification.
    #[track_caller]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let here = here();
        let real = self.create(here, || self.real(here).notified_owned());
        let call = Call::new(self, &NOTIFIED, here, real, come as fn(&()) -> Came);
        OwnedNotified { call, made: Made::now(), is_done: false }
    }

    /// Notifies the task that has waited longest, or keeps the notification for the next task. Not
    /// a point.
    #[track_caller]
    pub fn notify_one(&self) {
        self.tell(&NOTIFY_ONE, here(), Real::notify_one);
    }

    /// Notifies the task that has waited least, or keeps the notification for the next task. Not a
    /// point.
    #[track_caller]
    pub fn notify_last(&self) {
        self.tell(&NOTIFY_LAST, here(), Real::notify_last);
    }

    /// Tells all tasks that wait. Not a point.
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

    /// tokio's object. For a static, the object of the run.
    fn real(&self, here: Here) -> Arc<Real> {
        let own = if self.is_static { self.wrapped.value_of_run(here, Real::new) } else { None };
        own.unwrap_or_else(|| self.real.get().clone())
    }
}

/// The moment at which a future was made.
///
/// A future that is awaited where it is made is made again in its turn: a thread may stop between its last operation
/// and the making, which a task cannot. Otherwise code that looks, and listens if it saw nothing,
/// would never miss a notification in between.
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

impl Owner for Notify {
    fn wrapped(&self) -> &Wrapped {
        &self.wrapped
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Notify {
        Notify::new()
    }
}

/// Writes a future that waits.
macro_rules! notified {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $owner:ty, $again:expr) => {
        pin_project! {
            $(#[$doc])*
            #[must_use = "futures do nothing unless you `.await` or poll them"]
            pub struct $name $(<$life>)? {
                #[pin]
                call: Call<$owner, RealOwned, fn(&()) -> Came>,
                // None once it was polled, or if it is not to be made again.
                made: Option<Made>,
                is_done: bool,
            }
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Waits from now on, without a poll. Returns `true` if it is notified already. Not a
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
                // As tokio's, it may be polled again.
                if *this.is_done {
                    return Poll::Ready(());
                }
                let mut call = this.call;
                if let Some(made) = this.made.take() {
                    if Some(made) == Made::now() {
                        call.as_mut().make_again_in_turn(&CREATE);
                    }
                }
                let polled = call.poll_making(cx, $again);
                *this.is_done = polled.is_ready();
                polled
            }
        }

        impl $(<$life>)? std::fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

notified! {
    /// Waits until it is notified; see [`Notify::notified`].
    Notified<'a>, &'a Notify, |notify: &&'a Notify| notify.real(here()).notified_owned()
}

notified! {
    /// Waits until it is notified; see [`Notify::notified_owned`].
    OwnedNotified, Arc<Notify>, |notify: &Arc<Notify>| notify.real(here()).notified_owned()
}
