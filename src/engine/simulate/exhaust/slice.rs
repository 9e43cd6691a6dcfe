//! Executes the slices of a divided search on one thread.

use std::sync::Arc;
use unpause_ordered::Set;

use super::audit;
use super::whole::WholeRuns;
use super::{RunVisitor, ends_by_a_step};
use crate::engine::results::{SeenBySlice, SliceKey, SliceLine, Tally};
use crate::engine::seeds::{Explored, Found, Stuck, remarks, unchecked};
use crate::engine::simulate::certify;
use crate::engine::simulate::confirm;
use crate::engine::simulate::job::WorkerJob;
use crate::engine::simulate::passed::note;
use crate::engine::simulate::reorder::{self, Reordered};
use crate::engine::simulate::session::Session;
use crate::engine::simulate::watchdog::Unwatch;
use crate::native;
use crate::report::Origin;
use crate::rt::{RunLimits, Worker};
use crate::run::ids::Seed;
use crate::run::untried::Untried;
use crate::run::{Failure, Outcome, Run};
use crate::strategy::Search;
use crate::strategy::divided::{Look, Part, Slice};
use crate::strategy::search::Apart;

/// The report text for a part of the program that a search does not see if its runs may end at their step limit.
const AFTER_LIMIT: &str = "the steps after the step limit of a run";

/// An executed slice, and what the engine observed in its runs. The runs are numbered from 0.
pub(super) struct MadeSlice {
    pub(super) slice: Slice,
    pub(super) explored: Explored,
    /// True if the slice was interrupted before its end, so that its remaining work is unknown.
    pub(super) is_cut: bool,
    /// True if an earlier process executed the slice.
    pub(super) is_read: bool,
}

impl MadeSlice {
    /// Creates a slice from its line.
    pub(super) fn of_line(line: SliceLine) -> MadeSlice {
        let SliceLine { slice, tally, untried, warnings, notes, stuck, .. } = line;
        let stuck = stuck.map(|(position, text)| Stuck { position, seed: Seed(position), text });
        let untried = untried.into_iter().collect();
        let explored = Explored { tally, warnings, notes, stuck, untried, ..Explored::default() };
        MadeSlice { slice, explored, is_cut: false, is_read: false }
    }

    /// Returns `true` if the slice is complete and no run failed. Another process would then compute the same slice.
    pub(super) fn is_fact(&self) -> bool {
        !self.is_cut && self.explored.found.is_none()
    }

    /// Returns the line of the slice in a result file.
    pub(super) fn line(&self, key: SliceKey, bound: u64) -> String {
        let Explored { tally, untried, warnings, notes, stuck, .. } = &self.explored;
        let untried = untried.iter().copied().collect();
        let stuck = stuck.as_ref().map(|stuck| (stuck.position, &*stuck.text));
        let seen = SeenBySlice { tally, untried, warnings, notes, stuck };
        SliceLine::write(key, &self.slice, bound, &seen)
    }

    /// Returns `true` if no later slice of the round counts.
    pub(super) fn is_last(&self) -> bool {
        self.explored.found.is_some() || self.slice.learnt.is_some()
    }
}

/// A request for a slice.
pub(super) struct SliceOrder {
    pub(super) part: Part,
    /// The maximum number of runs.
    pub(super) budget: u64,
    /// The number of its first run, if the earlier slices of the round use their maximum number of runs.
    pub(super) from: u64,
    /// The failure of one of its runs in a helper, as one line.
    pub(super) failed: Option<String>,
}

/// The continuation after a run of a search.
enum AfterRun {
    /// The part has a next run.
    Again,
    /// The part has no further run.
    Through,
    /// This run is the result of the search: it failed, or was requested.
    Found(Box<Found>),
}

