//! The standard output and error of std. A thread of a run that dies or is abandoned leaves their locks behind. The
//! carrier writes their buffer.
//!
//! If this library is linked into a program, the streams belong to the program's copy of std, and
//! not to the copy in the library.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{locks, thread_ids};

/// The time that an OS thread has to unlock a stream of unknown owner.
const PATIENCE: Duration = Duration::from_millis(2);
/// The time that an OS thread has between the lock of a stream and the record of its id.
const PATIENCE_WITHOUT_OWNER: Duration = Duration::from_millis(50);

/// The standard streams of a copy of std.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// The address in `std::io::Stdout`, which contains a reference.
    pub output: usize,
    /// The address in `std::io::Stderr`.
    pub error: usize,
    /// Writes the buffer of the standard output.
    pub flush: extern "C" fn(),
}

impl Streams {
    /// Returns the streams of the copy of std in this library.
    fn own() -> Streams {
        extern "C" fn flush() {
            use std::io::Write;
            // A thread may have died while it wrote. The stream then panics.
            let flushed = std::panic::catch_unwind(|| std::io::stdout().flush());
            drop(flushed);
        }
        // SAFETY: both types contain only a reference to a static.
        let (output, error) = unsafe {
            (
                std::mem::transmute::<std::io::Stdout, usize>(std::io::stdout()),
                std::mem::transmute::<std::io::Stderr, usize>(std::io::stderr()),
            )
        };
        Streams { output, error, flush }
    }
}

/// True if a simulated thread has entered a function of a standard stream since the last check.
static USED: AtomicBool = AtomicBool::new(false);

/// Records that a thread has entered a std function with this path.
pub(crate) fn entered(path: &str) {
    if path.contains("std::io::stdio") {
        USED.store(true, Ordering::Relaxed);
    }
}

/// Returns `true` if a standard stream was used since the last call.
pub(crate) fn take_used() -> bool {
    USED.swap(false, Ordering::Relaxed)
}

/// The words of a stream's lock, as distances from the stream. Such a lock has an owner thread.
struct Shape {
    /// The id of the owner, which consists of two words.
    owner: usize,
    /// All words that are 0 if the lock is free.
    words: Vec<usize>,
}

/// A stream with its lock.
struct Lock {
    address: usize,
    shape: Shape,
}

/// The standard streams of the program.
struct Found {
    locks: Vec<Lock>,
    flush: extern "C" fn(),
}

static FOUND: OnceLock<Found> = OnceLock::new();

/// Finds the locks. Called while no run executes. `streams` are the streams of the program, if it has another copy of
/// std.
pub(crate) fn find(streams: Option<Streams>) {
    FOUND.get_or_init(|| {
        let own = Streams::own();
        let of_program = streams.unwrap_or(own);
        // Both copies are compiled by the same compiler, so they have the same types. The size of the output lock
        // includes its buffer.
        let output = shape(own.output, 56, || std::io::stdout().lock());
        let error = shape(own.error, 24, || std::io::stderr().lock());
        let found = [(of_program.output, output), (of_program.error, error)];
        let lock = |(address, shape): (usize, Option<Shape>)| Some(Lock { address, shape: shape? });
        Found { locks: found.into_iter().filter_map(lock).collect(), flush: of_program.flush }
    });
}

fn read(address: usize) -> u32 {
    // SAFETY: this is a word of a static, which other threads may write. An outdated value is read again later.
    unsafe { (address as *const u32).read_volatile() }
}

