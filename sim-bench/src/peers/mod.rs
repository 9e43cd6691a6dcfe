//! The measured tools, one file each, all with the same bodies.

pub(crate) mod bare;
pub(crate) mod loom;
pub(crate) mod ours;
pub(crate) mod shuttle_async;
pub(crate) mod shuttle_threads;
#[cfg(feature = "tokio")]
pub(crate) mod tokio;

use crate::workload::Workload;

/// A tool that runs workloads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The title of its column.
    pub(crate) name: &'static str,
    /// Returns `true` if the tool can run this workload.
    pub(crate) can: fn(Workload) -> bool,
    /// Runs the body this many times, and asserts the number of runs.
    pub(crate) run: fn(Workload, u64),
}

/// All peers; ours is the first.
pub(crate) const PEERS: &[Peer] = &[
    ours::PEER,
    shuttle_threads::PEER,
    shuttle_async::PEER,
    loom::PEER,
    bare::PEER,
    #[cfg(feature = "tokio")]
    tokio::PEER,
];
