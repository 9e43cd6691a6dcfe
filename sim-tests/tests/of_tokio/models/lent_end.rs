//! The end of a channel, lent to one call at a time.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// The end that a task has, if it has one.
pub(super) struct Slot<T>(Mutex<Option<T>>);

impl<T> Slot<T> {
    pub(super) fn new(end: Option<T>) -> Slot<T> {
        Slot(Mutex::new(end))
    }

    /// Removes the end.
    pub(super) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn put(&self, end: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    /// Lends the end until the result is dropped.
    pub(super) fn lend(&self) -> Option<Lent<'_, T>> {
        Some(Lent { end: Some(self.take()?), slot: self })
    }
}

pub(super) struct Lent<'a, T> {
    end: Option<T>,
    slot: &'a Slot<T>,
}

impl<T> Lent<'_, T> {
    /// Drops the end.
    pub(super) fn end(mut self) {
        self.end = None;
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.end.as_ref().expect("it is lent")
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.end.as_mut().expect("it is lent")
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        self.end.take().into_iter().for_each(|end| self.slot.put(end));
    }
}
