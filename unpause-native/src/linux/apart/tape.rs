//! The tape: memory that the child writes and the parent reads after the end of the child.

use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// The size of the tape. The system gives memory only to the part that is written.
const SIZE: usize = 256 << 20;

/// The size of the part before the bytes.
const HEAD: usize = 4096;

/// More than this is given back to the system when the tape is read.
const KEPT: usize = 16 << 20;

/// The beginning of the tape.
#[repr(C)]
struct Head {
    /// The number of bytes written.
    written: AtomicUsize,
    /// Where the part begins that is written at the end of the run.
    last: AtomicUsize,
    /// Signs of life between two answers.
    beats: AtomicUsize,
    /// One of [`GOES_ON`], [`DONE`] and [`FULL`].
    state: AtomicU32,
}

const GOES_ON: u32 = 0;
const DONE: u32 = 1;
const FULL: u32 = 2;

/// The bytes of a run, and whether it came to its end.
pub(crate) struct Content {
    /// The answers.
    pub(crate) answers: Vec<u8>,
    /// The part written at the end; `None` if the run did not reach it.
    pub(crate) last: Option<Vec<u8>>,
    /// True if there was no more room.
    pub(crate) full: bool,
}

/// The address of the tape; 0 if the system refuses it.
fn tape() -> usize {
    static TAPE: OnceLock<usize> = OnceLock::new();
    *TAPE.get_or_init(|| {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, which is never unmapped.
        let address = unsafe { libc::mmap(null_mut(), SIZE, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED { 0 } else { address as usize }
    })
}

/// The head of the tape. Only after [`begin`] has returned `true`.
fn head() -> &'static Head {
    // SAFETY: the mapping is aligned, larger than the head and never unmapped, all bit patterns are valid, and both
    // processes access it by atomic operations.
    unsafe { &*(tape() as *const Head) }
}

/// True in a child.
static WRITES: AtomicBool = AtomicBool::new(false);

/// Makes the tape empty, before the fork. Returns `false` if the system has no memory for it.
pub(crate) fn begin() -> bool {
    if tape() == 0 {
        return false;
    }
    head().written.store(0, Ordering::Relaxed);
    head().last.store(0, Ordering::Relaxed);
    head().state.store(GOES_ON, Ordering::Relaxed);
    true
}

/// This process is the child.
pub(crate) fn write_here() {
    WRITES.store(true, Ordering::Relaxed);
}

/// Returns `true` in a child, which writes the tape.
pub(crate) fn is_written() -> bool {
    WRITES.load(Ordering::Relaxed)
}

/// The number of bytes written so far.
fn written() -> usize {
    head().written.load(Ordering::Acquire)
}

/// Two numbers that change while the child makes progress.
pub(crate) fn progress() -> (usize, usize) {
    (written(), head().beats.load(Ordering::Relaxed))
}

/// Notifies the parent that the run continues, although it makes no request. Does nothing in other
/// processes.
pub fn alive() {
    if is_written() {
        head().beats.fetch_add(1, Ordering::Relaxed);
    }
}

/// Appends bytes. In the child.
pub(crate) fn append(bytes: &[u8]) {
    let at = written();
    let end = at.saturating_add(bytes.len());
    if end > SIZE - HEAD {
        head().state.store(FULL, Ordering::Release);
        super::process::leave();
    }
    // SAFETY: within the mapping, whose bytes from here on this process alone writes; the parent reads them after the
    // end of this process.
    unsafe { copy_nonoverlapping(bytes.as_ptr(), (tape() + HEAD + at) as *mut u8, bytes.len()) };
    head().written.store(end, Ordering::Release);
}

/// Appends the last part and ends the tape. In the child.
pub(crate) fn end(last: &[u8]) {
    let begins = written();
    append(last);
    head().last.store(begins, Ordering::Relaxed);
    head().state.store(DONE, Ordering::Release);
}

/// The bytes, copied. In the parent, after the end of the child. Nothing on the tape is trusted: the child may have
/// destroyed it.
pub(crate) fn read() -> Content {
    let written = written().min(SIZE - HEAD);
    let mut answers = vec![0u8; written];
    // SAFETY: within the mapping. The child that wrote it has ended. A process that the tested program has forked in
    // turn has a copy of the mapping, and does not write there: it makes no run.
    unsafe { copy_nonoverlapping((tape() + HEAD) as *const u8, answers.as_mut_ptr(), written) };
    if written > KEPT {
        // SAFETY: memory of the tape beyond the part that is kept, which nobody uses now.
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
            // SAFETY: ends this process.
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
