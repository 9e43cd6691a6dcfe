//! Executes the rounds of a divided search, on as many threads as are useful, or in several processes: see [`helpers`].
//!
//! Each thread takes the next slice of the round. The thread that completes the last slice ends the round and merges
//! the slices in the order of their jobs. Therefore the results of a search are the same for any number of threads: its
//! runs, their numbers, and the reported failure.

mod others;
mod pace;
mod state;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::others::Others;
use self::pace::Pace;
use self::state::{Estimated, Round, State};
use super::estimate::{Estimator, Marks, Purpose};
use super::helpers;
use super::series::Series;
use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use super::{RunVisitor, SearchEnd, SearchLimits, top};
use crate::engine::live::{self, Live};
use crate::engine::results::{SearchLog, SliceKey};
use crate::engine::seeds::Explored;
use crate::engine::simulate::helper;
use crate::engine::simulate::session::Session;
use crate::native::{self, Helper};
use crate::strategy::Search;
use crate::strategy::divided::{Division, SearchTree};

/// The workers that execute the slices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hands {
    /// Only the thread that executes the search works.
    Alone,
    /// This number of threads works.
    Threads(usize),
    /// This number of processes works. Plain threads need processes, because they share the statics of their process.
    Processes(usize),
}

impl Hands {
    fn of(session: &Session<'_>, visit: &RunVisitor<'_>) -> Hands {
        let config = session.config;
        // A visitor must receive the runs in order.
        let is_divided = matches!(visit, RunVisitor::UntilFailure) && config.jobs > 1;
        match config.is_native() {
            _ if !is_divided => Hands::Alone,
            false => Hands::Threads(config.jobs),
            // The line of a slice does not contain the decisions of its runs, which a certificate needs.
            true if config.certify.is_some() => Hands::Alone,
            true => Hands::Processes(helper::processes(session)),
        }
    }

    /// Returns the time that one thread searches alone before further threads or helpers start.
    fn alone(self) -> Duration {
        match self {
            Hands::Alone => Duration::MAX,
            Hands::Threads(_) => Duration::from_millis(10),
            Hands::Processes(_) => helper::ALONE,
        }
    }
}

/// Returns the share of this process in the search.
pub(super) fn division(session: &Session<'_>, visit: &RunVisitor<'_>) -> Division {
    let shard = session.config.shard;
    let is_divided = matches!(visit, RunVisitor::UntilFailure);
    if is_divided { Division::of(shard.number, shard.of) } else { Division::of(1, 1) }
}

/// Executes the runs of a search. Also returns the number of the next run.
pub(super) fn explore(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    tree: &mut SearchTree,
    visit: &mut RunVisitor<'_>,
    limits: SearchLimits,
    explored: &mut Explored,
    series: &mut Series,
) -> (SearchEnd, u64) {
    // A restart discards the counts of this search, and not the counts of an earlier search.
    let before = explored.tally.take();
    let division = division(session, visit);
    let mut number = limits.numbers.start;
    let (mut marks, mut pace) = (Marks::new(), Pace::begin(tree));
    let live = Live::begin(&session.site.test);
    let began = Instant::now();
    let ended = loop {
        if division.of > 1 && tree.needs_top() {
            session.quietly(|| top::make(session, search, tree, division));
        }
        let ended;
        let (series, marks, pace) = (&mut *series, &mut marks, &mut pace);
        let begin = PoolBegin { number, live: &live, series, marks, pace };
        (ended, number) = pool(session, (search, tree), visit, (&limits, begin), explored);
        if let PoolEnd::Over(ended) = ended {
            break ended;
        }
    };
    // A search that is given up has its estimate.
    let is_left = ended == SearchEnd::Stopped && explored.found.is_none();
    if is_left && may_estimate(session, visit) && matches!(visit, RunVisitor::UntilFailure) {
        // The estimate has a time limit only if the time limit of the test has passed, because only then the result
        // depends on time.
        let is_late = limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let until = is_late.then(|| Instant::now() + began.elapsed() / 8);
        let estimator = Estimator::new(tree, &explored.tally, until);
        session.quietly(|| {
            let mut maker = SliceMaker::new(session, search.another());
            let estimate = estimator.make(&mut maker, Purpose::End);
            let estimate = estimate.or(tree.estimate());
            tree.set_estimate(estimate);
            let numbers = &limits.numbers;
            let limit = numbers.end.saturating_sub(numbers.start);
            let costs = (limit, tree.made() / 2);
            series.excess =
                estimate.and_then(|estimate| estimator.excess(session, estimate, costs));
        });
        let _ = session.take_strengthened();
        series.add(tree);
    }
    if explored.found.is_none() {
        // Runs before a restart of the search do not count.
        explored.tally.runs = tree.progress().runs;
    }
    explored.tally.merge(before);
    (ended, number)
}

