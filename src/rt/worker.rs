//! Runs test bodies one after the other on one thread, and returns each run as data.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use unpause_ordered::Set;

use super::Parts;
use super::body::Body;
use super::executor::Executor;
use super::memory::Weaker;
use super::now;
use super::numbers::Numbers;
use super::ordinals;
use super::record::{FalseRound, RunRecord};
use super::state::RunState;
use super::task_waker::{Seats, Signals};
use super::world::{WORLD, World};
use crate::run::choice::Strategy;
use crate::run::clock_mode::ClockMode;
use crate::run::faults::Faults;
use crate::run::ids::{Place, Seed, TaskId, TaskPath};
use crate::run::memory_model::Raise;
use crate::run::recording::HistorySource;
use crate::run::schedule::Schedule;
use crate::run::threads::ThreadFacts;
use crate::run::untried::Untried;
use crate::run::what_if::WhatIf;
use crate::run::{Condition, Failure, FaultCount, Outcome, Run, TaskRecord};

/// The limits of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunLimits {
    /// The maximum number of steps of a run.
    pub(crate) steps_max: u32,
    /// The maximum number of further steps. These steps have fewer points.
    pub(crate) beyond: u32,
    /// A step before which the run must stop as hung, and the number of seconds for the report.
    pub(crate) hang: Option<(u32, u64)>,
    /// The conditions under which the time of the run advances.
    pub(crate) clock: ClockMode,
    /// The faults that the run may have.
    pub(crate) faults: Faults,
    /// The effect of orders weaker than `SeqCst`.
    pub(crate) weaker: Weaker,
    /// True if a search enumerates the runs. The seeds of these runs are then only numbers, from which nothing may be
    /// derived.
    pub(crate) searched: bool,
    /// The differences between the program and the program of the test, if any.
    pub(crate) what_if: Option<Arc<WhatIf>>,
}

#[cfg(test)]
impl RunLimits {
    /// The limits of a run in a search of a test.
    pub(crate) const fn of_test(steps_max: u32) -> RunLimits {
        RunLimits {
            steps_max,
            beyond: 0,
            hang: None,
            clock: ClockMode::Last,
            faults: Faults::NONE,
            weaker: Weaker::Nothing,
            searched: true,
            what_if: None,
        }
    }
}

/// Runs test bodies, one after the other, on one thread.
pub(crate) struct Worker {
    world: World,
    seats: Seats,
    /// The allocator of run numbers.
    numbers: Numbers,
    /// The current step, for the watchdog.
    progress: Arc<AtomicU32>,
}

impl Worker {
    pub(crate) fn new(strategy: Box<dyn Strategy>) -> Worker {
        let mut numbers = Numbers::default();
        let signals = Arc::new(Signals {
            world: numbers.next(),
            running: AtomicBool::new(false),
            strayed: AtomicU32::new(0),
        });
        Worker {
            world: World::new(strategy, signals.clone()),
            seats: Seats::new(signals),
            numbers,
            progress: Arc::default(),
        }
    }

    /// Replaces the strategy for later runs. Returns the previous strategy.
    pub(crate) fn set_strategy(&mut self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        self.world.set_strategy(strategy)
    }

    /// Passes a seed to the strategy: the seed of the next run that is not a rehearsal.
    #[inline]
    pub(crate) fn prepare(&self, seed: Seed) {
        self.world.prepare(seed);
    }

    /// Makes operations at some places have stronger memory orders in later runs. These runs have the exact order S of
    /// `SeqCst` operations.
    pub(crate) fn raise(&self, raised: Vec<Raise>) {
        self.world.state().memory.raise(raised);
    }

    /// Returns the number of rehearsals that the strategy still needs before it can serve a seed.
    pub(crate) fn rehearsals(&self) -> u32 {
        self.world.rehearsals()
    }

    /// Returns the number of the current step. The run updates it while it executes.
    pub(crate) fn progress(&self) -> Arc<AtomicU32> {
        self.progress.clone()
    }

