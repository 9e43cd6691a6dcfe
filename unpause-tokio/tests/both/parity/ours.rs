//! The programs with this crate.

#[allow(clippy::single_component_path_imports)] // The programs name it by this path.
pub(crate) use tokio;

#[path = "programs.rs"]
pub(crate) mod programs;
