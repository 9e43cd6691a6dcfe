//! Happens-before order of a run, as vector clocks over its steps.
//!
//! Two runs of a program are equivalent if they differ only in the order of steps that do not conflict (Mazurkiewicz).
//! In equivalent runs, the steps of each task have the same order, and so do conflicting steps. [`HappensBefore`]
//! represents that order as vector clocks (Mattern 1988), and [`HappensBefore::class`] is a hash of it.
//!
//! Shapes: `clock[t]` of a step counts the steps of task `t` that happened before it, including the step itself. Each
//! step costs O(tasks + earlier conflicting steps).

mod deaths;
mod rivals;

use super::footprint::StepItem;
use crate::run::board::Life;
use crate::run::ids::TaskId;
use crate::run::op::kind::Kind;
use crate::run::rng::finalized;

/// The number of a step in the run.
pub type Index = u32;

/// The happens-before order of one run, built step by step. [`truncate`](Self::truncate) removes the last steps.
#[derive(Debug, Default)]
pub struct HappensBefore {
    steps: Vec<ClockedStep>,
    /// The items of all steps, one step after the other. For each step, the items of its footprint precede the guarded
    /// operations of its task.
    items: Vec<StepItem>,
    /// The clocks of all steps, one step after the other.
    clocks: Vec<u32>,
    tasks: Vec<TaskLog>,
    /// For each object, the steps with an item on it, in order.
    objects: Vec<Vec<(Index, StepItem)>>,
    /// For each history, the points that its calls reached, in order.
    histories: Vec<Vec<(Index, StepItem)>>,
    /// For each life of a node, the steps with effects that outlive it and the step that ends it, in order.
    lives: Vec<Vec<(Index, StepItem)>>,
    /// The items about the numbers of messages that network faults have stopped, in order.
    counts: Vec<(Index, StepItem)>,
    /// The steps that come after all earlier steps, each with the joined clock of all earlier steps. Invariant: sorted.
    barriers: Vec<(Index, Vec<u32>)>,
    /// The steps that race with the last step, latest first.
    races: Vec<Index>,
    scratch: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct ClockedStep {
    task: TaskId,
    /// The number of the step among the steps of its task.
    nth: u32,
    /// The previous step of the same task, or the step that created the task.
    base: Option<Index>,
    /// Positions in `items`: the start of its footprint, the start of its guarded operations, and the end of its
    /// guarded operations.
    items: (u32, u32, u32),
    clock: (u32, u32),
    /// The value of [`NewStep::drawn`].
    drawn: u64,
    /// The class of the run up to the step.
    class: u64,
}

#[derive(Debug, Default)]
struct TaskLog {
    steps: Vec<Index>,
    /// The step that created the task.
    creator: Option<Index>,
    /// The guarded operations that the task had announced at its creation.
    born_with: Vec<StepItem>,
    /// Operations of other tasks on this task, in order.
    notes: Vec<(Index, StepItem)>,
    ended: bool,
    /// The number of tasks that this task has created.
    children: u32,
    /// A hash of the spawn path of the task, which is the same in every run.
    name: u64,
    /// The node life to which the task belongs, if it took a step.
    life: Life,
}

/// A step to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewStep<'a> {
    pub task: TaskId,
    /// True if this step and all later steps come after all earlier steps, because no task could step and time
    /// advanced.
    pub after_all: bool,
    pub items: &'a [StepItem],
    /// The guarded operations that the task has announced after the step.
    pub guarded: &'a [StepItem],
    /// The guarded operations that tasks created by the step had announced from the start.
    pub born: &'a [(TaskId, StepItem)],
    /// A hash of the values that the step drew, with their bounds.
    pub drawn: u64,
    /// The node life to which the task belongs.
    pub life: Life,
}

/// Returns a hash of the values that a step drew, with their bounds.
pub fn drawn(draws: &[(u64, u64)]) -> u64 {
    draws.iter().fold(0, |hash, (value, bound)| name_of(name_of(hash, *bound), *value))
}

