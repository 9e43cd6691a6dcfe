//! Words: the shared memory of atomics.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use super::Here;
use super::point::{Backend, Point, RunObject};
use crate::rt::{Asked, Object, PendingOp, WORLD, World, in_run, made, may_fail_weakly, object_id};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;
use crate::seam::value::{BitChange, Bits, Number, NumberChange, Value};

/// A word of shared memory.
#[derive(Debug)]
pub(crate) struct Word<T: Value> {
    /// The initial value in each run. Unless this is a static, also the value outside of runs.
    std: T::Std,
    is_static: bool,
    /// For a static, the value outside of runs, set by its first use.
    outside: OnceLock<T::Std>,
    pub(crate) object: Object,
}

impl<T: Value> Word<T> {
    pub(crate) fn new(value: T, here: Here) -> Word<T> {
        let object = made(Object::new("atomic", here, true), T::KIND, value.to_bits());
        Word { std: value.std(), is_static: false, outside: OnceLock::new(), object }
    }

    pub(crate) const fn of_static(std: T::Std, here: Here) -> Word<T> {
        let object = Object::of_static("atomic", here);
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

    /// Returns the value. The read is an event of the step, without a point.
    pub(crate) fn peek(&self, here: Here) -> T {
        if !in_run() {
            return T::std_load(self.real(), Ordering::SeqCst);
        }
        let initial = || T::std_load(&self.std, Ordering::Relaxed).to_bits();
        let id = object_id(&self.object, T::KIND, here, initial);
        let bits = WORLD.with(|world| world.word(id));
        WORLD.with(|world| world.looked(id, here, Values::Read(bits)));
        T::from_bits(bits)
    }

    pub(crate) fn into_inner(self) -> T {
        match self.bits_in_run() {
            Some(bits) => T::from_bits(bits),
            None => T::std_into_inner(self.outside.into_inner().unwrap_or(self.std)),
        }
    }

    /// Returns the std atomic for use outside of runs.
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
        F: FnMut(&Backend<'_>) -> R,
    {
        Point::new(self, op, here, effect)
    }

    #[inline]
    pub(crate) fn load(&self, backend: &Backend<'_>, order: Ordering) -> T {
        match backend {
            Backend::Real => T::std_load(self.real(), order),
            Backend::Run(pending) => T::from_bits(pending.load(order)),
        }
    }

    #[inline]
    pub(crate) fn store(&self, backend: &Backend<'_>, value: T, order: Ordering) {
        match backend {
            Backend::Real => T::std_store(self.real(), value, order),
            Backend::Run(pending) => pending.store(value.to_bits(), order),
        }
    }

    pub(crate) fn swap(&self, backend: &Backend<'_>, value: T, order: Ordering) -> T {
        match backend {
            Backend::Real => T::std_swap(self.real(), value, order),
            Backend::Run(pending) => change(pending, order, |_| value),
        }
    }

    /// Returns the point of a compare-exchange. The caller does not create its future with
    /// [`point`](Self::point), because the real build needs a separate type.
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
        self.point(op, here, move |backend| {
            self.compare_exchange(backend, (T::from_raw(&current), T::from_raw(&new)), orders, weak)
        })
    }

    fn compare_exchange(
        &self,
        backend: &Backend<'_>,
        (current, new): (T, T),
        (success, failure): (Ordering, Ordering),
        weak: bool,
    ) -> Result<T, T> {
        match backend {
            Backend::Real if weak => {
                T::std_compare_exchange_weak(self.real(), current, new, success, failure)
            }
            Backend::Real => T::std_compare_exchange(self.real(), current, new, success, failure),
            Backend::Run(pending) => {
                let (wanted, new) = (current.to_bits(), new.to_bits());
                let asked = Asked::to_exchange((success, failure));
                if weak && may_fail_weakly() {
                    // If the operation fails anyway, it needs no decision about a spurious failure.
                    let word = |id| WORLD.with(|world| world.word(id));
                    let would_succeed = pending.object.map(word) == Some(wanted);
                    if would_succeed && WORLD.with(World::fails_weakly) {
                        return Err(T::from_bits(pending.change(asked, wanted, |_| None)));
                    }
                    if !would_succeed {
                        WORLD.with(|world| world.fails_on_newest_only(asked));
                    }
                }
                let old = pending.change(asked, wanted, |old| (old == wanted).then_some(new));
                if old == wanted { Ok(T::from_bits(old)) } else { Err(T::from_bits(old)) }
            }
        }
    }

    #[inline]
    pub(crate) fn change(
        &self,
        backend: &Backend<'_>,
        kind: BitChange,
        value: T,
        order: Ordering,
    ) -> T
    where
        T: Bits,
    {
        match backend {
            Backend::Real => T::std_change(self.real(), kind, value, order),
            Backend::Run(pending) => change(pending, order, |old| T::change(old, kind, value)),
        }
    }

    #[inline]
    pub(crate) fn compute(
        &self,
        backend: &Backend<'_>,
        kind: NumberChange,
        value: T,
        order: Ordering,
    ) -> T
    where
        T: Number,
    {
        match backend {
            Backend::Real => T::std_compute(self.real(), kind, value, order),
            Backend::Run(pending) => change(pending, order, |old| T::compute(old, kind, value)),
        }
    }
}

#[inline]
fn change<T: Value>(pending: &PendingOp, order: Ordering, change: impl Fn(T) -> T) -> T {
    T::from_bits(
        pending.change(Asked::to_write(order), 0, |old| Some(change(T::from_bits(old)).to_bits())),
    )
}

impl<T: Value> RunObject for Word<T> {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        let initial = || T::std_load(&self.std, Ordering::Relaxed).to_bits();
        Some(object_id(&self.object, T::KIND, place, initial))
    }
}
