//! Blind spots: possible alternatives that no run tried.
//!
//! An access is identified by its task and its number among the task's accesses to the object. An object is *contested*
//! if two conflicting accesses to it were adjacent in both orders, because the schedule then decides their order.
//! Accesses of a task before it spawns another task, or after it has joined this task, are never contested.

use crate::run::Run;
use crate::run::coverage::{Blind, BlindDraw, BlindObject};
use crate::run::event::Event;
use crate::run::ids::{Spot, TaskPath};
use crate::run::op::Access;
use unpause_ordered::{Map, Set};

/// The maximum bound of a counted draw. Larger draws are ignored, because tests rarely need all of their values.
const BOUND_MAX: u64 = 64;

/// The alternatives that runs tried.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Tried {
    pub objects: Map<ObjectName, Object>,
    /// For each task, `true` if it was preempted. Tasks with a single step are excluded.
    pub tasks: Map<TaskPath, bool>,
    /// For each draw (task, number among the task's draws, and bound), the values that occurred, as a bit set.
    pub draws: Map<(TaskPath, u32, u64), u64>,
}

/// The name of an object across runs: its kind, its place, and its number at this place.
pub type ObjectName = (&'static str, Spot, u32);

/// An access to an object: the task, and its number among the accesses of this task.
pub type Visit = (TaskPath, u32);

#[derive(Debug)]
#[doc(hidden)]
pub enum Object {
    /// An object that is not contested: the tasks that accessed it, and the ordered pairs of conflicting accesses.
    Quiet {
        visitors: Visitors,
        pairs: Set<(Visit, Visit)>,
    },
    Contested,
}

#[derive(Clone, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub enum Visitors {
    One(TaskPath),
    Several,
}

impl Tried {
    /// Adds a run to the record.
    pub(super) fn add(&mut self, run: &Run) {
        self.add_objects(run);
        self.add_tasks(run);
        self.add_draws(run);
    }

    fn add_objects(&mut self, run: &Run) {
        // For each object: the last access that was not a read, the reads since this access, and the number of accesses
        // of each task.
        struct ObjectLog<'a> {
            known: &'a mut Object,
            changed: Option<Visit>,
            reads: Vec<Visit>,
            visits: Map<u32, u32>,
        }
        let mut events: Map<ObjectName, Vec<&Event>> = Map::new();
        for event in &run.events {
            let Some(object) = event.object.and_then(|object| run.objects.get(object.index()))
            else {
                continue;
            };
            let name = (object.kind, object.place.into(), object.ordinal);
            // An unlock and the next lock never occur in the opposite order.
            if event.op.access.gives_up() {
                continue;
            }
            if !matches!(self.objects.get(&name), Some(Object::Contested)) {
                events.entry(name).or_default().push(event);
            }
        }
        for (name, events) in events {
            let path = |event: &Event| run.tasks[event.task.index()].path.clone();
            let first = Visitors::One(path(events[0]));
            let quiet = Object::Quiet { visitors: first, pairs: Set::new() };
            let known = self.objects.entry(name).or_insert(quiet);
            let mut now = ObjectLog { known, changed: None, reads: Vec::new(), visits: Map::new() };
            for event in events {
                let nth = now.visits.entry(event.task.0).or_default();
                let visit = (path(event), *nth);
                *nth += 1;
                now.known.visited(&visit.0);
                let is_read = event.op.access == Access::Read;
                let reads = if is_read { &[] } else { now.reads.as_slice() };
                for before in now.changed.iter().chain(reads) {
                    now.known.conflicted(before, &visit);
                }
                if is_read {
                    now.reads.push(visit);
                } else {
                    now.reads.clear();
                    now.changed = Some(visit);
                }
            }
        }
    }

    fn add_tasks(&mut self, run: &Run) {
        let mut steps = vec![(0u32, false); run.tasks.len()];
        for (i, step) in run.steps.iter().enumerate() {
            steps[step.task.index()].0 += 1;
            if step.preempts && i > 0 {
                steps[run.steps[i - 1].task.index()].1 = true;
            }
        }
        for (task, (count, preempted)) in run.tasks.iter().zip(steps) {
            if count > 1 {
                record_preemption(&mut self.tasks, &task.path, preempted);
            }
        }
    }

    fn add_draws(&mut self, run: &Run) {
        let mut counts = vec![0u32; run.tasks.len()];
        for draw in &run.draws {
            let Some(step) = run.steps.get(draw.step as usize) else { continue };
            let nth = counts[step.task.index()];
            counts[step.task.index()] += 1;
            if draw.bound <= BOUND_MAX && !draw.given {
                let path = run.tasks[step.task.index()].path.clone();
                *self.draws.entry((path, nth, draw.bound)).or_default() |= 1 << draw.value;
            }
        }
    }

    /// Adds the counts of another record.
    pub(super) fn merge(&mut self, other: Tried) {
        for (name, object) in other.objects {
            match self.objects.get_mut(&name) {
                Some(known) => known.merge(object),
                None => drop(self.objects.insert(name, object)),
            }
        }
        for (path, preempted) in other.tasks {
            record_preemption(&mut self.tasks, &path, preempted);
        }
        for (draw, values) in other.draws {
            *self.draws.entry(draw).or_default() |= values;
        }
    }

    /// Returns the alternatives that no run tried.
    pub(super) fn blind(&self) -> Blind {
        let quiet =
            |object: &Object| matches!(object, Object::Quiet { visitors: Visitors::Several, .. });
        let objects = self.objects.iter().filter(|(_, object)| quiet(object));
        let object = |name: &ObjectName| {
            let (kind, place, ordinal) = *name;
            BlindObject { kind, place, ordinal }
        };
        let tasks = self.tasks.iter().filter(|(_, preempted)| !**preempted);
        let draws = self.draws.iter().filter_map(|((task, nth, bound), values)| {
            let never: Vec<u64> = (0..*bound).filter(|value| values >> value & 1 == 0).collect();
            let draw = BlindDraw { task: task.clone(), nth: *nth, bound: *bound, never };
            (!draw.never.is_empty()).then_some(draw)
        });
        Blind {
            objects: objects.map(|(name, _)| object(name)).collect(),
            tasks: tasks.map(|(path, _)| path.clone()).collect(),
            draws: draws.collect(),
        }
    }
}

/// Records whether a task was preempted.
fn record_preemption(tasks: &mut Map<TaskPath, bool>, path: &TaskPath, preempted: bool) {
    match tasks.get_mut(path) {
        Some(known) => *known |= preempted,
        None => drop(tasks.insert(path.clone(), preempted)),
    }
}

impl Object {
    fn visited(&mut self, task: &TaskPath) {
        if let Object::Quiet { visitors, .. } = self {
            if !matches!(visitors, Visitors::One(one) if one == task) {
                *visitors = Visitors::Several;
            }
        }
    }

    /// Records two adjacent conflicting accesses, in this order.
    fn conflicted(&mut self, before: &Visit, after: &Visit) {
        let Object::Quiet { pairs, .. } = self else { return };
        if before.0 == after.0 {
            return;
        }
        if pairs.contains(&(after.clone(), before.clone())) {
            *self = Object::Contested;
        } else {
            pairs.insert((before.clone(), after.clone()));
        }
    }

    fn merge(&mut self, other: Object) {
        let Object::Quiet { visitors, pairs } = other else {
            *self = Object::Contested;
            return;
        };
        if let Visitors::One(task) = &visitors {
            self.visited(task);
        } else if let Object::Quiet { visitors, .. } = self {
            *visitors = Visitors::Several;
        }
        for (before, after) in pairs {
            self.conflicted(&before, &after);
        }
    }
}
