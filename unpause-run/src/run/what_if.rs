//! Programs that differ from the program of a test: regions of lines that are one step.
//!
//! A region makes points of the program vanish, so the other program is one with fewer points: searches, their
//! reduction and their proofs work as they are. The runtime decides, from the events of a task alone, if the task is in
//! a region.
//!
//! Left out: what the region does if a task must wait within it. That is [`WhatIf::waits`].

use super::ids::Place;

/// An operation in the source: its name and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The name of the operation, such as `load`.
    pub op: &'static str,
    /// Its place.
    pub place: Place,
}

/// A region: from one operation of a task to another one of the same task. Any task that comes to `from` enters it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    pub from: Site,
    /// The last operation. If the region has the operation `from` twice, the second one.
    pub to: Site,
    /// The operations in between. An operation at another site leaves the region.
    pub known: Vec<Site>,
}

impl Section {
    /// Returns `true` if an operation at this site belongs to the region that a task is in.
    pub fn has(&self, site: Site) -> bool {
        self.to == site || self.known.contains(&site)
    }
}

/// A program that differs from the program of a test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WhatIf {
    /// Regions that are one step. A task is in at most one region: the last that it entered.
    pub sections: Vec<Section>,
    /// If a task must wait within its region: `true` ends the step there, and the region continues when the task does;
    /// `false` ends the run, which then counts for nothing.
    pub waits: bool,
}
