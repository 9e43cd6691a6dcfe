//! Ends faults for a part of the system, while all other nodes stay cut off or down forever.

use std::future::Future;
use std::time::Duration;

use crate::net;
use crate::node::Node;
use crate::seam::{self, here};
use crate::time::sleep;

/// Like [`quiesce`](super::quiesce), for the nodes of `core` only: they are resumed and restarted, their clocks are
/// corrected, and the links between them are healed. All other nodes are cut off from now on; nodes that are
/// down stay down. A system that works with a majority must then continue with the core alone.
///
/// ```
/// use sim::{nemesis, net, time::Duration};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let nodes = ["a", "b", "c"].map(sim::node);
/// let core = nemesis::majority(&nodes);
/// assert_eq!(core.len(), 2);
/// nodes.iter().for_each(|node| node.kill());
/// nemesis::quiesce_core(&nodes, &core, Duration::from_millis(20)).await;
/// assert_eq!(nodes.iter().filter(|node| node.is_up()).count(), 2);
/// # });
/// # assert!(report.passed());
/// ```
#[track_caller]
pub fn quiesce_core(
    nodes: &[Node],
    core: &[Node],
    time: Duration,
) -> impl Future<Output = ()> + Send + use<> {
    let (here, nodes, core) = (here(), nodes.to_vec(), core.to_vec());
    async move {
        super::calm(&core, here);
        core.iter().for_each(|node| node.calm(here));
        for node in nodes.iter().filter(|node| !core.contains(node)) {
            net::isolate_at(node, here);
        }
        sleep(time).await;
    }
}

/// Draws a smallest majority of the nodes. Shrinks to the first nodes.
///
/// ```
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let nodes = ["a", "b", "c", "d"].map(sim::node);
/// let core = sim::nemesis::majority(&nodes);
/// assert_eq!(core.len(), 3);
/// assert!(core.iter().all(|node| nodes.contains(node)));
/// # });
/// # assert!(report.passed());
/// ```
pub fn majority(nodes: &[Node]) -> Vec<Node> {
    let mut left = nodes.to_vec();
    let size = nodes.len() / 2 + 1;
    (0..size.min(nodes.len()))
        .map(|_| {
            let at = seam::draw(left.len() as u64, "a majority of the nodes");
            left.remove(at as usize)
        })
        .collect()
}
