//! The number of nodes that may fail at once.

use super::Nemesis;
use super::fault::{Active, Kind};
use crate::node::Node;

/// The number of nodes that a system promises to survive the loss of: of all, or of each of some groups.
///
/// A node counts as lost while it is down or paused, and while the nemesis cuts it off by itself. Partitions are not bounded,
/// because they take no node, nor are clogs, faults of clocks and slow nodes.
///
/// ```
/// use sim::nemesis::{Nemesis, Tolerance, Victim};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let nodes = ["a", "b", "c"].map(sim::node);
/// let faults = Nemesis::new().kill(Victim::any()).pause(Victim::one()).isolate(Victim::one());
/// faults.tolerance(Tolerance::nodes(1)).run(&nodes).await;
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Debug)]
pub struct Tolerance {
    most: usize,
    /// None for all nodes.
    groups: Vec<Vec<Node>>,
}

impl Tolerance {
    /// At most so many of all nodes.
    pub fn nodes(most: usize) -> Tolerance {
        Tolerance { most, groups: Vec::new() }
    }

    /// At most so many in each of these groups, such as the replicas of a shard. Nodes in no group are not bounded.
    #[must_use]
    pub fn per<'a, G: IntoIterator<Item = &'a Node>>(
        self,
        groups: impl IntoIterator<Item = G>,
    ) -> Tolerance {
        let groups = groups.into_iter().map(|group| group.into_iter().cloned().collect());
        Tolerance { groups: groups.collect(), ..self }
    }
}

impl Nemesis {
    /// The victims that a fault of this kind may have beside the `others`.
    pub(super) fn tolerated(
        &self,
        kind: Kind,
        nodes: &[Node],
        victims: Vec<Node>,
        others: &[Active],
    ) -> Vec<Node> {
        let takes =
            !matches!(kind, Kind::Partition | Kind::Restart | Kind::Clog) && kind.sizes().is_none();
        let Some(Tolerance { most, groups }) = self.tolerance.as_ref().filter(|_| takes) else {
            return victims;
        };
        let is_lost = |node: &Node| {
            !node.is_up() || node.is_paused() || others.iter().any(|other| other.cuts_off(node))
        };
        let mut lost: Vec<Node> = nodes.iter().filter(|node| is_lost(node)).cloned().collect();
        let mut taken = Vec::new();
        for victim in victims {
            let within = |group: &[Node]| {
                let count = lost.iter().filter(|node| group.contains(node)).count();
                count < *most || !group.contains(&victim) || lost.contains(&victim)
            };
            let may = match groups.is_empty() {
                true => within(nodes),
                false => groups.iter().all(|group| within(group)),
            };
            if may {
                if !lost.contains(&victim) {
                    lost.push(victim.clone());
                }
                taken.push(victim);
            }
        }
        taken
    }
}
