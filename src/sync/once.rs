//! Initialisations that run once. An initialisation that depends on itself is refused.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::run::Failure;
use crate::run::op::{Access, Op, once};
use crate::run::place::in_text;
use crate::seam::{self, Here, OnceOps, OnceValue, here};

const CALL: OnceOps = OnceOps::making("call_once");
const FORCE: OnceOps = OnceOps::making("call_once_force");
const IS_COMPLETED: Op = Op::of_kind("is_completed", Access::Read, once::LOOK);

/// An initialisation that runs once: std's `Once`, for tasks.
///
/// Each operation is a point. The first call does the work, and concurrent calls wait until the work is done. Work that
/// panics poisons the `Once`, as in std: later calls of [`call_once`](Self::call_once) panic, and
/// [`call_once_force`](Self::call_once_force) does the work again. If the work is dropped (impossible in std), the next
/// call does it. In a run every `Once` starts fresh, including one in a `static`.
///
/// ```
/// static INIT: sim::Once = sim::Once::new();
///
/// # sim::block_on(async {
/// INIT.call_once(|| async { /* … */ }).await;
/// assert!(INIT.is_completed().await);
/// # });
/// ```
///
/// A plain flag in place of `Once` says that the work is done before it is:
///
/// ```
/// use sim::{Atomic, Once, Ordering::SeqCst, Runner};
/// use std::sync::Arc;
///
/// async fn test(with_once: bool) {
///     let shared = Arc::new((Once::new(), Atomic::new(false), Atomic::new(0)));
///     sim::map_concurrently([shared.clone(), shared], |shared| async move {
///         let (once, begun, table) = &*shared;
///         if with_once {
///             once.call_once(|| async { table.store(7, SeqCst).await }).await;
///         } else if !begun.swap(true, SeqCst).await {
///             table.store(7, SeqCst).await;
///         }
///         assert_eq!(table.load(SeqCst).await, 7);
///     })
///     .await;
/// }
///
/// let runner = || Runner::new().hermetic();
/// assert!(!sim::SIMULATED || !runner().run(async || test(false).await).passed());
/// assert!(runner().run(async || test(true).await).passed());
/// ```
pub struct Once {
    value: OnceValue<()>,
}

impl Once {
    /// Creates a `Once` with no work begun.
    #[track_caller]
    pub const fn new() -> Once {
        Once { value: OnceValue::new("once", here()) }
    }

    /// Like [`new`](Self::new), for a `static`: each [node](crate::node()) of a run has its own `Once`.
    #[track_caller]
    pub const fn const_new() -> Once {
        Once { value: OnceValue::of_static("once", here()) }
    }

