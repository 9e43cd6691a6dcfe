//! Goes through the runs of a search, one after the other on one thread, until there are none left,
//! one fails, or there were as many as allowed; half-way it is seen whether that will be enough.

pub(super) mod audit;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use self::audit::Sampled;
use super::confirm;
use super::job::WorkerJob;
use super::passed::note;
use super::reorder::{self, Reordered};
use super::session::Session;
use crate::engine::live::{self, Live};
use crate::engine::results::Tally;
use crate::engine::seeds::{Explored, Found, remarks, unchecked};
use crate::native;
use crate::report::{Bound, Cause, Clash, Fallback, OrdersTaken, Origin, Searched};
use crate::rt::Worker;
use crate::run::clock::ClockMode;
use crate::run::ids::Seed;
use crate::run::memory_model::MemoryModel;
use crate::run::untried::Untried;
use crate::run::{Failure, Outcome, Run};
use crate::strategy::Search;
use crate::strategy::search::{Apart, SearchBound, SearchProgress};

/// The visitor of the runs of a search.
pub(super) enum RunVisitor<'a> {
    /// Stop at the first that fails.
    UntilFailure,
    /// Visit every run, whether it failed or not.
    Each(&'a mut dyn FnMut(Run)),
    /// Only this one counts.
    One(u64),
}

/// The reason why a search ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchEnd {
    /// There is no other.
    Complete,
    /// One was found, the time was up, or there were as many as allowed.
    Stopped,
    /// There would be more than allowed.
    GivenUp,
}

/// Runs the search. Half-way through the runs that it may take, if by its estimate it will not be through
/// with the other half, these go to its [fallback](crate::strategy::SearchRow::fallback). Runs are
/// counted and not seconds, so that the number of a run says what it is.
pub(super) fn exhaust(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    visit: RunVisitor<'_>,
) -> Explored {
    let config = session.config;
    let name = config.strategy.name();
    // It reports its progress in place of coverage.
    let tally = Tally::new(false, config.statistics, false);
    let mut explored = Explored { tally, ..Explored::default() };
    if config.shard.of > 1 || config.results.is_some() {
        explored.warnings.push(format!(
            "{name} plans each run from those before: it is not divided into shards, and keeps no results to \
             continue from. This was the whole search, whatever SIM_SHARD is"
        ));
    }
    // A visitor of every run must see each once.
    let each = matches!(visit, RunVisitor::Each(_));
    if each {
        let all = Apart::ORDERS.and(Apart::COUNTS).and(Apart::DEATHS).and(Apart::NODES);
        search.tell_apart(all);
    }
    let end = match visit {
        RunVisitor::One(one) => one.saturating_add(1),
        _ => config.end(),
    };
    let fallback = config.strategy.fallback().filter(|_| !each);
    let deadline = config.time.map(|time| Instant::now() + time);
    let mut whole = WholeSearch { session, visit, explored, fallback, deadline, end };
    let searched = whole.searched(search);
    explored = whole.explored;
    explored.searched = Some(searched);
    explored
}

/// A search with its audit and its fallback.
struct WholeSearch<'v, 's> {
    session: &'s Session<'s>,
    visit: RunVisitor<'v>,
    explored: Explored,
    /// The search that takes over.
    fallback: Option<Arc<dyn Search>>,
    deadline: Option<Instant>,
    /// The end of the numbers of runs.
    end: u64,
}

