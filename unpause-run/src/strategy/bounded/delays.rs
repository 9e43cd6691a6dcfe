//! Delays: the number of times that the run skips the next task of a round-robin scheduler.
//!
//! Emmi, Qadeer, Rakamarić: Delay-Bounded Scheduling (POPL 2011). The scheduler is round-robin in the
//! order of creation: a task steps until it waits, yields or ends, then the next task does.
//! Each skipped task is one delay. Without delays there is one run, apart from drawn values. The
//! number of runs grows with the steps of a run to the power of the bound and does not depend on the number of
//! tasks, so this is the cheaper bound for many tasks.

use super::Measure;

pub const DELAYS: Measure =
    Measure { what: "delay", cost: |place, _| u32::try_from(place).unwrap_or(u32::MAX) };
