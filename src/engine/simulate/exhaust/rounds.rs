//! Makes the rounds of a divided search, on as many threads as pay, or in as many processes: see [`helpers`].
//!
//! Each thread takes the next slice of the round. The thread that makes the last slice ends the round, with the slices
//! in the order of their jobs. So everything that a search says is the same for any number of threads: its runs,
//! their numbers, and the failure that it reports.

mod state;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::state::{Round, State};
use super::helpers;
use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use super::{RunVisitor, SearchEnd, SearchLimits, estimate, top};
use crate::engine::live::{self, Live};
use crate::engine::results::SearchLog;
use crate::engine::seeds::Explored;
use crate::engine::simulate::helper;
use crate::engine::simulate::session::Session;
use crate::native::Helper;
use crate::strategy::Search;
use crate::strategy::divided::{Division, SearchTree};

/// From this number of runs on, a search at a terminal estimates how many it has; and again after four times as many.
const LIVE_FROM: u64 = 10_000;

/// The makers of the slices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hands {
    /// The thread that searches.
    Alone,
    /// So many threads.
    Threads(usize),
    /// So many processes. Plain threads share the statics of their process.
    Processes(usize),
}

impl Hands {
    fn of(session: &Session<'_>, visit: &RunVisitor<'_>) -> Hands {
        let config = session.config;
        // A visitor sees the runs in order.
        let is_divided = matches!(visit, RunVisitor::UntilFailure) && config.jobs > 1;
        match config.is_native() {
            _ if !is_divided => Hands::Alone,
            false => Hands::Threads(config.jobs),
            // The line of a slice does not have the decisions of its runs.
            true if config.certify.is_some() => Hands::Alone,
            true => Hands::Processes(helper::processes(session)),
        }
    }

    /// One thread searches for so long before others are started.
    fn alone(self) -> Duration {
        match self {
            Hands::Alone => Duration::MAX,
            Hands::Threads(_) => Duration::from_millis(10),
            Hands::Processes(_) => helper::ALONE,
        }
    }
}

/// The share of this process in the search.
pub(super) fn division(session: &Session<'_>, visit: &RunVisitor<'_>) -> Division {
    let shard = session.config.shard;
    let is_divided = matches!(visit, RunVisitor::UntilFailure);
    if is_divided { Division::of(shard.number, shard.of) } else { Division::of(1, 1) }
}

/// Makes the runs of a search. Returns the number of the next run, too.
pub(super) fn explore(
    session: &Session<'_>,
    search: &Arc<dyn Search>,
    tree: &mut SearchTree,
    visit: &mut RunVisitor<'_>,
    limits: SearchLimits,
    explored: &mut Explored,
) -> (SearchEnd, u64) {
    let before = explored.tally.runs;
    let division = division(session, visit);
    let mut number = limits.numbers.start;
    let (mut is_estimated, mut live_from) = (false, LIVE_FROM);
    let live = Live::begin(&session.site.test);
    let ended = loop {
        if division.of > 1 && tree.needs_top() {
            session.quietly(|| top::make(session, search, tree, division));
        }
        let ended;
        let begin = PoolBegin { number, is_estimated, live_from, live: &live };
        (ended, number) = pool(session, (search, tree), visit, (&limits, begin), explored);
        match ended {
            PoolEnd::Over(ended) => break ended,
            PoolEnd::NeedsTop => {}
            PoolEnd::NeedsEstimate => {
                let estimate = estimate::make(session, search, tree, explored.tally.steps);
                tree.set_estimate(estimate);
                is_estimated = true;
            }
            PoolEnd::IsLookedAt => {
                let estimate = estimate::make(session, search, tree, explored.tally.steps);
                tree.set_live(estimate);
                live_from = 4 * number;
            }
        }
    };
    let is_left = ended != SearchEnd::Complete && explored.found.is_none() && division.of == 1;
    let is_read = matches!(visit, RunVisitor::UntilFailure) && !session.config.is_native();
    if is_left && is_read && !is_estimated {
        let estimate = estimate::make(session, search, tree, explored.tally.steps);
        tree.set_estimate(estimate);
    }
    if explored.found.is_none() {
        // Runs before the search began anew do not count.
        explored.tally.runs = before + tree.progress().runs;
    }
    (ended, number)
}

/// The begin of a pool.
struct PoolBegin<'a> {
    /// The number of the first run.
    number: u64,
    /// True if the number of all runs was estimated, as far as that could be.
    is_estimated: bool,
    /// From this number on it is estimated for whoever looks on.
    live_from: u64,
    live: &'a Live<'a>,
}

/// Makes rounds.
fn pool(
    session: &Session<'_>,
    (search, tree): (&Arc<dyn Search>, &mut SearchTree),
    visit: &mut RunVisitor<'_>,
    (limits, begin): (&SearchLimits, PoolBegin<'_>),
    explored: &mut Explored,
) -> (PoolEnd, u64) {
    let hands = Hands::of(session, visit);
    let is_alone = session.config.is_native() || !matches!(visit, RunVisitor::UntilFailure);
    let PoolBegin { number, is_estimated, live_from, live } = begin;
    let round = Round { number, ..Round::default() };
    let state = State { tree, explored, round, unheard: Vec::new(), ended: None };
    let rounds = Rounds {
        session,
        limits,
        log: session.assignment.results.search(),
        is_share: division(session, visit).of > 1,
        is_estimated: is_estimated || session.config.is_native(),
        live_from: if search.has_classes() && !is_alone { live_from } else { u64::MAX },
        live,
        last: AtomicUsize::new(usize::MAX),
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
                    // All of them before the first thread: nobody else has locked the state that they copy.
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
            // The scope itself would replace the payload.
            if let Err(payload) = other.join() {
                std::panic::resume_unwind(payload);
            }
        }
    });
    let state = rounds.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    (state.ended.unwrap_or(PoolEnd::Over(SearchEnd::Stopped)), state.round.number)
}

