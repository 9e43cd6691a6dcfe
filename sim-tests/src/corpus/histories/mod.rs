//! Programs with a bug that shows as a history without a sequential explanation, although each call alone is plausible.
//! One family per file.

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

/// The families, one line per file.
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
