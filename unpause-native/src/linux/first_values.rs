//! The statics of the program before its function `main`, which are the values with which each run begins.
//!
//! A test that executes runs may begin after other tests, and beside them. By then, statics may have other values: a
//! lock of a test may be held, a counter may be increased, a cache may be full. So a copy is made when libc calls
//! `main`. At this moment all constructors of the program have run, and no test has begun.
//!
//! # Limits
//!
//! libc does not call `main` in a program with a start function of its own. There the runs begin with the values before
//! the first test that executes runs.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::slice;
use std::sync::OnceLock;

use super::image;
use super::real::real;

/// The size of the parts that are copied if a byte in them is not zero.
const PART: usize = 4096;

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = Option<unsafe extern "C" fn()>;

/// A copy of writable memory of the program. Never freed.
struct Copied {
    /// The address of the memory.
    begin: usize,
    bytes: &'static [u8],
}

static COPIED: OnceLock<Vec<Copied>> = OnceLock::new();
/// The program's function `main`.
static MAIN: OnceLock<Main> = OnceLock::new();

/// Returns the bytes before `main` at this address; `None` if there is no copy of them.
pub(crate) fn at(address: usize, size: usize) -> Option<&'static [u8]> {
    let copies = COPIED.get()?.iter();
    let mut parts = copies.filter_map(|copied| {
        let from = address.checked_sub(copied.begin)?;
        copied.bytes.get(from..)?.get(..size)
    });
    parts.next()
}

/// The function that the start of a program calls.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    before: Hook,
    after: Hook,
    of_linker: Hook,
    end_of_stack: *mut c_void,
) -> c_int {
    type Begin =
        unsafe extern "C" fn(Main, c_int, *mut *mut c_char, Hook, Hook, Hook, *mut c_void) -> c_int;
    let _ = MAIN.set(main);
    // SAFETY: the function is libc's, and the caller guarantees the arguments.
    unsafe {
        let start = real!(c"__libc_start_main", Begin);
        start(begin, count, arguments, before, after, of_linker, end_of_stack)
    }
}

/// Copies the statics, and calls the program's `main`.
unsafe extern "C" fn begin(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    COPIED.get_or_init(|| {
        let writable = image::writable().into_iter();
        writable.filter_map(|(begin, size)| copy(begin, size)).collect()
    });
    let main = MAIN.get().expect("the start of the program has set it");
    // SAFETY: libc guarantees the arguments.
    unsafe { main(count, arguments, environment) }
}

/// Copies memory of the program. The copy takes no memory for parts that are zero. Returns `None` if the system has no
/// memory for it.
fn copy(begin: usize, size: usize) -> Option<Copied> {
    let (rights, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping overlaps no other memory.
    let target = unsafe { libc::mmap(null_mut(), size, rights, kind | libc::MAP_NORESERVE, -1, 0) };
    if target == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the program has this memory, which it may read, and no other thread exists. The mapping has the same
    // size, and is never unmapped.
    let (source, target) = unsafe {
        let source = slice::from_raw_parts(begin as *const u8, size);
        (source, slice::from_raw_parts_mut(target.cast::<u8>(), size))
    };
    for (source, target) in source.chunks(PART).zip(target.chunks_mut(PART)) {
        if source.iter().any(|byte| *byte != 0) {
            target.copy_from_slice(source);
        }
    }
    // SAFETY: the mapping begins here. From here on, nothing changes it.
    unsafe { libc::mprotect(target.as_mut_ptr().cast(), size, libc::PROT_READ) };
    Some(Copied { begin, bytes: target })
}
