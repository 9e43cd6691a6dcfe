//! Estimates the number of runs of a search, and finds the bound on preemptions that fits into its run limit.
//!
//! An estimate is a function of the tree and of the width of its probes, which is proportional to their cost. So it
//! does not depend on the process or on the number of threads, and an estimate of the same width is not repeated.

use std::sync::Arc;
use std::time::Instant;

use super::slice::SliceMaker;
use crate::engine::results::Tally;
use crate::engine::simulate::session::Session;
use crate::report::{Excess, FittingBound};
use crate::strategy::bounded::{Bounded, PREEMPTIONS};
use crate::strategy::divided::{
    LEVEL_COST, ProbeRoot, SHOWN_WIDTH, SearchTree, TreeEstimate, TreeProbes,
};
use crate::strategy::search::Apart;

/// The number of runs from which a search makes an early estimate.
const EARLY: u64 = 2_000;

/// The number of runs from which a search estimates its runs for the live display.
const LIVE: u64 = 500;

/// The factor between the numbers of runs of two attempts.
const AGAIN: u64 = 4;

/// The minimum number of runs for an estimate of a search that stops. For a smaller search, the estimate would take
/// more runs than the search.
const RUNS_MIN: u64 = 500;

/// The widths of probes, the greatest first.
const WIDTHS: [u64; 6] = [32, 16, 8, 4, 2, 1];

/// The highest bound that `preemptions` accepts.
const BOUND_MAX: u32 = 8;

/// The purpose of an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The search may need more runs than its limit allows.
    Early,
    /// The live display shows the progress. Nothing else depends on this estimate.
    Live,
    /// At half of its limit, the search decides if it continues.
    Half,
    /// The search has stopped.
    End,
}

/// The moments of the next estimates of a search.
#[derive(Debug)]
pub(super) struct Marks {
    generation: u32,
    early: u64,
    live: u64,
    is_half_done: bool,
}

impl Marks {
    pub(super) fn new() -> Marks {
        Marks { generation: 0, early: EARLY, live: LIVE, is_half_done: false }
    }

    /// Returns the purpose of an estimate that is due now, and sets the time of the next estimate. `is_live` is true if
    /// the live display is on.
    pub(super) fn due(&mut self, tree: &SearchTree, is_live: bool) -> Option<Purpose> {
        let (generation, made) = (tree.generation(), tree.made_on_level());
        if self.generation != generation {
            // An estimate covers only its generation.
            *self = Marks { generation, is_half_done: self.is_half_done, ..Marks::new() };
        }
        if made >= self.early {
            self.early = AGAIN * made;
            return Some(Purpose::Early);
        }
        if is_live && made >= self.live {
            self.live = AGAIN * made;
            return Some(Purpose::Live);
        }
        None
    }

    /// Returns `true` once: the estimate at half of the limit is due.
    pub(super) fn due_at_half(&mut self) -> bool {
        !std::mem::replace(&mut self.is_half_done, true)
    }
}

/// A search whose number of runs is estimated.
pub(super) struct Estimator {
    root: ProbeRoot,
    is_bounded: bool,
    /// The estimates so far: the estimate of the search, and the estimate for the live display.
    known: [Option<TreeEstimate>; 2],
    /// The number of runs so far.
    made: u64,
    /// The number of steps of a run.
    length: u64,
    /// The time at which an estimate is given up, if any.
    until: Option<Instant>,
}

impl Estimator {
    /// Creates the estimator of a search with these counts.
    pub(super) fn new(tree: &SearchTree, tally: &Tally, until: Option<Instant>) -> Estimator {
        Estimator {
            root: tree.probe_root(),
            is_bounded: tree.is_bounded(),
            known: [tree.estimate(), tree.live_estimate()],
            made: tree.made(),
            length: tally.steps / tally.runs.max(1) + 1,
            until,
        }
    }

    /// Returns the greatest width of probes whose cost is at most this number of runs.
    fn width(&self, runs: u64) -> Option<u64> {
        // A run has a level for each of its steps.
        let affordable = runs / (LEVEL_COST as u64 * self.length);
        WIDTHS.into_iter().find(|width| *width <= affordable)
    }

    /// Returns a better estimate than before; `None` if the search cannot afford it.
    pub(super) fn make(
        &self,
        maker: &mut SliceMaker<'_, '_>,
        purpose: Purpose,
    ) -> Option<TreeEstimate> {
        let [own, live] = self.known;
        let known = if purpose == Purpose::Live { live } else { own };
        let known = known.map_or(0, |known| known.width as u64);
        if known >= WIDTHS[0] {
            return None;
        }
        let runs = match purpose {
            Purpose::Early => self.made.min(self.rough(maker)? / 16),
            Purpose::Live => self.made.min(self.rough(maker)? / 8),
            Purpose::Half | Purpose::End if self.made < RUNS_MIN => return None,
            Purpose::Half | Purpose::End => self.made,
        };
        let width = self.width(runs).filter(|width| *width > known)?;
        // A narrow estimate is not shown, so it is only useful for a decision.
        let is_useful = width >= SHOWN_WIDTH as u64 || purpose == Purpose::Half;
        let same = live.filter(|live| live.width as u64 == width);
        if is_useful { same.or_else(|| self.probe(maker, width)) } else { None }
    }

