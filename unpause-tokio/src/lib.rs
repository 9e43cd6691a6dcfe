//! tokio's names. In a run of unpause, tasks, locks, channels and time are simulated. Everywhere else they are tokio's
//! own.
//!
//! An application uses this crate without a change of its code:
//!
//! ```toml
//! [dependencies]
//! tokio = { package = "unpause-tokio", version = "0.1", default-features = false, features = ["full"] }
//!
//! [dev-dependencies]
//! tokio = { package = "unpause-tokio", version = "0.1" }    # its tests run under the scheduler
//! ```
//!
//! Its `#[tokio::test]`s then run for 100 seeds each, under the scheduler. Each seed is one interleaving; a failure is
//! shrunk, explained on one screen and replayed. `SIM_SEEDS=1000 cargo test` tries more seeds. The variables and
//! arguments of `#[sim::test]` apply here too. Without the feature `sim` the crate is only `pub use tokio::*`.
//!
//! | module | in a run | elsewhere |
//! |---|---|---|
//! | `sync` | `sim::tokio::sync`: tokio's objects, whose awaits are points | tokio's |
//! | `task`, `spawn` | tasks of the run | tokio's |
//! | `time` | the virtual time of the run, even without `pause()` | tokio's |
//! | `runtime` | `Handle::current` spawns into the run; a second runtime is refused | tokio's |
//! | `select!`, `join!`, `try_join!` | `sim::select!` and its relatives: the branch that is polled first is a decision of the run | tokio's: the first branch is random |
//! | `pin!`, `task_local!`, `io`'s traits and adapters | tokio's | tokio's |
//! | `#[tokio::test]` | | starts the runs |
//! | `#[tokio::main]` | refused, because it creates a runtime | tokio's |
//! | `signal` | `ctrl_c` never arrives; other signals are refused | tokio's |
//! | `net`: `TcpListener`, `TcpSocket`, `TcpStream`, its halves, `UdpSocket`, `lookup_host` | the sockets of `sim::net` | tokio's |
//! | `fs` | the files of `sim::fs` | tokio's |
//! | other sockets, `process`, `io::stdin` and similar items | fail because there is no reactor; the message contains advice | tokio's |
//!
//! # Tests that stay on tokio
//!
//! `UNPAUSE_TOKIO_REAL=net::,buffer::req` runs a test once, on tokio, if its path contains one of these parts. Use it
//! for tests of real files or processes, and for tests that rely on the task order of a single-threaded runtime.
//!
//! Tests that poll futures by hand should depend on `unpause-tokio-test` in place of `tokio-test`, or poll in
//! `sim::task::by_hand`. An operation then takes effect in the poll, and is not a point.
//!
//! # Limits
//!
//! - The limits of `sim` and `sim::tokio` apply.
//! - The `JoinError` of a task's handle contains the task's panic. If no handle receives the panic, the run fails;
//!   tokio would only print it.
//! - A run refuses a stateful object created outside of the run, for example in a static. A static `Notify` or
//!   `Semaphore` is allowed.
//! - If a task of the run uses the handle of an outside runtime, the handle spawns into the run.
//! - Deadlines of a run are exact; tokio rounds them up to milliseconds.
//! - The files of a run have no permissions, times or symbolic links, and `FileType` and `Metadata` differ from std's.
//! - A future must be polled where it was created: inside the same run, or outside of runs.
//! - tokio's features `io-uring`, `schedule-latency` and `taskdump`, which need `--cfg tokio_unstable`, have no effect.
//!   With this cfg, the last two are refused, because their items are missing.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(all(tokio_unstable, any(feature = "schedule-latency", feature = "taskdump")))]
compile_error!(
    "unpause-tokio does not have the items of tokio's features `schedule-latency` and `taskdump`: \
     remove these features, or `--cfg tokio_unstable`"
);

// Exports everything. A simulated item is defined below, and takes precedence over the same item of a glob.
pub use real::*;

#[cfg(all(feature = "fs", feature = "sim", not(sim_real)))]
pub mod fs;
#[cfg(all(any(feature = "fs", feature = "rt", feature = "time"), feature = "sim", not(sim_real)))]
mod kinds;
#[cfg(all(feature = "net", feature = "sim", not(sim_real)))]
pub mod net;
#[cfg(all(feature = "rt", feature = "sim", not(sim_real)))]
pub mod runtime;
#[cfg(all(feature = "signal", feature = "sim", not(sim_real)))]
pub mod signal;
#[cfg(all(feature = "rt", feature = "sim", not(sim_real)))]
pub mod task;
#[cfg(all(feature = "macros", feature = "rt", feature = "sim", not(sim_real)))]
mod test_runs;
#[cfg(all(feature = "time", feature = "sim", not(sim_real)))]
pub mod time;

#[cfg(all(feature = "rt", feature = "sim", not(sim_real)))]
pub use self::task::spawn;
#[cfg(all(feature = "sync", feature = "sim", not(sim_real)))]
pub use sim::tokio::sync;
#[cfg(all(feature = "macros", feature = "sim", not(sim_real)))]
pub use sim::tokio::{join, select, try_join};
#[cfg(all(feature = "macros", feature = "rt", feature = "sim", not(sim_real)))]
pub use unpause_macros::tokio_test as test;

/// Items that the macros expand to.
#[cfg(all(feature = "sim", not(sim_real)))]
#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "macros", feature = "rt"))]
    pub use crate::test_runs::{Tokio, test};
    pub use sim::__private::{Attributes, Site};
}