/// A worker that executes slices.
pub(super) struct SliceMaker<'a, 's> {
    session: &'a Session<'s>,
    search: Arc<dyn Search>,
    worker: Worker,
    watched: Unwatch<'a>,
    limits: RunLimits,
    /// True if earlier runs have shown that operations can choose among stores. A search with classes counts each store
    /// then: see [`Apart::stores`].
    has_stores: bool,
    /// The outcomes of the runs of the slice, and the end of the outcomes that it returns. `None` if it returns
    /// classes.
    outcomes: Option<(Set<u64>, u64)>,
}

impl<'a, 's> SliceMaker<'a, 's> {
    pub(super) fn new(session: &'a Session<'s>, search: Arc<dyn Search>) -> SliceMaker<'a, 's> {
        // At the same time, another test may run plain threads that have captured memory.
        let has_captured = session.config.is_native() && native::has_captured();
        let mut worker = Worker::new(match has_captured {
            true => WholeRuns::of(search.clone()),
            false => search.strategy(),
        });
        let seeds = WorkerJob::Seeds(session.config.strategy);
        let watched = session.watch.follow(worker.progress(), seeds, Seed(0));
        session.rehearse(&mut worker, &watched.watched);
        watched.watched.begin_job(WorkerJob::Search(search.clone()));
        let limits = session.limits();
        SliceMaker { session, search, worker, watched, limits, has_stores: false, outcomes: None }
    }

    /// Calls `wait`, which waits for slices of other threads.
    pub(super) fn paused<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.watched.watched.paused(wait)
    }

    /// Executes a slice. Before each run except the first run of the test, checks `goes_on`, and stops if it returns
    /// `false`.
    pub(super) fn make(
        &mut self,
        order: SliceOrder,
        visit: &mut RunVisitor<'_>,
        goes_on: &dyn Fn() -> bool,
    ) -> MadeSlice {
        let SliceOrder { part, budget, from, failed } = order;
        let tally = Tally::new(false, self.session.config.statistics, false);
        let mut explored = Explored { tally, ..Explored::default() };
        self.adopt(part);
        self.probe(from);
        let (mut made, mut is_cut) = (0, false);
        let mut ended = false;
        while !ended && made < budget {
            if from + made > 0 && !goes_on() {
                is_cut = true;
                break;
            }
            self.watched.watched.begin(from + made);
            let failure = self.session.once(&mut self.worker, Seed(from + made), &self.limits);
            self.worker.add_untried(&mut explored.untried);
            self.add_outcome();
            let mut runs =
                SliceRuns { maker: self, visit, explored: &mut explored, from, nth: made };
            let next = runs.judge(failure);
            self.worker.forget_histories();
            made += 1;
            match next {
                // After a new criterion the search restarts, so further runs of the slice would be wasted.
                AfterRun::Again => ended = self.search.has_learnt(),
                AfterRun::Through => ended = true,
                AfterRun::Found(found) => {
                    explored.found = Some(found);
                    ended = true;
                }
            }
        }
        // A run failed in a helper but passes here, so the body is not a function of its decisions.
        let failed = failed.filter(|_| explored.found.is_none() && !is_cut);
        if let Some(failed) = failed {
            let run = self.worker.extract(Seed(from + made), self.session.config.strategy.name());
            explored.found =
                Some(confirm::differs_from_helper(run, made.saturating_sub(1), failed));
        }
        if self.session.take_strengthened() {
            explored.untried.insert(Untried::Orders);
        }
        let mut slice = self.search.leave();
        if let Some((outcomes, _)) = self.outcomes.take() {
            slice.classes = outcomes.iter().copied().collect();
        }
        if slice.learnt.is_some() {
            // If the search learned a new criterion in this slice, the runs of the slice do not count.
            explored.tally.take();
        }
        MadeSlice { slice, explored, is_cut, is_read: false }
    }

    /// Examines the frame below a part.
    pub(super) fn look(&mut self, part: Part) -> Look {
        self.adopt(part);
        self.probe(0);
        self.search.begin_look();
        self.watched.watched.begin(0);
        let failure = self.session.once_more(&mut self.worker, Seed(0), &self.limits);
        self.worker.forget_histories();
        self.search.end_look(ends_by_a_step(failure.as_ref()))
    }

    fn adopt(&mut self, part: Part) {
        // A bounded search keeps the lock mode with which it began.
        if self.search.has_classes() {
            self.session.show(part.known.apart);
        }
        self.has_stores = part.known.apart.stores;
        let has_outcomes =
            self.search.has_classes() && audit::has_outcomes(self.session, part.known.apart);
        let end = part.known.class_end.unwrap_or(u64::MAX);
        self.outcomes = has_outcomes.then(|| (Set::new(), end));
        self.search.adopt(part.unshared());
    }

    /// Adds the outcome of the last run, if outcomes take the place of classes and the run counts.
    fn add_outcome(&mut self) {
        let Some((outcomes, end)) = &mut self.outcomes else { return };
        if self.search.is_blocked() {
            return;
        }
        let outcome = audit::outcome(self.session, &self.worker);
        if outcome < *end {
            outcomes.insert(outcome);
        }
    }

    /// Executes probes for data that the part does not contain.
    fn probe(&mut self, number: u64) {
        while self.search.next_probe() {
            self.watched.watched.begin(number);
            let failure = self.session.once_more(&mut self.worker, Seed(number), &self.limits);
            self.search.probed(ends_by_a_step(failure.as_ref()));
            self.worker.forget_histories();
        }
    }
}

