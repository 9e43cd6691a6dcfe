//! Clogs: link faults that delay messages.

use std::time::Duration;

use super::fault::{Active, DIRECTIONS};
use crate::net::{self, Latency};
use crate::node::Node;
use crate::seam::Here;

/// The possible delays of messages.
const RUNGS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(500), Duration::from_secs(5)];

const WAYS: u64 = DIRECTIONS.len() as u64;

/// The number of parameters of a clog.
pub(super) const PARAMETERS: u64 = WAYS * RUNGS.len() as u64;

/// Splits a parameter into the direction and the message delay.
fn parts(parameter: u64) -> (usize, Duration) {
    let rung = parameter / WAYS % RUNGS.len() as u64;
    ((parameter % WAYS) as usize, RUNGS[rung as usize])
}

/// Returns the parameter as text, for example `outgoing, 500ms`.
pub(super) fn tell(parameter: u64) -> String {
    let (way, by) = parts(parameter);
    format!("{}, {by:?}", DIRECTIONS[way])
}

/// Returns the clogged directions: from the victim, and to the victim.
pub(super) fn ways(parameter: u64) -> [bool; 2] {
    let (way, _) = parts(parameter);
    [way != 1, way != 0]
}

/// Clogs these links. Returns the number of messages that clogs have delayed so far.
pub(super) fn begin(links: &[(Node, Node)], parameter: u64, here: Here) -> u64 {
    let (_, by) = parts(parameter);
    let before = net::delayed_so_far();
    for (from, to) in links {
        net::clog_at(from, to, Some(Latency::exact(by)), here);
    }
    before
}

/// Ends the clog of a fault. If other active faults clog the same link, the link gets the delay of
/// the last such fault.
pub(super) fn end(fault: &Active, others: &[Active], here: Here) {
    for (from, to) in fault.clogged() {
        let others = others.iter().rev();
        let other = others.clone().find(|other| other.clogged().any(|(f, t)| f == from && t == to));
        let by = other.map(|other| Latency::exact(parts(other.parameter()).1));
        net::clog_at(from, to, by, here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_a_direction_and_a_time() {
        assert_eq!([0, 4, 8].map(tell), ["outgoing, 20ms", "incoming, 500ms", "both ways, 5s"]);
        assert_eq!([0, 1, 2].map(ways), [[true, false], [false, true], [true, true]]);
        assert_eq!(tell(PARAMETERS), tell(0));
    }
}