/// Returns `true` if the number of runs can be estimated. The looks of an estimate end in the middle of a run, and runs
/// of a body that has captured memory are not cut.
fn may_estimate(session: &Session<'_>, visit: &RunVisitor<'_>) -> bool {
    let has_captured = session.config.is_native() && native::has_captured();
    !has_captured && !matches!(visit, RunVisitor::Each(_))
}

/// The initial state of a pool.
struct PoolBegin<'a> {
    /// The number of the first run.
    number: u64,
    live: &'a Live<'a>,
    series: &'a mut Series,
    marks: &'a mut Marks,
    pace: &'a mut Pace,
}

/// Executes rounds until the search ends or needs something that only a single thread can do.
fn pool(
    session: &Session<'_>,
    (search, tree): (&Arc<dyn Search>, &mut SearchTree),
    visit: &mut RunVisitor<'_>,
    (limits, begin): (&SearchLimits, PoolBegin<'_>),
    explored: &mut Explored,
) -> (PoolEnd, u64) {
    let hands = Hands::of(session, visit);
    let PoolBegin { number, live, series, marks, pace } = begin;
    let round = Round { number, ..Round::default() };
    let state = State {
        tree,
        explored,
        series,
        pace,
        marks,
        round,
        others: Others::new(),
        is_reading: false,
        unheard: Vec::new(),
        ended: None,
    };
    let log = session.assignment.results.search();
    let seeks_recorded = session.config.results.is_some() && matches!(visit, RunVisitor::One(_));
    let rounds = Rounds {
        session,
        limits,
        log,
        is_recorded: log.is_some() || seeks_recorded,
        is_share: division(session, visit).of > 1,
        may_estimate: may_estimate(session, visit),
        is_watched: matches!(visit, RunVisitor::UntilFailure),
        live,
        last: AtomicUsize::new(usize::MAX),
        is_panicking: AtomicBool::new(false),
        state: Mutex::new(state),
        turned: Condvar::new(),
    };
    rounds.state().begin_round(&rounds);
    let (began, mut is_alone) = (Instant::now(), true);
    std::thread::scope(|scope| {
        let (rounds, mut others) = (&rounds, Vec::new());
        let start_others = &mut |maker: &mut SliceMaker<'_, '_>| {
            if !is_alone || began.elapsed() <= hands.alone() {
                return;
            }
            is_alone = false;
            match hands {
                Hands::Alone => {}
                Hands::Threads(jobs) => others.extend((1..jobs).map(|_| {
                    let search = search.another();
                    scope.spawn(|| rounds.work(search, &mut RunVisitor::UntilFailure, &mut |_| {}))
                })),
                Hands::Processes(jobs) => {
                    // All helpers start before the first relay thread, so that no other thread holds a lock on the
                    // state that they copy.
                    let start =
                        |_| Helper::begin(|line| helpers::help(rounds.state().tree, maker, line));
                    let started: Vec<Helper> = (1..jobs).filter_map(start).collect();
                    rounds.state().unheard = vec![Some(String::new()); started.len()];
                    let numbered = started.into_iter().enumerate();
                    others.extend(
                        numbered
                            .map(|(nth, helper)| scope.spawn(move || rounds.relay(nth, helper))),
                    );
                }
            }
        };
        rounds.work(search.clone(), visit, start_others);
        for other in others {
            // An implicit join by the scope would replace the panic payload.
            if let Err(payload) = other.join() {
                std::panic::resume_unwind(payload);
            }
        }
    });
    let state = rounds.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    (state.ended.unwrap_or(PoolEnd::Over(SearchEnd::Stopped)), state.round.number)
}

/// The reason why a pool ended.
enum PoolEnd {
    Over(SearchEnd),
    /// The search of a share restarted, so it needs a new top.
    NeedsTop,
}

/// Work that a thread takes.
enum Work {
    /// A slice of the round.
    Slice(Spot, Box<SliceOrder>),
    /// An estimate, beside the slices of the round or before the next round.
    Estimate(Purpose),
}

/// The place of a slice in the search.
#[derive(Clone, Copy)]
struct Spot {
    key: SliceKey,
    /// The bound below which the classes of the slice are recorded.
    bound: u64,
    /// The time at which a worker took the slice.
    taken: Instant,
}

impl Spot {
    fn of(tree: &SearchTree, at: usize) -> Spot {
        let key = (tree.generation(), tree.round(), at);
        Spot { key, bound: tree.class_bound(), taken: Instant::now() }
    }

    /// Returns the position of the slice in its round.
    fn at(self) -> usize {
        self.key.2
    }
}

/// The rounds of a search, shared by its threads.
struct Rounds<'r, 's> {
    session: &'r Session<'s>,
    limits: &'r SearchLimits,
    /// The file of the search, if any.
    log: Option<&'r SearchLog>,
    /// True if the search is recorded, or is a search for one run of a recorded search.
    is_recorded: bool,
    /// True if the search is divided among processes.
    is_share: bool,
    /// True if the number of runs can be estimated.
    may_estimate: bool,
    /// True if the progress of the search is shown or reported.
    is_watched: bool,
    live: &'r Live<'r>,
    /// The position of the last slice of the round that counts; 0 if the search is over.
    last: AtomicUsize,
    /// `true` if a thread panics. If it is `true`, no slice executes another run.
    is_panicking: AtomicBool,
    state: Mutex<State<'r>>,
    /// Notified when a round begins, and when the search is over.
    turned: Condvar,
}

impl<'r> Rounds<'r, '_> {
    fn state(&self) -> MutexGuard<'_, State<'r>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes slices until the search is over.
    fn work(
        &self,
        search: Arc<dyn Search>,
        visit: &mut RunVisitor<'_>,
        between: &mut dyn FnMut(&mut SliceMaker<'_, '_>),
    ) {
        let over = OverOnUnwind(self);
        self.session.quietly(|| {
            let mut maker = SliceMaker::new(self.session, search);
            while let Some(work) = maker.paused(|| self.take(true)) {
                match work {
                    Work::Slice(spot, order) => {
                        // A failure in a helper must be reproduced here even after the time limit.
                        let fails = order.failed.is_some();
                        let made = maker.make(*order, visit, &|| fails || self.goes_on(spot.at()));
                        between(&mut maker);
                        self.give(spot, made);
                    }
                    Work::Estimate(purpose) => self.estimate(&mut maker, purpose),
                }
            }
        });
        std::mem::forget(over);
    }

    /// Sends slices to a helper until the search is over, a run fails, or the connection to the helper is lost.
    fn relay(&self, nth: usize, mut helper: Helper) {
        let over = OverOnUnwind(self);
        while let Some(Work::Slice(spot, mut order)) = self.take(false) {
            let at = spot.at();
            let unheard = self.state().unheard[nth].replace(String::new()).unwrap_or_default();
            let goes_on = || self.goes_on(at);
            let made = helpers::ask(self.session, &mut helper, (at, &*order), &unheard, &goes_on);
            match made {
                Some(Ok(made)) => self.give(spot, made),
                other => {
                    order.failed = other.and_then(Result::err);
                    self.give_back(at, *order);
                    break;
                }
            }
        }
        // From now on, no lines are collected for this helper.
        self.state().unheard[nth] = None;
        std::mem::forget(over);
    }

    /// Makes an estimate. The other threads execute slices of the round at the same time. The estimate is taken at the
    /// end of the round, so that the result does not depend on the number of threads. Only the decision at half waits
    /// for its estimate.
    fn estimate(&self, maker: &mut SliceMaker<'_, '_>, purpose: Purpose) {
        let SearchLimits { numbers, deadline, .. } = self.limits;
        let limit = numbers.end.saturating_sub(numbers.start);
        let (estimator, generation, made) = {
            let state = self.state();
            let estimator = Estimator::new(state.tree, &state.explored.tally, *deadline);
            (estimator, state.tree.generation(), state.tree.made())
        };
        let estimate = estimator.make(maker, purpose);
        // The fallback of a search that is given up is a search within a bound, so its bound is not estimated.
        let runs = if purpose == Purpose::Half { 0 } else { made.min(limit / 16) };
        // The display must not affect the report. A search for a single run has no report.
        let reported = estimate.filter(|_| purpose != Purpose::Live && self.is_watched);
        let excess = reported.and_then(|own| estimator.excess(self.session, own, (limit, runs)));
        // Flags that the looks have set must not be added to the next slice.
        let _ = self.session.take_strengthened();
        let mut state = self.state();
        state.round.under_way -= 1;
        state.round.estimated =
            estimate.map(|estimate| Estimated { generation, purpose, estimate, excess });
        if purpose == Purpose::Half {
            state.take_estimate();
            let State { tree, series, .. } = &mut *state;
            series.add(tree);
            state.begin_round(self);
            self.turned.notify_all();
        } else {
            self.end_if_over(&mut state);
        }
    }

    /// Takes the next work. If no slice is left, waits for the next round. Returns `None` if the search is over.
    /// `is_able` is true only for this process itself. This process also executes slices that a helper returned, and
    /// estimates.
    fn take(&self, is_able: bool) -> Option<Work> {
        let mut state = self.state();
        loop {
            if state.ended.is_none() && state.follow_others(self) {
                self.end_if_over(&mut state);
            }
            if state.ended.is_some() {
                return None;
            }
            let State { tree, round, others, .. } = &mut *state;
            if let Some(purpose) = is_able.then(|| round.due.take()).flatten() {
                round.under_way += 1;
                return Some(Work::Estimate(purpose));
            }
            // The round may wait for a slice that a helper returned, so such slices come first.
            if let Some((at, order)) = is_able.then(|| round.returned.pop()).flatten() {
                round.under_way += 1;
                return Some(Work::Slice(Spot::of(tree, at), Box::new(order)));
            }
            let next = round.next(self.last.load(Ordering::Relaxed));
            let deadline = self.limits.deadline;
            let patience = next.and_then(|next| others.patience(round, next, deadline));
            state = match (next, patience) {
                (Some(at), None) => {
                    let spot = Spot::of(tree, at);
                    return Some(Work::Slice(spot, Box::new(round.order(tree, at))));
                }
                (Some(_), Some(patience)) => {
                    let waited = self.turned.wait_timeout(state, patience);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                (None, _) => self.turned.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Returns a slice that a helper could not complete.
    fn give_back(&self, at: usize, order: SliceOrder) {
        let mut state = self.state();
        state.round.under_way -= 1;
        state.round.returned.push((at, order));
        self.turned.notify_all();
    }

    /// Returns `true` if the slice at this position may execute another run.
    fn goes_on(&self, at: usize) -> bool {
        self.live.look(|now| {
            let state = self.state();
            live::search(&state.line(), self.session.config.time, now)
        });
        at <= self.last.load(Ordering::Relaxed)
            && !self.is_late()
            && !self.is_panicking.load(Ordering::Relaxed)
    }

    /// Returns `true` if the time limit is reached. A slice checks this only from the second run of the test on,
    /// because a test must have at least one run.
    fn is_late(&self) -> bool {
        let deadline = self.limits.deadline;
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Adds a completed slice. The call that adds the last slice of a round ends the round.
    fn give(&self, spot: Spot, made: MadeSlice) {
        // Other threads need not wait while the line is formatted and written.
        if let (Some(log), true) = (self.log, made.is_fact()) {
            log.write_slice(
                spot.key,
                &made.line(spot.key, spot.bound),
                &made.explored.decided.lines,
            );
        }
        let at = spot.at();
        let mut state = self.state();
        if made.is_last() || made.is_cut {
            self.last.fetch_min(at, Ordering::Relaxed);
        }
        // On a terminal, `look_plainly` does nothing; elsewhere, `look` in `goes_on` does nothing. If both acted, they
        // would take the locks of the view and of the state in opposite orders.
        let limit = self.session.config.time;
        self.live.look_plainly(|now| live::search(&state.line(), limit, now));
        state.others.took(spot.taken.elapsed());
        state.round.made[at] = Some(made);
        state.round.under_way -= 1;
        self.end_if_over(&mut state);
    }

    /// Ends the round if it is over, and begins the next.
    fn end_if_over(&self, state: &mut State<'r>) {
        if state.round.is_over(self) {
            state.end_round(self);
            state.begin_round(self);
            self.turned.notify_all();
        }
    }
}

/// A guard that ends the search if one of its threads panics. Without this guard, the other threads would wait for the
/// slice of the panicking thread.
struct OverOnUnwind<'a, 'r, 's>(&'a Rounds<'r, 's>);

impl Drop for OverOnUnwind<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.is_panicking.store(true, Ordering::Relaxed);
        self.0.last.store(0, Ordering::Relaxed);
        self.0.state().end(SearchEnd::Stopped);
        self.0.turned.notify_all();
    }
}
