//! Nodes: a single node, and the table of all nodes of a run.
//!
//! A node is an object with its name as its identity. The object exists before the node is added, because any task may
//! look up the name. So the additions of two nodes commute, and a look-up conflicts only with the addition of the same
//! name. A list of all nodes conflicts with every addition.
//!
//! The numbers of nodes, and therefore their addresses, follow the order of additions. Additions conflict with each
//! other only if the program can observe this order: see [`table::ADD_IN_ORDER`].

use super::kind::{Bits, Kind, WATCHES};

const SEES: Bits = 1 << 0;
const CHANGES: Bits = 1 << 1;
const ADDS: Bits = 1 << 2;
const FINDS: Bits = 1 << 3;
const RUNS: Bits = 1 << 4;

/// The task read the state of the node: its life, and if it is up or paused.
pub const SEE: Kind = Kind::of(SEES).conflicts_with(CHANGES).looks();

/// The task changed the state of the node.
pub const CHANGE: Kind =
    Kind::of(CHANGES).conflicts_with(SEES | CHANGES | RUNS | WATCHES).enables(WATCHES);

/// The task set the main function of the node, which each restart calls.
pub const RUN: Kind = Kind::of(RUNS).conflicts_with(CHANGES | RUNS);

/// The task added the node. A second node with the same name fails the run, so the order of two additions matters.
pub const ADD: Kind = Kind::of(ADDS).conflicts_with(ADDS | FINDS | WATCHES).enables(WATCHES);

/// The task looked up the name of the node.
pub const FIND: Kind = Kind::of(FINDS).conflicts_with(ADDS).looks();

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "node",
    kinds: &[("see", SEE), ("change", CHANGE), ("run", RUN), ("add", ADD), ("find", FIND)],
};

/// The kinds of operations on the table of all nodes.
pub mod table {
    use super::{Bits, Kind};

    // Searches recognize an addition by its kind, so no other machine may have a kind with the same bit and relation.
    const ADDS: Bits = 1 << 4;
    const LISTS: Bits = 1 << 5;
    const ADDS_IN_ORDER: Bits = 1 << 6;

    /// The task added a node.
    pub const ADD: Kind = Kind::of(ADDS).conflicts_with(LISTS);

    /// The task listed all nodes, or found that a number belongs to no node.
    pub const LIST: Kind = Kind::of(LISTS).conflicts_with(ADDS).looks();

    /// The task added a node, in a program that can observe the numbers of nodes. This kind accompanies [`ADD`] and is
    /// not recorded: searches derive it.
    pub const ADD_IN_ORDER: Kind = Kind::of(ADDS_IN_ORDER).conflicts_with(ADDS_IN_ORDER);

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "table of nodes",
        kinds: &[("add", ADD), ("list", LIST), ("add in order", ADD_IN_ORDER)],
    };
}