impl WholeSearch<'_, '_> {
    /// Makes all runs. Returns what was searched.
    fn searched(&mut self, search: &Arc<dyn Search>) -> Searched {
        let config = self.session.config;
        // Of an earlier search.
        let _ = native::take_strengthened();
        // A search that makes every run has no classes, and rests on no assumption.
        let reduces = search.has_classes();
        let half = self.fallback.is_some().then_some(config.runs / 2);
        let Audited { ended, next, sampled, clash } = self.audited(search, half);
        let mut searched = how_far(search.progress(), ended);
        searched.assumes = reduces && !searched.by_step && !config.is_native();
        if searched.by_step {
            let contact = || search.contact().map(Cause::Contact);
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
                // The search is wrong. A search that leaves nothing out gets the remaining runs.
                searched.fallback = self.fall_back(next..self.end, before).or(searched.fallback);
            }
        }
        bound_early_moves(config.clock, &mut searched, &mut self.explored);
        let takes_less = self.explored.untried.contains(&Untried::Orders);
        searched.orders = match (config.memory, native::take_strengthened() || takes_less) {
            (MemoryModel::C11, _) => OrdersTaken::InPart,
            (MemoryModel::Sc, true) => OrdersTaken::AsSeqCst,
            (MemoryModel::Sc, false) => OrdersTaken::AsAsked,
        };
        for part in &self.explored.untried {
            match part {
                Untried::Beyond(part) => searched.beyond.push((*part).to_owned()),
                Untried::Unseen(part) => searched.ignored.push((*part).to_owned()),
                Untried::Function(name) => searched.unseen.push((*name).to_owned()),
                Untried::Orders => {}
            }
        }
        searched
    }

    /// Makes the runs of the search, and audits it if it is through. If tasks share something that it does not see, it
    /// begins again with all orders of steps apart. At the number `half` it may be given up.
    fn audited(&mut self, search: &Arc<dyn Search>, half: Option<u64>) -> Audited {
        let each = matches!(self.visit, RunVisitor::Each(_));
        let (mut next, mut clash) = (0, None);
        loop {
            let give_up_at = half.filter(|half| next < *half);
            let within =
                SearchLimits { deadline: self.deadline, numbers: next..self.end, give_up_at };
            let ended;
            (ended, next) = self.explore(search, within);
            let is_through = ended == SearchEnd::Complete && self.explored.found.is_none();
            // A search of this memory proves nothing, so there is nothing to audit.
            let is_weak = self.session.config.memory == MemoryModel::C11;
            if !search.has_classes() || !is_through || is_weak {
                return Audited { ended, next, sampled: None, clash };
            }
            let sample = || audit::audit(self.session, Some(search), audit::RUNS, each);
            let mut sampled: Sampled = self.session.quietly(sample);
            let SearchProgress { by_step, blind, .. } = search.progress();
            if !sampled.shares_unseen() || by_step || blind {
                return Audited { ended, next, sampled: Some(sampled), clash };
            }
            // Orders of steps that the search took for equal are not.
            clash = sampled.take_clash();
            search.tell_apart(Apart::STEPS);
            self.explored.tally.runs = 0;
        }
    }

    /// Makes runs of the fallback, if there is one. The search made so many runs `before`.
    fn fall_back(&mut self, numbers: Range<u64>, before: u64) -> Option<Box<Fallback>> {
        let fallback = self.fallback.clone()?;
        let within = SearchLimits { deadline: self.deadline, numbers, give_up_at: None };
        let (ended, _) = self.explore(&fallback, within);
        let runs = self.explored.tally.runs - before;
        Some(Box::new(Fallback { runs, searched: how_far(fallback.progress(), ended) }))
    }

    fn explore(&mut self, search: &Arc<dyn Search>, within: SearchLimits) -> (SearchEnd, u64) {
        explore_all(self.session, search, &mut self.visit, within, &mut self.explored)
    }
}

/// The end of a search that is audited if it is through.
struct Audited {
    ended: SearchEnd,
    /// The number of the next run.
    next: u64,
    sampled: Option<Sampled>,
    /// Two steps whose order made a difference that the search did not see at first.
    clash: Option<Clash>,
}

/// Makes the number of early moves of the time the bound of a search, if that was all it left out.
fn bound_early_moves(clock: ClockMode, searched: &mut Searched, explored: &mut Explored) {
    let ClockMode::Late(moves) = clock else { return };
    let is_only_bound =
        searched.complete && searched.bound.is_none() && searched.fallback.is_none();
    if is_only_bound && explored.untried.remove(&Untried::Beyond(ClockMode::BEYOND)) {
        searched.bound = Some(Bound { what: "early time move".to_owned(), through: Some(moves) });
    }
}

