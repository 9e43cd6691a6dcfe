//! Delays: the number of times that the run skips the next task of a round-robin schedule.
//!
//! Emmi, Qadeer, Rakamarić: Delay-Bounded Scheduling (POPL 2011). The scheduler is round-robin in the order of task
//! creation: a task steps until it waits, yields or ends, then the next task steps. Each skipped task is one delay.
//! Without delays, there is only one run, apart from drawn values. For bound d and runs of k steps, the number of runs
//! grows with k^d. This growth does not depend on the number of tasks, so delays are the cheaper bound for many tasks.

use super::Measure;

pub const DELAYS: Measure =
    Measure { what: "delay", cost: |place, _| u32::try_from(place).unwrap_or(u32::MAX) };
