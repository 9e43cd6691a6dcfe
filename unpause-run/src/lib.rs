//! Data of one run of concurrent code, and functions over this data.
//!
//! These modules use no threads, clocks or build features: they are functions from data to data. The crate is a part of
//! [unpause](https://docs.rs/unpause), which executes the runs and re-exports the items that its users need. Items that
//! unpause does not re-export are hidden here and may change in any version.

#![forbid(unsafe_code)]
// The library re-exports items of private modules.
#![allow(unreachable_pub)]
// The docs of hidden modules link to their private parts.
#![allow(rustdoc::private_intra_doc_links)]

/// The folder of this crate's sources, in the form that places of functions have.
#[doc(hidden)]
pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

// L0: data of a run
pub mod run;

// L1: independent modules, which do not use each other
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
