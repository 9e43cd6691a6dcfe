//! The values behind [`lazy_static!`](crate::lazy_static!).

use std::sync::OnceLock;

/// A static whose value is made at its first use in a run. The engine gives statics their first values when a run
/// begins; on real threads the value stays.
#[derive(Debug)]
pub struct Lazy<T: Sync> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T: Sync> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { value: OnceLock::new(), make }
    }

    /// The value.
    pub fn get(&'static self) -> &'static T {
        self.value.get_or_init(self.make)
    }
}

/// A static of [`lazy_static!`](crate::lazy_static!).
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value of a static, if it does not exist.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}
