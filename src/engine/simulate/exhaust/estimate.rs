//! Estimates how many runs a search has, when it will not be through.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::slice::SliceMaker;
use crate::engine::simulate::session::Session;
use crate::strategy::Search;
use crate::strategy::divided::{SearchTree, TreeEstimate, TreeProbes};

/// An estimate takes at most as many looks as the search has made runs, divided by this number.
const SHARE: u64 = 8;

/// The number of probes of an estimate, for the choice of its width.
const PROBES: u64 = 12;

/// The widths of probes.
const WIDTHS: RangeInclusive<u64> = 1..=32;

/// A search with fewer runs has no estimate: it would take more runs than the search.
const RUNS_MIN: u64 = 500;

/// The width of probes that a search can afford that has made so many runs with so many steps; `None` if it has made
/// too few runs.
fn width(made: u64, steps: u64) -> Option<usize> {
    let length = steps / made.max(1) + 1;
    let width = made / (SHARE * PROBES * length);
    (made >= RUNS_MIN).then(|| width.clamp(*WIDTHS.start(), *WIDTHS.end()) as usize)
}

/// Estimates the number of runs, if the search can afford it: of a bounded search, within its current bound. `steps` is
/// the number of steps of all runs.
pub(super) fn make(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    tree: &SearchTree,
    steps: u64,
) -> Option<TreeEstimate> {
    let width = width(tree.made(), steps)?;
    let mut probes = TreeProbes::new(tree.apart(), width).within(tree.level());
    session.quietly(|| {
        let mut maker = SliceMaker::new(session, search.another());
        while let Some(part) = probes.part() {
            probes.add(maker.look(part));
        }
    });
    probes.estimate()
}
