//! The libc functions that this crate replaces.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the address of libc's function `name`, and stores it in `known`.
///
/// # Panics
/// Panics if libc does not have the function.
pub(crate) fn address(name: &CStr, known: &AtomicUsize) -> usize {
    match known.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the name is null-terminated.
            let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
            assert!(address != 0, "libc has no function {name:?}");
            known.store(address, Ordering::Relaxed);
            address
        }
        address => address,
    }
}

/// Evaluates to libc's function with a name and a type. Must be used in an unsafe block, because
/// the function must have this type.
macro_rules! real {
    ($name:literal, $type:ty) => {{
        static KNOWN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        std::mem::transmute::<usize, $type>($crate::linux::real::address($name, &KNOWN))
    }};
}
pub(crate) use real;
