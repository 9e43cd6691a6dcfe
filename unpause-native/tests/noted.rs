//! Functions that a run only records: a search with such a call is not a proof, and names it. Each function of the
//! table is called here.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use unpause_native::{Execution, Request, take_entered};

/// Returns what a run records while its threads execute a body, one after the other.
fn noted(body: impl FnOnce() + Send + 'static) -> Vec<&'static str> {
    drop(take_entered());
    let mut execution = Execution::begin(Box::new(body)).unwrap();
    let (mut thread, mut threads) = (0, 1);
    while thread < threads {
        match execution.resume(thread, 0) {
            Request::Transfer(_) => drop(execution.perform_transfer(thread)),
            Request::Access(_) => drop(execution.perform(thread)),
            Request::Spawn { .. } => threads += 1,
            Request::End => thread += 1,
            _ => {}
        }
    }
    drop(execution);
    take_entered()
}

/// A path at which there is no file.
const MISSING: &CStr = c"/unpause-missing";

fn address(text: &'static CStr) -> usize {
    text.as_ptr() as usize
}

/// Defines a list of functions. Each is called with these arguments, which are numbers or addresses. They are chosen so
/// that the call fails, or changes nothing. The result is closed, if it is a descriptor or a stream.
macro_rules! calls {
    ($($name:ident $close:ident [$($argument:expr),*];)*) => {
        mod functions {
            unsafe extern "C" {
                $(pub(super) fn $name(a: usize, b: usize, c: usize, d: usize, e: usize) -> usize;)*
            }
        }

        const CALLS: &[(&str, fn())] = &[$((stringify!($name), || {
            let mut arguments = [0; 5];
            let given: &[usize] = &[$($argument),*];
            arguments[..given.len()].copy_from_slice(given);
            let [a, b, c, d, e] = arguments;
            // SAFETY: the function gets the arguments that it needs, and the result is what it returns.
            unsafe { $close(functions::$name(a, b, c, d, e)) }
        })),*];
    };
}

/// Keeps a result that is neither a descriptor nor a stream.
unsafe fn keep(_: usize) {}

unsafe fn descriptor(result: usize) {
    // SAFETY: the caller passes the result of a function that opens a descriptor.
    unsafe { libc::close(result as c_int) };
}

unsafe fn stream(result: usize) {
    if result != 0 {
        // SAFETY: the caller passes the result of a function that opens a stream.
        unsafe { libc::fclose(result as *mut libc::FILE) };
    }
}

unsafe fn folders(result: usize) {
    unsafe extern "C" {
        fn fts_close(list: usize) -> c_int;
    }
    if result != 0 {
        // SAFETY: the caller passes the result of `fts_open`.
        unsafe { fts_close(result) };
    }
}

/// A stream that `freopen` closes.
fn open_stream() -> usize {
    // SAFETY: the arguments are strings.
    unsafe { libc::fopen(c"/dev/null".as_ptr(), c"r".as_ptr()) as usize }
}

/// Memory for results of functions, which is never freed.
fn memory() -> usize {
    Box::leak(Box::new([0u64; 64])).as_mut_ptr() as usize
}

/// A list of one path, and its end.
fn paths() -> usize {
    Box::leak(Box::new([address(MISSING), 0])).as_ptr() as usize
}

/// An invalid number of a file or of an object of System V.
const INVALID: usize = c_int::MAX as usize;

/// `FTS_PHYSICAL`.
const PHYSICAL: usize = 0x10;

calls! {
    fopen stream [address(MISSING), address(c"r")];
    fopen64 stream [address(MISSING), address(c"r")];
    freopen stream [address(MISSING), address(c"r"), open_stream()];
    freopen64 stream [address(MISSING), address(c"r"), open_stream()];
    fdopen stream [INVALID, address(c"r")];
    tmpfile stream [];
    tmpfile64 stream [];
    scandir keep [address(MISSING), memory()];
    scandir64 keep [address(MISSING), memory()];
    glob keep [address(MISSING), 0, 0, memory()];
    glob64 keep [address(MISSING), 0, 0, memory()];
    nftw keep [address(MISSING), 0, 1];
    nftw64 keep [address(MISSING), 0, 1];
    ftw keep [address(MISSING), 0, 1];
    ftw64 keep [address(MISSING), 0, 1];
    fts_open folders [paths(), PHYSICAL];
    shm_open descriptor [address(MISSING)];
    shm_unlink keep [address(MISSING)];
    shmat keep [INVALID];
    semop keep [INVALID, memory(), 1];
    semtimedop keep [INVALID, memory(), 1];
    msgsnd keep [INVALID, memory()];
    msgrcv keep [INVALID, memory()];
    mq_open descriptor [address(MISSING)];
    mount keep [address(c"none"), address(MISSING), address(c"tmpfs")];
    umount keep [address(MISSING)];
    umount2 keep [address(MISSING)];
    unshare keep [0];
    setns keep [INVALID];
    signalfd descriptor [INVALID, memory()];
    inotify_init descriptor [];
    inotify_init1 descriptor [];
    fanotify_init descriptor [usize::MAX];
}

/// Returns the rows of the table in the source of the library: each function with its text.
fn rows(source: &str) -> Vec<(&str, &str)> {
    let row = |line| {
        let (name, rest) = str::strip_prefix(line, "    ")?.split_once(" c\"")?;
        let (symbol, rest) = rest.split_once("\" \"")?;
        (name == symbol).then_some((name, rest.strip_suffix("\";")?))
    };
    source.lines().filter_map(row).collect()
}

/// One test, because all runs share the list of recorded functions.
#[test]
fn each_function_of_the_table_is_recorded() {
    let rows = rows(include_str!("../src/linux/net/calls_noted.rs"));
    assert!(rows.len() > 20, "{rows:?}");
    for (name, text) in rows {
        let call = CALLS.iter().find(|(other, _)| *other == name);
        let (_, call) = *call.unwrap_or_else(|| panic!("{name} is not called here"));
        let recorded = noted(call);
        assert!(recorded.contains(&text), "{name}: {recorded:?}");
    }

    for flags in [libc::MAP_PRIVATE, libc::MAP_SHARED] {
        let recorded = noted(move || map(c"/proc/self/exe", flags));
        assert_eq!(recorded, ["mmap, of a file"]);
    }
    assert_eq!(noted(|| protect(libc::PROT_READ)), ["mprotect"]);
    // A guard page, as std creates it for each thread.
    assert_eq!(noted(|| protect(libc::PROT_NONE)), [""; 0]);
    assert_eq!(noted(|| drop(std::thread::spawn(|| ()))), [""; 0]);
}

/// Maps a page of a file, and unmaps it.
fn map(path: &CStr, flags: c_int) {
    // SAFETY: the calls get a string, and the memory that they have mapped.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY);
        let mapped = libc::mmap(null_mut(), 4096, libc::PROT_READ, flags, file, 0);
        assert!(mapped != libc::MAP_FAILED && libc::munmap(mapped, 4096) == 0);
        libc::close(file);
    }
}

/// Changes the protection of a new page, and unmaps it.
fn protect(protection: c_int) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the calls get the memory that they have mapped.
    unsafe {
        let mapped = libc::mmap(null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert!(libc::mprotect(mapped, 4096, protection) == 0);
        assert!(libc::munmap(mapped, 4096) == 0);
    }
}
