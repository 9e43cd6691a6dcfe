//! Preemptions: switches away from a task that could have gone on and did not yield.
//!
//! Musuvathi, Qadeer: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI
//! 2007). The choice of the next task is free if the task waits, yields or ends. The bound therefore keeps all
//! schedules that switch only there. The number of runs grows with the steps of a run to the power of
//! the bound, and with the orders in which tasks can follow each other. A preemption is a step with
//! [`StepRecord::preempts`](crate::run::StepRecord::preempts); shrinking uses the same definition.

use super::Measure;

pub const PREEMPTIONS: Measure =
    Measure { what: "preemption", cost: |place, goes_on| u32::from(goes_on && place > 0) };
