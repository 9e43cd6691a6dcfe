//! Locks of std that a thread of a run may hold when it dies: the locks of the environment, of backtraces and of the
//! panic hook.

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant};

use super::statics;

/// The time that an OS thread has to unlock a lock. Meanwhile it may look up the symbols of a large program. A run
/// waits for this time only if a dead thread holds a lock, which is rare.
const PATIENCE: Duration = Duration::from_secs(1);

/// The values of the word of a std mutex: free, and held without a waiting thread.
const FREE: u32 = 0;
const HELD: u32 = 1;

/// Returns the words that are not 0 while the lock of the environment or of backtraces is held. `None` for a word that
/// was not found.
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

/// Returns the word of the static that changes when another value of its type is held. `None` if the type has an
/// unknown layout.
fn word<'a, T, G>(
    range: Range<usize>,
    value: &'a T,
    hold: impl FnOnce() -> G + 'a,
) -> Option<usize> {
    let address = (&raw const *value).cast::<u32>();
    // SAFETY: these are the words of a value that no other thread uses.
    let words = || (0..size_of::<T>() / 4).map(|at| unsafe { address.add(at).read_volatile() });
    let free: Vec<u32> = words().collect();
    let guard = hold();
    let held: Vec<u32> = words().collect();
    drop(guard);
    let at = (0..free.len()).find(|at| free[*at] == 0 && held[*at] != 0)?;
    (range.len() == size_of::<T>()).then_some(range.start + 4 * at)
}

/// Unlocks the locks. Called by the carrier after a run in which a thread has died.
pub(super) fn mend() {
    for word in locks().iter().flatten() {
        free(&[*word], 4);
    }
}

/// Finds the locks. A copy of the process uses the result.
pub(super) fn find() {
    locks();
}

/// Unlocks the locks in a copy of the process. No thread of the copy holds a lock.
pub(super) fn begin_copy() {
    locks().iter().flatten().for_each(|word| release(*word));
}

/// Returns `true` for the word of the lock of backtraces.
pub(crate) fn is_of_backtraces(word: usize) -> bool {
    locks()[1] == Some(word)
}

/// A guard that holds the lock of backtraces. OS threads then do not use the data protected by the lock.
pub(super) struct Backtraces(Option<&'static AtomicU32>);

impl Backtraces {
    /// Waits for the lock and acquires it.
    pub(super) fn lock() -> Backtraces {
        // SAFETY: this is the word of std's mutex, which other threads access with atomic operations.
        let word = locks()[1].map(|word| unsafe { AtomicU32::from_ptr(word as *mut u32) });
        let is_taken =
            |word: &AtomicU32| word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok();
        let begun = LazyCell::new(Instant::now);
        while let Some(word) = word
            && !is_taken(word)
        {
            // If a thread died in an earlier run while it held the lock, no thread will unlock it.
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
        // A value other than `HELD` means that a thread waits.
        if let Some(word) = self.0
            && word.swap(FREE, Release) != HELD
        {
            release(word.as_ptr() as usize);
        }
    }
}

/// Unlocks the lock with these words, unless an OS thread unlocks it first. All words are 0 if the lock is free. `size`
/// is the number of bytes in a word.
pub(super) fn free(words: &[usize], size: usize) {
    let parts = || words.iter().flat_map(|word| (*word..word + size).step_by(4));
    // SAFETY: these are words of a static, which other threads may write. An outdated value is read again.
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

/// Writes 0 to a word, and wakes the threads that wait on it.
pub(super) fn release(word: usize) {
    // SAFETY: this is a word of a lock whose holder is dead.
    unsafe { (word as *mut u32).write_volatile(0) };
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a wake has no effect on memory.
    unsafe { libc::syscall(libc::SYS_futex, word, wake, i32::MAX) };
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::Helper;

    /// Returns `true` if `act` ends in a copy of the process.
    pub(in crate::linux::std_state) fn ends_in_copy(act: impl FnOnce()) -> bool {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let copy = Helper::begin(move || {
            act();
            writer.write_all(b"1").unwrap();
        });
        let copy = copy.unwrap();
        let mut waits = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the call has one descriptor, and it waits for 10 s.
        let has_ended = unsafe { libc::poll(&mut waits, 1, 10_000) } == 1;
        drop(copy);
        let mut written = Vec::new();
        reader.read_to_end(&mut written).unwrap();
        has_ended && written == b"1"
    }

    #[test]
    fn locks_that_other_threads_hold_are_free_in_a_copy() {
        let held = Backtraces::lock();
        let word = locks()[0].unwrap();
        // SAFETY: this is the word of the lock of the environment. Other tests wait while it is held.
        unsafe { (word as *mut u32).write_volatile(0x3fff_ffff) };
        let ends = ends_in_copy(|| {
            assert!(std::env::var_os("PATH").is_some());
            assert!(Backtraces::lock().0.is_some());
        });
        release(word);
        drop(held);
        assert!(ends);
    }

    #[test]
    fn the_lock_of_the_environment_is_found_and_freed() {
        let word = locks()[0].unwrap() as *mut u32;
        // SAFETY: this is the word of the lock, and no other test of this program changes the environment.
        unsafe { word.write_volatile(0x3fff_ffff) };
        mend();
        // The call no longer waits.
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
