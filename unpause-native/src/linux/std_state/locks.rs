//! Locks of std's that a thread of a run may hold when it dies: of the environment, of backtraces, of the panic hook.

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant};

use super::statics;

/// The time that a thread of the system has to unlock a lock. It may find the symbols of a large program meanwhile. A
/// run with a dead thread that holds a lock, which is rare, waits for so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// The values of the word of a mutex of std: free, and held without a waiting thread.
const FREE: u32 = 0;
const HELD: u32 = 1;

/// The words that are not 0 while a lock is held: of the environment and of backtraces, each if it was found.
fn locks() -> &'static [Option<usize>; 2] {
    static LOCKS: OnceLock<[Option<usize>; 2]> = OnceLock::new();
    LOCKS.get_or_init(|| {
        let environment = statics::range("unix::ENV_LOCK");
        let environment = environment.and_then(|range| {
            let lock = RwLock::new(());
            word(range, &lock, || lock.write())
        });
        let backtrace = statics::range("sys::backtrace::lock::LOCK");
        let backtrace = backtrace.and_then(|range| {
            let lock = Mutex::new(());
            word(range, &lock, || lock.lock())
        });
        [environment, backtrace]
    })
}

/// The word of the static that differs while another value of its type is held; `None` if the type
/// is another one.
fn word<'a, T, G>(
    range: Range<usize>,
    value: &'a T,
    hold: impl FnOnce() -> G + 'a,
) -> Option<usize> {
    let address = (&raw const *value).cast::<u32>();
    // SAFETY: the words of a value, which no other thread uses.
    let words = || (0..size_of::<T>() / 4).map(|at| unsafe { address.add(at).read_volatile() });
    let free: Vec<u32> = words().collect();
    let guard = hold();
    let held: Vec<u32> = words().collect();
    drop(guard);
    let at = (0..free.len()).find(|at| free[*at] == 0 && held[*at] != 0)?;
    (range.len() == size_of::<T>()).then_some(range.start + 4 * at)
}

/// Unlocks the locks. For the carrier, after a run of which a thread has died.
pub(super) fn mend() {
    for word in locks().iter().flatten() {
        free(&[*word], 4);
    }
}

/// Returns `true` for the word of the lock of backtraces.
pub(crate) fn is_of_backtraces(word: usize) -> bool {
    locks()[1] == Some(word)
}

/// Holds the lock of backtraces until it is dropped, so that no thread of the system uses what it guards.
pub(super) struct Backtraces(Option<&'static AtomicU32>);

impl Backtraces {
    /// Waits for the lock and takes it.
    pub(super) fn lock() -> Backtraces {
        // SAFETY: the word of std's mutex, which other threads use by atomic operations.
        let word = locks()[1].map(|word| unsafe { AtomicU32::from_ptr(word as *mut u32) });
        let is_taken =
            |word: &AtomicU32| word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok();
        let begun = LazyCell::new(Instant::now);
        while let Some(word) = word
            && !is_taken(word)
        {
            // Nobody unlocks the lock of a thread that died in an earlier run.
            if begun.elapsed() > 10 * PATIENCE {
                return Backtraces(None);
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Backtraces(word)
    }
}

impl Drop for Backtraces {
    fn drop(&mut self) {
        // Another value than `HELD` says that a thread waits.
        if let Some(word) = self.0
            && word.swap(FREE, Release) != HELD
        {
            release(word.as_ptr() as usize);
        }
    }
}

/// Unlocks the lock with these words, which are all 0 if it is free, unless a thread of the system does. `size` is the
/// number of bytes of a word.
pub(super) fn free(words: &[usize], size: usize) {
    let parts = || words.iter().flat_map(|word| (*word..word + size).step_by(4));
    // SAFETY: words of a static, which other threads may write. A value that is out of date is read again.
    let is_free = || parts().all(|word| unsafe { (word as *const u32).read_volatile() } == 0);
    let begun = Instant::now();
    while !is_free() {
        if begun.elapsed() > PATIENCE {
            parts().for_each(release);
            return;
        }
        std::thread::yield_now();
    }
}

/// Writes 0 to a word, and wakes the threads that wait for it.
pub(super) fn release(word: usize) {
    // SAFETY: a word of a lock whose holder is dead.
    unsafe { (word as *mut u32).write_volatile(0) };
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a wake has no effect on memory.
    unsafe { libc::syscall(libc::SYS_futex, word, wake, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn the_lock_of_the_environment_is_found_and_freed() {
        let word = locks()[0].unwrap() as *mut u32;
        // SAFETY: the word of the lock. No other test of this program changes the environment.
        unsafe { word.write_volatile(0x3fff_ffff) };
        mend();
        // It waits no longer.
        assert!(std::env::var_os("PATH").is_some());
    }

    #[test]
    fn a_backtrace_waits_for_the_lock_and_the_lock_for_a_backtrace() {
        static DONE: AtomicBool = AtomicBool::new(false);
        let held = Backtraces::lock();
        assert!(held.0.is_some(), "the lock is found");
        let other = std::thread::spawn(|| {
            let text = std::backtrace::Backtrace::force_capture().to_string();
            DONE.store(true, Relaxed);
            text
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!DONE.load(Relaxed));
        drop(held);
        assert!(!other.join().unwrap().is_empty());
        drop(Backtraces::lock());
    }
}
