//! A tokio object that its guards may share.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An object created from a value at its first use, because a constant cannot allocate.
pub(super) struct Later<T, R> {
    value: Mutex<Option<T>>,
    real: OnceLock<Arc<R>>,
    make: fn(T) -> R,
}

impl<T, R> Later<T, R> {
    pub(super) const fn new(value: T, make: fn(T) -> R) -> Later<T, R> {
        Later { value: Mutex::new(Some(value)), real: OnceLock::new(), make }
    }

    /// Returns the object.
    pub(super) fn get(&self) -> &Arc<R> {
        self.real.get_or_init(|| {
            let value = self.value.lock().unwrap_or_else(PoisonError::into_inner).take();
            Arc::new((self.make)(value.expect("taken once")))
        })
    }

    /// Returns the object, which no guard shares.
    pub(super) fn get_mut(&mut self) -> &mut R {
        self.get();
        let real = self.real.get_mut().and_then(Arc::get_mut);
        real.expect("an owned guard keeps its lock, so there is none")
    }

    /// Returns the object, which no guard shares.
    pub(super) fn into_inner(self) -> R {
        self.get();
        let real = self.real.into_inner().and_then(Arc::into_inner);
        real.expect("an owned guard keeps its lock, so there is none")
    }
}
