//! Effects on a run, outside of points, that a plain thread causes when it calls this library. A
//! run in its own process records them, because the process that reports the run executes no
//! thread.

use crate::run::board::CallPoint;
use crate::run::{Condition, Failure};

/// An effect on the run.
#[cfg_attr(not(unpause_native), allow(dead_code))]
#[derive(Clone, Debug)]
pub enum Note {
    /// A value below `bound` was drawn.
    Drawn { bound: u64, why: &'static str },
    /// A value was drawn, and searches do not try other values.
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
