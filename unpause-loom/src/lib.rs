//! loom's names on top of std. Tests written for [loom] 0.7 run unchanged under the scheduler of unpause:
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
//! Under this command a [`model`](fn@model) is searched: all its interleavings if there are few enough, else a sample
//! with unpause's default strategy. Further runs try memory orders weaker than `SeqCst`. A failure is shrunk, shown,
//! kept and replayed like any failure of unpause. Without the command, a model runs several times on real threads, and
//! a note says so.
//!
//! | loom | here |
//! |---|---|
//! | `model`, `model::Builder` | [`model`](mod@model): a search, then samples |
//! | `sync::atomic` | std's atomics, with `with_mut` and `unsync_load` |
//! | `cell` | cells that detect a write concurrent with another access |
//! | `sync::{Mutex, RwLock, Condvar}`, `sync::mpsc` | std's |
//! | `sync::Arc`, `alloc` | std's, but a remaining reference or allocation at the end of a run is a failure |
//! | `thread` | std's; like in loom, `spawn` accepts closures that are not `Send` |
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

/// loom's limit on the threads of a model. This crate has no limit.
pub const MAX_THREADS: usize = 5;

/// Continues the search in loom. No effect here: the whole model is always searched.
pub fn explore() {}

/// Pauses the search in loom, to save time. No effect here: the whole model is always searched.
pub fn stop_exploring() {}

/// Skips an alternative in loom, to save time. No effect here: the whole model is always searched.
pub fn skip_branch() {}
