//! The nodes of a run, and the modules that must know when one dies.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Node;
use crate::seam::{Group, Here};

/// The end of a life of a node, or of its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Death {
    /// The process ended; its kernel and its disk go on.
    Killed,
    /// The machine ended, perhaps after its process.
    PoweredOff,
    /// The process is dead, and the disk is a new one.
    Wiped,
}

/// Called when a node dies.
type Listener = fn(&Node, Death, Here);

/// The nodes of a run.
#[derive(Default)]
pub(crate) struct Cluster(Mutex<Members>);

#[derive(Default)]
struct Members {
    nodes: Vec<Node>,
    /// The node of each group.
    groups: Vec<(Group, Node)>,
    listeners: Vec<Listener>,
}

impl Drop for Cluster {
    /// The main function of a node may have a copy of the node.
    fn drop(&mut self) {
        for node in self.nodes() {
            let main = node.state().main.take();
            drop(main);
        }
    }
}

impl Cluster {
    fn members(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node, which `make` makes from its number.
    pub(super) fn add(&self, make: impl FnOnce(u32) -> Node) -> Node {
        let mut members = self.members();
        let node = make(members.nodes.len() as u32);
        let group = node.state().group;
        members.groups.extend(group.map(|group| (group, node.clone())));
        members.nodes.push(node.clone());
        node
    }

    /// Learns the group of the next life of a node.
    pub(super) fn know(&self, group: Group, node: &Node) {
        self.members().groups.push((group, node.clone()));
    }

    /// The node of this name. Of several, which the real build permits, the newest.
    pub(super) fn find(&self, name: &str) -> Option<Node> {
        self.members().nodes.iter().rev().find(|node| node.name() == name).cloned()
    }

    pub(super) fn of_group(&self, group: Group) -> Option<Node> {
        let members = self.members();
        members.groups.iter().rev().find(|(known, _)| *known == group).map(|(_, node)| node.clone())
    }

    /// All nodes, in the order of their making.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.members().nodes.clone()
    }

    /// The node with this number.
    pub(crate) fn nth(&self, number: u32) -> Option<Node> {
        self.members().nodes.get(number as usize).cloned()
    }

    /// Has `listener` called when a node of the run dies.
    pub(crate) fn listen(&self, listener: Listener) {
        self.members().listeners.push(listener);
    }

    pub(super) fn tell(&self, node: &Node, death: Death, here: Here) {
        let listeners = self.members().listeners.clone();
        listeners.iter().for_each(|listener| listener(node, death, here));
    }
}