    /// Runs `body` once. Returns the failure, if the run fails; [`Worker::extract`] returns the whole run.
    pub(crate) fn run(
        &mut self,
        seed: Seed,
        limits: &RunLimits,
        place: Place,
        main: Pin<&mut dyn Body>,
    ) -> Option<Failure> {
        let number = self.numbers.next();
        {
            let mut state = self.world.state();
            let stale = state.begin(number);
            state.memory.begin(limits.weaker, (!limits.searched).then_some(seed.0));
            Parts::begin(&mut state, limits);
            state.add_task(None, None, place);
            drop(state);
            drop(stale);
        }
        self.world.seed.set((!limits.searched).then_some(seed));
        self.world.beyond.take();
        self.world.state().begin_choices(seed);
        self.world.signals.running.store(true, Ordering::Relaxed);
        let Worker { world, seats, progress, .. } = self;
        let mut executor = Executor { world, seats, main, limits, progress };
        WORLD.set(world, || {
            now::during(number, || {
                executor.run();
                executor.finish();
                // A stored value may contain ends of links, which then notify no task.
                world.state().lives.all_over = true;
                Parts::end(world);
                executor.fail_unseen_panics();
            });
        });
        self.world.signals.running.store(false, Ordering::Relaxed);
        self.world.signals.strayed.store(0, Ordering::Relaxed);
        let tasks = self.world.state().board.tasks.len();
        self.seats.retire_kept(tasks);
        self.world.state().failure.clone()
    }

    /// Makes later runs describe messages in words.
    pub(crate) fn show_messages(&self) {
        self.world.state().record.is_shown = true;
    }

    /// Returns the last run as independent data.
    pub(crate) fn extract(&self, seed: Seed, strategy: &str) -> Run {
        let mut run = self.outline(seed, strategy);
        let (histories, programs) = {
            let record = &self.world.state().record;
            (record.histories.clone(), record.programs.clone())
        };
        // User code creates the texts of operations.
        run.histories = histories.iter().map(|source| source.record()).collect();
        run.programs = programs.iter().map(|source| source.record()).collect();
        run
    }

    /// Returns the places of histories that the last run recorded, but neither checked nor read.
    pub(crate) fn unchecked(&self) -> Vec<Place> {
        let histories = self.world.state().record.histories.clone();
        histories.iter().filter_map(|source| source.unchecked()).collect()
    }

    /// Returns the last run as independent data, without its histories and programs.
    pub(crate) fn outline(&self, seed: Seed, strategy: &str) -> Run {
        self.world.outline(seed, strategy)
    }

    /// Returns the events of the last run that are loads by false conditions, in ascending order: see
    /// [`RunRecord::false_rounds`].
    ///
    /// [`RunRecord::false_rounds`]: super::record::RunRecord::false_rounds
    pub(crate) fn false_rounds(&self) -> Vec<FalseRound> {
        self.world.state().record.false_rounds.clone()
    }

    /// Returns a history of the last run by its number.
    pub(crate) fn history(&self, number: usize) -> Option<Arc<dyn HistorySource>> {
        self.world.state().record.histories.get(number).cloned()
    }

    /// Adds the conditions of the last run to `all`.
    pub(crate) fn add_conditions(&self, all: &mut Vec<Condition>) {
        self.world.state().record.conditions.iter().for_each(|condition| condition.add(all));
    }

    /// Adds the faults of the last run to `all`.
    pub(crate) fn add_faults(&self, all: &mut Vec<FaultCount>) {
        self.world.state().record.faults.iter().for_each(|count| count.add(all));
    }

    /// Adds the parts of the last run's behavior that searches do not try to `all`.
    pub(crate) fn add_untried(&self, all: &mut Set<Untried>) {
        all.extend(self.world.state().record.untried.iter().copied());
    }

    /// Returns `true` if operations of the last run could choose among stores, or if the run detected data races. If
    /// this is true, the clock of each store counts, also of a store that leaves the value unchanged.
    pub(crate) fn counts_stores(&self) -> bool {
        let mut state = self.world.state();
        state.memory.is_on() || state.memory.chooses() || state.memory.detects_races_of_threads()
    }

    /// Returns `true` if tasks of the last run wait forever: see [`Run::stuck`] and [`Run::circle`].
    pub(crate) fn left_waiting(&self) -> bool {
        let record = &self.world.state().record;
        !record.stuck.is_empty() || !record.circle.is_empty()
    }

    /// Returns `true` if the last run does not count, because a task would have had to wait within a region.
    pub(crate) fn is_excused(&self) -> bool {
        self.world.state().is_excused()
    }

    /// Returns `true` if the last run continued after its step limit.
    pub(crate) fn is_beyond(&self) -> bool {
        self.world.is_beyond()
    }

    /// Returns the number of steps of the last run.
    pub(crate) fn steps(&self) -> u64 {
        u64::from(self.world.state().board.step)
    }

