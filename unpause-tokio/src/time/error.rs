//! Timeout errors.

pub use real::time::error::Error;
pub use sim::time::error::Elapsed;
