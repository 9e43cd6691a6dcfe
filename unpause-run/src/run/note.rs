//! Effects of a plain thread's calls of this library on a run, outside of points. A run in a
//! process of its own writes it down, because the process that reports the run executes no thread.

use crate::run::board::CallPoint;
use crate::run::{Condition, Failure};

/// One such effect.
#[cfg_attr(not(unpause_native), allow(dead_code))]
#[derive(Clone, Debug)]
pub enum Note {
    /// A value below `bound` was drawn.
    Drawn { bound: u64, why: &'static str },
    /// A value that is not explored was drawn.
    Given { bound: u64, value: u64, why: &'static str },
    /// A history has begun.
    History,
    /// A call of a history has reached a point.
    Call { history: usize, point: CallPoint },
    /// A generated program has begun.
    Program,
    /// A condition was evaluated.
    Condition(Condition),
    /// The run has failed.
    Failed(Failure),
    /// The body has returned an error.
    Error(String),
}
