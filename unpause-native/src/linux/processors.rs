//! The number of processors. A run has four processors on every machine.

use std::ffi::{CStr, c_char, c_int, c_long};

use super::real::real;
use super::thread::current;

/// The number of processors of a run.
const PROCESSORS: usize = 4;

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(
    process: libc::pid_t,
    size: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    if current().is_some() && size > 0 {
        // SAFETY: the caller provides room for `size` bytes.
        unsafe {
            std::ptr::write_bytes(set.cast::<u8>(), 0, size);
            *set.cast::<u8>() = (1 << PROCESSORS) - 1;
        }
        return 0;
    }
    type Affinity = unsafe extern "C" fn(libc::pid_t, usize, *mut libc::cpu_set_t) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sched_getaffinity", Affinity)(process, size, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    let counts = matches!(name, libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF);
    if counts && current().is_some() {
        return PROCESSORS as c_long;
    }
    // SAFETY: the argument is a number.
    unsafe { real!(c"sysconf", unsafe extern "C" fn(c_int) -> c_long)(name) }
}

/// std reads the CPU limit of a container from these files.
const LIMITS: &CStr = c"/proc/self/cgroup";

/// Returns `true` if `path` is such a file. In a run, it does not exist. A run does not find them.
///
/// # Safety
/// `path` must be a string.
pub(crate) unsafe fn has_limits(path: *const c_char) -> bool {
    // SAFETY: the caller guarantees the string.
    (unsafe { CStr::from_ptr(path) }) == LIMITS
}
