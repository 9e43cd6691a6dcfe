//! tokio's runtimes. In a run, the run takes the place of a runtime, and [`Handle::current`]
//! returns its handle.

#[macro_use]
mod shared;

mod builder;
mod handle;
mod local;
#[allow(clippy::module_inception)] // as tokio's
mod runtime;

pub use real::runtime::*;

pub use self::builder::Builder;
pub use self::handle::{EnterGuard, Handle};
pub use self::local::LocalRuntime;
pub use self::runtime::Runtime;

/// The problem and remedy for code in a run that blocks its thread until a future is ready.
const BLOCKS: &str = "block_on blocks its thread, and all tasks of a run are on one: write .await, or spawn the future";
