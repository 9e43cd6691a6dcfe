//! tokio's names. In a run of unpause tasks, locks, channels and time are simulated; everywhere else they are
//! tokio's own.
//!
//! An application takes part without a change of its code:
//!
//! ```toml
//! [dependencies]
//! tokio = { package = "unpause-tokio", version = "0.1", default-features = false, features = ["full"] }
//!
//! [dev-dependencies]
//! tokio = { package = "unpause-tokio", version = "0.1" }    # its tests run under the scheduler
//! ```
//!
//! Its `#[tokio::test]`s then run for 100 seeds each, under the scheduler: each seed is one interleaving, and a failure
//! is shrunk, explained on one screen and replayed. `SIM_SEEDS=1000 cargo test` tries more; the variables and the
//! arguments of `#[sim::test]` hold here too. Without the feature `sim` the crate is `pub use tokio::*` and nothing
//! else.
//!
//! | module | in a run | elsewhere |
//! |---|---|---|
//! | `sync` | `sim::tokio::sync`: tokio's objects, whose awaits are points | tokio's |
//! | `task`, `spawn` | tasks of the run | tokio's |
//! | `time` | the virtual time of the run, also without `pause()` | tokio's |
//! | `runtime` | `Handle::current` spawns into the run; a second runtime is refused | tokio's |
//! | `select!`, `join!`, `try_join!` | `sim::select!` and the like: the branch that is polled first is a decision | random, as tokio's |
//! | `pin!`, `task_local!`, `io`'s traits and adapters | tokio's | tokio's |
//! | `#[tokio::test]` | | starts the runs |
//! | `#[tokio::main]` | refused, as it makes a runtime | tokio's |
//! | `signal` | `ctrl_c` never comes; others are refused | tokio's |
//! | `net`: `TcpListener`, `TcpSocket`, `TcpStream`, its halves, `UdpSocket`, `lookup_host` | the sockets of `sim::net` | tokio's |
//! | `fs` | the files of `sim::fs` | tokio's |
//! | other sockets, `process`, `io::stdin` and the like | fail for want of a reactor, with advice | tokio's |
//!
//! # Tests that stay on tokio
//!
//! `UNPAUSE_TOKIO_REAL=net::,buffer::req` runs tests once, on tokio, if their paths have one of
//! these parts. Use it for tests of the machine's files or processes, and for tests that expect the
//! order of a runtime of one thread.
//!
//! Tests that poll futures by hand name `unpause-tokio-test` in the place of `tokio-test`, or poll in
//! `sim::task::by_hand`: an operation then takes effect in the poll, and is not a point.
//!
//! # Limits
//!
//! - The limits of `sim` and `sim::tokio`.
//! - A panic of a task is in the `JoinError` of its handle. If no handle gets it, it fails the run: tokio would only
//!   print it.
//! - An object with state that was made outside of a run, as in a static, is refused in runs, but for a static `Notify`
//!   or `Semaphore`.
//! - A handle of a runtime that exists outside spawns into the run when a task of the run uses it.
//! - Deadlines of a run are exact; tokio rounds them up to milliseconds.
//! - The files of a run have no permissions, times and symbolic links, and `FileType` and
//!   `Metadata` differ from std's.
//! - A future that is made outside of runs, or in one, is to be polled there.

#![forbid(unsafe_code)]

// All of it. A simulated item is defined below, and takes precedence over the same item of a glob.
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

/// For the expansion of macros.
#[cfg(all(feature = "sim", not(sim_real)))]
#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "macros", feature = "rt"))]
    pub use crate::test_runs::{Tokio, test};
    pub use sim::__private::{Attributes, Site};
}
