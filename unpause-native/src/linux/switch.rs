//! The switch from one stack and thread-local block to another.
//!
//! A switch pushes the callee-saved registers, saves the stack pointer, and restores the registers
//! of the other side, including the thread pointer.

pub(crate) use super::arch::{begin, frame_pointer, park, switch, thread_pointer};

/// The saved state of a suspended thread.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Context {
    /// The stack pointer. The registers are saved at this address.
    pub(crate) stack_pointer: usize,
    /// The base of the thread-local block.
    pub(crate) thread_pointer: usize,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use crate::linux::arch;
    use crate::{Ended, Execution, Request};

    /// Returns the number of requests of a thread that spawns another thread and waits for it.
    fn requests() -> usize {
        let body = || assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        let mut execution = Execution::begin(Box::new(body)).unwrap();
        let mut requests = 0;
        while execution.ended().is_none() {
            requests += 1;
            if let Request::Join { thread } = execution.resume(0, 0) {
                while !matches!(execution.resume(thread, 0), Request::End) {}
            }
        }
        assert_eq!(execution.ended(), Some(Ended::Returned));
        requests
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn threads_are_switched_by_a_system_call_where_user_code_may_not_write_fs() {
        let expected = requests();
        arch::MAY_WRITE_FS.store(0, Ordering::Relaxed);
        assert_eq!((requests(), requests()), (expected, expected));
        arch::MAY_WRITE_FS.store(2, Ordering::Relaxed);
        assert_eq!(requests(), expected);
    }
}