/// The runs of a slice in progress.
struct SliceRuns<'r, 'v, 'a, 's> {
    maker: &'r SliceMaker<'a, 's>,
    visit: &'r mut RunVisitor<'v>,
    explored: &'r mut Explored,
    /// The number of the first run of the slice, and the index of the last run in the slice.
    from: u64,
    nth: u64,
}

impl SliceRuns<'_, '_, '_, '_> {
    /// Counts the last run, shows it, and advances the search.
    fn judge(&mut self, failure: Option<Failure>) -> AfterRun {
        let SliceMaker { session, search, worker, .. } = self.maker;
        let number = self.from + self.nth;
        // A blocked run is cut where it would repeat another run, so it does not count.
        let blocked = search.is_blocked();
        let failure = failure.filter(|_| !blocked).map(not_a_replay);
        let is_ended = failure.as_ref().is_some_and(|failure| session.ends_at_limit(failure));
        // Other tasks may step before the step limit of a run that ends there.
        let cut = ends_by_a_step(failure.as_ref()) || is_ended;
        let failure = failure.filter(|_| !is_ended);
        if is_ended {
            self.explored.untried.insert(Untried::Beyond(AFTER_LIMIT));
        }
        if !blocked {
            let name = session.config.strategy.name();
            note(self.explored, self.nth, Seed(self.nth), name, worker);
        }
        let wanted = match self.visit {
            RunVisitor::UntilFailure => true,
            RunVisitor::Each(_) => false,
            RunVisitor::One(one) => number == *one,
        };
        // Without determinism no search is possible, so this failure ends the search for every visitor.
        let stray = matches!(failure, Some(Failure::NonDeterminism { .. }));
        if wanted && failure.is_some() || stray {
            return self.found(self.extract(failure.as_ref()));
        }
        // A share may begin with a blocked run, so the check uses the number of counted runs.
        let is_first = self.from == 0 && !blocked && self.explored.tally.runs == 1;
        if is_first {
            let run = self.extract(failure.as_ref());
            self.explored.warnings.extend(remarks(&run));
            let notes = unchecked(&session.site.test, worker.unchecked());
            self.explored.notes.extend(notes);
            if let Err(failure) = confirm::same_again(session, &run) {
                return self.found(Run { outcome: Outcome::Failed(failure), ..run });
            }
        } else if !blocked && session.config.repeats_each() {
            let run = self.extract(failure.as_ref());
            if let Err(failure) = confirm::same_again(session, &run) {
                return self.found(Run { outcome: Outcome::Failed(failure), ..run });
            }
        }
        if !blocked && session.config.certify.is_some() {
            self.explored.decided.lines.push(certify::write(&worker.schedule()));
        }
        if !blocked && matches!(self.visit, RunVisitor::Each(_)) {
            let run = self.extract(failure.as_ref());
            if let RunVisitor::Each(visit) = &mut self.visit {
                visit(run);
            }
        }
        let more = search.advance(cut);
        if self.begins_with_stores() || self.begins_in_detail() || self.begins_with_references() {
            return AfterRun::Again;
        }
        let reordered = match &failure {
            None if !is_ended => reorder::check(session, search, worker, Seed(number)),
            _ => Reordered::Passes,
        };
        let anew = matches!(reordered, Reordered::Anew);
        match (&*self.visit, reordered) {
            (_, Reordered::Fails(run)) if wanted => {
                let origin = Origin::Reordered(run.seed);
                AfterRun::Found(Box::new(Found { position: self.nth, run: *run, origin }))
            }
            (RunVisitor::One(_), _) if wanted => self.found(self.extract(failure.as_ref())),
            _ if more || anew => AfterRun::Again,
            _ => AfterRun::Through,
        }
    }

