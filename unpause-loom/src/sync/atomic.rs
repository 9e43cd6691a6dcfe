//! loom's `sync::atomic`: std's atomics, and two ways to access their memory without an operation.

use std::fmt;
use std::sync::atomic as std_atomic;

pub use std::sync::atomic::{Ordering, compiler_fence, fence};

/// std's `spin_loop`.
pub fn spin_loop_hint() {
    std::hint::spin_loop();
}

/// The methods that all atomics have.
macro_rules! atomic {
    ($(#[$attribute:meta])* $name:ident [$($of:ident)?] $value:ty, $std:ty; $($change:ident)*) => {
        $(#[$attribute])*
        pub struct $name $(<$of>)? ($std);

        impl $(<$of>)? $name $(<$of>)? {
            /// An atomic with this value.
            pub const fn new(value: $value) -> Self {
                $name(<$std>::new(value))
            }

            /// The value, read without an operation.
            ///
            /// # Safety
            /// No other thread may write meanwhile.
            pub unsafe fn unsync_load(&self) -> $value {
                // SAFETY: the caller's.
                unsafe { *self.0.as_ptr() }
            }

            /// Calls `act` with the value.
            pub fn with_mut<R>(&mut self, act: impl FnOnce(&mut $value) -> R) -> R {
                act(self.0.get_mut())
            }

            /// The value.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// The value, by a load.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            /// Stores a value.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            /// Stores a value. Returns the previous one.
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
            /// The value, if it is another one.
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

            /// The same, and it may also fail if the value is `current`.
            ///
            /// # Errors
            /// The value.
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

            /// Stores what `act` makes of the value, as long as it gives one. Returns the previous value.
            ///
            /// # Errors
            /// The value, if `act` gives none.
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

            $(
                /// The operation of this name in std. Returns the previous value.
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
            /// std's atomic of this name.
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
