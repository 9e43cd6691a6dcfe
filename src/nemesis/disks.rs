//! Disk faults: lasting faults, and the loss of all files.

use super::Nemesis;
use super::fault::{Active, Package};
use super::fault_kinds::FaultKind;
use crate::fs::{self, DiskFault};
use crate::node::{Death, Node};
use crate::seam::Here;

/// The number of fault codes with a fixed disk fault. The codes after them are slow disks, by milliseconds.
const NAMED: u64 = DiskFault::ALL.len() as u64;

/// Returns the code of a fault in a script.
pub(super) fn way(fault: DiskFault) -> u64 {
    let known = DiskFault::ALL.iter().position(|known| *known == fault);
    match (known, fault) {
        (Some(position), _) => position as u64,
        (None, DiskFault::Slow(time)) => NAMED + time.as_millis() as u64,
        (None, _) => 0,
    }
}

/// Returns the fault with this code.
pub(super) fn of_way(way: u64) -> DiskFault {
    let slow = |ms| DiskFault::Slow(std::time::Duration::from_millis(ms));
    DiskFault::ALL.get(way as usize).copied().unwrap_or_else(|| slow(way - NAMED))
}

impl Package {
    /// Returns the disk fault of this package for a parameter.
    pub(super) fn trouble(&self, parameter: u64) -> Option<DiskFault> {
        let nth = parameter % self.troubles.len().max(1) as u64;
        self.troubles.get(nth as usize).copied()
    }

    /// Returns `true` if the package may destroy synced data with this parameter or, for `None`, with any parameter.
    pub(super) fn takes_data(&self, parameter: Option<u64>) -> bool {
        let takes = |fault: &DiskFault| fault.takes_data();
        match parameter {
            _ if self.kind == FaultKind::Wipe => true,
            Some(parameter) => self.trouble(parameter).as_ref().is_some_and(takes),
            None => self.troubles.iter().any(takes),
        }
    }
}

impl Active {
    /// Starts a fault of the victims' disks.
    pub(super) fn break_disks(&mut self, fault: DiskFault, here: Here) {
        // At the end of the fault, the difference to this number is the number of affected calls.
        (self.trouble, self.met) = (Some(fault), met(&self.victims));
        for node in &self.victims {
            if fault.takes_data() {
                node.lose_data(here);
            }
            fs::set_fault(node, (fault, true), here);
        }
    }

    /// Powers the victims off and deletes their files.
    pub(super) fn wipe(&mut self, here: Here) {
        for node in &self.victims {
            self.met += u64::from(fs::has_files(node));
            node.end(Death::PoweredOff, here);
            node.wipe_at(here);
        }
    }

    /// Ends the disk fault. Returns `true` if the fault affected at least one call.
    pub(super) fn mend_disks(&self, fault: DiskFault, here: Here) -> bool {
        self.victims.iter().for_each(|node| fs::set_fault(node, (fault, false), here));
        met(&self.victims) > self.met
    }
}

/// Returns the number of calls so far that suffered lasting disk faults.
fn met(nodes: &[Node]) -> u64 {
    nodes.iter().map(fs::met).sum()
}

impl Nemesis {
    /// Panics if the nemesis could destroy data on more disks than the test permits.
    #[track_caller]
    pub(super) fn check_disks(&self) {
        let has_bound = self.tolerance.as_ref().is_some_and(|tolerance| tolerance.bounds_disks());
        let mut packages = self.packages.iter();
        let bold = packages.find(|package| {
            package.takes_data(None) && package.victim.named().is_none() && !has_bound
        });
        if let Some(Package { kind, .. }) = bold {
            panic!(
                "`{}` takes data of disks, of all nodes in the end: say how many the system survives, by \
                 tolerance(Tolerance::nodes(..).disks(..)), or name the nodes, by Victim::these(..)",
                kind.name()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_fault_has_a_way_of_its_own() {
        let slow = DiskFault::Slow(Duration::from_millis(7));
        for fault in DiskFault::ALL.into_iter().chain([slow]) {
            assert_eq!(of_way(way(fault)), fault);
        }
        assert_eq!(way(slow), NAMED + 7);
    }
}
