//! Variants of the program under test: in a variant, a region of lines is one step.
//!
//! In a region, points of the program vanish, so the variant is a program with fewer points. Searches, their reduction
//! and their proofs work unchanged. The runtime uses only the events of a task to decide if the task is in a region.
//!
//! Left out: the behavior of a region in which a task must wait. [`WhatIf::waits`] defines it.

use super::ids::Place;

/// An operation in the source, as its name and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The name of the operation, such as `load`.
    pub op: &'static str,
    /// The place of the operation.
    pub place: Place,
}

/// A region, from one operation of a task to another operation of the same task. Any task that reaches `from` enters
/// the region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    pub from: Site,
    /// The last operation. If `from` and `to` are the same site, the region ends at its second execution.
    pub to: Site,
    /// The sites of the operations in between. An operation at another site leaves the region.
    pub known: Vec<Site>,
}

impl Section {
    /// Returns `true` if an operation at this site belongs to the region.
    pub fn has(&self, site: Site) -> bool {
        self.to == site || self.known.contains(&site)
    }
}

/// A variant of the program under test.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WhatIf {
    /// Regions that are one step. A task is in at most one region, which is the last region that it entered.
    pub sections: Vec<Section>,
    /// The behavior if a task must wait within its region. `true`: the step ends there, and the region continues when
    /// the task continues. `false`: the run ends, and is not counted.
    pub waits: bool,
}

impl WhatIf {
    /// Returns the number of the region in which a task is after its operation at `site`. Before the operation, the
    /// task was in the region with the number `inside`, if any.
    pub fn after(&self, inside: Option<usize>, site: Site) -> Option<usize> {
        // The end of a loop round may be the beginning of the next round.
        let begun = self.sections.iter().position(|section| section.from == site);
        begun.or(inside.filter(|at| self.sections[*at].to != site))
    }
}