    /// Returns a rough number of runs, which limits the cost of a better estimate to a part of the whole search.
    fn rough(&self, maker: &mut SliceMaker<'_, '_>) -> Option<u64> {
        self.width(self.made / 8)?;
        self.probe(maker, 1).map(|rough| rough.runs as u64)
    }

    fn probe(&self, maker: &mut SliceMaker<'_, '_>, width: u64) -> Option<TreeEstimate> {
        let mut steps = u64::MAX;
        self.finish(self.root.probes(width as usize, self.length), maker, &mut steps)
    }

    /// Executes the looks of these probes, with at most `steps` steps. Subtracts their steps.
    fn finish(
        &self,
        mut probes: TreeProbes,
        maker: &mut SliceMaker<'_, '_>,
        steps: &mut u64,
    ) -> Option<TreeEstimate> {
        while let Some(part) = probes.part() {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                return None;
            }
            *steps = steps.checked_sub(part.path.len() as u64 + 1)?;
            probes.add(maker.look(part));
        }
        probes.estimate()
    }

    /// Returns a statement if the search needs more than `limit` runs. If the whole tree is searched, the statement
    /// contains the highest bound on preemptions whose runs fit into the limit. To find this bound, up to `runs` runs
    /// may be executed.
    pub(super) fn excess(
        &self,
        session: &Session<'_>,
        estimate: TreeEstimate,
        (limit, runs): (u64, u64),
    ) -> Option<Excess> {
        // The screen shows the bound that a bounded search has reached.
        let is_over = estimate.is_shown() && estimate.low > limit as f64 && !self.is_bounded;
        is_over.then(|| {
            let is_named = runs > 0 && !self.root.is_share();
            let fits = is_named.then(|| self.fitting(session, (limit, runs))).flatten();
            Excess { limit, fits }
        })
    }

    /// Finds the highest bound on preemptions for which the runs of all bounds up to it fit into `limit`.
    fn fitting(&self, session: &Session<'_>, (limit, runs): (u64, u64)) -> Option<FittingBound> {
        let search = Arc::new(Bounded::new(&PREEMPTIONS, None));
        let mut maker = SliceMaker::new(session, search);
        let mut steps = runs.saturating_mul(self.length);
        let (mut most, mut found) = (0.0, None);
        for preemptions in 0..=BOUND_MAX {
            let root = ProbeRoot::whole(Apart::NOTHING).within(preemptions);
            let probes = root.probes(SHOWN_WIDTH, self.length);
            let Some(estimate) = self.finish(probes, &mut maker, &mut steps) else { break };
            // The search repeats the runs of lower bounds.
            most += estimate.high;
            if most > limit as f64 {
                break;
            }
            found = Some(FittingBound { preemptions, runs: estimate.runs as u64 });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::divided::{Rest, Sizes, Slice};

    /// Adds a round of one slice with this number of runs.
    fn add_round(tree: &mut SearchTree, runs: u64) {
        let rest = Some(Rest { draws: Vec::new(), stack: tree.part(0).stack });
        tree.merge(vec![Slice { runs, rest, ..Slice::default() }]);
    }

    #[test]
    fn the_width_of_probes_follows_from_the_cost_that_is_allowed() {
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
        add_round(&mut tree, 2_000);
        let of_steps = |steps: u64| {
            let tally = Tally { runs: 100, steps: 100 * (steps - 1), ..Tally::default() };
            Estimator::new(&tree, &tally, None)
        };
        for (steps, runs, width) in [
            (20, 1_919, Some(4)),
            (20, 1_920, Some(8)),
            (20, 7_680, Some(32)),
            (20, u64::MAX, Some(32)),
            // The probes of long runs cost more than all runs so far, so no width is affordable.
            (1_000, 2_000, None),
        ] {
            assert_eq!(of_steps(steps).width(runs), width, "{steps} steps, {runs} runs");
        }
    }

    #[test]
    fn estimates_become_due_at_numbers_of_runs_and_again_in_each_generation() {
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
        let mut marks = Marks::new();
        let mut due = |tree: &SearchTree, is_live| marks.due(tree, is_live);
        add_round(&mut tree, 600);
        assert_eq!(due(&tree, false), None);
        assert_eq!(due(&tree, true), Some(Purpose::Live));
        assert_eq!(due(&tree, true), None);
        add_round(&mut tree, 1_400);
        assert_eq!(due(&tree, false), Some(Purpose::Early));
        assert_eq!(due(&tree, false), None);
        add_round(&mut tree, 6_000);
        assert_eq!(due(&tree, false), Some(Purpose::Early));
        tree.begin_again(Apart::ORDERS);
        assert_eq!(due(&tree, false), None);
        add_round(&mut tree, 2_000);
        assert_eq!(due(&tree, false), Some(Purpose::Early));
        assert_eq!((marks.due_at_half(), marks.due_at_half()), (true, false));
    }
}
