//! Preemptions: switches away from a task that could have continued and did not yield.
//!
//! Musuvathi, Qadeer: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007). If a
//! task waits, yields or ends, the choice of the next task costs nothing. The bound therefore allows all schedules that
//! switch only at such steps. For bound d and runs of k steps, the number of runs grows with k^d, and with the number
//! of orders in which tasks can follow each other. A preemption is a step with
//! [`StepRecord::preempts`](crate::run::StepRecord::preempts); shrinking uses the same definition.

use super::Measure;

pub const PREEMPTIONS: Measure =
    Measure { what: "preemption", cost: |place, goes_on| u32::from(goes_on && place > 0) };
