//! Makes the rounds of a divided search, on as many threads as pay.
//!
//! Each thread takes the next slice of the round. The thread that makes the last slice ends the round, with the slices
//! in the order of their jobs. So everything that a search says is the same for any number of threads: its runs,
//! their numbers, and the failure that it reports.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use super::{RunVisitor, SearchEnd, SearchLimits, estimate, top};
use crate::engine::live::{self, Live};
use crate::engine::results::SearchLog;
use crate::engine::seeds::Explored;
use crate::engine::simulate::session::Session;
use crate::report::Origin;
use crate::run::ids::Seed;
use crate::strategy::Search;
use crate::strategy::divided::{Division, SearchTree};

/// One thread searches for so long before others are started.
const ALONE: Duration = Duration::from_millis(10);

/// From this number of runs on, a search at a terminal estimates how many it has; and again after four times as many.
const LIVE_FROM: u64 = 10_000;

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
    // Plain threads share the statics of the process, and a visitor sees the runs in order.
    let is_alone = session.config.is_native() || !matches!(visit, RunVisitor::UntilFailure);
    let jobs = if is_alone { 1 } else { session.config.jobs };
    let PoolBegin { number, is_estimated, live_from, live } = begin;
    let round = Round { number, budgets: Vec::new(), next: 0, under_way: 0, made: Vec::new() };
    let state = State { tree, explored, round, ended: None };
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
    let began = Instant::now();
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        let start_others = &mut || {
            if others.is_empty() && jobs > 1 && began.elapsed() > ALONE {
                let work = |_| {
                    let (rounds, search) = (&rounds, search.another());
                    scope.spawn(|| rounds.work(search, &mut RunVisitor::UntilFailure, &mut || {}))
                };
                others.extend((1..jobs).map(work));
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

struct State<'r> {
    tree: &'r mut SearchTree,
    explored: &'r mut Explored,
    round: Round,
    ended: Option<PoolEnd>,
}

/// The current round.
struct Round {
    /// The number of its first run.
    number: u64,
    /// The maximum number of runs of each slice.
    budgets: Vec<u64>,
    /// The next slice.
    next: usize,
    /// The number of slices that are being made.
    under_way: usize,
    made: Vec<Option<MadeSlice>>,
}

impl<'r> Rounds<'r, '_> {
    fn state(&self) -> MutexGuard<'_, State<'r>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes slices until the search is over.
    fn work(&self, search: Arc<dyn Search>, visit: &mut RunVisitor<'_>, between: &mut dyn FnMut()) {
        let over = OverOnUnwind(self);
        self.session.quietly(|| {
            let mut maker = SliceMaker::new(self.session, search);
            while let Some((at, order)) = self.take() {
                let made = maker.make(order, visit, &|| self.goes_on(at));
                between();
                self.give(at, made);
            }
        });
        std::mem::forget(over);
    }

    /// Takes the next slice. Waits for the next round if there is none. Returns `None` if the search is over.
    fn take(&self) -> Option<(usize, SliceOrder)> {
        let mut state = self.state();
        loop {
            if state.ended.is_some() {
                return None;
            }
            let State { tree, round, .. } = &mut *state;
            while round.made.get(round.next).is_some_and(Option::is_some) {
                round.next += 1;
            }
            let at = round.next;
            if at < round.budgets.len() && at <= self.last.load(Ordering::Relaxed) {
                round.next += 1;
                round.under_way += 1;
                let from = round.number_of(at);
                let order = SliceOrder { part: tree.part(at), budget: round.budgets[at], from };
                return Some((at, order));
            }
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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
        state.round.made[at] = Some(made);
        state.round.under_way -= 1;
        if state.round.is_over(self) {
            state.end_round(self);
            state.begin_round(self);
            self.turned.notify_all();
        }
    }
}

impl Round {
    /// The number of the first run of a slice. Of earlier slices that are not made it is taken that they make as many
    /// runs as they may.
    fn number_of(&self, at: usize) -> u64 {
        let made = self.made[..at].iter().zip(&self.budgets);
        let runs =
            made.map(|(made, budget)| made.as_ref().map_or(*budget, |made| made.slice.made()));
        self.number + runs.sum::<u64>()
    }

    /// Returns `true` if every slice that counts is made, and none is under way.
    fn is_over(&self, rounds: &Rounds<'_, '_>) -> bool {
        let last = rounds.last.load(Ordering::Relaxed);
        let wanted = last.saturating_add(1).min(self.budgets.len());
        self.under_way == 0 && self.made[..wanted].iter().all(Option::is_some)
    }
}

impl State<'_> {
    /// Begins the next round in which a run is to be made, or ends the search.
    fn begin_round(&mut self, rounds: &Rounds<'_, '_>) {
        while self.ended.is_none() {
            if self.tree.is_through() {
                return self.end(SearchEnd::Complete);
            }
            if rounds.is_share && self.tree.needs_top() {
                self.ended = Some(PoolEnd::NeedsTop);
                return;
            }
            self.allot(rounds);
            if self.ended.is_some() {
                return;
            }
            if let Some(log) = rounds.log {
                self.take_made(log, rounds);
            }
            if !self.round.is_over(rounds) {
                return;
            }
            self.end_round(rounds);
        }
    }

    fn end(&mut self, ended: SearchEnd) {
        self.ended.get_or_insert(PoolEnd::Over(ended));
    }

    /// Allots the runs of the next round. Ends the search if it may make no other run.
    fn allot(&mut self, rounds: &Rounds<'_, '_>) {
        let SearchLimits { numbers, give_up_at, .. } = rounds.limits;
        let number = self.round.number;
        let half = give_up_at.filter(|half| number < *half);
        if *give_up_at == Some(number) {
            if !rounds.is_estimated {
                self.ended = Some(PoolEnd::NeedsEstimate);
                return;
            }
            if self.tree.progress().part < 0.5 {
                return self.end(SearchEnd::GivenUp);
            }
        }
        if number >= rounds.live_from && rounds.live.is_on() {
            self.ended = Some(PoolEnd::IsLookedAt);
            return;
        }
        let left = half.unwrap_or(numbers.end).saturating_sub(number);
        if left == 0 {
            return self.end(SearchEnd::Stopped);
        }
        // The rounds of a search that is recorded follow from its lines alone.
        let left = if rounds.log.is_some() { u64::MAX } else { left };
        let budgets = self.tree.budgets(left);
        let made = budgets.iter().map(|_| None).collect();
        self.round = Round { number, budgets, next: 0, under_way: 0, made };
        rounds.last.store(usize::MAX, Ordering::Relaxed);
    }

    /// Takes the slices of the round that earlier processes have made.
    fn take_made(&mut self, log: &SearchLog, rounds: &Rounds<'_, '_>) {
        for at in 0..self.round.budgets.len() {
            let key = (self.tree.generation(), self.tree.round(), at);
            let Some(line) = log.take(key) else { continue };
            let made = MadeSlice::of_line(line);
            if made.is_last() {
                rounds.last.fetch_min(at, Ordering::Relaxed);
            }
            self.round.made[at] = Some(made);
        }
    }

    /// Ends the round.
    fn end_round(&mut self, rounds: &Rounds<'_, '_>) {
        let last = rounds.last.load(Ordering::Relaxed);
        let made = std::mem::take(&mut self.round.made).into_iter();
        let (mut slices, mut is_cut) = (Vec::new(), false);
        for MadeSlice { slice, mut explored, is_cut: cut } in
            made.take(last.saturating_add(1)).flatten()
        {
            explored.renumber(self.round.number);
            self.round.number += slice.made();
            self.explored.merge(explored);
            is_cut |= cut;
            slices.push(slice);
        }
        if self.explored.found.is_some() || is_cut {
            self.tree.count(slices);
            self.end(SearchEnd::Stopped);
        } else if let Err(why) = self.tree.check(&slices) {
            self.explored
                .warnings
                .push(format!("the results of the search are not its own: {why}"));
            self.end(SearchEnd::Stopped);
        } else {
            let generation = self.tree.generation();
            self.tree.merge(slices);
            if self.tree.generation() != generation {
                self.explored.decided.lines.clear();
            }
        }
    }
}

impl Explored {
    /// Moves the positions of the runs of a slice, which are numbers, so that the first is this one.
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

/// Ends the search if a thread of it panics, so that the others do not wait for its slice.
struct OverOnUnwind<'a, 'r, 's>(&'a Rounds<'r, 's>);

impl Drop for OverOnUnwind<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.last.store(0, Ordering::Relaxed);
        self.0.state().end(SearchEnd::Stopped);
        self.0.turned.notify_all();
    }
}