    /// Gives the `Once` a name, which reports show in place of `once#3`. Costs nothing in the real build.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Once {
        self.value.object = self.value.object.named(name);
        self
    }

    /// Shares the `Once` between all nodes of a run; see [`Atomic::shared`](crate::Atomic::shared).
    #[must_use]
    pub const fn shared(mut self) -> Once {
        self.value.object = self.value.object.shared();
        self
    }

    /// Does the work if no call has done it, or waits until another call has finished it.
    ///
    /// # Panics
    /// If the work of an earlier call has panicked, or if the work of the same `Once` polls this future, which would
    /// wait for itself. In a run, the second case is a misuse, which fails the run.
    ///
    /// ```
    /// use sim::{Atomic, Once, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let (once, calls) = (Once::new(), Atomic::new(0));
    /// for _ in 0..3 {
    ///     let work = async || {
    ///         calls.fetch_add(1, SeqCst).await;
    ///     };
    ///     once.call_once(work).await;
    /// }
    /// assert_eq!(calls.load(SeqCst).await, 1);
    /// # });
    /// ```
    #[track_caller]
    pub fn call_once<F, Fut>(&self, work: F) -> impl Future<Output = ()>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = ()>,
    {
        let work = |state: OnceState| {
            assert!(!state.is_poisoned, "the Once is poisoned: work of an earlier call panicked");
            work()
        };
        self.call_at(&CALL, here(), Location::caller(), work)
    }

    /// Like [`call_once`](Self::call_once), but runs even if the work of an earlier call has panicked: the state
    /// reports the panic.
    ///
    /// # Panics
    /// If the work of the same `Once` polls this future.
    ///
    /// ```
    /// use sim::Once;
    /// use std::sync::Arc;
    ///
    /// # sim::block_on(async {
    /// let once = Arc::new(Once::new());
    /// let own = once.clone();
    /// let task = sim::spawn(async move { own.call_once(async || panic!("no disk")).await });
    /// assert!(task.await.unwrap_err().is_panic());
    /// once.call_once_force(async |state| assert!(state.is_poisoned())).await;
    /// assert!(once.is_completed().await);
    /// # });
    /// ```
    #[track_caller]
    pub fn call_once_force<F, Fut>(&self, work: F) -> impl Future<Output = ()>
    where
        F: FnOnce(OnceState) -> Fut,
        Fut: Future<Output = ()>,
    {
        self.call_at(&FORCE, here(), Location::caller(), work)
    }

    /// Returns `true` if the work is done.
    #[track_caller]
    pub fn is_completed(&self) -> impl Future<Output = bool> {
        let done = self.value.get(&IS_COMPLETED, here());
        async move { done.await.is_some() }
    }

    async fn call_at<F, Fut>(
        &self,
        ops: &'static OnceOps,
        here: Here,
        place: &'static Location<'static>,
        work: F,
    ) where
        F: FnOnce(OnceState) -> Fut,
        Fut: Future<Output = ()>,
    {
        let reentry = Reentry::of("Once", self, place);
        reentry.refuse();
        let make = |is_poisoned| making(reentry, move || work(OnceState { is_poisoned }));
        self.value.get_or_make(ops, here, make).await;
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

/// The state of a [`Once`] when its work begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnceState {
    is_poisoned: bool,
}

impl OnceState {
    /// Returns `true` if the work of an earlier call has panicked.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }
}

thread_local! {
    /// The addresses of the objects whose initialisation this thread polls.
    static POLLED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A guard for a call that waits for an initialisation. This initialisation must not poll the call.
#[derive(Clone, Copy)]
pub(super) struct Reentry {
    kind: &'static str,
    address: usize,
    place: &'static Location<'static>,
}

impl Reentry {
    /// Creates the guard for a call at `place` on an object of this kind.
    pub(super) fn of<T>(
        kind: &'static str,
        object: &T,
        place: &'static Location<'static>,
    ) -> Reentry {
        Reentry { kind, address: std::ptr::from_ref(object).addr(), place }
    }

    /// Fails the run, or panics, if this thread polls the initialisation of the same object.
    pub(super) fn refuse(self) {
        if !POLLED.with_borrow(|polled| polled.contains(&self.address)) {
            return;
        }
        let Reentry { kind, place, .. } = self;
        let message = format!(
            "the initialisation of a {kind} asks for the same {kind}, and would wait for itself for ever: make the \
             value without it"
        );
        seam::fail(|| Failure::Misuse { message: message.clone(), place: place.to_string() });
        panic!("{message} (called at {})", in_text(place));
    }
}

/// Runs `init` as the initialisation of the object of `reentry`, and returns its value.
pub(super) fn making<F: FnOnce() -> Fut, Fut: Future>(
    reentry: Reentry,
    init: F,
) -> impl Future<Output = Fut::Output> + use<F, Fut> {
    Making { address: reentry.address, future: async move { init().await } }
}

pin_project! {
    struct Making<F> {
        address: usize,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Making<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        struct Polled;

        impl Drop for Polled {
            fn drop(&mut self) {
                POLLED.with_borrow_mut(|polled| polled.pop());
            }
        }

        let this = self.project();
        POLLED.with_borrow_mut(|polled| polled.push(*this.address));
        let _polled = Polled;
        this.future.poll(cx)
    }
}
