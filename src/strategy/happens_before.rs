//! Happens-before of a run: vector clocks over its steps.
//!
//! Two runs of a program are the same for everybody if steps that do not conflict were swapped
//! (Mazurkiewicz). What they have in common is the order of each task's own steps and of conflicting
//! steps. [`HappensBefore`] keeps it as vector clocks (Mattern 1988), and [`HappensBefore::class`] makes
//! a number of it.
//!
//! Shapes: `clock[t]` counts the steps of task `t` that happened before and at the step. A step costs
//! O(tasks + conflicting steps before it).

use super::footprint::Item;
use crate::run::ids::TaskId;
use crate::run::op::kind::Kind;
use crate::run::op::task::END;

/// The number of a step of the run.
pub(crate) type Index = u32;

/// The order of one run's steps. Built step by step; [`truncate`](Self::truncate) takes the last ones back.
#[derive(Debug, Default)]
pub(crate) struct HappensBefore {
    steps: Vec<Step>,
    /// The items of all steps, one after the other: what each did, then what its task asked for.
    items: Vec<Item>,
    /// The clocks of all steps, one after the other.
    clocks: Vec<u32>,
    tasks: Vec<TaskLog>,
    /// By object: who touched it, in order.
    objects: Vec<Vec<(Index, Item)>>,
    /// By history: what became of its calls, in order.
    histories: Vec<Vec<(Index, Item)>>,
    /// The steps that the last one races with, latest first.
    races: Vec<Index>,
    scratch: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    task: TaskId,
    /// Its number among those of its task.
    nth: u32,
    /// The step before it of the same task, or the one that created the task.
    base: Option<Index>,
    /// Where its items begin, where what is asked begins, and where that ends.
    items: (u32, u32, u32),
    clock: (u32, u32),
    /// The class of the run up to the step.
    class: u64,
}

#[derive(Debug, Default)]
struct TaskLog {
    steps: Vec<Index>,
    /// The step that created it.
    creator: Option<Index>,
    /// Operations of others on it, in order.
    notes: Vec<(Index, Item)>,
    ended: bool,
    /// How many tasks it has created.
    children: u32,
    /// A number that means it in every run.
    name: u64,
}

/// A step to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) task: TaskId,
    pub(crate) items: &'a [Item],
    /// The operations with a guard that the task has announced when the step is over.
    pub(crate) asked: &'a [Item],
    /// What it drew, and below what.
    pub(crate) draws: &'a [(u64, u64)],
}

impl HappensBefore {
    /// Forgets all from step `length` on.
    pub(crate) fn truncate(&mut self, length: Index) {
        while self.steps.len() > length as usize {
            let Some(step) = self.steps.pop() else { return };
            let (from, to, _) = step.items;
            for item in &self.items[from as usize..to as usize] {
                match item {
                    Item::Object { object, .. } => drop(self.objects[object.index()].pop()),
                    Item::Called { history, .. } => drop(self.histories[*history].pop()),
                    Item::Task { target, .. } if *target == step.task => {
                        self.tasks[target.index()].ended = false;
                    }
                    Item::Task { target, .. } => drop(self.tasks[target.index()].notes.pop()),
                    Item::Spawned(child) => {
                        self.tasks[child.index()].creator = None;
                        self.tasks[step.task.index()].children -= 1;
                    }
                    Item::Over => {}
                }
            }
            self.tasks[step.task.index()].steps.pop();
            self.items.truncate(from as usize);
            self.clocks.truncate(step.clock.0 as usize);
        }
    }

    /// Adds a step. Those before it that it races with are then [`races`](Self::races): it conflicts with
    /// them, and no other step stands between the two in the order.
    pub(crate) fn push(&mut self, part: Part<'_>) {
        let Part { task, items, asked, draws } = part;
        let index = self.steps.len() as Index;
        self.log(task);
        let base = self.base_of(task);
        let mut races = std::mem::take(&mut self.races);
        races.clear();
        self.collect_rivals(task, items, &mut races);
        races.sort_unstable_by(|a, b| b.cmp(a));
        races.dedup();
        let mut clock = std::mem::take(&mut self.scratch);
        clock.clear();
        clock.resize(self.tasks.len(), 0);
        if let Some(base) = base {
            join(&mut clock, self.clock(base));
        }
        races.retain(|rival| {
            let new = !self.knows(&clock, *rival);
            if new {
                join(&mut clock, self.clock(*rival));
            }
            new
        });
        self.races = races;
        let nth = self.tasks[task.index()].steps.len() as u32;
        clock[task.index()] = nth + 1;
        let class = self.class_up_to(index).wrapping_add(self.number((task, nth), &clock, draws));
        let (item_at, clock_at) = (self.items.len() as u32, self.clocks.len() as u32);
        self.items.extend_from_slice(items);
        let asked_at = self.items.len() as u32;
        self.items.extend_from_slice(asked);
        self.clocks.extend_from_slice(&clock);
        self.scratch = clock;
        let items_at = (item_at, asked_at, self.items.len() as u32);
        let clock_at = (clock_at, self.clocks.len() as u32);
        self.steps.push(Step { task, nth, base, items: items_at, clock: clock_at, class });
        self.note(task, index, items);
    }

