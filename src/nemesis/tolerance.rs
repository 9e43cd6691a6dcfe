//! The number of nodes that may fail at once, and of disks that may be lost.

use super::Nemesis;
use super::fault::{Active, Kind, Package};
use crate::node::Node;
use crate::seam::Here;

/// The number of nodes that a system promises to survive the loss of: of all, or of each of some groups; and of disks.
///
/// A node counts as lost while it is down or paused, and while the nemesis cuts it off by itself. Partitions are not
/// bounded, because they take no node, nor are clogs, faults of clocks and slow nodes, nor faults of disks that pass.
///
/// A disk counts as lost from its first [wipe](Node::wipe), or the first fault of the nemesis that
/// [takes data](crate::fs::DiskFault::takes_data) of it, until the end of the run: nobody knows if its data are there
/// again. The same disk may be lost again.
///
/// ```
/// use sim::nemesis::{Nemesis, Tolerance, Victim};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let nodes = ["a", "b", "c"].map(sim::node);
/// let faults = Nemesis::new().kill(Victim::any()).pause(Victim::one()).wipe(Victim::any());
/// faults.tolerance(Tolerance::nodes(1).disks(1)).run(&nodes).await;
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Debug)]
pub struct Tolerance {
    most: usize,
    /// `None` means as many as are named.
    disks: Option<usize>,
    /// `None` means all nodes.
    groups: Vec<Vec<Node>>,
}

impl Tolerance {
    /// At most so many of all nodes at once. It says nothing of disks.
    pub fn nodes(most: usize) -> Tolerance {
        Tolerance { most, disks: None, groups: Vec::new() }
    }

    /// At most so many disks in the run, of all or in each group, are wiped or have faults that take data.
    #[must_use]
    pub fn disks(self, most: usize) -> Tolerance {
        Tolerance { disks: Some(most), ..self }
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

    pub(super) fn bounds_disks(&self) -> bool {
        self.disks.is_some()
    }

    /// The victims that may be taken, if at most `most` of all or of each group are to be taken, and these are.
    fn within(
        &self,
        most: usize,
        nodes: &[Node],
        victims: Vec<Node>,
        is_taken: impl Fn(&Node) -> bool,
    ) -> Vec<Node> {
        let mut taken: Vec<Node> = nodes.iter().filter(|node| is_taken(node)).cloned().collect();
        let may = |victim: &Node| {
            let within = |group: &[Node]| {
                let count = taken.iter().filter(|node| group.contains(node)).count();
                count < most || !group.contains(victim) || taken.contains(victim)
            };
            let may = match self.groups.is_empty() {
                true => within(nodes),
                false => self.groups.iter().all(|group| within(group)),
            };
            if may && !taken.contains(victim) {
                taken.push(victim.clone());
            }
            may
        };
        let mut victims = victims;
        victims.retain(may);
        victims
    }
}

impl Nemesis {
    /// The victims that a fault with this parameter may have beside the `others`.
    pub(super) fn tolerated(
        &self,
        (package, parameter): (&Package, u64),
        nodes: &[Node],
        victims: Vec<Node>,
        others: &[Active],
        here: Here,
    ) -> Vec<Node> {
        let kind = package.kind;
        let Some(tolerance) = &self.tolerance else { return victims };
        let is_passing = matches!(kind, Kind::Partition | Kind::Restart | Kind::Clog | Kind::Disk);
        let mut victims = victims;
        if !is_passing && kind.sizes().is_none() {
            victims = tolerance.within(tolerance.most, nodes, victims, |node| {
                !node.is_up() || node.is_paused() || others.iter().any(|other| other.cuts_off(node))
            });
        }
        match tolerance.disks.filter(|_| package.takes_data(Some(parameter))) {
            Some(most) => tolerance.within(most, nodes, victims, |node| node.has_lost_data(here)),
            None => victims,
        }
    }
}
