//! Estimates how many runs a search has, when it will not be through.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::slice::SliceMaker;
use crate::engine::simulate::session::Session;
use crate::strategy::Search;
use crate::strategy::divided::{SearchTree, TreeProbes};

/// An estimate takes at most as many looks as the search has made runs, divided by this number.
const SHARE: u64 = 8;

/// The number of probes of an estimate, for the choice of its width.
const PROBES: u64 = 12;

/// The widths of probes. An estimate by narrower ones says too little.
const WIDTHS: RangeInclusive<u64> = 8..=32;

/// The width of probes that a search can afford that has made so many runs with so many steps; `None` if it has made
/// too few runs.
fn width(made: u64, steps: u64) -> Option<usize> {
    let length = steps / made.max(1) + 1;
    let width = made / (SHARE * PROBES * length);
    (width >= *WIDTHS.start()).then(|| width.min(*WIDTHS.end()) as usize)
}

/// Gives the tree an estimate of the number of its runs, if the search can afford one. `steps` is the number of steps
/// of all runs.
pub(super) fn make(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    tree: &mut SearchTree,
    steps: u64,
) {
    let Some(width) = width(tree.made(), steps).filter(|_| search.has_classes()) else { return };
    let mut probes = TreeProbes::new(tree.apart(), width);
    session.quietly(|| {
        let mut maker = SliceMaker::new(session, search.another());
        while let Some(part) = probes.part() {
            probes.add(maker.look(part));
        }
    });
    tree.set_estimate(probes.estimate());
}
