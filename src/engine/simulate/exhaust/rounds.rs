//! Makes the rounds of a divided search, on as many threads as pay.
//!
//! Each thread takes the next slice of the round. Whoever makes the last one ends the round, with the slices in the order
//! of their jobs. So everything that a search says is the same for any number of threads: its runs, their numbers,
//! and the failure that it reports.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::slice::{MadeSlice, SliceMaker, SliceOrder};
use super::{RunVisitor, SearchEnd, SearchLimits};
use crate::engine::live::{self, Live};
use crate::engine::seeds::Explored;
use crate::engine::simulate::session::Session;
use crate::report::Origin;
use crate::run::ids::Seed;
use crate::strategy::Search;
use crate::strategy::divided::SearchTree;
use crate::strategy::search::SearchProgress;

/// One thread searches for so long before others are started.
const ALONE: Duration = Duration::from_millis(10);

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
    // Plain threads share the statics of the process, and a visitor sees the runs in order.
    let is_alone = session.config.is_native() || !matches!(visit, RunVisitor::UntilFailure);
    let jobs = if is_alone { 1 } else { session.config.jobs };
    let number = limits.numbers.start;
    let round = Round { number, budgets: Vec::new(), next: 0, made: Vec::new() };
    let state = State { tree, explored, round, ended: None };
    let rounds = Rounds {
        session,
        limits,
        live: Live::begin(&session.site.test),
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
    let State { tree, explored, round, ended } =
        rounds.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if explored.found.is_none() {
        // Runs before the search began anew do not count.
        explored.tally.runs = before + tree.progress().runs;
    }
    (ended.unwrap_or(SearchEnd::Stopped), round.number)
}

/// The rounds of a search, shared by its threads.
struct Rounds<'r, 's> {
    session: &'r Session<'s>,
    limits: SearchLimits,
    live: Live<'r>,
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
    ended: Option<SearchEnd>,
}

/// The current round.
struct Round {
    /// The number of its first run.
    number: u64,
    /// The maximum number of runs of each slice.
    budgets: Vec<u64>,
    /// The next slice.
    next: usize,
    made: Vec<Option<MadeSlice>>,
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
        between: &mut dyn FnMut(),
    ) {
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
            let at = round.next;
            if at < round.budgets.len() && at <= self.last.load(Ordering::Relaxed) {
                round.next += 1;
                let from = round.number_of(at);
                let order = SliceOrder { part: tree.part(at), budget: round.budgets[at], from };
                return Some((at, order));
            }
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns `true` if the slice at this position goes on before a run.
    fn goes_on(&self, at: usize) -> bool {
        self.live.look(|now| {
            let SearchProgress { runs, part, .. } = self.state().tree.progress();
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
        state.round.made[at] = Some(made);
        let last = self.last.load(Ordering::Relaxed);
        let begun = state.round.next;
        let wanted = last.saturating_add(1).min(state.round.budgets.len());
        let is_made = |made: &Option<MadeSlice>| made.is_some();
        if begun >= wanted && state.round.made[..begun].iter().all(is_made) {
            state.end_round(self);
            self.turned.notify_all();
        }
    }
}

impl Round {
    /// The number of the first run of a slice. Of earlier slices that are not made it is taken that they make as many
    /// runs as they may.
    fn number_of(&self, at: usize) -> u64 {
        let made = self.made[..at].iter().zip(&self.budgets);
        let runs = made.map(|(made, budget)| made.as_ref().map_or(*budget, |made| made.slice.made()));
        self.number + runs.sum::<u64>()
    }
}

impl State<'_> {
    /// Begins a round, or ends the search if it may make no other run.
    fn begin_round(&mut self, rounds: &Rounds<'_, '_>) {
        let SearchLimits { numbers, give_up_at, .. } = &rounds.limits;
        let number = self.round.number;
        let half = give_up_at.filter(|half| number < *half);
        if *give_up_at == Some(number) && self.tree.progress().part < 0.5 {
            self.ended = Some(SearchEnd::GivenUp);
            return;
        }
        let left = half.unwrap_or(numbers.end).saturating_sub(number);
        if left == 0 {
            self.ended = Some(SearchEnd::Stopped);
            return;
        }
        let budgets = self.tree.budgets(left);
        let made = budgets.iter().map(|_| None).collect();
        self.round = Round { number, budgets, next: 0, made };
        rounds.last.store(usize::MAX, Ordering::Relaxed);
    }

    /// Ends the round.
    fn end_round(&mut self, rounds: &Rounds<'_, '_>) {
        let last = rounds.last.load(Ordering::Relaxed);
        let made = std::mem::take(&mut self.round.made).into_iter().flatten();
        let (mut slices, mut is_cut) = (Vec::new(), false);
        for MadeSlice { slice, mut explored, is_cut: cut } in made.take(last.saturating_add(1)) {
            explored.renumber(self.round.number);
            self.round.number += slice.made();
            self.explored.merge(explored);
            is_cut |= cut;
            slices.push(slice);
        }
        if self.explored.found.is_some() || is_cut {
            self.tree.count(slices);
            self.ended = Some(SearchEnd::Stopped);
            return;
        }
        self.tree.merge(slices);
        if self.tree.is_through() {
            self.ended = Some(SearchEnd::Complete);
        } else {
            self.begin_round(rounds);
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
        self.0.state().ended.get_or_insert(SearchEnd::Stopped);
        self.0.turned.notify_all();
    }
}
