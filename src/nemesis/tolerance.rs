//! Limits for the number of nodes that may fail at once, and of disks that may be lost.

use super::Nemesis;
use super::fault::{Active, Package};
use super::fault_kinds::FaultKind;
use crate::node::Node;
use crate::seam::Here;

/// The number of nodes and disks whose loss a system promises to survive. The limits apply to all nodes, or to each of
/// some groups.
///
/// A node counts as lost while it is down or paused, and while the nemesis isolates this single node. Partitions are
/// not limited, because they disable no node. Clogs, clock faults, slow nodes and transient disk faults are not limited
/// either.
///
/// A disk counts as lost from its first [wipe](Node::wipe), or its first nemesis fault that
/// [destroys data](crate::fs::DiskFault::takes_data), until the end of the run. The nemesis cannot know when the data
/// has been restored. The same disk may be lost again.
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
    /// `None` sets no limit; then only explicitly named nodes may lose data.
    disks: Option<usize>,
    /// Empty means one group of all nodes.
    groups: Vec<Vec<Node>>,
}

impl Tolerance {
    /// Limits the lost nodes to `most` of all nodes at the same time. Does not limit disks.
    pub fn nodes(most: usize) -> Tolerance {
        Tolerance { most, disks: None, groups: Vec::new() }
    }

    /// Limits the disks that are wiped or get data-destroying faults during the run to `most`, over all nodes or in
    /// each group.
    ///
    /// ```
    /// use sim::fs;
    /// use sim::nemesis::{Nemesis, Tolerance, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// for node in &nodes {
    ///     node.spawn(fs::write("/a", "bytes")).await.unwrap().unwrap();
    /// }
    /// let tolerance = Tolerance::nodes(1).disks(1);
    /// Nemesis::new().wipe(Victim::any()).tolerance(tolerance).run(&nodes).await;
    /// let mut kept = 0;
    /// for node in &nodes {
    ///     kept += usize::from(node.spawn(fs::try_exists("/a")).await.unwrap().unwrap());
    /// }
    /// assert!(kept >= 2);
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub fn disks(self, most: usize) -> Tolerance {
        Tolerance { disks: Some(most), ..self }
    }

    /// Applies the limits to each of these groups, for example to the replicas of a shard. Nodes in no group are not
    /// limited.
    ///
    /// ```
    /// use sim::nemesis::{Nemesis, Tolerance, Victim};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let nodes = ["a", "b", "c"].map(sim::node);
    /// let tolerance = Tolerance::nodes(0).per([&nodes[..2]]);
    /// Nemesis::new().kill(Victim::any()).tolerance(tolerance).run(&nodes).await;
    /// assert_eq!((nodes[0].life(), nodes[1].life()), (1, 1), "only c is killed");
    /// # });
    /// # assert!(report.passed());
    /// ```
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

    /// Returns the permitted victims if at most `most` nodes of all, or of each group, may be lost. `is_taken` is
    /// `true` for the nodes that are lost already.
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
    /// Returns the permitted victims of a fault with this parameter while `others` are active.
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
        let is_passing =
            matches!(kind, FaultKind::Partition | FaultKind::Restart | FaultKind::Disk)
                || kind.effect().is_some_and(|effect| !effect.takes_nodes());
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
