//! Guards: their record in the run, and items common to all guards.

use crate::run::op::Op;
use crate::seam::{Here, Owner};

/// Records the release of an object when this value is dropped, after tokio's guard, in the same step.
#[derive(Debug)]
pub(super) struct Held<O: Owner> {
    pub(super) owner: O,
    release: &'static Op,
    here: Here,
}

impl<O: Owner> Held<O> {
    /// Creates a guard that records `release` when the guard is dropped. The object already counts as held.
    pub(super) fn new(owner: O, release: &'static Op, here: Here) -> Held<O> {
        Held { owner, release, here }
    }

    /// Returns the same release, recorded for `owner`, which refers to the same object.
    pub(super) fn owned_by<P: Owner>(self, owner: P) -> Held<P>
    where
        O: Copy,
    {
        let held = Held { owner, release: self.release, here: self.here };
        // The new value records the release, once. A copied owner needs no drop.
        std::mem::forget(self);
        held
    }

    /// Returns the same record with another release operation.
    pub(super) fn releasing(mut self, release: &'static Op) -> Held<O> {
        self.release = release;
        self
    }
}

impl<O: Owner> Drop for Held<O> {
    fn drop(&mut self) {
        self.owner.wrapped().give_up(self.release, self.here, 1);
    }
}

/// Writes the `Deref` of guards to their value, and their texts.
macro_rules! guards {
    ($([$($generics:tt)*] $guard:ty, $value:ty)*) => {$(
        impl<$($generics)*> std::ops::Deref for $guard {
            type Target = $value;

            fn deref(&self) -> &$value {
                &self.real
            }
        }

        impl<$($generics)*> std::fmt::Debug for $guard
        where
            $value: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($generics)*> std::fmt::Display for $guard
        where
            $value: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}

/// Writes the `DerefMut` of guards that may change the value.
macro_rules! writers {
    ($([$($generics:tt)*] $guard:ty, $value:ty)*) => {$(
        impl<$($generics)*> std::ops::DerefMut for $guard {
            fn deref_mut(&mut self) -> &mut $value {
                &mut self.real
            }
        }
    )*};
}

pub(super) use {guards, writers};
