//! libc functions that copy from one descriptor to another within the kernel. For files of a run they return the error
//! for files that the kernel does not support. std and other callers then read and write the bytes instead.

use std::ffi::{c_int, c_uint};

use super::super::clock::fail;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::calls::{at_once, caller};
use super::{FIRST, disk};

/// Returns the error of a copy between two descriptors. `None` if neither belongs to the run.
fn refusal(descriptors: [c_int; 2]) -> Option<c_int> {
    let thread = descriptors.iter().find_map(|descriptor| caller(*descriptor))?;
    let mut of_run = descriptors.iter().filter(|descriptor| **descriptor >= FIRST);
    let are_open = at_once(thread, |net| of_run.all(|descriptor| net.find(*descriptor).is_ok()));
    Some(if are_open { libc::EINVAL } else { libc::EBADF })
}

/// Defines functions with their descriptors and their arguments.
macro_rules! copies {
    ($($name:ident $symbol:literal $descriptors:tt ($($argument:ident: $type:ty),*))*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> isize {
            if let Some(error) = refusal($descriptors) {
                return fail(error);
            }
            type Function = unsafe extern "C" fn($($type),*) -> isize;
            // SAFETY: the caller guarantees the arguments.
            let call = || unsafe { real!($symbol, Function)($($argument),*) };
            disk::perform(frame_pointer(), "copy", || disk::among($descriptors), call)
        }
    )*};
}

copies! {
    splice c"splice" [from, to]
        (from: c_int, start: *mut i64, to: c_int, end: *mut i64, size: usize, flags: c_uint)
    tee c"tee" [from, to] (from: c_int, to: c_int, size: usize, flags: c_uint)
    sendfile c"sendfile" [from, to] (to: c_int, from: c_int, start: *mut i64, size: usize)
    sendfile64 c"sendfile64" [from, to] (to: c_int, from: c_int, start: *mut i64, size: usize)
    copy_file_range c"copy_file_range" [from, to]
        (from: c_int, start: *mut i64, to: c_int, end: *mut i64, size: usize, flags: c_uint)
}
