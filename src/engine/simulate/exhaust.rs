//! Executes the runs of a search until no runs remain, a run fails, or the run limit is reached. At half of the limit
//! it checks if the limit will be sufficient. The runs are executed in [`rounds`], by as many threads as are useful.

pub(super) mod audit;
mod estimate;
mod helpers;
mod rounds;
mod series;
mod slice;
#[cfg(test)]
mod tests;
mod top;
mod whole;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use self::audit::Sampled;
use self::series::Series;
use super::session::Session;
use crate::engine::config::Config;
use crate::engine::results::{AuditLine, Tally};
use crate::engine::seeds::Explored;
use crate::report::{Bound, Cause, Clash, Fallback, OrdersTaken, RunsEstimate, Searched, Share};
use crate::run::clock_mode::ClockMode;
use crate::run::memory_model::MemoryModel;
use crate::run::untried::Untried;
use crate::run::{Failure, Run};
use crate::strategy::Search;
use crate::strategy::divided::{Division, SearchTree};
use crate::strategy::search::{Apart, SearchBound, SearchProgress};

/// The policy for the runs of a search: when to stop, and which runs to show.
pub(super) enum RunVisitor<'a> {
    /// Stops at the first failing run.
    UntilFailure,
    /// Visits every run, passed or failed.
    Each(&'a mut dyn FnMut(Run)),
    /// Stops after the run with this number, the only run of interest.
    One(u64),
}

/// The reason why a search ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchEnd {
    /// No further run exists.
    Complete,
    /// A run failed, the time limit was reached, or the run limit was reached.
    Stopped,
    /// The search would need more runs than allowed.
    GivenUp,
}

/// Runs the search. At half of its run limit, the search checks its estimate. If the other half will not be sufficient,
/// that half goes to the [fallback](crate::strategy::SearchRow::fallback). The limit counts runs and not seconds, so
/// that a run number always identifies the same run.
pub(super) fn exhaust(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    visit: RunVisitor<'_>,
) -> Explored {
    let config = session.config;
    // A search reports its progress instead of coverage.
    let tally = Tally::new(false, config.statistics, false);
    let explored = Explored { tally, ..Explored::default() };
    let is_asked = config.shard.of > 1 || config.results.is_some();
    // A visitor of all runs must receive each run exactly once.
    let each = matches!(visit, RunVisitor::Each(_));
    let end = match visit {
        // The rounds, and thus the numbers of the runs, depend on the limit of the whole search.
        RunVisitor::One(one) => config.runs.max(one.saturating_add(1)),
        _ => config.end(),
    };
    // A recorded search continues in the next process, so it has no fallback. Therefore the search for one of its runs
    // has none, either.
    let fallback = config.strategy.fallback().filter(|_| !each && !is_asked);
    let deadline = config.time.map(|time| Instant::now() + time);
    let series = Series::begin();
    let mut whole = WholeSearch { session, visit, explored, fallback, deadline, end, series };
    let searched = whole.searched(search, each);
    Explored { searched: Some(searched), ..whole.explored }
}

/// A search with its audit and its fallback.
struct WholeSearch<'v, 's> {
    session: &'s Session<'s>,
    visit: RunVisitor<'v>,
    explored: Explored,
    /// The search that replaces this search after half of the runs, if any.
    fallback: Option<Arc<dyn Search>>,
    deadline: Option<Instant>,
    /// The end of the run numbers, exclusive.
    end: u64,
    /// The progress of the current search.
    series: Series,
}