    /// Writes the items of a new step into the logs.
    fn note(&mut self, task: TaskId, index: Index, items: &[Item]) {
        self.log(task).steps.push(index);
        for item in items {
            match item {
                Item::Object { object, .. } => {
                    entry(&mut self.objects, object.index()).push((index, *item));
                }
                Item::Called { history, .. } => {
                    entry(&mut self.histories, *history).push((index, *item));
                }
                Item::Task { target, .. } if *target == task => self.log(task).ended = true,
                Item::Task { target, .. } => self.log(*target).notes.push((index, *item)),
                Item::Spawned(child) => {
                    let parent = self.log(task);
                    let name = mix(parent.name, u64::from(parent.children));
                    parent.children += 1;
                    let child = self.log(*child);
                    (child.creator, child.name, child.children) = (Some(index), name, 0);
                    child.ended = false;
                }
                Item::Over => {}
            }
        }
    }

    /// The steps of other tasks that a step of `task` may not be swapped with; those may be left out that
    /// happened before others of them for certain.
    fn collect_rivals(&self, task: TaskId, items: &[Item], rivals: &mut Vec<Index>) {
        let mut add = |index: Index| {
            if self.steps[index as usize].task != task {
                rivals.push(index);
            }
        };
        for (index, note) in &self.tasks[task.index()].notes {
            if note.conflicts(&Item::lives(task)) {
                add(*index);
            }
        }
        for item in items {
            match item {
                Item::Object { object, kind, .. } => {
                    let Some(log) = self.objects.get(object.index()) else { continue };
                    for (index, other) in log.iter().rev() {
                        if item.conflicts(other) {
                            add(*index);
                            // All before it that conflict with the new one conflict with this one, too.
                            if covers(other, *kind) {
                                break;
                            }
                        }
                    }
                }
                Item::Called { history, .. } => {
                    for (index, other) in self.histories.get(*history).into_iter().flatten() {
                        if item.conflicts(other) {
                            add(*index);
                        }
                    }
                }
                Item::Task { target, kind, .. } if *target == task => {
                    debug_assert_eq!(*kind, END);
                    for (index, note) in &self.tasks[task.index()].notes {
                        if note.conflicts(item) {
                            add(*index);
                        }
                    }
                }
                Item::Task { target, .. } => {
                    let Some(log) = self.tasks.get(target.index()) else { continue };
                    let end = Item::Task { target: *target, kind: END, done: true };
                    let with_end = log.ended && item.conflicts(&end);
                    if with_end || item.conflicts(&Item::lives(*target)) {
                        log.steps.last().into_iter().for_each(|last| add(*last));
                    }
                }
                Item::Over => {
                    let last = self.tasks.iter().filter_map(|log| log.steps.last());
                    last.for_each(|index| add(*index));
                }
                Item::Spawned(_) => {}
            }
        }
    }

    /// The step that the next one of `task` comes after in any case: its last step, or the one that created it.
    pub(crate) fn base_of(&self, task: TaskId) -> Option<Index> {
        let log = self.tasks.get(task.index())?;
        log.steps.last().copied().or(log.creator)
    }

    /// As [`base_of`](Self::base_of), when step `at` was about to be taken. None also if the task
    /// was not there yet.
    pub(crate) fn base_at(&self, task: TaskId, at: Index) -> Option<Index> {
        let log = self.tasks.get(task.index())?;
        let own = log.steps.partition_point(|step| *step < at);
        let last = own.checked_sub(1).map(|last| log.steps[last]);
        last.or(log.creator.filter(|creator| *creator < at))
    }

    /// The first step of `task` after step `at`.
    pub(crate) fn next_of(&self, task: TaskId, at: Index) -> Option<Index> {
        let log = self.tasks.get(task.index())?;
        log.steps.get(log.steps.partition_point(|step| *step <= at)).copied()
    }

    /// Whether `task` was there and had not ended when step `at` was over.
    pub(crate) fn is_alive_after(&self, task: TaskId, at: Index) -> bool {
        let Some(log) = self.tasks.get(task.index()) else { return false };
        let there = task == TaskId::MAIN || log.creator.is_some_and(|creator| creator < at);
        there && !(log.ended && log.steps.last().is_some_and(|last| *last <= at))
    }

