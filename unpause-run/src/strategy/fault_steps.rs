//! The faults of the rehearsals. For each fault, this module records the step in which it occurred, its victims, and
//! the number of steps that the victims take without the fault.
//!
//! A fault has no point of its own, so it is not announced. Examples are the kill of a node, an abort, a stall, the
//! drop of a future and the cut of a link. The rehearsals record each fault, identified by the spawn path of its task
//! and the number of the step. If a setting requested the fault, its task is known to be a fault when it is spawned.
//! The *victims* of a fault are the tasks that it names. The victims of a fault of an object are the tasks with
//! conflicting operations on that object.
//!
//! **Counts.** An early fault leaves its victims few steps, so a rehearsal with a fault counts too few steps. Every
//! second rehearsal therefore [holds](FaultSteps::hold) the faults known so far until no other task can step. The step
//! count of the victims starts at the spawn of the fault's task, and is the maximum over the rehearsals.

use super::dice::Dice;
use super::rehearsal::REHEARSALS;
use super::tally::TaskCounts;
use crate::run::board::{Life, Status};
use crate::run::choice::View;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::cancellation;
use crate::run::op::kind::Kind;
use unpause_ordered::{Map, Set};

/// The maximum number of faults of one lesson. A program that constantly aborts tasks could have any number of faults.
const FAULTS_MAX: usize = 64;

/// Faults are held for at most this many steps plus four times the steps of a rehearsal, because a victim may run
/// forever without the fault.
const PATIENCE: u64 = 1000;

/// A fault that happened in a rehearsal. Tasks are indices into [`FaultSteps::tally`].
#[derive(Clone, Debug)]
pub(super) struct FaultStep {
    /// The task of the fault.
    pub(super) task: usize,
    /// The number of the step among the steps of the task, starting at 0.
    pub(super) nth: u32,
    pub(super) victims: Set<usize>,
    /// The maximum total number of steps of all victims while the fault can disturb them.
    pub(super) most: u64,
    /// True if the fault disturbs an object instead of named tasks. Such a fault can disturb its victims until the last
    /// operation on the object.
    has_object: bool,
}

/// The log of one rehearsal.
#[derive(Debug, Default)]
struct Log {
    /// The task of each step.
    steps: Vec<u32>,
    /// For each task, the number of steps before the task was first seen; `None` if it was not spawned.
    begins: Vec<Option<u32>>,
    /// For each fault of an object, the number of steps up to and including the last operation that conflicts with the
    /// fault.
    ends: Map<usize, u32>,
    /// True if a fault disturbed a task.
    is_shortened: bool,
    /// True if a held fault had to occur before all other steps were done.
    is_impatient: bool,
}

/// Knowledge about faults, from the rehearsals.
#[derive(Debug, Default)]
pub(super) struct FaultSteps {
    tally: TaskCounts,
    faults: Vec<FaultStep>,
    /// The position in `faults`, by task and number of the step.
    index: Map<(usize, u32), usize>,
    logs: Vec<Log>,
    /// For each task of the current rehearsal, the number of steps that it has taken.
    own: Vec<u32>,
    /// The objects that faults of the current rehearsal disturb.
    objects: Vec<(usize, ObjectId, Kind)>,
    /// The maximum number of steps of a rehearsal so far, and the number of steps for which this rehearsal has held
    /// faults.
    steps_max: u64,
    held: u64,
    /// For each candidate of the next step, true if it is held. `others` contains the positions of the candidates that
    /// are not held.
    is_held: Vec<bool>,
    others: Vec<usize>,
}

impl FaultSteps {
    /// Begins a rehearsal.
    pub(super) fn restart(&mut self) {
        self.tally.restart();
        self.logs.push(Log::default());
        self.own.clear();
        self.objects.clear();
        self.held = 0;
    }

