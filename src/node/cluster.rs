//! The nodes of a run, and the modules that must know when one dies.
//!
//! The table of nodes is an object of the run: adding a node, looking a name up and listing all nodes are operations on
//! it, with the kinds of `run/op/node.rs`. A name that no node has yet is an object, too, so a look-up in vain
//! conflicts with the addition that comes later.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use super::{Name, Node};
use crate::run::op::{Access, Op, node as kinds};
use crate::seam::{self, Group, Here, Wrapped};

const ADD: Op = Op::of_kind("add", Access::Tell, kinds::ADD).quiet();
const FIND: Op = Op::of_kind("find", Access::Peek, kinds::FIND).quiet();
const ADD_TO_TABLE: Op = Op::of_kind("add", Access::Tell, kinds::table::ADD).quiet();
const LIST: Op = Op::of_kind("list", Access::Peek, kinds::table::LIST).quiet();

/// The bit of the keys of nodes. Keys of links, ports and files have a higher one.
const KEY: u32 = 1 << 28;

/// The key of the table.
const TABLE: u32 = 1 << 27;

/// The end of a life of a node, or of its files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Death {
    /// The process ended; its kernel and its disk continue.
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
    /// The table, as searches see it. Made when the first node is added or looked for.
    table: Option<Wrapped>,
    /// Names that were looked up and that no node has.
    missed: Map<&'static str, Wrapped>,
    /// The program may know the order of added nodes.
    shows_order: bool,
}

impl Members {
    /// The node of this name. Returns the newest if several nodes have this name, which only the real build permits.
    fn find(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().rev().find(|node| node.name() == name)
    }

    /// Records an operation on the table.
    fn record(&mut self, op: &'static Op, here: Here) {
        if seam::in_run() {
            // Not of the kind `nodes`, which faults have.
            let make = || Wrapped::outside_known("table", "nodes", Some(TABLE), here);
            self.table.get_or_insert_with(make).record(op, here);
        }
    }
}

/// The object of a node, which is known by its name.
fn mark_of(name: Name, here: Here) -> Wrapped {
    Wrapped::outside_known("node", name.text, Some(KEY | name.hash >> 4), here)
}

impl Drop for Cluster {
    /// The main function of a node may have a copy of the node.
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

    /// Adds a node of this name, which `make` makes from its number and its object. Returns `false`, too, if the run
    /// has a node of this name already.
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

    /// Learns the group of the next life of a node.
    pub(super) fn know(&self, group: Group, node: &Node) {
        self.members().groups.push((group, node.clone()));
    }

    /// Looks a name up.
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

    /// All nodes, in the order of their addition.
    pub(crate) fn list(&self, here: Here) -> Vec<Node> {
        self.show_order();
        let mut members = self.members();
        members.record(&LIST, here);
        members.nodes.clone()
    }

    /// The node with this number, as an address names it.
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

    /// The node with the number of a node that the caller knows.
    pub(crate) fn known(&self, number: u32) -> Option<Node> {
        self.members().nodes.get(number as usize).cloned()
    }

    /// Records that the program can learn the order of added nodes.
    pub(super) fn show_order(&self) {
        if seam::in_run() && !std::mem::replace(&mut self.members().shows_order, true) {
            seam::shows_order_of_nodes();
        }
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