    /// Tells the search if the last run was the first whose operations could choose among stores, or the first that
    /// detected data races. A search with classes then restarts and counts each store. Returns `true` if the search
    /// restarted.
    fn begins_with_stores(&mut self) -> bool {
        let SliceMaker { search, worker, has_stores, .. } = self.maker;
        let begins = !has_stores && worker.counts_stores();
        let restarts = begins && search.has_classes();
        if restarts {
            native::forget_hidden_races(&mut self.explored.untried);
        }
        if begins {
            search.tell_apart(Apart::STORES);
        }
        restarts
    }

    /// Restarts the search with the instructions of locks as operations, if plain threads have used a lock in a way
    /// that its operations do not show. Returns `true` if the search restarted.
    fn begins_in_detail(&mut self) -> bool {
        let SliceMaker { session, search, .. } = self.maker;
        let is_able = search.has_classes();
        let sees_each = matches!(self.visit, RunVisitor::Each(_));
        if !is_able || sees_each {
            return false;
        }
        let Some(reason) = native::begin_instructions(&mut self.explored.untried) else {
            return false;
        };
        self.explored.notes.push(format!("{}: {reason}", session.site.test));
        search.tell_apart(Apart::LOCKS);
        true
    }

    /// Restarts the search so that it counts each change of the number of references to an `Arc`, if the last run was
    /// the first in which plain threads may see these numbers. Returns `true` if the search restarted.
    fn begins_with_references(&mut self) -> bool {
        let search = &self.maker.search;
        // A search without classes executes every order of steps anyway.
        let is_native = self.maker.session.config.is_native();
        let begins = is_native && native::take_shown_references() && search.has_classes();
        if begins {
            native::forget_hidden_races(&mut self.explored.untried);
            search.tell_apart(Apart::REFERENCES);
        }
        begins
    }

    /// Returns the last run as the result of the search.
    fn found(&self, run: Run) -> AfterRun {
        let (position, origin) = (self.nth, Origin::Seed(run.seed));
        AfterRun::Found(Box::new(Found { position, run, origin }))
    }

    /// Returns the last run as data, with the failure as the search interprets it.
    fn extract(&self, failure: Option<&Failure>) -> Run {
        let SliceMaker { session, worker, .. } = self.maker;
        let run = worker.extract(Seed(self.from + self.nth), session.config.strategy.name());
        match failure {
            Some(failure) => Run { outcome: Outcome::Failed(failure.clone()), ..run },
            None => run,
        }
    }
}

/// Converts the failure of a diverged run. Only a replay can diverge from an earlier run; in a search, this failure
/// means that the body is not a function of its decisions.
fn not_a_replay(failure: Failure) -> Failure {
    match failure {
        Failure::Diverged { step, expected, found } => {
            Failure::NonDeterminism { step, first: expected, second: found }
        }
        failure => failure,
    }
}