impl HappensBefore {
    /// Removes all steps from `length` on.
    pub fn truncate(&mut self, length: Index) {
        while self.steps.len() > length as usize {
            let Some(step) = self.steps.pop() else { return };
            let (from, to, _) = step.items;
            // The items of the last step are the last entries of their logs, so each pop removes one of these items.
            for item in &self.items[from as usize..to as usize] {
                match item {
                    StepItem::Object { object, .. } => drop(self.objects[object.index()].pop()),
                    StepItem::Called { history, .. } => drop(self.histories[*history].pop()),
                    StepItem::Counted { .. } => drop(self.counts.pop()),
                    StepItem::Life { life, .. } => drop(self.lives[life.index()].pop()),
                    StepItem::Task { target, .. } if *target == step.task => {
                        self.tasks[target.index()].ended = false;
                    }
                    StepItem::Task { target, .. } => drop(self.tasks[target.index()].notes.pop()),
                    StepItem::Spawned(child) => {
                        self.tasks[child.index()].creator = None;
                        self.tasks[step.task.index()].children -= 1;
                    }
                    StepItem::Over | StepItem::Unseen => {}
                }
            }
            self.tasks[step.task.index()].steps.pop();
            self.items.truncate(from as usize);
            self.clocks.truncate(step.clock.0 as usize);
        }
        while self.barriers.last().is_some_and(|(index, _)| *index >= length) {
            self.barriers.pop();
        }
    }

    /// Adds a step and sets [`races`](Self::races) to the earlier conflicting steps that have no other step between
    /// them and the new step in the order.
    pub fn push(&mut self, part: NewStep<'_>) {
        let NewStep { task, after_all, items, guarded, born, drawn, life } = part;
        let index = self.steps.len() as Index;
        self.log(task).life = life;
        if after_all {
            self.add_barrier(index);
        }
        let base = self.base_of(task);
        let mut races = std::mem::take(&mut self.races);
        races.clear();
        self.collect_rivals(task, items, &mut races);
        // Latest first, because a rival that happened before a later rival is already ordered, so it is not a race.
        races.sort_unstable();
        races.reverse();
        races.dedup();
        let mut clock = std::mem::take(&mut self.scratch);
        clock.clear();
        clock.resize(self.tasks.len(), 0);
        if let Some(base) = base {
            join(&mut clock, self.clock(base));
        }
        if let Some((_, before)) = self.barriers.last() {
            join(&mut clock, before);
        }
        races.retain(|rival| {
            let new = !self.knows(&clock, *rival);
            if new {
                join(&mut clock, self.clock(*rival));
            }
            new
        });
        self.races = races;
        // The clock counts steps from 1, so that 0 means that it includes no step of a task.
        let nth = self.tasks[task.index()].steps.len() as u32;
        clock[task.index()] = nth + 1;
        let class = self.class_up_to(index).wrapping_add(self.number((task, nth), &clock, drawn));
        let (item_at, clock_at) = (self.items.len() as u32, self.clocks.len() as u32);
        self.items.extend_from_slice(items);
        let guarded_at = self.items.len() as u32;
        self.items.extend_from_slice(guarded);
        self.clocks.extend_from_slice(&clock);
        self.scratch = clock;
        let items_at = (item_at, guarded_at, self.items.len() as u32);
        let clock_at = (clock_at, self.clocks.len() as u32);
        self.steps.push(ClockedStep {
            task,
            nth,
            base,
            items: items_at,
            clock: clock_at,
            drawn,
            class,
        });
        self.log_items(task, index, items);
        for (child, item) in born {
            self.log(*child).born_with.push(*item);
        }
    }

    /// Orders all steps from `index` on after all steps before it.
    fn add_barrier(&mut self, index: Index) {
        let mut clock = vec![0; self.tasks.len()];
        // The clock of a task's last step includes all earlier steps of the task.
        for last in self.tasks.iter().filter_map(|log| log.steps.last()) {
            join(&mut clock, self.clock(*last));
        }
        self.barriers.push((index, clock));
    }

    /// Adds the items of a new step to the logs.
    fn log_items(&mut self, task: TaskId, index: Index, items: &[StepItem]) {
        self.log(task).steps.push(index);
        for item in items {
            match item {
                StepItem::Object { object, .. } => {
                    entry(&mut self.objects, object.index()).push((index, *item));
                }
                StepItem::Called { history, .. } => {
                    entry(&mut self.histories, *history).push((index, *item));
                }
                StepItem::Counted { .. } => self.counts.push((index, *item)),
                StepItem::Life { life, .. } => {
                    entry(&mut self.lives, life.index()).push((index, *item));
                }
                StepItem::Task { target, .. } if *target == task => self.log(task).ended = true,
                StepItem::Task { target, .. } => self.log(*target).notes.push((index, *item)),
                StepItem::Spawned(child) => {
                    let parent = self.log(task);
                    let name = name_of(parent.name, u64::from(parent.children));
                    parent.children += 1;
                    let child = self.log(*child);
                    (child.creator, child.name, child.children) = (Some(index), name, 0);
                    child.ended = false;
                    child.born_with.clear();
                }
                StepItem::Over | StepItem::Unseen => {}
            }
        }
    }

