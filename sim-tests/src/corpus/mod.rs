//! The bug corpus: programs with a known bug, each with a fixed twin.
//!
//! The programs are small, newly written models of bugs from the literature and from real crates. A program specifies
//! how many seeds the default strategy may need. `tests/corpus.rs` checks this number for every program in the
//! registries, and checks that every twin passes. To add a program, write it in a file of `programs/` or `histories/`,
//! and add a line for the file to the registry in that folder.

pub mod histories;
pub mod programs;

use self::programs::Program;

/// Returns every program of the corpus.
pub fn all() -> impl Iterator<Item = &'static Program> {
    programs::FAMILIES.iter().chain(histories::FAMILIES).copied().flatten()
}
