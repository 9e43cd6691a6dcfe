//! New workers.
//!
//! libc does not own the stack of a worker. In the child of a fork, libc reuses the stacks that it owns, because their
//! threads do not exist there. It forgets all other threads, and leaves their memory alone. So the copy of a worker can
//! serve the runs of the child, although its OS thread is missing.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;

use super::Thread;
use crate::linux::{switch, threads};

/// The size of the guard page.
const GUARD: usize = 4096;

/// Creates a worker with a stack of `stack` bytes, and waits until it sleeps.
///
/// # Errors
/// Returns the error number of the system if it refuses a thread with such a stack.
pub(crate) fn hire(stack: usize) -> Result<NonNull<Thread>, c_int> {
    let memory = map(stack)?;
    let worker = Box::into_raw(Box::new(Thread::without_stack(stack)));
    // SAFETY: the attribute is initialised before it is used. The worker and its stack are leaked, so that their
    // addresses stay valid, or freed if no OS thread uses them.
    unsafe {
        let mut attribute: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attribute);
        let pthread = &raw mut (*worker).pthread;
        let lowest = memory.byte_add(GUARD);
        let error = match libc::pthread_attr_setstack(&mut attribute, lowest, stack) {
            0 => threads::real_create(pthread, &attribute, work, worker.cast()),
            error => error,
        };
        libc::pthread_attr_destroy(&mut attribute);
        if error != 0 {
            libc::munmap(memory, GUARD + stack);
            drop(Box::from_raw(worker));
            return Err(error);
        }
        while (*worker).parked.load(Ordering::Acquire) == 0 {
            let word = (*worker).parked.as_ptr();
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, 0, 0usize);
        }
        (*worker).lowest = lowest as usize;
        Ok(NonNull::new_unchecked(worker))
    }
}

/// Maps a guard page, and a stack above it.
///
/// # Errors
/// Returns the error number of `pthread_create` if the system refuses the memory.
fn map(stack: usize) -> Result<*mut c_void, c_int> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    let size = stack.checked_add(GUARD).ok_or(libc::EAGAIN)?;
    // SAFETY: the mapping is new, and its first page is in no use.
    unsafe {
        let memory = libc::mmap(null_mut(), size, protection, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return Err(libc::EAGAIN);
        }
        libc::mprotect(memory, GUARD, libc::PROT_NONE);
        Ok(memory)
    }
}

/// The main function of each worker.
extern "C" fn work(worker: *mut c_void) -> *mut c_void {
    let worker = worker.cast::<Thread>();
    // SAFETY: the worker is leaked, and `hire` waits. Signals are blocked, because a handler would run on the stack
    // that a simulated thread uses.
    unsafe {
        (*worker).context.thread_pointer = switch::thread_pointer();
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, null_mut());
        switch::park(&raw mut (*worker).base, &raw const (*worker).parked)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use crate::{Execution, Helper, Memory, Request, Watch};

    /// The first thread of a run spawns five threads, and joins them.
    fn body() {
        let threads: Vec<_> = (0..5).map(|nth| std::thread::spawn(move || nth)).collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        assert_eq!(results.sum::<i32>(), 10);
    }

    /// Executes the run. Returns `true` if its process has no other OS thread.
    fn is_alone(mut execution: Execution) -> bool {
        while execution.ended().is_none() {
            if let Request::Join { thread } = execution.resume(0, 0) {
                while !matches!(execution.resume(thread, 0), Request::End) {}
            }
        }
        let is_alone =
            execution.agree(|| std::fs::read_dir("/proc/self/task").unwrap().count() == 1);
        execution.end_with(Vec::new());
        is_alone
    }

    #[test]
    fn a_copy_of_the_process_needs_no_further_workers() {
        let watch = Watch { hang: None, beat: &|| () };
        let apart = || Execution::begin_apart(Box::new(body), Memory::Plain, &watch).unwrap();
        // The process itself has workers after the first run.
        is_alone(apart());
        assert!(is_alone(apart()));
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let helper = Helper::begin(|| {
            let execution = Execution::begin(Box::new(body)).unwrap();
            there.write_all(&[u8::from(is_alone(execution))]).unwrap();
        });
        let mut answer = [2];
        here.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [1]);
        drop(helper);
    }
}
