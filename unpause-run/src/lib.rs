//! One run of concurrent code as data, and what is computed from it.
//!
//! These modules know no thread, no clock and no feature of the build: they are functions from data to data. They are a
//! part of [unpause](https://docs.rs/unpause), which makes the runs and re-exports what its users need. Items that
//! unpause does not re-export are hidden here and may change in any version.

#![forbid(unsafe_code)]
// Items of private modules that the library needs are re-exported.
#![allow(unreachable_pub)]
// Hidden modules tell of their parts.
#![allow(rustdoc::private_intra_doc_links)]

/// The folder of this crate's sources, as places of functions have it.
#[doc(hidden)]
pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

// L0: data of a run
pub mod run;

// L1: siblings, which do not know each other
pub mod census;
#[doc(hidden)]
pub mod disk;
pub mod report;
pub mod shrink;
pub mod strategy;

/// Returns `true` if tests use their large samples: the environment variable `UNPAUSE_LONG` is set, and not to 0.
#[cfg(test)]
fn long() -> bool {
    std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0")
}
