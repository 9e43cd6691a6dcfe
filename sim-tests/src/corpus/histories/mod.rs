//! Programs whose bug is a history that no sequential order explains: each call alone looks right. A
//! family in each file.

mod audit;
mod compaction;
mod harris;
mod index;
mod lagging;
mod map_length;
mod snapshot;
mod striped;
mod try_cas;

use super::programs::{Program, Spawning, together};

/// The families, a line for each file.
pub const FAMILIES: &[&[Program]] = &[
    audit::PROGRAMS,
    compaction::PROGRAMS,
    harris::PROGRAMS,
    index::PROGRAMS,
    lagging::PROGRAMS,
    map_length::PROGRAMS,
    snapshot::PROGRAMS,
    striped::PROGRAMS,
    try_cas::PROGRAMS,
];
