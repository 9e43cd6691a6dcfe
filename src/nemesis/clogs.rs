//! Clogs: link faults that delay messages.

use std::time::Duration;

use super::fault::{Active, DIRECTIONS};
use super::fault_kinds::{Effect, FaultKind};
use super::{Nemesis, Victim};
use crate::net::{self, Latency};
use crate::node::Node;
use crate::seam::Here;

/// The possible delays of messages.
const RUNGS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(500), Duration::from_secs(5)];

const WAYS: u64 = DIRECTIONS.len() as u64;

/// The effect of a clog: its links delay messages.
pub(super) struct Clogs;

impl Nemesis {
    /// Delays messages from the victim, messages to it, or both, by 20 ms, 500 ms or 5 s, until the fault ends.
    /// Messages that are in flight at the end of the fault still arrive late. See [`net::clog`].
    pub fn clog(self, victim: Victim) -> Nemesis {
        self.with(FaultKind::Clog, victim)
    }
}

impl Effect for Clogs {
    fn parameters(&self) -> u64 {
        WAYS * RUNGS.len() as u64
    }

    /// Returns the parameter as text, for example `outgoing, 500ms`.
    fn tell(&self, parameter: u64) -> Option<String> {
        let (way, by) = parts(parameter);
        Some(format!("{}, {by:?}", DIRECTIONS[way]))
    }

    fn takes_nodes(&self) -> bool {
        false
    }

    fn begin(&self, fault: &mut Active, nodes: &[Node], here: Here) {
        let (_, by) = parts(fault.parameter);
        fault.disturbed = fault.links(nodes, ways(fault.parameter));
        // At the end of the fault, the difference to this number is the number of affected messages.
        fault.met = net::delayed_so_far();
        for (from, to) in &fault.disturbed {
            net::clog_at(from, to, Some(Latency::exact(by)), here);
        }
    }

    /// If other active faults clog the same link, the link gets the delay of the last such fault.
    fn end(&self, fault: &Active, others: &[Active], here: Here) -> bool {
        for link in &fault.disturbed {
            let clogs = |other: &&Active| other.is_like(fault) && other.disturbed.contains(link);
            let by = others.iter().rev().find(clogs).map(|other| parts(other.parameter).1);
            net::clog_at(&link.0, &link.1, by.map(Latency::exact), here);
        }
        net::delayed_so_far() > fault.met
    }
}

/// Splits a parameter into the direction and the message delay.
fn parts(parameter: u64) -> (usize, Duration) {
    let rung = parameter / WAYS % RUNGS.len() as u64;
    ((parameter % WAYS) as usize, RUNGS[rung as usize])
}

/// Returns the clogged directions: from the victim, and to the victim.
fn ways(parameter: u64) -> [bool; 2] {
    let (way, _) = parts(parameter);
    [way != 1, way != 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_a_direction_and_a_time() {
        let tell = |parameter| Clogs.tell(parameter).unwrap();
        assert_eq!([0, 4, 8].map(tell), ["outgoing, 20ms", "incoming, 500ms", "both ways, 5s"]);
        assert_eq!([0, 1, 2].map(ways), [[true, false], [false, true], [true, true]]);
        assert_eq!(tell(Clogs.parameters()), tell(0));
    }
}