impl WholeSearch<'_, '_> {
    /// Executes all runs. Returns a summary of the search.
    fn searched(&mut self, search: &Arc<dyn Search>, each: bool) -> Searched {
        let config = self.session.config;
        let mut tree = search.tree();
        if self.session.assignment.results.search().is_some() {
            tree = tree.recorded();
        }
        if each {
            tree.begin_again(differences_of_each_run(config));
        } else if config.searches_each_order() {
            tree.begin_again(Apart::STEPS);
        }
        // Clears the value that an earlier search left.
        let _ = self.session.take_strengthened();
        // A search that executes every run has no classes, and does not depend on an assumption.
        let reduces = search.has_classes();
        let half = self.fallback.is_some().then_some(config.runs / 2);
        let Audited { ended, next, sampled, clash } = self.audited((search, &mut tree), half, each);
        // A search without classes executes each order of steps.
        let by_step = if reduces { Apart::NOTHING } else { Apart::STEPS };
        self.explored.decided.apart = tree.apart().and(by_step);
        self.explored.decided.apart.stores |= tree.has_stores();
        let mut searched = how_far(tree.progress(), ended, &mut self.series);
        searched.share = self.share();
        searched.assumes = reduces && !searched.by_step && !config.is_native();
        if searched.by_step {
            let contact = || tree.contact().map(|text| Cause::Contact(text.to_owned()));
            searched.cause = clash.map(|clash| Cause::Clash(Box::new(clash))).or_else(contact);
        }
        let before = self.explored.tally.runs;
        if let (Some(half), SearchEnd::GivenUp) = (half, ended) {
            searched.fallback = self.fall_back(half..self.end, before);
        }
        if let Some(sampled) = sampled {
            let missed = sampled.audit.missed.is_some();
            searched.audit = Some(sampled.audit.clone());
            searched.blind |= sampled.blind;
            self.explored.found = sampled.found(self.explored.tally.runs);
            if self.explored.found.is_none() && missed {
                // The search has an error, so the remaining runs go to a search that prunes nothing.
                searched.fallback = self.fall_back(next..self.end, before).or(searched.fallback);
            }
        }
        bound_early_moves(config.clock, &mut searched, &mut self.explored);
        searched.orders = self.orders_taken();
        for part in &self.explored.untried {
            match part {
                Untried::Beyond(part) => searched.beyond.push((*part).to_owned()),
                Untried::Unseen(part) => searched.ignored.push((*part).to_owned()),
                Untried::Function(name) => searched.unseen.push((*name).to_owned()),
                Untried::Time => searched.waits_for_time = true,
                Untried::Orders => {}
            }
        }
        searched
    }

    /// Returns the treatment of the memory orders by the search and its fallback.
    fn orders_taken(&self) -> OrdersTaken {
        let config = self.session.config;
        let takes_less = self.explored.untried.contains(&Untried::Orders);
        let takes_less = self.session.take_strengthened() || takes_less;
        match config.memory {
            MemoryModel::Sc if takes_less => OrdersTaken::AsSeqCst,
            MemoryModel::Sc => OrdersTaken::AsAsked,
            MemoryModel::C11 if takes_less => OrdersTaken::InPart,
            MemoryModel::C11 if self.explored.decided.apart.stores => OrdersTaken::AsInC11,
            MemoryModel::C11 => OrdersTaken::AsAsked,
        }
    }

    /// Returns the share of this process, if the search is divided among several processes.
    fn share(&self) -> Option<Share> {
        let Division { number, of, .. } = rounds::division(self.session, &self.visit);
        (of > 1).then_some(Share { number, of })
    }

    /// Executes the runs of the search, and audits it if it is complete. If tasks share something that the search does
    /// not see, it restarts with each order of steps as a separate run. After the run number `half` it may be given up.
    fn audited(
        &mut self,
        (search, tree): (&Arc<dyn Search>, &mut SearchTree),
        half: Option<u64>,
        each: bool,
    ) -> Audited {
        let (mut next, mut clash) = (0, None);
        loop {
            let give_up_at = half.filter(|half| next < *half);
            let within =
                SearchLimits { deadline: self.deadline, numbers: next..self.end, give_up_at };
            let ended;
            (ended, next) = self.explore(search, tree, within);
            let is_through = ended == SearchEnd::Complete && self.explored.found.is_none();
            let is_left_out =
                audit::has_outcomes(self.session, tree.apart()) && self.leaves_out_behavior();
            if !search.has_classes() || !is_through || is_left_out {
                return Audited { ended, next, sampled: None, clash };
            }
            tree.sort_classes();
            self.session.show(tree.apart());
            let sample = || audit::audit(self.session, Some(tree), audit::RUNS, each);
            let mut sampled: Sampled = self.session.quietly(sample);
            let SearchProgress { by_step, blind, .. } = tree.progress();
            let begins_again = sampled.shares_unseen() && !by_step && !blind;
            if let Some(log) = self.session.assignment.results.search() {
                let (generation, agrees) = (tree.generation(), sampled.audit.agrees());
                // Without the other classes, the line of an audit with very many runs stays short.
                let kept = sampled.classes.iter().copied().filter(|class| tree.keeps_class(*class));
                let classes = kept.collect();
                let clash = sampled.audit.clash.clone().filter(|_| begins_again);
                let line = AuditLine { generation, classes, agrees, begins_again, clash };
                log.write(&line.write());
            }
            if !begins_again {
                return Audited { ended, next, sampled: Some(sampled), clash };
            }
            // Two orders of steps gave different results, although the search treated them as equivalent.
            clash = sampled.take_clash();
            tree.begin_again(Apart::STEPS);
            self.explored.tally.take();
            self.explored.decided.lines.clear();
            self.series.restart();
        }
    }

    /// Returns `true` if the search is no proof, because runs did something that it does not try completely. Then its
    /// runs do not have all outcomes.
    fn leaves_out_behavior(&self) -> bool {
        let is_native = self.session.config.is_native();
        let is_left_out = |part: &Untried| match part {
            Untried::Orders => true,
            Untried::Time => false,
            Untried::Beyond(_) | Untried::Unseen(_) | Untried::Function(_) => is_native,
        };
        self.explored.untried.iter().any(is_left_out)
    }

