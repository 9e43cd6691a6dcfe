//! The round of a divided search: its slices, its beginning and its end.

use std::sync::atomic::Ordering;

use super::super::estimate::{Marks, Purpose};
use super::super::series::Series;
use super::super::slice::{MadeSlice, SliceOrder};
use super::super::{SearchEnd, SearchLimits};
use super::others::Others;
use super::pace::Pace;
use super::{PoolEnd, Rounds};
use crate::engine::live::SearchLine;
use crate::engine::results::SearchLog;
use crate::engine::seeds::Explored;
use crate::report::{Excess, Origin};
use crate::run::ids::Seed;
use crate::strategy::divided::{SearchTree, TreeEstimate};

/// The state of a search between two slices.
pub(super) struct State<'r> {
    pub(super) tree: &'r mut SearchTree,
    pub(super) explored: &'r mut Explored,
    pub(super) series: &'r mut Series,
    pub(super) pace: &'r mut Pace,
    pub(super) marks: &'r mut Marks,
    pub(super) round: Round,
    /// The other processes that execute slices of the same rounds.
    pub(super) others: Others,
    /// True if the last round was read from the file.
    pub(super) is_reading: bool,
    /// For each helper, the lines of completed rounds that were not sent to it yet. `None` if the helper is lost.
    pub(super) unheard: Vec<Option<String>>,
    pub(super) ended: Option<PoolEnd>,
}

/// The current round.
#[derive(Default)]
pub(super) struct Round {
    /// The number of its first run.
    pub(super) number: u64,
    /// The maximum number of runs of each slice.
    pub(super) budgets: Vec<u64>,
    /// The position at which this process begins, and the slices that it has taken.
    pub(super) start: usize,
    pub(super) taken: Vec<bool>,
    /// The number of slices that are being executed, and of estimates.
    pub(super) under_way: usize,
    /// An estimate that a thread must make.
    pub(super) due: Option<Purpose>,
    /// The estimate that was made during the round.
    pub(super) estimated: Option<Estimated>,
    pub(super) made: Vec<Option<MadeSlice>>,
    /// Slices that helpers could not complete.
    pub(super) returned: Vec<(usize, SliceOrder)>,
}

/// An estimate that is not yet taken.
pub(super) struct Estimated {
    pub(super) generation: u32,
    pub(super) purpose: Purpose,
    pub(super) estimate: TreeEstimate,
    pub(super) excess: Option<Excess>,
}

impl Round {
    /// Returns the position of the next slice to execute, at most `last`. Slices that another process probably executes
    /// at the moment come last.
    pub(super) fn next(&self, last: usize) -> Option<usize> {
        let count = self.budgets.len();
        let is_open = |at: &usize| !self.taken[*at] && self.made[*at].is_none() && *at <= last;
        let mut open = (0..count).map(|nth| (self.start + nth) % count).filter(is_open);
        let first = open.clone().next();
        open.find(|at| !self.is_expected(*at)).or(first)
    }

    /// Returns `true` if another process probably executes this slice at the moment, because it has executed the
    /// previous slice.
    pub(super) fn is_expected(&self, at: usize) -> bool {
        let count = self.made.len();
        self.made[(at + count - 1) % count].as_ref().is_some_and(|made| made.is_read)
    }

    /// Takes a slice.
    pub(super) fn order(&mut self, tree: &mut SearchTree, at: usize) -> SliceOrder {
        self.taken[at] = true;
        self.under_way += 1;
        let from = self.number_of(at);
        SliceOrder { part: tree.part(at), budget: self.budgets[at], from, failed: None }
    }

    /// Returns the number of the first run of a slice. Earlier slices that are not complete are assumed to use their
    /// maximum number of runs.
    pub(super) fn number_of(&self, at: usize) -> u64 {
        let made = self.made[..at].iter().zip(&self.budgets);
        let runs =
            made.map(|(made, budget)| made.as_ref().map_or(*budget, |made| made.slice.made()));
        self.number + runs.sum::<u64>()
    }

    /// Returns `true` if every slice that counts is complete, and no slice is being executed.
    pub(super) fn is_over(&self, rounds: &Rounds<'_, '_>) -> bool {
        let last = rounds.last.load(Ordering::Relaxed);
        let wanted = last.saturating_add(1).min(self.budgets.len());
        let fails = |(_, order): &(usize, SliceOrder)| order.failed.is_some();
        self.under_way == 0
            && self.due.is_none()
            && self.made[..wanted].iter().all(Option::is_some)
            && !self.returned.iter().any(fails)
    }
}

