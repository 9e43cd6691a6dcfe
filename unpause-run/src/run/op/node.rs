//! Nodes: one node, and the table of all nodes of a run.
//!
//! A node is an object that is known by its name before the node is added, because any task may look the name up. So
//! two nodes are added in either order, and a look-up conflicts with the addition of its own name alone. A list of all
//! nodes conflicts with every addition.
//!
//! The numbers of nodes, and so their addresses, follow the order of the additions. Additions conflict with each other
//! only if the program can see that order: see [`table::ADD_IN_ORDER`].

use super::kind::{Bits, Kind, WATCHES};

const SEES: Bits = 1 << 0;
const CHANGES: Bits = 1 << 1;
const ADDS: Bits = 1 << 2;
const FINDS: Bits = 1 << 3;
const RUNS: Bits = 1 << 4;

/// Looked at its state: its life, whether it is up, whether it is paused.
pub const SEE: Kind = Kind::of(SEES).conflicts_with(CHANGES).looks();

/// Changed its state.
pub const CHANGE: Kind =
    Kind::of(CHANGES).conflicts_with(SEES | CHANGES | RUNS | WATCHES).enables(WATCHES);

/// Gave it its main function, which each restart calls.
pub const RUN: Kind = Kind::of(RUNS).conflicts_with(CHANGES | RUNS);

/// Added it. A second node of the name fails the run, so the order of two additions counts.
pub const ADD: Kind = Kind::of(ADDS).conflicts_with(ADDS | FINDS | WATCHES).enables(WATCHES);

/// Looked its name up.
pub const FIND: Kind = Kind::of(FINDS).conflicts_with(ADDS).looks();

#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINE: super::kind::Machine = super::kind::Machine {
    name: "node",
    kinds: &[("see", SEE), ("change", CHANGE), ("run", RUN), ("add", ADD), ("find", FIND)],
};

/// The kinds of operations on the table of all nodes.
pub mod table {
    use super::{Bits, Kind};

    // Searches know an addition by its kind, so its bit is none that another machine relates in the same way.
    const ADDS: Bits = 1 << 4;
    const LISTS: Bits = 1 << 5;
    const ADDS_IN_ORDER: Bits = 1 << 6;

    /// Added a node.
    pub const ADD: Kind = Kind::of(ADDS).conflicts_with(LISTS);

    /// Listed all nodes, or found that no node has a number.
    pub const LIST: Kind = Kind::of(LISTS).conflicts_with(ADDS).looks();

    /// Added a node, in a program that can see the numbers of nodes. Beside [`ADD`], and recorded nowhere: searches
    /// derive it.
    pub const ADD_IN_ORDER: Kind = Kind::of(ADDS_IN_ORDER).conflicts_with(ADDS_IN_ORDER);

    #[cfg(any(test, feature = "planted"))]
    pub const MACHINE: super::super::kind::Machine = super::super::kind::Machine {
        name: "table of nodes",
        kinds: &[("add", ADD), ("list", LIST), ("add in order", ADD_IN_ORDER)],
    };
}
