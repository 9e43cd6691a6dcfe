//! State of std that a thread leaves behind if it dies or is given up: locks of the standard streams that it held, and
//! the mark of the thread that ends the process. Threads of the system use both after the run.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use object::{Object, ObjectSymbol};

use super::image::load_address;
use super::program::program;

/// The time that a thread of the system has to unlock a stream. Each run that leaves a lock behind waits so long.
const PATIENCE: Duration = Duration::from_millis(2);

/// True if a simulated thread has entered a function of a standard stream since the last look.
static USED: AtomicBool = AtomicBool::new(false);

/// A thread has entered a function of std with this path.
pub(crate) fn entered(path: &str) {
    if path.contains("std::io::stdio") {
        USED.store(true, Ordering::Relaxed);
    }
}

/// Returns `true` if a standard stream was used since the last call.
pub(crate) fn take_used() -> bool {
    USED.swap(false, Ordering::Relaxed)
}

/// The bytes of a static of std that tell who holds its lock: all are 0 if nobody does.
struct Lock {
    bytes: Vec<usize>,
}

/// The locks of the standard output and error.
static LOCKS: OnceLock<Vec<Lock>> = OnceLock::new();

/// Finds the locks, when no run is on.
pub(crate) fn find() {
    LOCKS.get_or_init(|| {
        let stdout = find_lock("std::io::stdio::STDOUT", || std::io::stdout().lock());
        let stderr = find_lock("std::io::stdio::stderr::INSTANCE", || std::io::stderr().lock());
        [stdout, stderr].into_iter().flatten().collect()
    });
}

/// The addresses of a static of std.
fn range(path: &str) -> Option<Range<usize>> {
    let program = program().ok()?;
    let is_it = |symbol: &object::Symbol<'_, '_>| {
        symbol.size() > 0
            && symbol.name().is_ok_and(|name| {
                let name = format!("{:#}", rustc_demangle::demangle(name));
                name.starts_with("std::") && name.ends_with(path)
            })
    };
    let symbol = program.symbols().find(is_it)?;
    let begin = load_address() + symbol.address() as usize;
    Some(begin..begin + symbol.size() as usize)
}

fn read(address: usize) -> u8 {
    // SAFETY: a byte of a static, which other threads may write. A value that is out of date is read again later.
    unsafe { (address as *const u8).read_volatile() }
}

/// Finds the lock of a static: the bytes that differ while `lock` is held.
fn find_lock<G>(path: &str, lock: impl Fn() -> G) -> Option<Lock> {
    /// Another thread may hold the lock when it is looked at.
    const TRIES: usize = 100;
    let range = range(path)?;
    let bytes = || range.clone().map(read).collect::<Vec<u8>>();
    for _ in 0..TRIES {
        let held = lock();
        let while_held = bytes();
        drop(held);
        let free = bytes();
        let differs = |at: &usize| while_held[*at] != free[*at];
        let differing: Vec<usize> = (0..free.len()).filter(differs).collect();
        if !differing.is_empty() && differing.iter().all(|at| free[*at] == 0) {
            // The owner of another thread may have more bytes that are not 0: all of the word are meant.
            let words = differing.iter().map(|at| at / 4 * 4);
            let mut words: Vec<usize> =
                words.filter(|at| free[*at..at + 4].iter().all(|byte| *byte == 0)).collect();
            words.dedup();
            let bytes = words.iter().flat_map(|at| *at..at + 4).map(|at| range.start + at);
            return Some(Lock { bytes: bytes.collect() });
        }
        std::thread::yield_now();
    }
    None
}

impl Lock {
    fn is_free(&self) -> bool {
        self.bytes.iter().all(|address| read(*address) == 0)
    }
}

/// Unlocks the streams whose locks a thread of the run still holds. For the carrier, when the run is over.
pub(crate) fn mend() {
    for lock in LOCKS.get().into_iter().flatten() {
        let begun = Instant::now();
        while !lock.is_free() && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        if lock.is_free() {
            continue;
        }
        for address in &lock.bytes {
            // SAFETY: a byte of a lock that nobody uses: a thread of the system would have unlocked it.
            unsafe { (*address as *mut u8).write_volatile(0) };
        }
        for word in lock.bytes.iter().step_by(4) {
            let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: a wake has no effect on memory.
            unsafe { libc::syscall(libc::SYS_futex, *word, wake, i32::MAX) };
        }
    }
}

/// The word of std's that tells if `std::process::exit` has cleaned up, which it does once in a process, with its two
/// values: that of now and that of a clean-up that is done.
struct CleanUp {
    word: &'static AtomicU32,
    done: u32,
    before: AtomicU32,
}

fn clean_up() -> Option<&'static CleanUp> {
    static CLEAN_UP: OnceLock<Option<CleanUp>> = OnceLock::new();
    let find = || {
        let range = range("std::rt::cleanup::CLEANUP")?;
        if range.len() != 4 || size_of::<Once>() != 4 {
            return None;
        }
        let once = Once::new();
        once.call_once(|| ());
        // SAFETY: both are a `Once`, which is one atomic word.
        let (word, done) = unsafe {
            (
                &*(range.start as *const AtomicU32),
                (*(&raw const once).cast::<AtomicU32>()).load(Ordering::Relaxed),
            )
        };
        Some(CleanUp { word, done, before: AtomicU32::new(0) })
    };
    CLEAN_UP.get_or_init(find).as_ref()
}

/// A run begins: `std::process::exit` cleans nothing up in it, as the process goes on.
pub(crate) fn begin() {
    if let Some(clean_up) = clean_up() {
        let before = clean_up.word.swap(clean_up.done, Ordering::Relaxed);
        clean_up.before.store(before, Ordering::Relaxed);
    }
}

/// The run is over.
pub(crate) fn end() {
    if let Some(clean_up) = clean_up() {
        clean_up.word.store(clean_up.before.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Forgets that a simulated thread has called `std::process::exit`: std lets no second thread end the process.
pub(crate) fn forget_exit() {
    static MARK: OnceLock<Option<Range<usize>>> = OnceLock::new();
    let mark = MARK.get_or_init(|| range("::unique_thread_exit::EXITING_THREAD_ID"));
    for address in mark.clone().into_iter().flatten() {
        // SAFETY: a byte of a static of std that is 0 as long as no thread ends the process. A thread of the system
        // does so after the last run.
        unsafe { (address as *mut u8).write_volatile(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_left_behind_is_unlocked() {
        find();
        assert_eq!(LOCKS.get().map(Vec::len), Some(2));
        std::mem::forget(std::io::stderr().lock());
        assert!(!LOCKS.get().unwrap()[1].is_free());
        mend();
        assert!(LOCKS.get().unwrap()[1].is_free());
        // On another thread: this one could lock it again.
        std::thread::spawn(|| drop(std::io::stderr().lock())).join().unwrap();
    }

    #[test]
    fn the_marks_of_the_end_are_found() {
        assert!(
            clean_up()
                .is_some_and(|clean_up| clean_up.word.load(Ordering::Relaxed) != clean_up.done)
        );
        assert_eq!(
            range("::unique_thread_exit::EXITING_THREAD_ID").map(|range| range.len()),
            Some(8)
        );
    }
}
