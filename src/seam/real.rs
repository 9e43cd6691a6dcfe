//! The real primitives, for code outside of runs and for stress tests.
//!
//! All of them compile to nothing: an `Atomic` is its std atomic, a point is its effect, a gate is empty. Builds with
//! debug assertions check, at each point, for the jitter of a stress test on this thread ([`crate::seam::jitter`])
//! and for its value of a static ([`crate::seam::statics`]).

mod locks;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

pub(crate) use self::locks::{Enter, Gate, Pass};
pub(crate) use super::jitter::up_to;

use super::backoff::Backoff;
use super::jitter::{jitter, jitter_at_turn};
use super::nameless::Object;
use super::statics::Own;
use super::threads;
use super::value::{BitChange, Bits, Number, NumberChange, Value};
use super::{JoinError, SPENT};
use crate::run::board::CallPoint;
use crate::run::op::Op;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure};

/// True if this build can simulate.
pub(crate) const SIMULATED: bool = false;

/// A place in the source; nothing in this build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here;

/// The caller's place.
#[inline(always)]
pub(crate) const fn here() -> Here {
    Here
}

/// The object that an operation changes: the real one.
#[derive(Debug)]
pub(crate) struct At<'a>(PhantomData<&'a ()>);

// ---- words

/// A word of shared memory.
#[derive(Debug)]
pub(crate) struct Word<T: Value> {
    std: T::Std,
    own: Own<T::Std>,
    pub(crate) object: Object,
}

/// Does something to the std atomic of a word. Without debug assertions it uses no closure, because no attribute has a
/// closure always inlined.
macro_rules! on {
    ($word:expr, $std:ident => $act:expr) => {
        if cfg!(debug_assertions) {
            let copy = |std: &T::Std| T::std_load(std, Ordering::Relaxed).std();
            $word.own.with(&$word.std, copy, |$std| $act)
        } else {
            let $std = &$word.std;
            $act
        }
    };
}

impl<T: Value> Word<T> {
    #[inline(always)]
    pub(crate) fn new(value: T, _: Here) -> Word<T> {
        Word { std: value.std(), own: Own::none(), object: Object }
    }

    pub(crate) const fn of_static(std: T::Std, _: Here) -> Word<T> {
        Word { std, own: Own::of_static(), object: Object }
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        T::std_get_mut(self.own.alone(&mut self.std))
    }

    #[inline(always)]
    pub(crate) fn into_inner(self) -> T {
        T::std_into_inner(self.own.into_value(self.std))
    }

