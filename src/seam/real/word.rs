//! A word of shared memory: the std atomic.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use super::Here;
use super::point::{Backend, Point, give_way};
use crate::real::jitter::jitter;
use crate::real::nameless::Object;
use crate::real::statics::StaticValues;
use crate::run::op::Op;
use crate::seam::SPENT;
use crate::seam::value::{BitChange, Bits, Number, NumberChange, Value};

/// A word of shared memory.
#[derive(Debug)]
pub(crate) struct Word<T: Value> {
    std: T::Std,
    own: StaticValues<T::Std>,
    pub(crate) object: Object,
}

/// Applies an expression to the std atomic of a word. Without debug assertions, the macro uses no closure, because no
/// attribute forces the inlining of a closure.
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
        Word { std: value.std(), own: StaticValues::none(), object: Object }
    }

    pub(crate) const fn of_static(std: T::Std, _: Here) -> Word<T> {
        Word { std, own: StaticValues::of_static(), object: Object }
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        T::std_get_mut(self.own.alone(&mut self.std))
    }

    #[inline(always)]
    pub(crate) fn peek(&self, _: Here) -> T {
        on!(self, std => T::std_load(std, Ordering::SeqCst))
    }

    #[inline(always)]
    pub(crate) fn into_inner(self) -> T {
        T::std_into_inner(self.own.into_value(self.std))
    }

    #[inline(always)]
    pub(crate) fn point<F, R>(&self, _: &'static Op, _: Here, effect: F) -> Point<'_, F>
    where
        F: FnOnce(&Backend<'_>) -> R,
    {
        Point::new(effect)
    }

    #[inline(always)]
    pub(crate) fn load(&self, _: &Backend<'_>, order: Ordering) -> T {
        on!(self, std => T::std_load(std, order))
    }

    #[inline(always)]
    pub(crate) fn store(&self, _: &Backend<'_>, value: T, order: Ordering) {
        on!(self, std => T::std_store(std, value, order))
    }

    #[inline(always)]
    pub(crate) fn swap(&self, _: &Backend<'_>, value: T, order: Ordering) -> T {
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
    pub(crate) fn change(&self, _: &Backend<'_>, change: BitChange, value: T, order: Ordering) -> T
    where
        T: Bits,
    {
        on!(self, std => T::std_change(std, change, value, order))
    }

    #[inline(always)]
    pub(crate) fn compute(
        &self,
        _: &Backend<'_>,
        change: NumberChange,
        value: T,
        order: Ordering,
    ) -> T
    where
        T: Number,
    {
        on!(self, std => T::std_compute(std, change, value, order))
    }
}

/// A compare-exchange.
///
/// As the closure of a [`Point`], it would be a call even in optimised code: the match over the memory orders is large,
/// and it is constant only after inlining. An attribute can force the inlining of a function, but not of a closure.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Exchange<'a, T: Value> {
    word: &'a Word<T>,
    values: Option<(T::Raw, T::Raw)>,
    orders: (Ordering, Ordering),
    weak: bool,
}

// No field of the future is pinned.
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
