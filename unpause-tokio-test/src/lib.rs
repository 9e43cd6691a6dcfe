//! tokio-test's names. In a run of unpause, the futures that a mock task polls take effect at once; everything else is
//! tokio-test's own.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { package = "unpause-tokio", version = "0.1" }
//! tokio-test = { package = "unpause-tokio-test", version = "0.1" }
//! ```
//!
//! An operation of a run is a point: its first poll is never ready. A test that polls by hand, with [`task::spawn`],
//! expects the state of the future instead. So the polls of a mock task are by hand (`sim::task::by_hand`): each
//! operation is a part of the step in which it is polled, and other tasks come before or after that step. Outside of
//! runs the mock task is tokio-test's.
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
//! - [`io::Builder`](mod@io) is over the tokio that tokio-test names: with `unpause-tokio/patch` that of the run,
//!   without it a mock that waits needs a runtime.
//! - [`block_on`] makes a runtime, which a run refuses.

#![forbid(unsafe_code)]

// All of it. An item that is simulated stands below and goes before that of a glob.
pub use real::*;

#[cfg(feature = "sim")]
pub mod task;