    /// Records the last step of the rehearsal.
    pub(super) fn watch(&mut self, view: &View<'_>) {
        for id in self.own.len()..view.tasks().len() {
            let task = TaskId(id as u32);
            let known = self.known(view, task);
            let Some(log) = self.logs.last_mut() else { return };
            if log.begins.len() <= known {
                log.begins.resize(known + 1, None);
            }
            log.begins[known].get_or_insert(view.step());
            self.own.push(0);
            if let Some(victim) = view.task(task).fault_of {
                let victim = self.known(view, victim);
                if let Some(at) = self.fault_at((known, 0)) {
                    self.faults[at].victims.insert(victim);
                }
            }
        }
        let (Some(last), Some(log)) = (view.last(), self.logs.last()) else { return };
        // Records a step only once, even if the rehearsal ends after it.
        if log.steps.len() as u32 == view.step() {
            return;
        }
        let known = self.known(view, last);
        for event in view.news() {
            if event.op.is_fault() && event.task == last {
                self.add(view, known, event);
            }
        }
        self.own[last.index()] += 1;
        if let Some(log) = self.logs.last_mut() {
            log.steps.push(known as u32);
        }
    }

    /// Returns the common number of a task of this rehearsal, identified by its spawn path.
    fn known(&mut self, view: &View<'_>, task: TaskId) -> usize {
        self.tally.known(view, task, true).unwrap_or(0)
    }

    /// Returns the position of the fault in this step of a task, and adds the fault if it is new. `None` if there are
    /// too many faults.
    fn fault_at(&mut self, (task, nth): (usize, u32)) -> Option<usize> {
        if let Some(at) = self.index.get(&(task, nth)) {
            return Some(*at);
        }
        if self.faults.len() == FAULTS_MAX {
            return None;
        }
        let (victims, most, has_object) = (Set::new(), 0, false);
        self.faults.push(FaultStep { task, nth, victims, most, has_object });
        self.index.insert((task, nth), self.faults.len() - 1);
        Some(self.faults.len() - 1)
    }

    /// Adds a fault of the last step, which `task` took.
    fn add(&mut self, view: &View<'_>, task: usize, event: &Event) {
        let Some(at) = self.fault_at((task, self.own[event.task.index()])) else { return };
        if let (Some(object), Some(kind)) = (event.object, event.op.kind) {
            self.faults[at].has_object = true;
            self.objects.push((at, object, kind));
        }
        if let Some(log) = self.logs.last_mut() {
            log.is_shortened |= event.op.kind != Some(cancellation::COME_LATE);
        }
        if let Values::Task(target) = event.values {
            let life = view.task(target).life;
            for id in (0..view.tasks().len() as u32).map(TaskId) {
                let dies_too = life != Life::OUTSIDE && view.task(id).life == life;
                if id == target || dies_too {
                    let victim = self.known(view, id);
                    self.faults[at].victims.insert(victim);
                }
            }
        }
    }

    /// Records the end of the rehearsal.
    pub(super) fn end(&mut self, view: &View<'_>) {
        self.watch(view);
        self.steps_max = self.steps_max.max(view.step().into());
        self.end_late(view);
        if self.objects.is_empty() {
            return;
        }
        for event in view.events() {
            let (Some(object), Some(kind)) = (event.object, event.op.kind) else { continue };
            let disturbed =
                self.objects.iter().filter(|(_, of, fault)| *of == object && fault.conflicts(kind));
            let disturbed: Vec<usize> = disturbed.map(|(at, ..)| *at).collect();
            if disturbed.is_empty() || event.op.is_fault() {
                continue;
            }
            let victim = self.known(view, event.task);
            for at in disturbed {
                self.faults[at].victims.insert(victim);
                if let Some(log) = self.logs.last_mut() {
                    // Events are in the order of their steps.
                    log.ends.insert(at, event.step + 1);
                }
            }
        }
    }