/// Finds the words of a stream's lock, which change while this thread holds the lock.
fn shape<G>(address: usize, size: usize, lock: impl Fn() -> G) -> Option<Shape> {
    /// The number of attempts, because another thread may hold the lock when its words are read.
    const TRIES: usize = 100;
    // SAFETY: a thread id consists of its number, which is not 0.
    let own: u64 = unsafe { std::mem::transmute(std::thread::current().id()) };
    let words = || (0..size / 4).map(|at| read(address + 4 * at)).collect::<Vec<u32>>();
    for _ in 0..TRIES {
        let held = lock();
        let while_held = words();
        drop(held);
        let free = words();
        let is_owner = |at: &usize| {
            let id = u64::from(while_held[*at]) | u64::from(while_held[at + 1]) << 32;
            id == own && free[*at] == 0 && free[at + 1] == 0
        };
        let owner = (0..free.len() - 1).step_by(2).find(is_owner);
        let differing: Vec<usize> =
            (0..free.len()).filter(|at| while_held[*at] != free[*at]).collect();
        if let Some(owner) = owner
            && differing.iter().all(|at| free[*at] == 0)
        {
            let words = differing.into_iter().chain([owner + 1]).map(|at| 4 * at).collect();
            return Some(Shape { owner: 4 * owner, words });
        }
        std::thread::yield_now();
    }
    None
}

impl Lock {
    /// Returns the id of the thread that holds the lock, or 0 if it is free.
    fn owner(&self) -> u64 {
        let at = self.address + self.shape.owner;
        u64::from(read(at)) | u64::from(read(at + 4)) << 32
    }

    /// Returns `true` if some word of the lock shows that it is held.
    fn is_held(&self) -> bool {
        self.shape.words.iter().any(|word| read(self.address + word) != 0)
    }

    /// Returns `true` if a thread of the ended run holds the lock.
    fn is_left(&self) -> bool {
        match self.owner() {
            // A thread of the run may have died after it acquired the lock and before it wrote its id.
            0 => self.is_held() && self.stays(PATIENCE_WITHOUT_OWNER, || self.owner() == 0),
            owner => thread_ids::is_of_run(owner)
                .unwrap_or_else(|| self.stays(PATIENCE, || self.owner() != 0)),
        }
    }

    /// Returns `true` if the lock is held for this time, and `is_so` stays `true`.
    fn stays(&self, patience: Duration, is_so: impl Fn() -> bool) -> bool {
        let begun = Instant::now();
        while self.is_held() && is_so() {
            if begun.elapsed() > patience {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }
}

/// Unlocks the streams whose locks a thread of the run still holds. Called by the carrier when the run is over.
pub(crate) fn mend() {
    let locks = FOUND.get().into_iter().flat_map(|found| &found.locks);
    for lock in locks.filter(|lock| lock.is_left()) {
        lock.shape.words.iter().for_each(|word| locks::release(lock.address + word));
    }
}

/// Writes the buffer of the standard output.
pub(crate) fn flush() {
    if let Some(found) = FOUND.get() {
        (found.flush)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_a_run_is_unlocked_and_one_of_the_system_is_not() {
        find(None);
        let locks = &FOUND.get().unwrap().locks;
        assert_eq!(locks.len(), 2);
        // This thread has an id outside of runs.
        let held = std::io::stderr().lock();
        assert!(locks[1].owner() != 0 && !locks[1].is_left());
        let owner = (locks[1].address + locks[1].shape.owner) as *mut u64;
        // SAFETY: this is the owner of a lock that this thread holds.
        unsafe { owner.write_volatile(1_000_007) };
        assert!(locks[1].is_left());
        mend();
        std::mem::forget(held);
        assert_eq!(locks[1].owner(), 0);
        // A thread of the run has acquired the lock, and its id is not recorded.
        let Shape { owner, words } = &locks[1].shape;
        let is_of_owner = |word: &&usize| [*owner, *owner + 4].contains(word);
        let word = words.iter().find(|word| !is_of_owner(word)).expect("the word of a mutex");
        let word = locks[1].address + word;
        // SAFETY: no thread holds this lock, and the word is one of its words.
        unsafe { (word as *mut u32).write_volatile(1) };
        assert!(locks[1].is_left());
        mend();
        assert!(!locks[1].is_held());
        // Another thread is used, because this thread could acquire the lock recursively.
        std::thread::spawn(|| drop(std::io::stderr().lock())).join().unwrap();
    }
}
