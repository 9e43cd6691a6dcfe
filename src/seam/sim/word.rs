//! Words: the shared memory of atomics.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::Here;
use super::point::{At, Point, Source};
use crate::rt::{Deed, Object, WORLD, in_run, meet};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;
use crate::seam::value::{BitChange, Bits, Number, NumberChange, Value};

/// A word of shared memory.
#[derive(Debug)]
pub(crate) struct Word<T: Value> {
    /// The value with which each run begins and, unless this is a static, the one outside runs.
    std: T::Std,
    is_static: bool,
    /// Of a static, the value outside runs, once somebody looked at it.
    outside: OnceLock<T::Std>,
    pub(crate) object: Object,
}

impl<T: Value> Word<T> {
    pub(crate) fn new(value: T, here: Here) -> Word<T> {
        let object = Object::new("atomic", here, true);
        if in_run() {
            WORLD.with(|world| world.created(&object, T::KIND, value.to_bits()));
        }
        Word { std: value.std(), is_static: false, outside: OnceLock::new(), object }
    }

    pub(crate) const fn of_static(std: T::Std, here: Here) -> Word<T> {
        let object = Object::new("atomic", here, true);
        Word { std, is_static: true, outside: OnceLock::new(), object }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        if let Some(bits) = self.bits_in_run() {
            *T::std_get_mut(&mut self.std) = T::from_bits(bits);
            self.object.forget();
            return T::std_get_mut(&mut self.std);
        }
        T::std_get_mut(self.outside.get_mut().unwrap_or(&mut self.std))
    }

    pub(crate) fn into_inner(self) -> T {
        match self.bits_in_run() {
            Some(bits) => T::from_bits(bits),
            None => T::std_into_inner(self.outside.into_inner().unwrap_or(self.std)),
        }
    }

    /// The word outside runs.
    #[inline]
    fn real(&self) -> &T::Std {
        if !self.is_static {
            return &self.std;
        }
        self.outside.get_or_init(|| T::std_load(&self.std, Ordering::Relaxed).std())
    }

    fn bits_in_run(&self) -> Option<u64> {
        if !in_run() {
            return None;
        }
        WORLD.with(|world| world.peek(&self.object))
    }

    #[inline]
    pub(crate) fn point<F, R>(&self, op: &'static Op, here: Here, effect: F) -> Point<'_, Self, F>
    where
        F: FnMut(&At<'_>) -> R,
    {
        Point::new(self, op, here, effect)
    }

    #[inline]
    pub(crate) fn load(&self, at: &At<'_>, order: Ordering) -> T {
        match at {
            At::Real => T::std_load(self.real(), order),
            At::Run(deed) => T::from_bits(deed.load()),
        }
    }

    #[inline]
    pub(crate) fn store(&self, at: &At<'_>, value: T, order: Ordering) {
        match at {
            At::Real => T::std_store(self.real(), value, order),
            At::Run(deed) => deed.store(value.to_bits()),
        }
    }

    pub(crate) fn swap(&self, at: &At<'_>, value: T, order: Ordering) -> T {
        match at {
            At::Real => T::std_swap(self.real(), value, order),
            At::Run(deed) => change(deed, |_| value),
        }
    }

    /// The point of a compare-exchange. Its future is not made by the caller from
    /// [`point`](Self::point), because the real build needs one of its own.
    #[inline]
    pub(crate) fn exchange(
        &self,
        op: &'static Op,
        here: Here,
        (current, new): (T, T),
        orders: (Ordering, Ordering),
        weak: bool,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        let (current, new) = (current.into_raw(), new.into_raw());
        self.point(op, here, move |at| {
            self.compare_exchange(at, (T::from_raw(&current), T::from_raw(&new)), orders, weak)
        })
    }

    fn compare_exchange(
        &self,
        at: &At<'_>,
        (current, new): (T, T),
        (success, failure): (Ordering, Ordering),
        weak: bool,
    ) -> Result<T, T> {
        match at {
            At::Real if weak => {
                T::std_compare_exchange_weak(self.real(), current, new, success, failure)
            }
            At::Real => T::std_compare_exchange(self.real(), current, new, success, failure),
            At::Run(deed) => {
                let (wanted, new) = (current.to_bits(), new.to_bits());
                let old = deed.change(wanted, |old| (old == wanted).then_some(new));
                if old == wanted { Ok(T::from_bits(old)) } else { Err(T::from_bits(old)) }
            }
        }
    }

    #[inline]
    pub(crate) fn change(&self, at: &At<'_>, kind: BitChange, value: T, order: Ordering) -> T
    where
        T: Bits,
    {
        match at {
            At::Real => T::std_change(self.real(), kind, value, order),
            At::Run(deed) => change(deed, |old| T::change(old, kind, value)),
        }
    }

    #[inline]
    pub(crate) fn compute(&self, at: &At<'_>, kind: NumberChange, value: T, order: Ordering) -> T
    where
        T: Number,
    {
        match at {
            At::Real => T::std_compute(self.real(), kind, value, order),
            At::Run(deed) => change(deed, |old| T::compute(old, kind, value)),
        }
    }
}

#[inline]
fn change<T: Value>(deed: &Deed, change: impl FnOnce(T) -> T) -> T {
    T::from_bits(deed.change(0, |old| Some(change(T::from_bits(old)).to_bits())))
}

impl<T: Value> Source for Word<T> {
    #[inline]
    fn meet(&self, place: Place) -> Option<ObjectId> {
        let initial = || T::std_load(&self.std, Ordering::Relaxed).to_bits();
        Some(meet(&self.object, T::KIND, place, initial))
    }
}
