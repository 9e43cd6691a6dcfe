//! The programs with tokio.

pub(crate) use real as tokio;

#[path = "programs.rs"]
pub(crate) mod programs;
