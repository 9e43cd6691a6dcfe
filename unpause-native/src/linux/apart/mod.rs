//! Runs in a process of their own.
//!
//! The process forks where a run begins. The copy, the *child*, executes the run and writes each reply of its
//! [`Execution`](crate::Execution) to the *tape*, memory that both processes share; then it ends. The parent waits for
//! this end, and executes the same run again with the replies from the tape. The engine does the same in both
//! processes, because it is a function of the replies. So the parent has the whole run, executes nothing of the tested
//! program, and begins the next run in the same state. If the child dies, the tape contains the replies until then.
//!
//! | file | subject |
//! |---|---|
//! | `process.rs` | the fork, the wait for the end of the child, its time limit |
//! | `tape.rs` | the shared memory |
//! | `written.rs` | replies as bytes |
//! | `recorded.rs` | the run from the parent's view |
//! | `helper.rs` | a copy of the process for many runs, without a tape |

pub(crate) mod helper;
pub(crate) mod process;
pub(crate) mod recorded;
pub(crate) mod tape;
pub(crate) mod written;

use std::time::Duration;

/// The limits for a run in a process of its own.
pub struct Watch<'a> {
    /// The maximum time between two requests; `None` for no limit.
    pub hang: Option<Duration>,
    /// Called from time to time during the run.
    pub beat: &'a dyn Fn(),
}

/// The end of a process that did not complete its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessEnd {
    /// The process was ended by a signal with this number.
    Signal(i32),
    /// The process has exited, with this code.
    Exit(i32),
    /// The process was killed, because it made no progress and could not be interrupted.
    Hung,
    /// The run needs more room than the tape has.
    Full,
    /// The process ended normally, but its replies do not fit the requests of the run, because its memory was
    /// destroyed.
    Strayed,
}
