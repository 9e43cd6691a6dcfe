//! The rate of a search in this process, for its progress line.

use std::time::Instant;

use unpause_check::picture::screen::plural;

use crate::engine::live::SearchLine;
use crate::report::Excess;
use crate::strategy::divided::SearchTree;

/// The moment and the number of runs from which the rate is computed.
pub(super) struct Pace {
    began: Instant,
    from: u64,
}

/// Returns the number of runs that determines the rate. A bounded search repeats runs on each level, so it counts all
/// of them.
fn counted(tree: &SearchTree) -> u64 {
    if tree.is_bounded() { tree.made() } else { tree.runs() }
}

impl Pace {
    /// Begins at the current moment. The runs so far do not count, because earlier processes executed them, or because
    /// the search restarted.
    pub(super) fn begin(tree: &SearchTree) -> Pace {
        Pace { began: Instant::now(), from: counted(tree) }
    }

    /// Excludes this number of runs, which were read from a file.
    pub(super) fn skip(&mut self, runs: u64) {
        self.from += runs;
    }

    /// Returns the progress of the search for its line.
    pub(super) fn line(&self, tree: &SearchTree, excess: Option<Excess>) -> SearchLine {
        let made = counted(tree).saturating_sub(self.from);
        let done = if tree.is_bounded() { tree.made_on_level() } else { tree.runs() };
        let all = tree.live_estimate().map(|estimate| {
            let least = tree.runs() as f64 + 1.0;
            [estimate.runs, estimate.low, estimate.high].map(|number| number.max(least))
        });
        let bound = tree.progress().within.map(|bound| match tree.level() {
            0 => format!("no {}", bound.what),
            level => format!("at most {}", plural(level, bound.what)),
        });
        SearchLine {
            runs: tree.runs(),
            rate: made as f64 / self.began.elapsed().as_secs_f64(),
            all,
            bound,
            left: all.map(|[all, ..]| (all - done as f64).max(0.0)),
            excess,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::strategy::divided::{Rest, Sizes, Slice, TreeEstimate};
    use crate::strategy::search::Apart;

    /// Adds a round of one slice with this number of runs.
    fn add_round(tree: &mut SearchTree, runs: u64) {
        let rest = Some(Rest { draws: Vec::new(), stack: tree.part(0).stack });
        tree.merge(vec![Slice { runs, rest, ..Slice::default() }]);
    }

    fn ago(pace: Pace, seconds: u64) -> Pace {
        let began = pace.began.checked_sub(Duration::from_secs(seconds));
        Pace { began: began.expect("the clock has begun"), ..pace }
    }

    #[test]
    fn runs_of_earlier_processes_make_no_difference_to_the_rate() {
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING);
        let mut pace = Pace::begin(&tree);
        add_round(&mut tree, 100_000);
        pace.skip(100_000);
        add_round(&mut tree, 500);
        let estimate = TreeEstimate { runs: 101_500.0, low: 90_000.0, high: 2e5, width: 32 };
        tree.set_live(Some(estimate));
        let line = ago(pace, 10).line(&tree, None);
        assert_eq!(line.runs, 100_500);
        assert!(line.rate > 40.0 && line.rate <= 50.0, "{}", line.rate);
        // The search has executed more runs than the lower end.
        assert_eq!(line.all, Some([101_500.0, 100_501.0, 2e5]));
        assert_eq!((line.left, line.bound), (Some(1_000.0), None));
    }

    #[test]
    fn a_bounded_search_has_the_runs_of_its_level_left() {
        let mut tree = SearchTree::new(Sizes::USUAL, Apart::NOTHING).within("preemption", 8);
        let pace = Pace::begin(&tree);
        add_round(&mut tree, 20);
        let line = pace.line(&tree, None);
        assert_eq!((line.all, line.left), (None, None));
        assert_eq!(line.bound.as_deref(), Some("no preemption"));
        let estimate = TreeEstimate { runs: 50.0, low: 30.0, high: 80.0, width: 8 };
        tree.set_estimate(Some(estimate));
        assert_eq!(pace.line(&tree, None).left, Some(30.0));
    }
}
