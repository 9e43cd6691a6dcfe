//! Tools of a test besides tasks and primitives: recorded histories, generated programs, conditions over runs.

pub(crate) mod buggify;
pub mod generate;
pub mod parallel;
pub(crate) mod properties;
pub mod recorder;
pub(crate) mod sometimes;
