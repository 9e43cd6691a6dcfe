//! Faults that change the clock or the pace of nodes.

use super::fault_kinds::FaultKind;
use super::plan::Pause;
use crate::node::{Node, RUNGS, Shift, drawn_drift};
use crate::seam::Here;

/// The number of equal parts of a strobe. The clock jumps between successive parts.
const FLASHES: u32 = 4;

impl FaultKind {
    /// Returns `true` for a clock fault.
    pub(super) fn is_of_clock(self) -> bool {
        matches!(self, FaultKind::Offset | FaultKind::Drift | FaultKind::Jump | FaultKind::Strobe)
    }

    /// Returns the number of possible sizes; `None` if this is not a fault of a clock or a pace.
    pub(super) fn sizes(self) -> Option<u64> {
        match self {
            FaultKind::Slow => Some(3),
            kind => kind.is_of_clock().then_some(RUNGS - 1),
        }
    }

    /// Starts this fault with the given size.
    pub(super) fn disturb(self, victims: &[Node], size: u64, here: Here) {
        for node in victims {
            match self {
                FaultKind::Offset => node.clock().set_to(Shift::drawn(size + 1), here),
                FaultKind::Drift => node.clock().drift_by(drawn_drift(size + 1), here),
                FaultKind::Jump | FaultKind::Strobe => {
                    node.clock().jump_by(Shift::drawn(size + 1), here)
                }
                FaultKind::Slow => node.set_pace(size as u32 + 1, here),
                _ => {}
            }
        }
    }

    /// Ends this fault.
    pub(super) fn calm(self, node: &Node, here: Here) {
        match self {
            FaultKind::Slow if node.is_up() => node.set_pace(0, here),
            kind if kind.is_of_clock() => node.clock().correct_at(here),
            _ => {}
        }
    }

    /// Returns the number of events so far that this fault affected.
    pub(super) fn met(self, victims: &[Node]) -> u64 {
        let met = victims.iter().map(|node| node.clock().met());
        let seen = met.map(|met| match self {
            FaultKind::Slow => met.steps,
            FaultKind::Drift => met.timers,
            _ => met.walls,
        });
        seen.sum()
    }
}

/// Waits for the duration of a fault. During a strobe, clocks jump back and forth.
pub(super) async fn last(kind: FaultKind, victims: &[Node], size: u64, time: Pause, here: Here) {
    if kind != FaultKind::Strobe {
        return time.pass(here).await;
    }
    let mut by = Shift::drawn(size + 1);
    for _ in 1..FLASHES {
        time.part(FLASHES).pass(here).await;
        by = by.back();
        victims.iter().for_each(|node| node.clock().jump_by(by, here));
    }
    time.part(FLASHES).pass(here).await;
}
