//! The parts of a run. The core of the run names none of them: see [`part`](super::part).
//!
//! Each file contains a part, or functions over the state of other files. A new part also needs a row in the list of
//! `rt/mod.rs`.

// Time.
pub(super) mod hand;
pub(super) mod timers;

// Nodes.
pub(super) mod node_clocks;
pub(super) mod nodes;
pub(super) mod pace;

// Messages in flight.
pub(super) mod carrier;

// Faults.
pub(super) mod fault;
pub(super) mod own_steps;

// Waits.
pub(super) mod at_end;
pub(super) mod branches;
pub(super) mod ear;
pub(super) mod held;
pub(super) mod parking;
pub(super) mod watch;

// Regions that execute as one step, in runs of modified programs.
pub(super) mod what_if;

// Conditions and reports.
pub(super) mod invariants;
pub(super) mod standing;

// Values of other modules.
pub(super) mod kept;
