//! The executor on real threads: it runs the tasks of code outside of runs, of stress runs and of the real build.
//!
//! The counterpart of this executor is `rt`, which executes simulated runs. This executor and `rt` are below the seam.
//!
//! | file | content |
//! |---|---|
//! | `threads` | tasks as futures of the program's spawner, or as threads |
//! | `own` | the parking token and the end work of such a task |
//! | `task_id`, `join_error` | the identity of a task, and the error of a task without a result |
//! | `crew` | tasks that are threads of a scope |
//! | `groups` | tasks that end together |
//! | `timer` | timers on the clock of the system |
//! | `stress`, `start`, `jitter` | a stress run: its tasks, their common start, their delays |
//! | `statics`, `kept` | values of a static in each stress run, and values of the process |
//! | `backoff`, `nameless` | pauses of a loop, and objects without names |

pub(crate) mod backoff;
pub(crate) mod crew;
pub(crate) mod groups;
#[cfg_attr(all(feature = "sim", not(sim_real)), allow(dead_code))]
pub(crate) mod jitter;
mod join_error;
pub(crate) mod kept;
#[cfg(not(all(feature = "sim", not(sim_real))))]
pub(crate) mod nameless;
pub(crate) mod own;
pub(crate) mod spawning;
#[cfg_attr(all(feature = "sim", not(sim_real)), allow(dead_code))]
mod start;
#[cfg(not(all(feature = "sim", not(sim_real))))]
pub(crate) mod statics;
#[cfg_attr(all(feature = "sim", not(sim_real)), allow(dead_code, unused_imports))]
pub(crate) mod stress;
mod task_id;
pub(crate) mod timer;

pub use self::join_error::JoinError;
pub use self::task_id::Id;
