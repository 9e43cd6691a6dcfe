//! Values that are created once: the cell of async-lock.

use super::Here;
use super::point::point;
use crate::real::nameless::Object;
use crate::run::op::Op;
use crate::seam::once::{OnceOps, RealOnce};

/// A value that is created once.
#[derive(Debug)]
pub(crate) struct OnceValue<T> {
    pub(crate) object: Object,
    real: RealOnce<T>,
}

impl<T> OnceValue<T> {
    pub(crate) const fn new(_: &'static str, _: Here) -> OnceValue<T> {
        OnceValue { object: Object, real: RealOnce::new() }
    }

    pub(crate) const fn of_static(kind: &'static str, here: Here) -> OnceValue<T> {
        OnceValue::new(kind, here)
    }

    /// Returns the value. If it does not exist, `make` creates it. The argument of `make` is `true` if a previous
    /// attempt has panicked.
    pub(crate) async fn get_or_make<F: Future<Output = T>>(
        &self,
        _: &'static OnceOps,
        _: Here,
        make: impl FnOnce(bool) -> F,
    ) -> &T {
        point(|_| ()).await;
        self.real.get_or_make(make).await
    }

    /// Waits until the value exists.
    pub(crate) async fn wait(&self, _: &'static OnceOps, _: Here) -> &T {
        point(|_| ()).await;
        self.real.cell.wait().await
    }

    /// Returns the value, if it exists.
    pub(crate) async fn get(&self, _: &'static Op, _: Here) -> Option<&T> {
        point(|_| self.real.cell.get()).await
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.real.cell.get_mut()
    }

    pub(crate) fn into_inner(self) -> Option<T> {
        self.real.cell.into_inner()
    }

    /// Takes the value, if it exists, and leaves the cell empty.
    pub(crate) fn take(&mut self) -> Option<T> {
        std::mem::replace(&mut self.real, RealOnce::new()).cell.into_inner()
    }
}
