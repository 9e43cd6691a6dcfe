//! Changes of the environment: its memory outlives the run.

use std::ffi::{c_char, c_int};

use super::real::real;
use super::thread::outside;

type Set = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
type Unset = unsafe extern "C" fn(*const c_char) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn setenv(name: *const c_char, value: *const c_char, replaces: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    outside(|| unsafe { real!(c"setenv", Set)(name, value, replaces) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the caller's argument.
    outside(|| unsafe { real!(c"unsetenv", Unset)(name) })
}