impl State<'_> {
    /// Begins the next round that requires a run, or ends the search.
    pub(super) fn begin_round(&mut self, rounds: &Rounds<'_, '_>) {
        while self.ended.is_none() {
            if self.tree.is_through() {
                return self.end(SearchEnd::Complete);
            }
            if rounds.is_share && self.tree.needs_top() {
                self.ended = Some(PoolEnd::NeedsTop);
                return;
            }
            let due = self.estimate_due(rounds);
            if due == Some(Purpose::Half) {
                // No slice can be taken until the estimate is complete.
                self.round = Round { number: self.round.number, due, ..Round::default() };
                return;
            }
            self.allot(rounds);
            if self.ended.is_some() {
                return;
            }
            self.round.due = due;
            if let Some(log) = rounds.log {
                self.take_made(log, rounds);
            }
            // A round whose slices all have lines in the file needs no run, so it ends at once.
            if !self.round.is_over(rounds) {
                return;
            }
            self.end_round(rounds);
        }
    }

    /// Returns the progress for the live display.
    pub(super) fn line(&self) -> SearchLine {
        self.pace.line(self.tree, self.series.excess)
    }

    pub(super) fn end(&mut self, ended: SearchEnd) {
        self.ended.get_or_insert(PoolEnd::Over(ended));
    }

    /// Returns the purpose of an estimate that must be made before the next round, if any.
    fn estimate_due(&mut self, rounds: &Rounds<'_, '_>) -> Option<Purpose> {
        if !rounds.may_estimate {
            return None;
        }
        if self.is_half(rounds) && self.marks.due_at_half() {
            return Some(Purpose::Half);
        }
        // A process that reads the rounds of earlier processes estimates only after them. A search for a single run
        // makes the same estimates as the search that found the run, because the decision at half depends on them.
        let is_live = rounds.is_watched && rounds.live.is_on();
        if self.is_reading { None } else { self.marks.due(self.tree, is_live) }
    }

    /// Returns `true` if the search may be given up now. The budgets of earlier rounds end at this number of runs, so a
    /// round begins exactly there.
    fn is_half(&self, rounds: &Rounds<'_, '_>) -> bool {
        rounds.limits.give_up_at == Some(self.round.number)
    }

    /// Allots the runs of the next round. Ends the search if no further run is allowed.
    fn allot(&mut self, rounds: &Rounds<'_, '_>) {
        let SearchLimits { numbers, give_up_at, .. } = rounds.limits;
        let number = self.round.number;
        let half = give_up_at.filter(|half| number < *half);
        if self.is_half(rounds) && self.tree.is_below_half() {
            return self.end(SearchEnd::GivenUp);
        }
        let left = half.unwrap_or(numbers.end).saturating_sub(number);
        if left == 0 {
            return self.end(SearchEnd::Stopped);
        }
        // The rounds of a recorded search depend only on its lines, so the remaining number of runs must not affect
        // them.
        let left = if rounds.is_recorded { u64::MAX } else { left };
        let budgets = self.tree.budgets(left);
        let made = budgets.iter().map(|_| None).collect();
        let taken = vec![false; budgets.len()];
        let start = self.others.start(self.tree.round(), budgets.len());
        self.round = Round { number, budgets, made, taken, start, ..Round::default() };
        rounds.last.store(usize::MAX, Ordering::Relaxed);
    }

    /// Takes the slices of the round that other processes have completed. Returns `true` if it has taken a slice.
    pub(super) fn take_made(&mut self, log: &SearchLog, rounds: &Rounds<'_, '_>) -> bool {
        let mut has_taken = false;
        for at in 0..self.round.budgets.len() {
            if self.round.taken[at] || self.round.made[at].is_some() {
                continue;
            }
            let key = (self.tree.generation(), self.tree.round(), at);
            let Some((line, decided)) = log.take(key) else { continue };
            let mut made = MadeSlice { is_read: true, ..MadeSlice::of_line(line) };
            made.explored.decided.lines = decided;
            if made.is_last() {
                rounds.last.fetch_min(at, Ordering::Relaxed);
            }
            self.round.made[at] = Some(made);
            has_taken = true;
        }
        has_taken
    }

    /// Takes the estimate of the round, if any.
    pub(super) fn take_estimate(&mut self) {
        let Some(estimated) = self.round.estimated.take() else { return };
        let Estimated { generation, purpose, estimate, excess } = estimated;
        // An estimate covers only its generation.
        if self.tree.generation() != generation {
            return;
        }
        if purpose == Purpose::Live {
            return self.tree.set_live(Some(estimate));
        }
        self.tree.set_estimate(Some(estimate));
        // A better estimate may show that the limit suffices.
        let fits = self.series.excess.and_then(|before| before.fits);
        self.series.excess = excess.map(|excess| Excess { fits: excess.fits.or(fits), ..excess });
    }

    /// Adds the lines of the slices that count, up to `last`, to the texts for helpers.
    fn tell_helpers(&mut self, last: usize) {
        if self.unheard.iter().all(Option::is_none) {
            return;
        }
        let made = self.round.made.iter().take(last.saturating_add(1)).flatten().enumerate();
        // Classes matter only at the end of the search, so they are omitted.
        let lines: String = made.map(|(at, made)| made.line((0, 0, at), 0)).collect();
        for unheard in self.unheard.iter_mut().flatten() {
            *unheard += &lines;
            *unheard += "merge\n";
        }
    }

    /// Ends the round: merges its slices, or ends the search if a run failed or the time limit is reached.
    pub(super) fn end_round(&mut self, rounds: &Rounds<'_, '_>) {
        let last = rounds.last.load(Ordering::Relaxed);
        // The helpers must merge the slices that are merged below, so that their trees stay equal.
        self.tell_helpers(last);
        let mut made = std::mem::take(&mut self.round.made).into_iter();
        let (mut slices, mut is_cut) = (Vec::new(), false);
        self.is_reading = true;
        for MadeSlice { slice, mut explored, is_cut: cut, is_read } in
            made.by_ref().take(last.saturating_add(1)).flatten()
        {
            explored.renumber(self.round.number);
            self.round.number += slice.made();
            self.explored.merge(explored);
            is_cut |= cut;
            self.is_reading &= is_read;
            if is_read {
                self.pace.skip(if self.tree.is_bounded() { slice.made() } else { slice.runs });
            }
            slices.push(slice);
        }
        if is_cut && self.explored.found.is_none() {
            // The time limit is reached. A failure in a later slice must not be lost.
            let mut later = made.flatten().map(|made| made.explored);
            if let Some(mut explored) = later.find(|explored| explored.found.is_some()) {
                explored.renumber(self.round.number);
                self.explored.found = explored.found;
            }
        }
        if self.explored.found.is_some() || is_cut {
            // The search ends here, so the tree only counts the runs.
            self.tree.count(slices);
            self.take_estimate();
            self.series.add(self.tree);
            self.end(SearchEnd::Stopped);
        } else if let Err(why) = self.tree.check(&slices) {
            self.explored
                .warnings
                .push(format!("the results of the search are not its own: {why}"));
            self.end(SearchEnd::Stopped);
        } else {
            let restarts = self.tree.restarts();
            self.tree.merge(slices);
            if self.tree.restarts() != restarts {
                // The runs before a restart do not count: not for conditions and statistics, and not in a certificate.
                self.explored.tally.take();
                self.explored.decided.lines.clear();
                self.series.restart();
                *self.pace = Pace::begin(self.tree);
            } else {
                self.take_estimate();
                self.series.add(self.tree);
            }
            if self.is_reading {
                // The time for reading does not count.
                *self.pace = Pace::begin(self.tree);
            }
        }
    }
}

impl Explored {
    /// Adds `from` to the run numbers of a slice, so that its first run has the number `from`.
    fn renumber(&mut self, from: u64) {
        if let Some(stuck) = &mut self.stuck {
            stuck.position += from;
            stuck.seed = Seed(stuck.position);
        }
        if let Some(found) = &mut self.found {
            found.position += from;
            let seed = Seed(found.position);
            found.run.seed = seed;
            if let Origin::Seed(origin) | Origin::Reordered(origin) = &mut found.origin {
                *origin = seed;
            }
        }
    }
}
