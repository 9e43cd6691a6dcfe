//! Preemptions: switches away from a task that could have gone on and did not yield.
//!
//! Musuvathi, Qadeer: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI
//! 2007). When a task waits, yields or ends, whoever comes next is free. So the bound leaves whole all
//! that a program does by itself, and the number of runs grows with the steps of a run to the power of
//! the bound, but also with the orders in which tasks can take over from each other. What is within the
//! bound is what [`StepRecord::preempts`](crate::run::StepRecord::preempts) says, and what shrinking
//! counts.

use super::Measure;

pub(crate) const PREEMPTIONS: Measure =
    Measure { what: "preemption", cost: |place, goes_on| u32::from(goes_on && place > 0) };