    /// Returns the base of the next step of `task`: the last step of the task, or the step that created it.
    pub fn base_of(&self, task: TaskId) -> Option<Index> {
        let log = self.tasks.get(task.index())?;
        log.steps.last().copied().or(log.creator)
    }

    /// Like [`base_of`](Self::base_of), but in the state just before step `at`. Also returns `None` if the task was not
    /// created yet.
    pub fn base_at(&self, task: TaskId, at: Index) -> Option<Index> {
        let log = self.tasks.get(task.index())?;
        let own = log.steps.partition_point(|step| *step < at);
        let last = own.checked_sub(1).map(|last| log.steps[last]);
        last.or(log.creator.filter(|creator| *creator < at))
    }

    /// Returns the first step of `task` after step `at`.
    pub fn next_of(&self, task: TaskId, at: Index) -> Option<Index> {
        let log = self.tasks.get(task.index())?;
        log.steps.get(log.steps.partition_point(|step| *step <= at)).copied()
    }

    /// Returns `true` if, after step `at`, `task` had been created and had not ended.
    pub fn is_alive_after(&self, task: TaskId, at: Index) -> bool {
        let Some(log) = self.tasks.get(task.index()) else { return false };
        let there = task == TaskId::MAIN || log.creator.is_some_and(|creator| creator < at);
        there && !(log.ended && log.steps.last().is_some_and(|last| *last <= at))
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the steps that race with the last step, latest first.
    pub fn races(&self) -> &[Index] {
        &self.races
    }

    /// Returns the steps with items on the object of `item`, together with these items, in order.
    pub fn touches(&self, item: &StepItem) -> &[(Index, StepItem)] {
        match item {
            StepItem::Object { object, .. } => {
                self.objects.get(object.index()).map_or(&[], Vec::as_slice)
            }
            _ => &[],
        }
    }

    /// Returns the number of histories.
    pub fn histories(&self) -> usize {
        self.histories.len()
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> Index {
        self.steps.len() as Index
    }

    /// Returns the task of a step.
    pub fn task_of(&self, index: Index) -> TaskId {
        self.steps[index as usize].task
    }

    /// Returns the base of a step; see [`base_of`](Self::base_of).
    pub fn base(&self, index: Index) -> Option<Index> {
        self.steps[index as usize].base
    }

    /// Returns the items of a step.
    pub fn items_of(&self, index: Index) -> &[StepItem] {
        let (from, to, _) = self.steps[index as usize].items;
        &self.items[from as usize..to as usize]
    }

    /// Returns a hash of the values that a step drew, with their bounds.
    pub fn drawn_by(&self, index: Index) -> u64 {
        self.steps[index as usize].drawn
    }

    /// Returns `true` if a step and all later steps come after all earlier steps.
    pub fn is_after_all(&self, index: Index) -> bool {
        self.barriers.binary_search_by_key(&index, |(at, _)| *at).is_ok()
    }

    /// Returns the node life to which a task belongs, if it took a step.
    pub fn life_of(&self, task: TaskId) -> Life {
        self.tasks.get(task.index()).map_or(Life::OUTSIDE, |log| log.life)
    }

    /// Returns the guarded operations that the task of a step has announced after the step.
    pub fn guarded_after(&self, index: Index) -> &[StepItem] {
        let (_, from, to) = self.steps[index as usize].items;
        &self.items[from as usize..to as usize]
    }

    /// Returns the guarded operations that a task had announced when it was created.
    pub fn born_with(&self, task: TaskId) -> &[StepItem] {
        self.tasks.get(task.index()).map_or(&[], |log| &log.born_with)
    }

    /// Returns the vector clock of a step: for each task, the number of its steps that happened before this step,
    /// including the step itself.
    pub fn clock(&self, index: Index) -> &[u32] {
        let (from, to) = self.steps[index as usize].clock;
        &self.clocks[from as usize..to as usize]
    }

    /// Returns `true` if `clock` includes the step.
    pub fn knows(&self, clock: &[u32], index: Index) -> bool {
        let step = &self.steps[index as usize];
        clock.get(step.task.index()).is_some_and(|count| *count > step.nth)
    }

    /// Returns `true` if step `a` happened before step `b`, or is the same step.
    pub fn is_before(&self, a: Index, b: Index) -> bool {
        self.knows(self.clock(b), a)
    }

    /// Returns, for each task, its first step after `from` if `clock` includes this step.
    pub fn firsts<'a>(&'a self, clock: &'a [u32], from: Index) -> impl Iterator<Item = Index> + 'a {
        let counted = clock.iter().zip(&self.tasks);
        counted.filter_map(move |(count, log)| {
            let at = log.steps.partition_point(|step| *step <= from);
            (at < *count as usize).then(|| log.steps[at])
        })
    }

    /// Returns a 64-bit hash of the order and the drawn values, equal for all equivalent runs. This class is finer than
    /// `census::class_of` if the order of recorded calls distinguishes runs, or if a task had an effect without an
    /// event.
    pub fn class(&self) -> u64 {
        match self.without_lost_steps() {
            Some(order) => order.class_up_to(order.steps()),
            None => self.class_up_to(self.steps()),
        }
    }

    fn class_up_to(&self, end: Index) -> u64 {
        end.checked_sub(1).map_or(0, |last| self.steps[last as usize].class)
    }

    /// Returns the contribution of a step to the class. The class is a sum of contributions because steps that do not
    /// conflict have no order.
    fn number(&self, (task, nth): (TaskId, u32), clock: &[u32], drawn: u64) -> u64 {
        let number = name_of(name_of(self.tasks[task.index()].name, u64::from(nth)), drawn);
        let mut before = 0u64;
        for (log, count) in self.tasks.iter().zip(clock).filter(|(_, count)| **count > 0) {
            before = before.wrapping_add(name_of(log.name ^ 1, u64::from(*count)));
        }
        name_of(number, before)
    }

    fn log(&mut self, task: TaskId) -> &mut TaskLog {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, TaskLog::default);
        }
        &mut self.tasks[task.index()]
    }
}

