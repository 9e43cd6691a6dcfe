//! Runs in a process of their own.
//!
//! The process forks where a run begins. The copy, the *child*, makes the run and writes each answer of its
//! [`Execution`](crate::Execution) on the *tape*, memory that both processes share; then it ends. The parent waits for
//! its end and makes the same run once more, of the same questions with the answers on the tape: the engine above does
//! the same in both, because it is a function of the answers. So the parent has the whole run, executes nothing of the
//! tested program, and begins the next run as it began this one. If the child dies, the tape has the answers until
//! then.
//!
//! | file | subject |
//! |---|---|
//! | `process.rs` | the fork, the wait for the end of the child, its time limit |
//! | `tape.rs` | the shared memory |
//! | `written.rs` | answers as bytes |
//! | `recorded.rs` | the run as the parent has it |
//! | `helper.rs` | a copy of the process for many runs, without a tape |

pub(crate) mod helper;
pub(crate) mod process;
pub(crate) mod recorded;
pub(crate) mod tape;
pub(crate) mod written;

use std::time::Duration;

/// The watch over a run in a process of its own.
pub struct Watch<'a> {
    /// The time in which it must come from one request to the next; none for no limit.
    pub hang: Option<Duration>,
    /// Called now and then during the run.
    pub beat: &'a dyn Fn(),
}

/// The end of a process whose run did not reach its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessEnd {
    /// A signal with this number.
    Signal(i32),
    /// It has ended itself, with this code.
    Exit(i32),
    /// It was killed, because it neither continued nor could be interrupted.
    Hung,
    /// The run needs more room on the tape than there is.
    Full,
    /// It ended as it should, but its answers do not fit the questions of the run: its memory was
    /// destroyed.
    Strayed,
}
