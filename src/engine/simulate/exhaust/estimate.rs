//! Estimates the number of runs of a search that will not complete.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::slice::SliceMaker;
use crate::engine::simulate::session::Session;
use crate::strategy::Search;
use crate::strategy::divided::{SearchTree, TreeEstimate, TreeProbes};

/// The cost limit of an estimate: at most one run for each `SHARE` runs of the search.
const SHARE: u64 = 8;

/// The assumed number of probes in an estimate, used to choose their width.
const PROBES: u64 = 12;

/// The range of probe widths.
const WIDTHS: RangeInclusive<u64> = 1..=32;

/// The minimum number of runs for an estimate. For a smaller search, the estimate would take more runs than the search.
const RUNS_MIN: u64 = 500;

/// Returns the probe width that a search can afford after `made` runs with `steps` steps in total. `None` if it has
/// executed too few runs.
fn width(made: u64, steps: u64) -> Option<usize> {
    let length = steps / made.max(1) + 1;
    // A probe needs up to `width` looks for each level of the tree, and a run has `length` levels.
    let width = made / (SHARE * PROBES * length);
    (made >= RUNS_MIN).then(|| width.clamp(*WIDTHS.start(), *WIDTHS.end()) as usize)
}

/// Estimates the number of runs, if the search can afford it. For a bounded search, the estimate covers the current
/// bound. `steps` is the number of steps of all runs.
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
