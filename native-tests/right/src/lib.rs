//! Parts that the small programs share: plain memory, and futures on plain threads.

#![forbid(unsafe_code)]

mod futures;

pub use futures::block_on;
pub use planted::Plain;
