//! The simulators, one file each, all with the same bodies.

mod madsim;
mod ours;
mod turmoil;

use crate::workload::Workload;

/// A simulator of clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// The title of its column.
    pub(crate) name: &'static str,
    /// Returns `true` if it can run this workload.
    pub(crate) can: fn(Workload) -> bool,
    /// Runs the workload this number of times, each with a different seed, and checks that all nodes did their work.
    pub(crate) run: fn(Workload, u64),
}

/// All of them; the first is ours.
pub(crate) static PEERS: [Peer; 3] = [ours::PEER, turmoil::PEER, madsim::PEER];
