//! The nodes of a run, and the modules that are notified when a node dies.
//!
//! The table of nodes is an object of the run. Adding a node, looking up a name and listing all nodes are operations on
//! it, with the kinds in `run/op/node.rs`. A name without a node is an object, too, so a failed lookup conflicts with a
//! later addition of this name.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use super::{Name, Node};
use crate::run::op::{Access, Op, node as kinds};
use crate::seam::{self, Group, Here, Wrapped};

const ADD: Op = Op::of_kind("add", Access::Tell, kinds::ADD).quiet();
const FIND: Op = Op::of_kind("find", Access::Peek, kinds::FIND).quiet();
const ADD_TO_TABLE: Op = Op::of_kind("add", Access::Tell, kinds::table::ADD).quiet();
const LIST: Op = Op::of_kind("list", Access::Peek, kinds::table::LIST).quiet();

/// The bit that marks the keys of nodes. Keys of links, ports and files have a higher bit.
const KEY: u32 = 1 << 28;

/// The key of the node table.
const TABLE: u32 = 1 << 27;

/// The kind of event that ends the life of a node or its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Death {
    /// The process ended; its kernel and its disk remain.
    Killed,
    /// The machine ended; its process may have ended before.
    PoweredOff,
    /// The process is dead, and the disk is replaced by an empty disk.
    Wiped,
}

/// A function that is called when a node dies.
type Listener = fn(&Node, Death, Here);

/// The nodes of a run.
#[derive(Default)]
pub(crate) struct Cluster(Mutex<Members>);

#[derive(Default)]
struct Members {
    nodes: Vec<Node>,
    /// The node of each task group.
    groups: Vec<(Group, Node)>,
    listeners: Vec<Listener>,
    /// The object that represents the table in searches. Created when the first node is added or looked up.
    table: Option<Wrapped>,
    /// Names that were looked up, but that no node has.
    missed: Map<&'static str, Wrapped>,
    /// `true` if the program may know the order in which nodes were added.
    shows_order: bool,
}

impl Members {
    /// Returns the node with this name. Returns the newest if several nodes have this name, which only the real build
    /// permits.
    fn find(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().rev().find(|node| node.name() == name)
    }

    /// Records an operation on the node table.
    fn record(&mut self, op: &'static Op, here: Here) {
        if seam::in_run() {
            // The object kind is not `nodes`, because faults use that kind.
            let make = || Wrapped::outside_known("table", "nodes", Some(TABLE), here);
            self.table.get_or_insert_with(make).record(op, here);
        }
    }
}

/// Creates the object of a node, identified by the node name.
fn mark_of(name: Name, here: Here) -> Wrapped {
    Wrapped::outside_known("node", name.text, Some(KEY | name.hash >> 4), here)
}

impl Drop for Cluster {
    /// Breaks the reference cycle between a node and its main function, which may hold a clone of the node.
    fn drop(&mut self) {
        for node in self.members().nodes.clone() {
            let main = node.state().main.take();
            drop(main);
        }
    }
}

impl Cluster {
    fn members(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a node with this name. `make` creates the node from its number and its object. The flag is `false` if the
    /// run already has a node with this name.
    pub(super) fn add(
        &self,
        name: Name,
        make: impl FnOnce(u32, Wrapped) -> Node,
        here: Here,
    ) -> (Node, bool) {
        let mut members = self.members();
        let earlier = members.find(name.text).cloned();
        let mark = members.missed.remove(name.text).unwrap_or_else(|| mark_of(name, here));
        let node = make(members.nodes.len() as u32, mark);
        earlier.as_ref().unwrap_or(&node).0.mark.record(&ADD, here);
        members.record(&ADD_TO_TABLE, here);
        let group = node.state().group;
        members.groups.extend(group.map(|group| (group, node.clone())));
        members.nodes.push(node.clone());
        (node, earlier.is_none())
    }

    /// Stores the task group of the next life of a node.
    pub(super) fn know(&self, group: Group, node: &Node) {
        self.members().groups.push((group, node.clone()));
    }

    /// Looks up a node by name.
    pub(super) fn find(&self, name: &str, here: Here) -> Option<Node> {
        let mut members = self.members();
        let found = members.find(name).cloned();
        if let Some(node) = &found {
            node.0.mark.record(&FIND, here);
        } else if seam::in_run() {
            let name = Name::of(name);
            let mark = members.missed.entry(name.text).or_insert_with(|| mark_of(name, here));
            mark.record(&FIND, here);
        }
        found
    }

    pub(super) fn of_group(&self, group: Group) -> Option<Node> {
        let members = self.members();
        members.groups.iter().rev().find(|(known, _)| *known == group).map(|(_, node)| node.clone())
    }

    /// Returns all nodes, in the order in which they were added.
    pub(crate) fn list(&self, here: Here) -> Vec<Node> {
        self.show_order();
        let mut members = self.members();
        members.record(&LIST, here);
        members.nodes.clone()
    }

    /// Returns the node with this number, which the caller derived from an address.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn numbered(&self, number: u32, here: Here) -> Option<Node> {
        self.show_order();
        let mut members = self.members();
        let found = members.nodes.get(number as usize).cloned();
        match &found {
            Some(node) => node.0.mark.record(&FIND, here),
            None => members.record(&LIST, here),
        }
        found
    }

    /// Returns the node with this number. The caller has the number from the node itself, so the result reveals no
    /// order of additions.
    pub(crate) fn known(&self, number: u32) -> Option<Node> {
        self.members().nodes.get(number as usize).cloned()
    }

    /// Records that the program can observe the order in which nodes were added.
    pub(super) fn show_order(&self) {
        if seam::in_run() && !std::mem::replace(&mut self.members().shows_order, true) {
            seam::shows_order_of_nodes();
        }
    }

    /// Registers a function that is called when a node of the run dies.
    pub(crate) fn listen(&self, listener: Listener) {
        self.members().listeners.push(listener);
    }

    /// Like [`listen`](Self::listen), but the function is called before all registered functions.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn listen_first(&self, listener: Listener) {
        self.members().listeners.insert(0, listener);
    }

    pub(super) fn tell(&self, node: &Node, death: Death, here: Here) {
        let listeners = self.members().listeners.clone();
        listeners.iter().for_each(|listener| listener(node, death, here));
    }
}