/// Returns `true` if every earlier item that conflicts with an operation of this kind also conflicts with `item`.
fn covers(item: &StepItem, kind: Kind) -> bool {
    // If both kinds have numbers, one item may conflict with a step that does not conflict with the other item.
    let numbered = |other: Kind| other.is_numbered() && kind.is_numbered();
    matches!(
        item,
        StepItem::Object { kind: other, done: true, .. } if other.covers(kind) && !numbered(*other)
    )
}

/// Returns the log at `index`, and creates it if necessary.
fn entry(logs: &mut Vec<Vec<(Index, StepItem)>>, index: usize) -> &mut Vec<(Index, StepItem)> {
    logs.resize_with(logs.len().max(index + 1), Vec::new);
    &mut logs[index]
}

/// Joins the clock `other` into `into`: takes the maximum of each component.
pub fn join(into: &mut [u32], other: &[u32]) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}

/// Returns the name of a pair of names: a hash that depends on their order. Class numbers are sums of names, so the
/// constants of this hash must not change. The random stream of a seed uses a different hash,
/// [`rng::mix`](crate::run::rng::mix).
pub fn name_of(a: u64, b: u64) -> u64 {
    finalized(a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b.wrapping_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::ids::ObjectId;
    use crate::run::op::kind::Span;
    use crate::run::op::net::window;

    /// Adds a step of a new task with one operation on the only object.
    fn push(order: &mut HappensBefore, kind: Kind, done: bool) {
        let object = ObjectId::new(0);
        let items = [StepItem::Object { object, key: 0, kind, span: Span::NONE, done }];
        order.push(NewStep {
            task: TaskId(order.steps()),
            after_all: false,
            items: &items,
            guarded: &[],
            born: &[],
            drawn: 0,
            life: Life::OUTSIDE,
        });
    }

    #[test]
    fn a_step_that_depends_on_a_guard_is_before_the_operation_that_may_change_the_guard() {
        let mut order = HappensBefore::default();
        // A task was polled while its guard was closed. The second step does not change the guard; the third may.
        push(&mut order, window::GO_ON, false);
        push(&mut order, window::WRITE_TIGHT, true);
        push(&mut order, window::MAKE_ROOM, true);
        assert!(!order.is_before(0, 1) && order.is_before(1, 2));
        assert!(order.is_before(0, 2));
    }
}