/// The end of a pool.
enum PoolEnd {
    Over(SearchEnd),
    /// The search of a share began again.
    NeedsTop,
    /// The continuation depends on the number of all runs.
    NeedsEstimate,
    /// Somebody looks on, and is to see how far the search is.
    IsLookedAt,
}

/// The rounds of a search, shared by its threads.
struct Rounds<'r, 's> {
    session: &'r Session<'s>,
    limits: &'r SearchLimits,
    /// The file of the search, if any.
    log: Option<&'r SearchLog>,
    /// True if the search is divided among processes.
    is_share: bool,
    is_estimated: bool,
    live_from: u64,
    live: &'r Live<'r>,
    /// The first slice of the round after which no slice counts; 0 if the search is over.
    last: AtomicUsize,
    state: Mutex<State<'r>>,
    /// Notified when a round begins, and when the search is over.
    turned: Condvar,
}

impl<'r> Rounds<'r, '_> {
    fn state(&self) -> MutexGuard<'_, State<'r>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes slices until the search is over.
    fn work(
        &self,
        search: Arc<dyn Search>,
        visit: &mut RunVisitor<'_>,
        between: &mut dyn FnMut(&mut SliceMaker<'_, '_>),
    ) {
        let over = OverOnUnwind(self);
        self.session.quietly(|| {
            let mut maker = SliceMaker::new(self.session, search);
            while let Some((at, order)) = maker.paused(|| self.take(true)) {
                // A failure of a helper must be found, also when the time is up.
                let fails = order.failed.is_some();
                let made = maker.make(order, visit, &|| fails || self.goes_on(at));
                between(&mut maker);
                self.give(at, made);
            }
        });
        std::mem::forget(over);
    }

    /// Has a helper make slices until the search is over, a run of them fails, or the helper is lost.
    fn relay(&self, nth: usize, mut helper: Helper) {
        let over = OverOnUnwind(self);
        while let Some((at, mut order)) = self.take(false) {
            let unheard = self.state().unheard[nth].replace(String::new()).unwrap_or_default();
            let goes_on = || self.goes_on(at);
            let made = helpers::ask(self.session, &mut helper, (at, &order), &unheard, &goes_on);
            match made {
                Some(Ok(made)) => self.give(at, made),
                other => {
                    order.failed = other.and_then(Result::err);
                    self.give_back(at, order);
                    break;
                }
            }
        }
        self.state().unheard[nth] = None;
        std::mem::forget(over);
    }

    /// Takes the next slice. Waits for the next round if there is none. Returns `None` if the search is over. Only this
    /// process itself `is_able` to make any slice.
    fn take(&self, is_able: bool) -> Option<(usize, SliceOrder)> {
        let mut state = self.state();
        loop {
            if state.ended.is_some() {
                return None;
            }
            let State { tree, round, .. } = &mut *state;
            if let Some(returned) = is_able.then(|| round.returned.pop()).flatten() {
                round.under_way += 1;
                return Some(returned);
            }
            while round.made.get(round.next).is_some_and(Option::is_some) {
                round.next += 1;
            }
            let at = round.next;
            if at < round.budgets.len() && at <= self.last.load(Ordering::Relaxed) {
                round.next += 1;
                round.under_way += 1;
                let from = round.number_of(at);
                let (part, budget) = (tree.part(at), round.budgets[at]);
                let order = SliceOrder { part, budget, from, failed: None };
                return Some((at, order));
            }
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns a slice that a helper could not make.
    fn give_back(&self, at: usize, order: SliceOrder) {
        let mut state = self.state();
        state.round.under_way -= 1;
        state.round.returned.push((at, order));
        self.turned.notify_all();
    }

    /// Returns `true` if the slice at this position may make another run.
    fn goes_on(&self, at: usize) -> bool {
        self.live.look(|now| {
            let state = self.state();
            let (runs, part) = (state.tree.runs(), state.tree.live_part());
            live::search(runs, part, self.session.config.time, now)
        });
        at <= self.last.load(Ordering::Relaxed) && !self.is_late()
    }

    /// Returns `true` if the time is up. A test without a run would be no test.
    fn is_late(&self) -> bool {
        let deadline = self.limits.deadline;
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Hands in a slice. Whoever hands in the last one ends the round.
    fn give(&self, at: usize, made: MadeSlice) {
        let mut state = self.state();
        if made.is_last() || made.is_cut {
            self.last.fetch_min(at, Ordering::Relaxed);
        }
        if let (Some(log), true) = (self.log, made.is_fact()) {
            let key = (state.tree.generation(), state.tree.round(), at);
            log.write(&made.line(key, state.tree.class_bound()));
        }
        self.live.look_plainly(|now| {
            let (runs, part) = (state.tree.runs(), state.tree.live_part());
            live::search(runs, part, self.session.config.time, now)
        });
        state.round.made[at] = Some(made);
        state.round.under_way -= 1;
        if state.round.is_over(self) {
            state.end_round(self);
            state.begin_round(self);
            self.turned.notify_all();
        }
    }
}

/// Ends the search if a thread of it panics, so that the others do not wait for its slice.
struct OverOnUnwind<'a, 'r, 's>(&'a Rounds<'r, 's>);

impl Drop for OverOnUnwind<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.last.store(0, Ordering::Relaxed);
        self.0.state().end(SearchEnd::Stopped);
        self.0.turned.notify_all();
    }
}
