//! tokio-test's names. In a run of unpause, futures polled by a mock task take effect immediately; everything else is
//! tokio-test's own.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { package = "unpause-tokio", version = "0.1" }
//! tokio-test = { package = "unpause-tokio-test", version = "0.1" }
//! ```
//!
//! An operation in a run is a point, so its first poll is never ready. But a test that polls by hand, with
//! [`task::spawn`], expects the real state of the future. So a mock task polls by hand (`sim::task::by_hand`): each
//! operation is a part of the step that polls it, and other tasks run before or after that step. Outside of runs, the
//! mock task is tokio-test's.
//!
//! ```
//! use sim::tokio::sync::mpsc;
//! use tokio_test::{assert_pending, assert_ready_eq, task};
//!
//! let report = sim::Runner::new().run(async || {
//!     let (sender, mut receiver) = mpsc::channel(1);
//!     let mut recv = task::spawn(receiver.recv());
//!     assert_pending!(recv.poll());
//!     sender.try_send(1).unwrap();
//!     assert!(recv.is_woken());
//!     assert_ready_eq!(recv.poll(), Some(1));
//! });
//! assert!(report.passed());
//! ```
//!
//! # Limits
//!
//! - [`io::Builder`](mod@io) uses the `tokio` that tokio-test depends on. With `unpause-tokio/patch` this is the tokio
//!   of the run; without the patch, a mock that waits needs a runtime.
//! - [`block_on`] creates a runtime, which a run refuses.

#![forbid(unsafe_code)]

// Exports everything. A simulated item is defined below, and takes precedence over the same item of a glob.
pub use real::*;

#[cfg(feature = "sim")]
pub mod task;
