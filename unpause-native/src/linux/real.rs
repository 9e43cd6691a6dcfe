//! The functions of libc whose names this crate takes.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The address of libc's function `name`, kept in `known`.
///
/// # Panics
/// If libc has none.
pub(crate) fn address(name: &CStr, known: &AtomicUsize) -> usize {
    match known.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the name ends with a zero.
            let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
            assert!(address != 0, "libc has no function {name:?}");
            known.store(address, Ordering::Relaxed);
            address
        }
        address => address,
    }
}

/// libc's function of a name and a type. In an unsafe block: the function must have this type.
macro_rules! real {
    ($name:literal, $type:ty) => {{
        static KNOWN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        std::mem::transmute::<usize, $type>($crate::linux::real::address($name, &KNOWN))
    }};
}
pub(crate) use real;
