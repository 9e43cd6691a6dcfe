//! A value of any type that is read and written as a whole, behind a std mutex.

use std::sync::{Mutex, PoisonError};

use super::Here;
use super::point::{Backend, Point};
use crate::real::nameless::Object;
use crate::real::statics::StaticValues;
use crate::run::event::Values;
use crate::run::op::Op;

/// A value of any type that is read and written as a whole.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    value: Mutex<T>,
    own: StaticValues<Mutex<T>>,
    pub(crate) object: Object,
}

impl<T> Slot<T> {
    pub(crate) const fn new(value: T, _: Here) -> Slot<T> {
        Slot { value: Mutex::new(value), own: StaticValues::none(), object: Object }
    }

    pub(crate) const fn of_static(value: T, _: Here) -> Slot<T> {
        Slot { value: Mutex::new(value), own: StaticValues::of_static(), object: Object }
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
        F: FnOnce(&Backend<'_>) -> R,
    {
        Point::new(effect)
    }

    /// Passes the value to `look`.
    pub(crate) fn peek<R>(&self, _: Here, look: impl FnOnce(&T) -> R) -> R
    where
        T: Clone + Send + 'static,
    {
        let copy = |made: &Mutex<T>| {
            Mutex::new(made.lock().unwrap_or_else(PoisonError::into_inner).clone())
        };
        let act = |value: &Mutex<T>| look(&value.lock().unwrap_or_else(PoisonError::into_inner));
        self.own.with(&self.value, copy, act)
    }

    /// Passes the value to `access`. Only traces need `show`, so it is ignored.
    #[inline]
    pub(crate) fn access<R>(
        &self,
        _: &Backend<'_>,
        access: impl FnOnce(&mut T) -> R,
        _: impl FnOnce(&R, &T) -> Values,
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