    /// Returns the task of each step of the last run.
    pub(crate) fn tasks_of_steps(&self) -> Vec<TaskId> {
        self.world.state().record.steps.iter().map(|step| step.record().task).collect()
    }

    /// Returns the number of model steps in the generation of the last run's programs.
    pub(crate) fn planned(&self) -> u64 {
        self.world.state().record.programs.iter().map(|program| program.work()).sum()
    }

    /// Returns the decisions of the last run.
    pub(crate) fn schedule(&self) -> Schedule {
        let state = self.world.state();
        let RunRecord { steps, draws, programs, .. } = &state.record;
        let mut commands = Vec::new();
        programs.iter().for_each(|source| commands.extend(source.layout()));
        let steps: Vec<_> = steps.iter().map(|step| step.record()).collect();
        Schedule::of_records(paths(&state), &steps, draws, &commands)
    }

    /// Drops the histories and programs of the last run.
    pub(crate) fn forget_histories(&mut self) {
        let mut state = self.world.state();
        let histories = std::mem::take(&mut state.record.histories);
        let programs = std::mem::take(&mut state.record.programs);
        drop(state);
        drop((histories, programs));
    }
}

impl World {
    /// Returns the run so far as independent data, without its histories and programs.
    pub(crate) fn outline(&self, seed: Seed, strategy: &str) -> Run {
        let state = self.state();
        let mut tasks: Vec<TaskRecord> = Vec::with_capacity(state.board.tasks.len());
        for (row, path) in state.board.tasks.iter().zip(paths(&state)) {
            let name = row.name.as_deref().map(str::to_owned);
            let route = row.route;
            let from = route.map(|route| route.from.to_string());
            let node = route.map(|route| route.to.to_string());
            let node = node.or_else(|| state.node_of(TaskId(tasks.len() as u32)));
            tasks.push(TaskRecord { path, name, place: row.place, node, from, message: None });
        }
        for (task, text) in &state.record.messages {
            tasks[task.index()].message = Some(text.clone());
        }
        let mut objects: Vec<_> = state.objects.rows.iter().map(|row| row.record).collect();
        ordinals::number(&mut objects);
        let outcome = match &state.failure {
            Some(failure) => Outcome::Failed(failure.clone()),
            None => Outcome::Passed,
        };
        let leaked = leaked(&state);
        Run {
            seed,
            strategy: strategy.to_owned(),
            outcome,
            tasks,
            objects,
            steps: state.record.steps.iter().map(|step| step.record()).collect(),
            draws: state.record.draws.clone(),
            events: state.board.events.clone(),
            calls: Vec::new(),
            threads: ThreadFacts::default(),
            histories: Vec::new(),
            programs: Vec::new(),
            leaked,
            stuck: state.record.stuck.clone(),
            circle: state.record.circle.clone(),
            foreign: state.record.foreign,
            time_moves: state.board.time_moves.clone(),
            orders: state.record.orders.clone(),
            output: state.record.output.clone(),
            panics: state.record.panics.clone(),
            conditions: state.record.conditions.clone(),
            faults: state.record.faults.clone(),
        }
    }
}

#[cfg(test)]
impl Worker {
    /// Returns the files of the parts that the last run used.
    pub(super) fn parts_used(&self) -> Vec<&'static str> {
        let used = self.world.state().parts.used_bits();
        let names = Parts::NAMES.iter().enumerate();
        names.filter(|(nth, _)| used & (1 << nth) != 0).map(|(_, name)| *name).collect()
    }
}

/// Returns the spawn paths of the tasks.
fn paths(state: &RunState) -> Vec<TaskPath> {
    let mut paths: Vec<TaskPath> = Vec::with_capacity(state.board.tasks.len());
    for row in state.board.tasks.iter() {
        paths.push(match row.parent {
            Some(parent) => paths[parent.index()].child(row.nth),
            None => TaskPath::main(),
        });
    }
    paths
}

fn leaked(state: &RunState) -> Vec<TaskId> {
    if state.failure.is_some() || state.has_stalled() {
        return Vec::new();
    }
    let last = state.board.step.saturating_sub(1);
    (1..state.board.tasks.len())
        .filter(|i| {
            let slot = &state.slots[*i];
            slot.left_over && slot.detached.is_none_or(|step| step >= last && step > 0)
        })
        .map(|i| TaskId(i as u32))
        .collect()
}