    /// Records the ends of futures for drop faults that had not occurred by the end of the rehearsal.
    fn end_late(&mut self, view: &View<'_>) {
        for id in (0..view.tasks().len() as u32).map(TaskId) {
            let row = view.task(id);
            let Some(victim) = row.fault_of.filter(|_| row.status != Status::Done) else {
                continue;
            };
            let known = self.known(view, id);
            let (Some(at), Some(log)) = (self.index.get(&(known, 0)), self.logs.last_mut()) else {
                continue;
            };
            let begin = log.begins[known].unwrap_or(0);
            let is_end = |event: &&Event| {
                let ends = event.op.kind == Some(cancellation::END);
                ends && event.task == victim && event.step >= begin
            };
            if let Some(end) = view.events().iter().find(is_end) {
                self.faults[*at].has_object = true;
                log.ends.insert(*at, end.step + 1);
            }
        }
    }

    /// Holds the candidates whose next step is a known fault. Returns `true` if some candidates are held and some are
    /// not.
    pub(super) fn hold(&mut self, view: &View<'_>) -> bool {
        let patience = PATIENCE + 4 * self.steps_max;
        if self.faults.is_empty() || self.held == patience {
            return false;
        }
        self.others.clear();
        self.is_held.clear();
        for (at, task) in view.candidates().iter().enumerate() {
            let key = (self.known(view, *task), self.own[task.index()]);
            let is_held = self.index.contains_key(&key);
            self.is_held.push(is_held);
            if !is_held {
                self.others.push(at);
            }
        }
        let holds = !self.others.is_empty() && self.others.len() < self.is_held.len();
        self.held += u64::from(holds);
        if let (true, Some(log)) = (self.held == patience, self.logs.last_mut()) {
            log.is_impatient = true;
        }
        holds
    }

    /// Returns `true` if this candidate is [held](Self::hold).
    pub(super) fn is_held(&self, candidate: usize) -> bool {
        self.is_held[candidate]
    }

    /// Draws one of the candidates that are not [held](Self::hold).
    pub(super) fn draw_other(&self, dice: &mut impl Dice) -> usize {
        self.others[dice.below(self.others.len() as u64) as usize]
    }

    /// Returns, for each rehearsal, `false` if a fault disturbed a task. The index is
    /// [`Rehearsal::remaining`](super::rehearsal::Rehearsal::remaining).
    pub(super) fn are_whole(&self) -> [bool; REHEARSALS as usize] {
        let mut whole = [true; REHEARSALS as usize];
        for (at, log) in self.logs.iter().enumerate() {
            whole[REHEARSALS as usize - 1 - at] = !log.is_shortened;
        }
        whole
    }

    /// Returns the tasks, the faults with victims, and the maximum number of steps, at the end of the rehearsals.
    pub(super) fn finish(&mut self) -> (TaskCounts, Vec<FaultStep>, u64) {
        let (logs, mut faults) = (std::mem::take(&mut self.logs), std::mem::take(&mut self.faults));
        for (at, fault) in faults.iter_mut().enumerate() {
            fault.victims.remove(&fault.task);
            let most = |patient: bool| {
                let logs = logs.iter().filter(|log| !patient || !log.is_impatient);
                logs.map(|log| log.steps_of(at, fault)).max().unwrap_or(0)
            };
            fault.most = if most(true) > 0 { most(true) } else { most(false) };
        }
        faults.retain(|fault| fault.most > 0);
        self.index.clear();
        (std::mem::take(&mut self.tally), faults, self.steps_max)
    }
}

impl Log {
    /// Returns the number of steps of the victims while the fault could disturb them.
    fn steps_of(&self, at: usize, fault: &FaultStep) -> u64 {
        let begin = self.begins.get(fault.task).copied().flatten();
        let (begin, end) = match fault.has_object {
            true => match (begin, self.ends.get(&at)) {
                (Some(begin), Some(end)) => (begin, *end),
                _ => return 0,
            },
            false => (begin.unwrap_or(0), self.steps.len() as u32),
        };
        let steps = self.steps.get(begin as usize..end as usize).unwrap_or_default();
        steps.iter().filter(|task| fault.victims.contains(&(**task as usize))).count() as u64
    }
}
