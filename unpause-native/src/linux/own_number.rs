//! The number of the process, in paths of the program. A program often adds its number to the name of a file, and then
//! this name differs from process to process, although the file has the same meaning in each of them.
//!
//! A name contains the number only if the program has read the number first. Other names with the same digits are fixed
//! names, for example `part-8` in process 8. A name that the program has used before it read the number stays a fixed
//! name.
//!
//! # Limits
//!
//! If a program has read its number, and then first uses a fixed name with the same digits, the name counts as a name
//! with the number. The number is found only in decimal digits.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::real::real;
use super::thread::current;

/// True if a run has read the number.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// The paths with the digits of the number that the program has used before it read the number.
static FIXED: Mutex<BTreeSet<Vec<u8>>> = Mutex::new(BTreeSet::new());

/// Returns `true` if the digits of the process number in this path are the number, and not a part of a fixed name.
pub(crate) fn is_in(path: &[u8]) -> bool {
    let mut fixed = FIXED.lock().unwrap_or_else(PoisonError::into_inner);
    contains(path, IS_READ.load(Ordering::Relaxed), &mut fixed)
}

fn contains(path: &[u8], is_read: bool, fixed: &mut BTreeSet<Vec<u8>>) -> bool {
    // The kernel has named this folder, and has resolved `/proc/self` to it.
    if path.starts_with(b"/proc/") {
        return true;
    }
    match is_read {
        true => !fixed.contains(path),
        false => {
            fixed.insert(path.to_vec());
            false
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn getpid() -> libc::pid_t {
    // A signal handler may call this function, so it acquires no lock.
    if current().is_some() {
        IS_READ.store(true, Ordering::Relaxed);
    }
    // SAFETY: the function has no arguments.
    unsafe { real!(c"getpid", unsafe extern "C" fn() -> libc::pid_t)() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_contains_the_number_only_after_it_was_read() {
        let mut fixed = BTreeSet::new();
        assert!(!contains(b"/data/part-8", false, &mut fixed));
        assert!(contains(b"/data/run-8.log", true, &mut fixed));
        assert!(!contains(b"/data/part-8", true, &mut fixed));
        assert!(contains(b"/proc/8/status", false, &mut fixed));
    }
}