    #[inline(always)]
    pub(crate) fn point<F, R>(&self, _: &'static Op, _: Here, effect: F) -> Point<'_, F>
    where
        F: FnOnce(&At<'_>) -> R,
    {
        Point { effect: Some(effect), on: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn load(&self, _: &At<'_>, order: Ordering) -> T {
        on!(self, std => T::std_load(std, order))
    }

    #[inline(always)]
    pub(crate) fn store(&self, _: &At<'_>, value: T, order: Ordering) {
        on!(self, std => T::std_store(std, value, order))
    }

    #[inline(always)]
    pub(crate) fn swap(&self, _: &At<'_>, value: T, order: Ordering) -> T {
        on!(self, std => T::std_swap(std, value, order))
    }

    #[inline(always)]
    pub(crate) fn exchange(
        &self,
        _: &'static Op,
        _: Here,
        (current, new): (T, T),
        orders: (Ordering, Ordering),
        weak: bool,
    ) -> Exchange<'_, T> {
        Exchange { word: self, values: Some((current.into_raw(), new.into_raw())), orders, weak }
    }

    #[inline(always)]
    pub(crate) fn change(&self, _: &At<'_>, change: BitChange, value: T, order: Ordering) -> T
    where
        T: Bits,
    {
        on!(self, std => T::std_change(std, change, value, order))
    }

    #[inline(always)]
    pub(crate) fn compute(&self, _: &At<'_>, change: NumberChange, value: T, order: Ordering) -> T
    where
        T: Number,
    {
        on!(self, std => T::std_compute(std, change, value, order))
    }
}

// ---- slots

/// A value of any type that is read and written as a whole.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    value: Mutex<T>,
    own: Own<Mutex<T>>,
    pub(crate) object: Object,
}

impl<T> Slot<T> {
    pub(crate) const fn new(value: T, _: Here) -> Slot<T> {
        Slot { value: Mutex::new(value), own: Own::none(), object: Object }
    }

    pub(crate) const fn of_static(value: T, _: Here) -> Slot<T> {
        Slot { value: Mutex::new(value), own: Own::of_static(), object: Object }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        let value = self.own.alone(&mut self.value);
        value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        let value = self.own.into_value(self.value);
        value.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(always)]
    pub(crate) fn point<F, R>(&self, _: &'static Op, _: Here, effect: F) -> Point<'_, F>
    where
        F: FnOnce(&At<'_>) -> R,
    {
        Point { effect: Some(effect), on: PhantomData }
    }

    /// Lends the value to `access`. `show` is for the trace.
    #[inline]
    pub(crate) fn access<R>(
        &self,
        _: &At<'_>,
        access: impl FnOnce(&mut T) -> R,
        _: impl FnOnce(&R, &T) -> crate::run::event::Values,
    ) -> R
    where
        T: Clone + Send + 'static,
    {
        let copy = |made: &Mutex<T>| {
            Mutex::new(made.lock().unwrap_or_else(PoisonError::into_inner).clone())
        };
        let act =
            |value: &Mutex<T>| access(&mut value.lock().unwrap_or_else(PoisonError::into_inner));
        self.own.with(&self.value, copy, act)
    }
}

// ---- points

/// An operation that takes effect when it is polled.
#[derive(Debug)]
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Point<'a, F> {
    effect: Option<F>,
    on: PhantomData<&'a ()>,
}

// The effect is taken out by value and nothing is pinned.
impl<F> Unpin for Point<'_, F> {}

impl<F, R> Future for Point<'_, F>
where
    F: FnOnce(&At<'_>) -> R,
{
    type Output = R;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        if jitter() {
            return give_way(cx);
        }
        let effect = self.effect.take().expect(SPENT);
        Poll::Ready(effect(&At(PhantomData)))
    }
}

/// A compare-exchange.
///
/// As the closure of a [`Point`] it would be a call in optimised code, too: the choice among the
/// orders is large, and it is constant only once all is inlined. An attribute has a function always
/// inlined, and no closure.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Exchange<'a, T: Value> {
    word: &'a Word<T>,
    values: Option<(T::Raw, T::Raw)>,
    orders: (Ordering, Ordering),
    weak: bool,
}

// Nothing is pinned.
impl<T: Value> Unpin for Exchange<'_, T> {}

impl<T: Value> Future for Exchange<'_, T> {
    type Output = Result<T, T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, T>> {
        if jitter() {
            return give_way(cx);
        }
        let (current, new) = self.values.take().expect(SPENT);
        let (current, new) = (T::from_raw(&current), T::from_raw(&new));
        let ((success, failure), word) = (self.orders, self.word);
        Poll::Ready(if self.weak {
            on!(word, std => T::std_compare_exchange_weak(std, current, new, success, failure))
        } else {
            on!(word, std => T::std_compare_exchange(std, current, new, success, failure))
        })
    }
}

/// The task was aborted, or drops its work here: the operation is not done.
#[cold]
fn give_way<R>(cx: &Context<'_>) -> Poll<R> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

// ---- tasks

/// The handle of a task.
#[derive(Debug)]
pub(crate) struct Handle<T>(threads::Handle<T>);

/// Spawns a task.
pub(crate) fn spawn<F>(name: Option<std::sync::Arc<str>>, _: Here, future: F) -> Handle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Handle(threads::spawn(name.as_deref(), future))
}

impl<T> Handle<T> {
    pub(crate) fn poll_join(
        &mut self,
        cx: &mut Context<'_>,
        _: Here,
    ) -> Poll<Result<T, JoinError>> {
        self.0.poll_join(cx)
    }

    pub(crate) fn abort(&self, _: Here) {
        self.0.abort();
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The task goes on by itself.
    pub(crate) fn detach(self) {}
}

/// Tasks that borrow from the task that spawned them.
pub(crate) struct Crew<'a>(super::crew::Crew<'a>);

impl<'a> Crew<'a> {
    pub(crate) fn new() -> Crew<'a> {
        Crew(super::crew::Crew::new())
    }

    pub(crate) fn lend<W, F>(&self, _: Here, work: W) -> Handle<()>
    where
        W: FnOnce() -> F + Send + 'a,
        F: Future<Output = ()>,
    {
        Handle(self.0.lend(work))
    }

    pub(crate) async fn drive<T>(&self, script: impl Future<Output = T>) -> Option<T> {
        self.0.drive(script).await
    }
}

// ---- loops that wait

/// Asks a condition until it holds.
#[derive(Debug)]
pub(crate) struct Spin {
    backoff: Backoff,
    here: Here,
}

impl Spin {
    pub(crate) fn new(here: Here) -> Spin {
        Spin { backoff: Backoff::default(), here }
    }

    /// Asks it once.
    #[inline(always)]
    pub(crate) fn ask<F: Future<Output = bool>>(&mut self, condition: F) -> F {
        condition
    }

    /// Pauses after the condition did not hold.
    pub(crate) fn rest(&mut self, op: &'static Op) -> Turn {
        self.backoff.pause();
        Turn::new(op, self.here)
    }
}

// ---- turns, draws, clocks

/// Lets other tasks go first, once.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    yielded: bool,
}

impl Turn {
    pub(crate) fn new(_: &'static Op, _: Here) -> Turn {
        Turn { yielded: false }
    }
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if jitter_at_turn() {
            return give_way(cx);
        }
        if std::mem::replace(&mut self.yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A random number below `bound`.
pub(crate) fn draw(bound: u64, _: &'static str) -> u64 {
    super::jitter::draw(bound)
}

/// A given number, which is not drawn.
pub(crate) fn given(_: u64, value: u64, _: &'static str) -> u64 {
    value
}

/// The seed of the stress run, 0 outside one.
pub(crate) fn seed() -> Option<u64> {
    Some(super::stress::seed())
}

/// The number of values drawn in the run, and its step: there is no run in this build.
pub(crate) fn position() -> (usize, u32) {
    (0, 0)
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// A moment, later than all moments returned before.
pub(crate) fn clock() -> u64 {
    CLOCK.fetch_add(1, Ordering::SeqCst)
}

/// Returns `true` if an operation may have taken effect since the moment `mark`: always.
pub(crate) fn moved_since(_: u64) -> bool {
    true
}

/// The number of announced operations: always 0.
pub(crate) fn announced() -> u32 {
    0
}

/// The moment of the client's first operation since `mark`. No operation is recorded, so it is `mark`.
pub(crate) fn first_access_since(mark: u64, _: u64) -> Option<u64> {
    Some(mark)
}

/// A number for the current thread.
pub(crate) fn client() -> u64 {
    threads::client()
}

/// The name of the current thread.
pub(crate) fn client_name() -> String {
    threads::client_name()
}

/// Does nothing: no search reads the points of calls.
#[inline(always)]
pub(crate) fn mark_call(_: Option<&usize>, _: CallPoint) {}

/// Adds a history that begins. Returns its number in the stress run; none outside of one.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    super::stress::add_history(history)
}

/// Counts a condition in the stress run, if there is one.
pub(crate) fn note_condition(condition: Condition) {
    super::stress::note_condition(condition);
}

/// Adds a generated program that begins to run.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    super::stress::add_program(program);
}

/// Ends the run as failed; outside a stress run, does nothing.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    super::stress::fail(failure);
}

/// Reports progress within a long step of the task of this thread.
pub(crate) fn beat() {
    super::stress::beat();
}

/// The time for which no task of the stress run of this thread may move; none outside of one.
pub(crate) fn hang_limit() -> Option<std::time::Duration> {
    super::stress::hang_limit()
}

/// Returns `true` if a simulated run is on on this thread: never in this build.
pub(crate) fn in_run() -> bool {
    false
}
