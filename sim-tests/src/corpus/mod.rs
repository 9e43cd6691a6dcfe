//! The bug corpus: programs with a known bug, each beside its fixed twin.
//!
//! They are small models of bugs of the literature and of real crates, in their own words. A program
//! says how many seeds the default strategy may take for it; `tests/corpus.rs` walks the registries
//! and holds every program to that, and every twin to passing. To add a program, write it in a file of
//! `programs/` or `histories/` and give the file its line in the registry there.

pub mod histories;
pub mod programs;

use self::programs::Program;

/// Every program of the corpus.
pub fn all() -> impl Iterator<Item = &'static Program> {
    programs::FAMILIES.iter().chain(histories::FAMILIES).copied().flatten()
}