/// The limits of a search.
struct SearchLimits {
    deadline: Option<Instant>,
    /// The numbers of its runs. Runs that do not count have a number too, so that a number is one
    /// run.
    numbers: Range<u64>,
    /// Before the run with this number it is given up if less than half of it is done.
    give_up_at: Option<u64>,
}

/// A search looks at its [live view](Live) before each of its first runs, and then after so many runs.
const RUNS_PER_LOOK: u64 = 64;

/// Makes the runs of a search. Returns the number of the next run, too.
fn explore_all(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    visit: &mut RunVisitor<'_>,
    within: SearchLimits,
    explored: &mut Explored,
) -> (SearchEnd, u64) {
    let config = session.config;
    let mut worker = Worker::new(search.strategy());
    let watched =
        session.watch.follow(worker.progress(), WorkerJob::Seeds(config.strategy), Seed(0));
    session.rehearse(&mut worker, &watched.watched);
    watched.watched.begin_job(WorkerJob::Search(search.clone()));
    let before = explored.tally.runs;
    let mut runs = Runs { session, search, visit, explored, worker, number: 0 };
    let limits = session.limits();
    let mut next = within.numbers.start;
    let live = Live::begin(&session.site.test);
    let ended = session.quietly(|| {
        for number in within.numbers {
            // A test without a run would be no test.
            let late = within.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if late && runs.explored.tally.runs > 0 {
                return SearchEnd::Stopped;
            }
            if within.give_up_at == Some(number) && search.progress().part < 0.5 {
                return SearchEnd::GivenUp;
            }
            if number < RUNS_PER_LOOK || number % RUNS_PER_LOOK == 0 {
                live.look(|now| {
                    let SearchProgress { runs, part, .. } = search.progress();
                    live::search(runs, part, config.time, now)
                });
            }
            watched.watched.begin(number);
            runs.number = number;
            next = number + 1;
            let failure = session.once(&mut runs.worker, Seed(number), &limits);
            runs.worker.add_untried(&mut runs.explored.untried);
            let next = runs.judge(failure);
            runs.worker.forget_histories();
            match next {
                AfterRun::Again => {}
                AfterRun::Complete => return SearchEnd::Complete,
                AfterRun::Found(found) => {
                    runs.explored.found = Some(found);
                    return SearchEnd::Stopped;
                }
            }
        }
        SearchEnd::Stopped
    });
    if explored.found.is_none() {
        // Runs before the search began anew do not count.
        explored.tally.runs = before + search.progress().runs;
    }
    (ended, next)
}

/// The continuation after a run of a search.
enum AfterRun {
    /// The next run.
    Again,
    /// There is no other run.
    Complete,
    /// This run is the result of the search: it failed, or was requested.
    Found(Box<Found>),
}

/// The runs of a search as they are made.
struct Runs<'r, 'v, 's> {
    session: &'r Session<'s>,
    search: &'r Arc<dyn Search>,
    visit: &'r mut RunVisitor<'v>,
    explored: &'r mut Explored,
    worker: Worker,
    /// The number of the last run.
    number: u64,
}

