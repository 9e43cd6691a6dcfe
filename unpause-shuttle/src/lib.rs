//! shuttle's names on top of std. Tests written for [shuttle] 0.9 run unchanged under the scheduler of unpause:
//!
//! ```toml
//! [dev-dependencies]
//! shuttle = { package = "unpause-shuttle", version = "0.1" }
//! ```
//!
//! ```sh
//! cargo unpause test --any
//! ```
//!
//! Under this command, [`check_random`] and the other check functions run the test under unpause. [`check_dfs`] is the
//! exhaustive search; the other functions select strategies. A failure is shrunk, shown, kept and replayed like any
//! failure of unpause. Values that the closure captures see one call for each run: rehearsals and repetitions are in
//! processes of their own. Without the command, the closure runs several times on real threads, and a note says so.
//!
//! | shuttle | here |
//! |---|---|
//! | `check_random` | runs of the default strategy, `portfolio` |
//! | `check` | 100 runs of the default strategy; captured values see one call |
//! | `check_pct`, `check_urw` | the strategies `pct` and `urw` |
//! | `check_dfs` | `exhaustive`, which runs one interleaving per class of equivalent interleavings |
//! | `replay`, `replay_from_file` | 1000 runs of the default strategy, because the schedule has no meaning here |
//! | `sync`, `thread`, `hint` | std's; an `RwLock` must not be acquired by a thread that holds it |
//! | `thread::sleep`, `thread::park` | a sleep is only a point, and `park` may return at any moment |
//! | `future` | tasks, implemented as threads that poll |
//! | `rand` | rand 0.8, with random bytes of the run |
//! | `thread_local!`, `lazy_static!` | new in each run |
//!
//! [shuttle]: https://docs.rs/shuttle

mod check;
pub mod current;
mod events;
pub mod future;
mod heard;
pub mod hint;
mod labels;
pub mod lazy_static;
mod macros;
pub mod rand;
mod runner;
pub mod scheduler;
pub mod sync;
pub mod thread;

/// The name of shuttle's variable for the backtraces of tasks. The variable has no effect here.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";

/// The name of shuttle's variable for the file of the annotation scheduler. The variable has no effect here.
pub const ANNOTATION_FILE: &str = "SHUTTLE_ANNOTATION_FILE";

/// The name of shuttle's variable that silences warnings. The variable has no effect here, because there are none.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";

pub use self::check::{
    check, check_dfs, check_pct, check_random, check_random_with_seed,
    check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
};
pub use self::runner::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, PortfolioRunner, Runner,
    UngracefulShutdownConfig,
};
