//! The tape: memory that the child writes, and that the parent reads after the end of the child.

use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// The size of the tape. The system allocates memory only for the part that is written.
const SIZE: usize = 256 << 20;

/// The size of the head, which precedes the bytes.
const HEAD: usize = 4096;

/// The number of bytes that keep their memory when the tape is read. The rest is returned to the system.
const KEPT: usize = 16 << 20;

/// The head of the tape.
#[repr(C)]
struct Head {
    /// The number of bytes written.
    written: AtomicUsize,
    /// The start of the part that is written at the end of the run.
    last: AtomicUsize,
    /// The number of progress signals between replies.
    beats: AtomicUsize,
    /// One of [`GOES_ON`], [`DONE`] and [`FULL`].
    state: AtomicU32,
}

const GOES_ON: u32 = 0;
const DONE: u32 = 1;
const FULL: u32 = 2;

/// The bytes of a run, and information about its end.
pub(crate) struct Content {
    /// The replies.
    pub(crate) answers: Vec<u8>,
    /// The last part; `None` if the run did not complete.
    pub(crate) last: Option<Vec<u8>>,
    /// True if the tape had no more room.
    pub(crate) full: bool,
}

/// Returns the address of the tape, or 0 if the system refuses the memory.
fn tape() -> usize {
    static TAPE: OnceLock<usize> = OnceLock::new();
    *TAPE.get_or_init(|| {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the mapping is new, and is never unmapped.
        let address = unsafe { libc::mmap(null_mut(), SIZE, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED { 0 } else { address as usize }
    })
}

/// Returns the head of the tape. Must be called only after [`begin`] has returned `true`.
fn head() -> &'static Head {
    // SAFETY: the mapping is aligned, larger than the head and never unmapped. All bit patterns are valid, and both
    // processes access it with atomic operations.
    unsafe { &*(tape() as *const Head) }
}

/// True in a child process.
static WRITES: AtomicBool = AtomicBool::new(false);

/// Empties the tape before the fork. Returns `false` if the system has no memory for it.
pub(crate) fn begin() -> bool {
    if tape() == 0 {
        return false;
    }
    head().written.store(0, Ordering::Relaxed);
    head().last.store(0, Ordering::Relaxed);
    head().state.store(GOES_ON, Ordering::Relaxed);
    true
}

/// Marks this process as the child.
pub(crate) fn write_here() {
    WRITES.store(true, Ordering::Relaxed);
}

/// Makes this process write nothing, because it is a copy of a child.
pub(crate) fn write_nothing() {
    WRITES.store(false, Ordering::Relaxed);
}

/// Returns `true` in a child process, which writes the tape.
pub(crate) fn is_written() -> bool {
    WRITES.load(Ordering::Relaxed)
}

/// Returns the number of bytes written so far.
fn written() -> usize {
    head().written.load(Ordering::Acquire)
}

/// Returns two numbers that change while the child makes progress.
pub(crate) fn progress() -> (usize, usize) {
    (written(), head().beats.load(Ordering::Relaxed))
}

/// Signals progress to the parent although the run makes no request. Does nothing in other processes.
pub fn alive() {
    if is_written() {
        head().beats.fetch_add(1, Ordering::Relaxed);
    }
}

/// Appends bytes. Called in the child.
pub(crate) fn append(bytes: &[u8]) {
    let at = written();
    let end = at.saturating_add(bytes.len());
    if end > SIZE - HEAD {
        head().state.store(FULL, Ordering::Release);
        super::process::leave();
    }
    // SAFETY: the range is within the mapping. Only this process writes the bytes from here on, and the parent reads
    // them after the end of this process.
    unsafe { copy_nonoverlapping(bytes.as_ptr(), (tape() + HEAD + at) as *mut u8, bytes.len()) };
    head().written.store(end, Ordering::Release);
}

/// Appends the last part and completes the tape. Called in the child.
pub(crate) fn end(last: &[u8]) {
    let begins = written();
    append(last);
    head().last.store(begins, Ordering::Relaxed);
    head().state.store(DONE, Ordering::Release);
}

/// Returns a copy of the bytes. Called in the parent, after the end of the child. Trusts nothing on the tape, because
/// the child may have destroyed it.
pub(crate) fn read() -> Content {
    let written = written().min(SIZE - HEAD);
    let mut answers = vec![0u8; written];
    // SAFETY: the range is within the mapping, and the child that wrote it has ended. A process that the tested program
    // has forked has a copy of the mapping, but does not write to it, because it executes no run.
    unsafe { copy_nonoverlapping((tape() + HEAD) as *const u8, answers.as_mut_ptr(), written) };
    if written > KEPT {
        // SAFETY: the memory of the tape beyond the kept part is not in use now.
        unsafe {
            libc::madvise((tape() + HEAD + KEPT) as *mut _, SIZE - HEAD - KEPT, libc::MADV_REMOVE)
        };
    }
    let state = head().state.load(Ordering::Acquire);
    let begins = head().last.load(Ordering::Relaxed);
    let last = (state == DONE && begins <= written).then(|| answers.split_off(begins));
    Content { answers, last, full: state == FULL }
}

#[cfg(test)]
mod tests {
    use super::super::process::{self, Forked};
    use super::super::{ProcessEnd, Watch};
    use super::*;

    /// Runs `act` in a child. Returns the end of the child and the tape.
    fn apart(act: fn()) -> (Option<ProcessEnd>, Content) {
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        assert!(begin());
        match process::fork().unwrap() {
            Forked::Child => {
                act();
                process::leave();
            }
            Forked::Parent(child) => {
                let end = child.wait(&Watch { hang: None, beat: &|| () });
                (end, read())
            }
        }
    }

    #[test]
    fn a_tape_that_is_written_is_read() {
        let (ended, content) = apart(|| {
            append(b"one");
            append(b" two");
            end(b"last");
        });
        assert_eq!((ended, content.full), (None, false));
        assert_eq!(
            (&*content.answers, content.last.as_deref()),
            (&b"one two"[..], Some(&b"last"[..]))
        );
    }

    #[test]
    fn what_was_written_before_a_death_is_there() {
        let (ended, content) = apart(|| {
            append(b"one");
            // SAFETY: this call ends this process.
            unsafe { libc::syscall(libc::SYS_kill, libc::getpid(), libc::SIGKILL) };
        });
        assert_eq!(ended, Some(ProcessEnd::Signal(libc::SIGKILL)));
        assert_eq!((&*content.answers, content.last), (&b"one"[..], None));
    }

    #[test]
    fn a_full_tape_ends_its_process() {
        let (ended, content) = apart(|| {
            let bytes = vec![7; 1 << 20];
            loop {
                append(&bytes);
            }
        });
        assert_eq!((ended, content.full, content.last), (None, true, None));
        assert!(content.answers.len() > SIZE - (2 << 20));
    }
}