impl Runs<'_, '_, '_> {
    /// Counts the last run, shows it, and advances the search.
    fn judge(&mut self, failure: Option<Failure>) -> AfterRun {
        let (session, search) = (self.session, self.search);
        let seed = Seed(self.number);
        // A blocked run is cut short where it would repeat another one: it counts for nothing.
        let blocked = search.is_blocked();
        let failure = failure.filter(|_| !blocked).map(not_a_replay);
        if !blocked {
            self.count();
        }
        let wanted = match self.visit {
            RunVisitor::UntilFailure => true,
            RunVisitor::Each(_) => false,
            RunVisitor::One(one) => self.number == *one,
        };
        let stray = matches!(failure, Some(Failure::NonDeterminism { .. }));
        if wanted && failure.is_some() || stray {
            return self.found(self.extract(failure.as_ref()));
        }
        if self.number == 0 {
            let run = self.extract(failure.as_ref());
            self.explored.warnings.extend(remarks(&run));
            let notes = unchecked(&session.site.test, self.worker.unchecked());
            self.explored.notes.extend(notes);
            if let Err(failure) = confirm::same_again(session, &run) {
                return self.found(Run { outcome: Outcome::Failed(failure), ..run });
            }
        }
        if !blocked && matches!(self.visit, RunVisitor::Each(_)) {
            let run = self.extract(failure.as_ref());
            if let RunVisitor::Each(visit) = &mut self.visit {
                visit(run);
            }
        }
        let more = search.advance(ends_by_a_step(failure.as_ref()));
        if self.begins_in_detail() {
            return AfterRun::Again;
        }
        let reordered = match &failure {
            None => reorder::check(session, search, &self.worker, seed),
            Some(_) => Reordered::Passes,
        };
        let anew = matches!(reordered, Reordered::Anew);
        match (&*self.visit, reordered) {
            (_, Reordered::Fails(run)) if wanted => {
                let (position, origin) = (self.number, Origin::Reordered(run.seed));
                AfterRun::Found(Box::new(Found { position, run: *run, origin }))
            }
            (RunVisitor::One(_), _) if wanted => self.found(self.extract(failure.as_ref())),
            _ if more || anew => AfterRun::Again,
            _ => AfterRun::Complete,
        }
    }

    /// Begins the search again, with the instructions of locks as operations, if plain threads have used a lock in a
    /// way that its operations do not show.
    fn begins_in_detail(&mut self) -> bool {
        let is_able = self.search.has_classes();
        let sees_each = matches!(self.visit, RunVisitor::Each(_));
        if !is_able || sees_each {
            return false;
        }
        let Some(reason) = native::begin_instructions(&mut self.explored.untried) else {
            return false;
        };
        self.explored.notes.push(format!("{}: {reason}", self.session.site.test));
        self.search.tell_apart(Apart::NOTHING);
        true
    }

    fn count(&mut self) {
        let name = self.session.config.strategy.name();
        note(self.explored, self.number, Seed(self.number), name, &self.worker);
    }

    /// The last run is the result of the search.
    fn found(&self, run: Run) -> AfterRun {
        let (position, origin) = (self.number, Origin::Seed(run.seed));
        AfterRun::Found(Box::new(Found { position, run, origin }))
    }

    /// The last run as data, with the failure as the search sees it.
    fn extract(&self, failure: Option<&Failure>) -> Run {
        let run = self.worker.extract(Seed(self.number), self.session.config.strategy.name());
        match failure {
            Some(failure) => Run { outcome: Outcome::Failed(failure.clone()), ..run },
            None => run,
        }
    }
}

/// Returns the progress of a search, for the report.
fn how_far(progress: SearchProgress, ended: SearchEnd) -> Searched {
    let complete = ended == SearchEnd::Complete;
    let bound =
        |within: SearchBound| Bound { what: within.what.to_owned(), through: within.through };
    Searched {
        blocked: progress.blocked,
        repeated: progress.repeated,
        complete,
        // An estimate, which is not to say that all is done where it is not.
        part: if complete { 1.0 } else { progress.part.min(0.9999) },
        blind: progress.blind,
        by_step: progress.by_step,
        cause: None,
        assumes: false,
        beyond: Vec::new(),
        ignored: Vec::new(),
        unseen: Vec::new(),
        orders: OrdersTaken::AsAsked,
        bound: progress.within.map(bound),
        audit: None,
        fallback: None,
    }
}

/// Returns `true` if the last step of a run ended it while other tasks may have been enabled.
pub(super) fn ends_by_a_step(failure: Option<&Failure>) -> bool {
    !matches!(failure, Some(Failure::Deadlock { .. } | Failure::StepLimit { .. }))
}

/// To have diverged from an earlier run is what a replay does; here it means that the body is not a
/// function of its decisions.
fn not_a_replay(failure: Failure) -> Failure {
    match failure {
        Failure::Diverged { step, expected, found } => {
            Failure::NonDeterminism { step, first: expected, second: found }
        }
        failure => failure,
    }
}