    /// How many tasks there are.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The steps that the last one races with, latest first.
    pub(crate) fn races(&self) -> &[Index] {
        &self.races
    }

    /// The steps that touched the object of `item`, with what they did, in order.
    pub(crate) fn touches(&self, item: &Item) -> &[(Index, Item)] {
        match item {
            Item::Object { object, .. } => {
                self.objects.get(object.index()).map_or(&[], Vec::as_slice)
            }
            _ => &[],
        }
    }

    /// How many histories there may be.
    pub(crate) fn histories(&self) -> usize {
        self.histories.len()
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> Index {
        self.steps.len() as Index
    }

    /// The task of a step.
    pub(crate) fn task_of(&self, index: Index) -> TaskId {
        self.steps[index as usize].task
    }

    /// The base of a step: see [`base_of`](Self::base_of).
    pub(crate) fn base(&self, index: Index) -> Option<Index> {
        self.steps[index as usize].base
    }

    /// The items of a step.
    pub(crate) fn items_of(&self, index: Index) -> &[Item] {
        let (from, to, _) = self.steps[index as usize].items;
        &self.items[from as usize..to as usize]
    }

    /// The operations with a guard that the task of a step had announced when the step was over.
    pub(crate) fn asked_after(&self, index: Index) -> &[Item] {
        let (_, from, to) = self.steps[index as usize].items;
        &self.items[from as usize..to as usize]
    }

    /// How many steps of each task happened before and at a step.
    pub(crate) fn clock(&self, index: Index) -> &[u32] {
        let (from, to) = self.steps[index as usize].clock;
        &self.clocks[from as usize..to as usize]
    }

    /// Whether `clock` counts a step.
    pub(crate) fn knows(&self, clock: &[u32], index: Index) -> bool {
        let step = &self.steps[index as usize];
        clock.get(step.task.index()).is_some_and(|count| *count > step.nth)
    }

    /// Whether step `a` happened before step `b`, or is that step.
    pub(crate) fn is_before(&self, a: Index, b: Index) -> bool {
        self.knows(self.clock(b), a)
    }

    /// By task, the first step after `from` that `clock` counts.
    pub(crate) fn firsts<'a>(
        &'a self,
        clock: &'a [u32],
        from: Index,
    ) -> impl Iterator<Item = Index> + 'a {
        let counted = clock.iter().zip(&self.tasks);
        counted.filter_map(move |(count, log)| {
            let at = log.steps.partition_point(|step| *step <= from);
            (at < *count as usize).then(|| log.steps[at])
        })
    }

    /// A number that all runs with this order and these draws have in common, and no others as far as
    /// 64 bits can tell. Finer than `census::class_of` where recorded calls are told apart by their order,
    /// and where a task acted on something without an event.
    pub(crate) fn class(&self) -> u64 {
        self.class_up_to(self.len())
    }

    fn class_up_to(&self, end: Index) -> u64 {
        end.checked_sub(1).map_or(0, |last| self.steps[last as usize].class)
    }

    /// What a step adds to the class: a sum, because steps that do not conflict have no order.
    fn number(&self, (task, nth): (TaskId, u32), clock: &[u32], draws: &[(u64, u64)]) -> u64 {
        let mut number = mix(self.tasks[task.index()].name, u64::from(nth));
        for (value, bound) in draws {
            number = mix(mix(number, *bound), *value);
        }
        let mut before = 0u64;
        for (log, count) in self.tasks.iter().zip(clock).filter(|(_, count)| **count > 0) {
            before = before.wrapping_add(mix(log.name ^ 1, u64::from(*count)));
        }
        mix(number, before)
    }

    fn log(&mut self, task: TaskId) -> &mut TaskLog {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, TaskLog::default);
        }
        &mut self.tasks[task.index()]
    }
}

/// Whether whatever conflicts with an operation of this kind conflicts with `item`, too.
fn covers(item: &Item, kind: Kind) -> bool {
    matches!(item, Item::Object { kind: other, done: true, .. } if other.covers(kind))
}

/// The log at `index`, made if there is none.
fn entry(logs: &mut Vec<Vec<(Index, Item)>>, index: usize) -> &mut Vec<(Index, Item)> {
    if logs.len() <= index {
        logs.resize_with(index + 1, Vec::new);
    }
    &mut logs[index]
}

/// Makes a clock count what another one counts.
pub(crate) fn join(into: &mut [u32], other: &[u32]) {
    for (a, b) in into.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}

/// A number made of two (the finalizer of `SplitMix64`: Steele, Lea and Flood 2014).
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b.wrapping_add(1));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
