//! The progress of a search over time, for the report: a point for each round, or for some of the rounds.
//!
//! The rounds of a search are the same for any number of threads, so everything except the times is a function of the
//! search.

use std::time::Instant;

use crate::report::{Excess, ProgressPoint};
use crate::strategy::divided::SearchTree;
use crate::strategy::search::SearchProgress;

/// The maximum number of points.
const POINTS_MAX: usize = 200;

/// The points of a search so far.
pub(super) struct Series {
    began: Instant,
    points: Vec<ProgressPoint>,
    /// `Some` if, by its estimate, the search needs more runs than its limit allows.
    pub(super) excess: Option<Excess>,
}

impl Series {
    /// Creates the series of a search that begins now.
    pub(super) fn begin() -> Series {
        Series { began: Instant::now(), points: Vec::new(), excess: None }
    }

    /// Adds the progress of the tree. If it has no more runs than the last point, it replaces this point.
    pub(super) fn add(&mut self, tree: &SearchTree) {
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.add_point(point(&tree.progress(), tree.is_through(), milliseconds));
    }

    fn add_point(&mut self, point: ProgressPoint) {
        if self.points.last().is_some_and(|last| last.runs >= point.runs) {
            self.points.pop();
        }
        self.points.push(point);
        if self.points.len() > POINTS_MAX {
            // Every second point remains, and the last.
            let (last, mut next) = (self.points.len() - 1, 0);
            self.points.retain(|_| {
                next += 1;
                next % 2 == 1 || next > last
            });
        }
    }

    /// Removes all points, because the search restarted and the runs so far do not count.
    pub(super) fn restart(&mut self) {
        self.points.clear();
        self.excess = None;
    }

    /// Returns the points, and begins the series of another search.
    pub(super) fn take(&mut self) -> Vec<ProgressPoint> {
        std::mem::replace(self, Series::begin()).points
    }
}

/// Returns the progress as a point. The number of all runs is an estimate, or exact if the search `is_through`.
fn point(progress: &SearchProgress, is_through: bool, milliseconds: u64) -> ProgressPoint {
    let SearchProgress { runs, part, estimate, .. } = *progress;
    let count = |number: f64| (number as u64).max(runs);
    let estimate = estimate.filter(|_| !is_through);
    let exact = is_through.then_some(runs);
    let total = estimate.map(|estimate| count(estimate.runs)).or(exact);
    let interval = estimate.map(|estimate| (count(estimate.low), count(estimate.high)));
    ProgressPoint { runs, part, total, interval, milliseconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::divided::TreeEstimate;

    fn at(runs: u64) -> ProgressPoint {
        ProgressPoint { runs, part: None, total: None, interval: None, milliseconds: runs }
    }

    #[test]
    fn a_long_search_keeps_its_first_and_its_last_point_and_at_most_the_limit() {
        let mut series = Series::begin();
        for runs in 1..=10_000 {
            series.add_point(at(runs));
            assert!(series.points.len() <= POINTS_MAX);
            assert_eq!(series.points.last(), Some(&at(runs)));
        }
        let points = series.take();
        assert!(points.len() >= POINTS_MAX / 2 && points[0] == at(1));
        assert!(points.windows(2).all(|pair| pair[0].runs < pair[1].runs));
        assert!(series.take().is_empty());
    }

    #[test]
    fn a_point_with_the_same_runs_replaces_the_last() {
        let mut series = Series::begin();
        let estimated = ProgressPoint { total: Some(50), ..at(7) };
        for point in [at(3), at(7), estimated] {
            series.add_point(point);
        }
        assert_eq!(series.take(), [at(3), estimated]);
        series.add_point(at(9));
        series.restart();
        series.add_point(at(2));
        assert_eq!(series.take(), [at(2)]);
    }

    #[test]
    fn the_number_of_all_runs_is_estimated_or_exact_and_never_extrapolated() {
        let progress = SearchProgress { runs: 100, ..SearchProgress::default() };
        let totals = |progress: &SearchProgress, is_through| {
            let ProgressPoint { total, interval, .. } = point(progress, is_through, 0);
            (total, interval)
        };
        assert_eq!(totals(&progress, true), (Some(100), None));
        assert_eq!(totals(&progress, false), (None, None));
        let estimate = Some(TreeEstimate { runs: 900.5, low: 20.0, high: 1e30, width: 9 });
        let estimated = SearchProgress { estimate, ..progress };
        // The search has already executed more runs than the lower end.
        assert_eq!(totals(&estimated, false), (Some(900), Some((100, u64::MAX))));
        assert_eq!(totals(&estimated, true), (Some(100), None));
    }

    #[test]
    fn the_time_makes_no_difference() {
        assert_eq!(ProgressPoint { milliseconds: 9, ..at(1) }, at(1));
        assert_ne!(at(1), at(2));
    }
}
