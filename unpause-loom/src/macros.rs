//! loom's macros. A run of the engine starts with new thread-locals, and with the initial values of statics.

/// std's `thread_local!`. Each run has new values.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visible:vis static $name:ident: $type:ty = const $value:block; $($rest:tt)*) => {
        $crate::thread_local! { $(#[$attribute])* $visible static $name: $type = $value; $($rest)* }
    };
    ($(#[$attribute:meta])* $visible:vis static $name:ident: $type:ty = const $value:block) => {
        $crate::thread_local! { $(#[$attribute])* $visible static $name: $type = $value; }
    };
    ($(#[$attribute:meta])* $visible:vis static $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        ::std::thread_local! {
            $(#[$attribute])* $visible static $name: $type = {
                $crate::thread::__local(::std::mem::needs_drop::<$type>());
                $value
            };
        }
        $crate::thread_local! { $($rest)* }
    };
    ($(#[$attribute:meta])* $visible:vis static $name:ident: $type:ty = $value:expr) => {
        $crate::thread_local! { $(#[$attribute])* $visible static $name: $type = $value; }
    };
}

/// The `lazy_static!` of the crate `lazy_static`. The value is created once in each run, and dropped at the end of the
/// run.
#[macro_export]
macro_rules! lazy_static {
    ($(#[$attribute:meta])* static ref $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::__lazy_static! { $(#[$attribute])* () $name: $type = $value }
        $crate::lazy_static! { $($rest)* }
    };
    ($(#[$attribute:meta])* pub static ref $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::__lazy_static! { $(#[$attribute])* (pub) $name: $type = $value }
        $crate::lazy_static! { $($rest)* }
    };
    ($(#[$attribute:meta])* pub ($($where:tt)+) static ref $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::__lazy_static! { $(#[$attribute])* (pub ($($where)+)) $name: $type = $value }
        $crate::lazy_static! { $($rest)* }
    };
    () => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ($(#[$attribute:meta])* ($($visible:tt)*) $name:ident: $type:ty = $value:expr) => {
        #[allow(non_camel_case_types, dead_code, missing_docs, missing_copy_implementations)]
        $(#[$attribute])*
        $($visible)* struct $name {
            _private: (),
        }
        #[doc(hidden)]
        $($visible)* static $name: $name = $name { _private: () };
        impl ::std::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> = $crate::lazy_static::Lazy::new(|| $value);
                LAZY.get()
            }
        }
    };
}
