//! Delays: how often the task that a simple scheduler would let step is skipped.
//!
//! Emmi, Qadeer, Rakamarić: Delay-Bounded Scheduling (POPL 2011). The scheduler is round-robin in the
//! order in which tasks were spawned: a task steps until it waits, yields or ends, then the one behind
//! it. Each task that is skipped is one delay. With none there is one run, values drawn apart, and the
//! number of runs grows with the steps of a run to the power of the bound, whatever the number of tasks:
//! that makes it the cheaper bound where there are many.

use super::Measure;

pub(crate) const DELAYS: Measure =
    Measure { what: "delay", cost: |place, _| u32::try_from(place).unwrap_or(u32::MAX) };
