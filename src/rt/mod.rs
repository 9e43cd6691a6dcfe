//! One run: tasks, points, steps.
//!
//! [`Worker::run`] does one run. Its executor asks the strategy who steps, polls that task up to its
//! next point, and goes on until the body of the test has ended or something is wrong. All that a
//! primitive may ask is in [`world`](World); the executor has no special case for any of them.
//!
//! A worker owns all that runs need and uses it again for the next one: after the first few runs
//! a run allocates what its body allocates and one box for each task it spawns.

mod body;
mod choose;
mod deed;
mod diagnose;
mod executor;
mod lock;
mod memory;
mod now;
mod numbers;
mod object;
mod ordinals;
mod panics;
mod record;
mod seat;
mod services;
mod slot;
mod state;
mod step;
mod watch;
mod world;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub(crate) use self::body::{Body, TaskBody};
pub(crate) use self::deed::{Arrival, Deed, meet};
pub(crate) use self::now::{in_run, is_turn_of, run};
pub(crate) use self::object::Object;
pub(crate) use self::services::Ended;
pub(crate) use self::slot::Ticket;
pub(crate) use self::watch::{Held, Look};
pub(crate) use self::world::{WORLD, World};

use self::executor::Executor;
use self::numbers::Numbers;
use self::record::Record;
use self::seat::{Seats, Signals};
use self::state::State;
use crate::run::choice::Strategy;
use crate::run::ids::{Place, Seed, TaskId, TaskPath};
use crate::run::recording::HistorySource;
use crate::run::schedule::Schedule;
use crate::run::{Condition, Failure, Outcome, Run, TaskRecord};

/// How far a run may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Steps a run may take.
    pub(crate) steps_max: u32,
    /// A step before which the run is to stop, as hung; `seconds` is for the report.
    pub(crate) hang: Option<(u32, u64)>,
    /// Whether a search goes through all runs, so that nothing may be made from their seeds.
    pub(crate) searched: bool,
}

/// Runs test bodies, one after the other, on the thread it is on.
pub(crate) struct Worker {
    world: World,
    seats: Seats,
    /// The numbers of the next runs.
    numbers: Numbers,
    /// How far the current run is, for the watchdog.
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

    /// Has another strategy answer the next run's choices; returns the one before.
    pub(crate) fn set_strategy(&mut self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        self.world.set_strategy(strategy)
    }

    /// Tells the strategy the seed of the next run that is no rehearsal.
    #[inline]
    pub(crate) fn prepare(&self, seed: Seed) {
        self.world.prepare(seed);
    }

    /// How many runs the strategy has still to see before it serves.
    pub(crate) fn rehearsals(&self) -> u32 {
        self.world.rehearsals()
    }

    /// The number of the step being taken, kept up to date while a run is on.
    pub(crate) fn progress(&self) -> Arc<AtomicU32> {
        self.progress.clone()
    }

    /// Runs `body` once. Returns its failure, if it fails; [`Worker::extract`] tells the rest.
    pub(crate) fn run(
        &mut self,
        seed: Seed,
        limits: &Limits,
        place: Place,
        main: Pin<&mut dyn Body>,
    ) -> Option<Failure> {
        let number = self.numbers.next();
        {
            let mut state = self.world.state();
            let stale = state.begin(number);
            state.add_task(None, None, place);
            drop(state);
            drop(stale);
        }
        self.world.seed.set((!limits.searched).then_some(seed));
        self.world.state().begin_choices(seed);
        self.world.signals.running.store(true, Ordering::Relaxed);
        let Worker { world, seats, progress, .. } = self;
        let mut executor = Executor { world, seats, main, limits: *limits, progress };
        WORLD.set(world, || {
            now::during(number, || {
                executor.run();
                executor.finish();
            });
        });
        self.world.signals.running.store(false, Ordering::Relaxed);
        self.world.signals.strayed.store(0, Ordering::Relaxed);
        let tasks = self.world.state().board.tasks.len();
        self.seats.retire_kept(tasks);
        self.world.state().failure.clone()
    }

    /// The last run as data of its own.
    pub(crate) fn extract(&self, seed: Seed, strategy: &str) -> Run {
        let mut run = self.outline(seed, strategy);
        let (histories, programs) = {
            let record = &self.world.state().record;
            (record.histories.clone(), record.programs.clone())
        };
        // The texts of operations are made by user code.
        run.histories = histories.iter().map(|source| source.record()).collect();
        run.programs = programs.iter().map(|source| source.record()).collect();
        run
    }

    /// The last run as data of its own, but for its histories and programs.
    pub(crate) fn outline(&self, seed: Seed, strategy: &str) -> Run {
        let state = self.world.state();
        let mut tasks: Vec<TaskRecord> = Vec::with_capacity(state.board.tasks.len());
        for (row, path) in state.board.tasks.iter().zip(paths(&state)) {
            let name = row.name.as_deref().map(str::to_owned);
            tasks.push(TaskRecord { path, name, place: row.place });
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
            histories: Vec::new(),
            programs: Vec::new(),
            leaked,
            stuck: state.record.stuck.clone(),
            foreign: state.record.foreign,
            conditions: state.record.conditions.clone(),
        }
    }

    /// A history of the last run, by its number.
    pub(crate) fn history(&self, number: usize) -> Option<Arc<dyn HistorySource>> {
        self.world.state().record.histories.get(number).cloned()
    }

    /// Adds to `all` what the last run was asked to note.
    pub(crate) fn add_conditions(&self, all: &mut Vec<Condition>) {
        self.world.state().record.conditions.iter().for_each(|condition| condition.add(all));
    }

    /// Detached tasks that the last run left waiting for ever: see [`Run::stuck`].
    pub(crate) fn left_waiting(&self) -> bool {
        !self.world.state().record.stuck.is_empty()
    }

    /// How many steps the last run took.
    pub(crate) fn steps(&self) -> u64 {
        u64::from(self.world.state().board.step)
    }

    /// How many steps from state to state of their models it took to make the programs of the last run.
    pub(crate) fn planned(&self) -> u64 {
        self.world.state().record.programs.iter().map(|program| program.work()).sum()
    }

    /// The decisions of the last run.
    pub(crate) fn schedule(&self) -> Schedule {
        let state = self.world.state();
        let Record { steps, draws, programs, .. } = &state.record;
        let commands: Vec<_> = programs.iter().flat_map(|source| source.layout()).collect();
        let steps: Vec<_> = steps.iter().map(|step| step.record()).collect();
        Schedule::of_records(paths(&state), &steps, draws, &commands)
    }

    /// Lets go of what the user's code recorded in the last run.
    pub(crate) fn forget_histories(&mut self) {
        let mut state = self.world.state();
        let histories = std::mem::take(&mut state.record.histories);
        let programs = std::mem::take(&mut state.record.programs);
        drop(state);
        drop((histories, programs));
    }
}

/// The structural names of the tasks.
fn paths(state: &State) -> Vec<TaskPath> {
    let mut paths: Vec<TaskPath> = Vec::with_capacity(state.board.tasks.len());
    for row in state.board.tasks.iter() {
        paths.push(match row.parent {
            Some(parent) => paths[parent.index()].child(row.nth),
            None => TaskPath::main(),
        });
    }
    paths
}

fn leaked(state: &State) -> Vec<TaskId> {
    if state.failure.is_some() {
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
