//! loom's `hint`: std's `spin_loop`, and an `unreachable_unchecked` that panics.

pub use std::hint::spin_loop;

/// Panics, as in loom: code that claims to be unreachable is reached.
///
/// # Safety
/// The call is safe. Like std's function, it is marked as unsafe.
///
/// # Panics
/// Always.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("unreachable_unchecked was reached!");
}
