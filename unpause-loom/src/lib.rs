//! loom's names over std. Tests that were written for [loom] 0.7 run under the scheduler of unpause, unchanged:
//!
//! ```toml
//! [target.'cfg(loom)'.dev-dependencies]
//! loom = { package = "unpause-loom", version = "0.1" }
//! ```
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo unpause test --any
//! ```
//!
//! Under this command a [`model`](fn@model) is searched: all its interleavings if their number allows it, and otherwise
//! runs of unpause's default strategy. Then memory orders that are weaker than `SeqCst` are tried in more runs. A
//! failure is shrunk, shown, kept and replayed like each failure of unpause. Without the command a model runs on real
//! threads some times, and a note says so.
//!
//! | loom | here |
//! |---|---|
//! | `model`, `model::Builder` | [`model`](mod@model): a search, then samples |
//! | `sync::atomic` | std's atomics, with `with_mut` and `unsync_load` |
//! | `cell` | cells that find a write beside another access |
//! | `sync::{Mutex, RwLock, Condvar}`, `sync::mpsc` | std's |
//! | `sync::Arc`, `alloc` | std's, and what is left at the end of a run is a failure |
//! | `thread` | std's; `spawn` takes closures that are not `Send`, as loom's does |
//! | `thread_local!`, `lazy_static!` | new in each run |
//!
//! [loom]: https://docs.rs/loom

pub mod alloc;
pub mod cell;
#[cfg(feature = "futures")]
pub mod future;
pub mod hint;
pub mod lazy_static;
mod macros;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use crate::model::model;

/// loom's limit of the threads of a model. There is none here.
pub const MAX_THREADS: usize = 5;

/// Goes on with the search, in loom. Here the whole model is searched.
pub fn explore() {}

/// Stops the search, in loom, so that it takes less time. Here the whole model is searched.
pub fn stop_exploring() {}

/// Skips an alternative, in loom, so that it takes less time. Here the whole model is searched.
pub fn skip_branch() {}
