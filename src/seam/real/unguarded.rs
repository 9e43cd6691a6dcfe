//! Values without synchronisation of their own. Accesses that overlap are detected; other data races are not.

use std::marker::PhantomData;
use std::sync::{Arc, PoisonError, RwLock};

use super::Here;
use crate::real::nameless::Object;
use crate::real::statics::StaticValues;
use crate::seam::entered::entered;

/// A value that other means must protect.
#[derive(Debug)]
pub(crate) struct Unguarded<T> {
    value: RwLock<T>,
    own: StaticValues<RwLock<T>>,
    /// Copies the value of a static.
    copy: Option<fn(&T) -> T>,
    pub(crate) object: Object,
    /// Gives the cell the auto traits that it has in the simulating build.
    auto: PhantomData<Arc<RwLock<T>>>,
}

impl<T> Unguarded<T> {
    pub(crate) const fn new(value: T, _: Here) -> Unguarded<T> {
        Unguarded {
            value: RwLock::new(value),
            own: StaticValues::none(),
            copy: None,
            object: Object,
            auto: PhantomData,
        }
    }

    pub(crate) const fn of_static(value: T, copy: fn(&T) -> T, _: Here) -> Unguarded<T> {
        Unguarded {
            value: RwLock::new(value),
            own: StaticValues::of_static(),
            copy: Some(copy),
            object: Object,
            auto: PhantomData,
        }
    }

    /// Passes the value to `read`.
    #[inline]
    pub(crate) fn read<R>(&self, _: Here, read: impl FnOnce(&T) -> R) -> R {
        self.with(|lock| {
            let value = entered(lock.try_read());
            read(&value)
        })
    }

    /// Passes the value to `write`.
    #[inline]
    pub(crate) fn write<R>(&self, _: Here, write: impl FnOnce(&mut T) -> R) -> R {
        self.with(|lock| {
            let mut value = entered(lock.try_write());
            write(&mut value)
        })
    }

    #[inline]
    fn with<R>(&self, act: impl FnOnce(&RwLock<T>) -> R) -> R {
        let copy = |made: &RwLock<T>| {
            let copy = self.copy.expect("a static has a function that copies its value");
            RwLock::new(copy(&made.read().unwrap_or_else(PoisonError::into_inner)))
        };
        self.own.with(&self.value, copy, act)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        let value = self.own.alone(&mut self.value);
        value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        let value = self.own.into_value(self.value);
        value.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
