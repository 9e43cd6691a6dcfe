//! loom's `sync::atomic`: std's atomics, plus two ways to access the value without an atomic operation.

use std::fmt;
use std::sync::atomic as std_atomic;

pub use std::sync::atomic::{Ordering, compiler_fence, fence};

/// Calls std's `spin_loop`.
pub fn spin_loop_hint() {
    std::hint::spin_loop();
}

/// Writes the methods common to all atomics.
macro_rules! atomic {
    ($(#[$attribute:meta])* $name:ident [$($of:ident)?] $value:ty, $std:ty; $($change:ident)*) => {
        $(#[$attribute])*
        pub struct $name $(<$of>)? ($std);

        impl $(<$of>)? $name $(<$of>)? {
            /// Creates an atomic with this value.
            pub const fn new(value: $value) -> Self {
                $name(<$std>::new(value))
            }

            /// Reads the value without an atomic operation.
            ///
            /// # Safety
            /// No other thread may write at the same time.
            ///
            /// # Panics
            /// If another thread changes the value at the same time.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                // A search tries each store between the two loads. With the memory `c11`, a load may return an older
                // value only if no memory order puts the missed store before it.
                let before = self.0.load(Ordering::Relaxed);
                // SAFETY: guaranteed by the caller.
                let value = unsafe { *self.0.as_ptr() };
                let after = self.0.load(Ordering::Relaxed);
                if before != value || value != after {
                    panic!("Causality violation: an unsync_load beside a store of another thread");
                }
                value
            }

            /// Calls `act` with the value.
            pub fn with_mut<R>(&mut self, act: impl FnOnce(&mut $value) -> R) -> R {
                act(self.0.get_mut())
            }

            /// Returns the value.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// Loads the value.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            /// Stores a value.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            /// Stores a value, and returns the previous value.
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.0.swap(value, order)
            }

            /// Stores `new` if the value is `current`. Returns the previous value.
            #[inline]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
                    Ordering::SeqCst => Ordering::SeqCst,
                    _ => Ordering::Acquire,
                };
                match self.0.compare_exchange(current, new, order, failure) {
                    Ok(previous) | Err(previous) => previous,
                }
            }

            /// Stores `new` if the value is `current`.
            ///
            /// # Errors
            /// Returns the value if it is not `current`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Like `compare_exchange`, but may also fail if the value is `current`.
            ///
            /// # Errors
            /// Returns the value.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// Stores the result of `act` for the value, if `act` returns one. Returns the previous value.
            ///
            /// # Errors
            /// Returns the value if `act` returns `None`.
            #[inline]
            pub fn fetch_update<F>(
                &self,
                set: Ordering,
                fetch: Ordering,
                act: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.0.fetch_update(set, fetch, act)
            }

            /// Does the same as [`fetch_update`](Self::fetch_update).
            ///
            /// # Errors
            /// Returns the value if `act` returns `None`.
            #[inline]
            pub fn try_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                act: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.0.fetch_update(set, fetch, act)
            }

            /// Stores the result of `act` for the value. Returns the previous value.
            #[inline]
            pub fn update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut act: impl FnMut($value) -> $value,
            ) -> $value {
                match self.0.fetch_update(set, fetch, |value| Some(act(value))) {
                    Ok(previous) | Err(previous) => previous,
                }
            }

            $(
                /// Performs std's operation with the same name. Returns the previous value.
                #[inline]
                pub fn $change(&self, value: $value, order: Ordering) -> $value {
                    self.0.$change(value, order)
                }
            )*
        }

        impl $(<$of>)? Default for $name $(<$of>)? {
            fn default() -> Self {
                $name(<$std>::default())
            }
        }

        impl $(<$of>)? From<$value> for $name $(<$of>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $(<$of>)? fmt::Debug for $name $(<$of>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident $int:ty;)*) => {$(
        atomic! {
            /// std's atomic with the same name.
            $name [] $int, std_atomic::$name;
            fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min
        }
    )*};
}

integers! {
    AtomicI8 i8; AtomicI16 i16; AtomicI32 i32; AtomicI64 i64; AtomicIsize isize;
    AtomicU8 u8; AtomicU16 u16; AtomicU32 u32; AtomicU64 u64; AtomicUsize usize;
}

atomic! {
    /// std's `AtomicBool`.
    AtomicBool [] bool, std_atomic::AtomicBool;
    fetch_and fetch_nand fetch_or fetch_xor
}

atomic! {
    /// std's `AtomicPtr`.
    AtomicPtr [T] *mut T, std_atomic::AtomicPtr<T>;
}
