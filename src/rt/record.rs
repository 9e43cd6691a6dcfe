//! The record of a run, in the format in which it is collected.

use std::sync::Arc;
use unpause_ordered::Set;

use crate::run::event::Event;
use crate::run::ids::{ObjectId, TaskId};
use crate::run::memory_model::OrderMark;
use crate::run::panics::TaskPanic;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::untried::Untried;
use crate::run::{Condition, DrawRecord, FaultCount, StepRecord, Wait};

/// One step, packed into one word, because every step stores it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedStep(u64);

impl PackedStep {
    /// Returns a step of `task`, chosen among `candidates` tasks. There are fewer than 2^31 tasks.
    #[inline]
    pub(crate) fn new(task: TaskId, candidates: u32, preempts: bool) -> PackedStep {
        PackedStep((u64::from(task.0) << 32) | (u64::from(candidates) << 1) | u64::from(preempts))
    }

    pub(crate) fn record(self) -> StepRecord {
        StepRecord {
            task: TaskId((self.0 >> 32) as u32),
            candidates: self.0 as u32 >> 1,
            preempts: self.0 & 1 == 1,
        }
    }
}

/// An evaluation of a condition that was false and only loaded atomics: the event of its last load, and the number of
/// its loads.
pub(crate) type FalseRound = (usize, u32);

/// The decisions of one run, and its histories. The vectors keep their allocations from run to run.
#[derive(Default)]
pub(crate) struct RunRecord {
    pub(crate) steps: Vec<PackedStep>,
    pub(crate) draws: Vec<DrawRecord>,
    pub(crate) histories: Vec<Arc<dyn HistorySource>>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) faults: Vec<FaultCount>,
    pub(crate) programs: Vec<Arc<dyn ProgramSource>>,
    /// See [`Run::stuck`](crate::run::Run::stuck).
    pub(crate) stuck: Vec<(TaskId, String)>,
    /// See [`Run::circle`](crate::run::Run::circle).
    pub(crate) circle: Vec<Wait>,
    /// See [`Run::foreign`](crate::run::Run::foreign).
    pub(crate) foreign: bool,
    /// See [`Run::output`](crate::run::Run::output).
    pub(crate) output: String,
    /// See [`Run::panics`](crate::run::Run::panics).
    pub(crate) panics: Vec<TaskPanic>,
    /// The parts of the program's behavior that searches do not try.
    pub(crate) untried: Set<Untried>,
    /// See [`Run::orders`](crate::run::Run::orders).
    pub(crate) orders: Vec<OrderMark>,
    /// The false evaluations of conditions in a run with the memory `c11`.
    pub(crate) false_rounds: Vec<FalseRound>,
    /// True if a report will show the run: messages then have texts.
    pub(crate) is_shown: bool,
    /// The texts of messages in flight.
    pub(crate) messages: Vec<(TaskId, String)>,
}

impl RunRecord {
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.draws.clear();
        self.conditions.clear();
        self.faults.clear();
        self.stuck.clear();
        self.circle.clear();
        self.foreign = false;
        self.untried.clear();
        self.output.clear();
        self.panics.clear();
        self.orders.clear();
        self.false_rounds.clear();
        self.messages.clear();
        debug_assert!(self.histories.is_empty(), "histories are taken out at the end of a run");
    }
}

/// Returns the shortest sequence of steps that is repeated at least four times at the end of the
/// run. Steps are equal if the same task performed the same operations on the same objects,
/// whatever the values.
pub(crate) fn repeated_suffix(record: &RunRecord, events: &[Event]) -> Vec<StepRecord> {
    const LONGEST: usize = 256;
    const REPEATS: usize = 4;
    let steps = record.steps.len();
    let window = steps.min(LONGEST * REPEATS);
    let from = steps - window;
    // The operations of each of the last steps. The events are in the order of their steps.
    let mut operations: Vec<Vec<(&str, Option<ObjectId>)>> = vec![Vec::new(); window];
    for event in events.iter().rev().take_while(|event| event.step as usize >= from) {
        if let Some(operations) = operations.get_mut(event.step as usize - from) {
            operations.push((event.op.name, event.object));
        }
    }
    let same = |i: usize, j: usize| {
        let task = |i: usize| record.steps[from + i].record().task;
        task(i) == task(j) && operations[i] == operations[j]
    };
    let repeats = |p: &usize| (window - (REPEATS - 1) * p..window).all(|i| same(i, i - p));
    let period = (1..=window / REPEATS).find(repeats).unwrap_or(0);
    record.steps[steps - period..].iter().map(|step| step.record()).collect()
}
