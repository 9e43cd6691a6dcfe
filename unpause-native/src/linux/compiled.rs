//! The compiled part of std: whether the program is linked with instrumented replacements of its functions, and entries
//! of functions that have none.

use std::arch::naked_asm;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, PoisonError};

use super::thread::{inside, outside};

/// The functions that simulated threads have entered since [`take_entered`].
static ENTERED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns `true` if the functions of std that synchronise threads are replaced by instrumented ones in this program.
pub fn std_is_replaced() -> bool {
    marker() != 0
}

/// The address of a symbol that is linked with the replacements; 0 if they are not linked.
#[unsafe(naked)]
extern "C" fn marker() -> usize {
    naked_asm!(
        ".weak unpause_std_replaced",
        "mov rax, [rip + unpause_std_replaced@GOTPCREL]",
        "ret",
    )
}

/// The functions of std with locks of their own that simulated threads have entered since the last call, by path.
/// Operations on these locks are no requests.
pub fn take_entered() -> Vec<&'static str> {
    let mut entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *entered).into_iter().collect()
}

/// Notes that a function with this path is entered.
///
/// # Safety
/// The path ends with a zero and is never freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn unpause_std_entered(path: *const c_char) {
    if !inside() {
        return;
    }
    outside(|| {
        // SAFETY: the caller's.
        let path: &'static CStr = unsafe { CStr::from_ptr(path) };
        let path = path.to_str().unwrap_or("a function of std");
        ENTERED.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_replacements_has_none() {
        assert!(!std_is_replaced());
    }

    #[test]
    fn entries_outside_of_runs_are_not_noted() {
        // SAFETY: a constant.
        unsafe { unpause_std_entered(c"std::env::var".as_ptr()) };
        assert!(take_entered().is_empty());
    }
}
