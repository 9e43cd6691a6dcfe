//! Test tools besides tasks and primitives: recorded histories, generated programs, and conditions over runs.

pub(crate) mod buggify;
pub mod generate;
pub mod parallel;
pub(crate) mod properties;
pub mod recorder;
pub(crate) mod sometimes;