    /// Executes runs of the fallback, if any. `before` is the number of runs that the search has executed before the
    /// fallback.
    fn fall_back(&mut self, numbers: Range<u64>, before: u64) -> Option<Box<Fallback>> {
        let fallback = self.fallback.clone()?;
        // The fallback uses the lock mode of the search before it, whichever process executed the last slice of that
        // search.
        self.session.show(self.explored.decided.apart);
        let within = SearchLimits { deadline: self.deadline, numbers, give_up_at: None };
        let mut tree = fallback.tree();
        let (ended, _) = self.explore(&fallback, &mut tree, within);
        self.explored.decided.apart.stores |= tree.has_stores();
        let runs = self.explored.tally.runs - before;
        let searched = how_far(tree.progress(), ended, &mut self.series);
        Some(Box::new(Fallback { runs, searched }))
    }

    fn explore(
        &mut self,
        search: &Arc<dyn Search>,
        tree: &mut SearchTree,
        within: SearchLimits,
    ) -> (SearchEnd, u64) {
        let (explored, series) = (&mut self.explored, &mut self.series);
        rounds::explore(self.session, search, tree, &mut self.visit, within, explored, series)
    }
}

/// The result of a search and of its audit, if the search was complete.
struct Audited {
    ended: SearchEnd,
    /// The number of the next run.
    next: u64,
    sampled: Option<Sampled>,
    /// Two steps whose order made a difference that the search did not see at first.
    clash: Option<Clash>,
}

/// The limits of a search.
struct SearchLimits {
    deadline: Option<Instant>,
    /// The run numbers of the search. Runs that do not count have numbers, too, so that each number identifies one run.
    numbers: Range<u64>,
    /// The number of runs at which the search is given up if less than half of it seems to be done.
    give_up_at: Option<u64>,
}

/// Returns the differences that a search counts from the start if a visitor receives each run: a search that begins
/// again would pass a run to it twice.
fn differences_of_each_run(config: &Config) -> Apart {
    let mut all = Apart::ORDERS.and(Apart::COUNTS).and(Apart::DEATHS).and(Apart::NODES);
    if config.memory == MemoryModel::C11 {
        all = all.and(Apart::STORES);
    }
    if config.is_native() {
        all = all.and(Apart::REFERENCES);
    }
    all
}

/// Reports the limit of early clock moves as a bound of the search, if the search completed all runs within its bounds.
fn bound_early_moves(clock: ClockMode, searched: &mut Searched, explored: &mut Explored) {
    let ClockMode::Late(moves) = clock else { return };
    let is_all_within = searched.complete && searched.fallback.is_none();
    if !is_all_within || !explored.untried.remove(&Untried::Beyond(ClockMode::BEYOND)) {
        return;
    }
    match searched.bound {
        Some(_) => searched.early_moves = Some(moves),
        None => {
            let what = ClockMode::EARLY_MOVE.to_owned();
            searched.bound = Some(Bound { what, through: Some(moves) });
        }
    }
}

/// Returns the progress of a search, for the report.
fn how_far(progress: SearchProgress, ended: SearchEnd, series: &mut Series) -> Searched {
    let complete = ended == SearchEnd::Complete;
    let excess = series.excess.filter(|_| !complete);
    let bound =
        |within: SearchBound| Bound { what: within.what.to_owned(), through: within.through };
    Searched {
        blocked: progress.blocked,
        repeated: progress.repeated,
        complete,
        // The estimate is capped, so that an incomplete search never reports that it is done.
        part: if complete { Some(1.0) } else { progress.part.map(|part| part.min(0.9999)) },
        blind: progress.blind,
        by_step: progress.by_step,
        cause: None,
        assumes: false,
        beyond: Vec::new(),
        ignored: Vec::new(),
        unseen: Vec::new(),
        orders: OrdersTaken::AsAsked,
        bound: progress.within.map(bound),
        early_moves: None,
        waits_for_time: false,
        share: None,
        estimate: progress.estimate.filter(|_| !complete).map(|estimate| {
            // The total is at least one more than the number of executed runs.
            let [runs, low, high] = [estimate.runs, estimate.low, estimate.high]
                .map(|number| (number as u64).max(progress.runs + 1));
            RunsEstimate { runs, low, high }
        }),
        excess,
        series: series.take(),
        audit: None,
        fallback: None,
    }
}

/// Returns `true` if the last step of a run ended it while other tasks may have been enabled.
pub(super) fn ends_by_a_step(failure: Option<&Failure>) -> bool {
    !matches!(failure, Some(Failure::Deadlock { .. } | Failure::StepLimit { .. }))
}
