//! The values behind [`lazy_static!`](crate::lazy_static!).

use std::fmt;
use std::sync::OnceLock;

#[doc(hidden)]
pub use std::ops::Deref as __Deref;

// As in the crate `lazy_static`, the macro has this path, too.
pub use crate::lazy_static;

/// A static with a value that is created at its first use in a run. The engine resets statics to their initial values
/// when a run begins. On real threads, the value is kept.
pub struct Lazy<T: Sync> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T: Sync> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { value: OnceLock::new(), make }
    }

    /// Returns the value.
    pub fn get(&'static self) -> &'static T {
        self.value.get_or_init(self.make)
    }
}

impl<T: Sync> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// A static of [`lazy_static!`](crate::lazy_static!).
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Creates the value of a static, unless it exists.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}
