//! What happened before what in a run, whatever the order in which it was taken.
//!
//! Two runs of a program are the same for everybody if steps that do not conflict were swapped
//! (Mazurkiewicz). What they have in common is the order of each task's own steps, of conflicting
//! steps, and of steps that wait for another: [`HappensBefore`] keeps it as vector clocks (Mattern
//! 1988), and [`HappensBefore::class`] makes a number of it.
//!
//! # Segments
//!
//! What is ordered is not the step but the *segment*. A task that awaits the handle of a task that
//! has ended goes on in the same step; if it has not, it goes on in a later one. Nobody can tell the
//! difference, so that difference must not make two classes: a step is cut before each join that
//! had not been waited for.
//!
//! ```text
//! the target ended before:  one step    [ store x │ join 0.0, unlock m ]
//! it ended after:           two steps   [ store x ]   …   [ join 0.0, unlock m ]
//! ```
//!
//! Shapes: `clock[t]` counts the segments of task `t` that happened before and at the segment. A
//! segment costs O(tasks + conflicting segments before it).

use super::footprint::{Item, dependent};
use crate::ids::{ObjectId, TaskId};
use crate::op::Access;

/// A position in the order of segments of the run.
pub(crate) type Index = u32;

/// The order of one run's segments. Built step by step; [`truncate`](Self::truncate) takes the last
/// steps back.
#[derive(Debug, Default)]
pub(crate) struct HappensBefore {
    segments: Vec<Segment>,
    /// The items of all segments, one after the other.
    items: Vec<Item>,
    /// The clocks of all segments, one after the other.
    clocks: Vec<u32>,
    tasks: Vec<TaskLog>,
    /// By object: who touched it, in order.
    objects: Vec<Vec<(Index, Item)>>,
    /// By history: what became of its calls, in order.
    histories: Vec<Vec<(Index, Item)>>,
    /// What segments might have done.
    maybes: Vec<(Index, Item)>,
    scratch: Scratch,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    task: TaskId,
    step: u32,
    /// Its number among those of its task.
    nth: u32,
    /// The first segment of its step.
    first: Index,
    items: (u32, u32),
    clock: (u32, u32),
}

#[derive(Debug, Default)]
struct TaskLog {
    segments: Vec<Index>,
    /// The segment that created it.
    creator: Option<Index>,
    /// Who looked at it, aborted or woke it.
    notes: Vec<(Index, Item)>,
    ended: bool,
}

/// Kept for its allocations.
#[derive(Debug, Default)]
struct Scratch {
    known: Vec<u32>,
    clock: Vec<u32>,
    rivals: Vec<Index>,
}

/// A segment to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) task: TaskId,
    pub(crate) step: u32,
    /// Whether it is the first segment of its step.
    pub(crate) first: bool,
    pub(crate) items: &'a [Item],
}

/// What could have come earlier than it did: a segment, or an operation that nobody did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late<'a> {
    pub(crate) task: TaskId,
    pub(crate) items: &'a [Item],
    /// Where it stands, or would.
    pub(crate) end: Index,
    /// What it has to come after in any case.
    pub(crate) known: &'a [u32],
    /// What it conflicts with and may come before; latest first.
    pub(crate) rivals: &'a [Index],
}

impl HappensBefore {
    /// Forgets all from step `steps` on.
    pub(crate) fn truncate(&mut self, steps: u32) {
        while let Some(segment) = self.segments.last().copied().filter(|last| last.step >= steps) {
            self.segments.pop();
            let log = &mut self.tasks[segment.task.index()];
            log.segments.pop();
            for item in &self.items[segment.items.0 as usize..] {
                match item {
                    Item::Object { object, .. } => drop(self.objects[object.index()].pop()),
                    Item::Called { history, .. } => drop(self.histories[*history].pop()),
                    Item::Ended => self.tasks[segment.task.index()].ended = false,
                    Item::Looked(task) | Item::Aborted(task) | Item::Woke(task) => {
                        self.tasks[task.index()].notes.pop();
                    }
                    Item::Spawned(task) => self.tasks[task.index()].creator = None,
                    Item::Maybe(_) => drop(self.maybes.pop()),
                    Item::Joined(_) | Item::Over => {}
                }
            }
            self.items.truncate(segment.items.0 as usize);
            self.clocks.truncate(segment.clock.0 as usize);
        }
    }

    /// Adds a segment. Those before it that it conflicts with and that it may come before are then
    /// [`rivals`](Self::rivals); `could` tells whether the task could have stepped before a step.
    pub(crate) fn push(&mut self, part: Part<'_>, could: impl Fn(u32) -> bool) {
        let Part { task, step, items, .. } = part;
        let index = self.segments.len() as Index;
        self.log(task);
        let mut scratch = std::mem::take(&mut self.scratch);
        self.known_to(task, &mut scratch.known);
        scratch.rivals.clear();
        for item in items {
            if let Item::Joined(target) = item {
                if let Some(end) = self.last_of(*target) {
                    join(&mut scratch.known, self.clock(end));
                }
            }
        }
        if part.first {
            for (by, note) in &self.tasks[task.index()].notes {
                if note.disturbs().is_none() || self.knows(&scratch.known, *by) {
                    continue;
                }
                match could(self.segments[*by as usize].step) {
                    true => scratch.rivals.push(*by),
                    // Without it there would be no such step.
                    false => join(&mut scratch.known, self.clock(*by)),
                }
            }
        }
        self.collect_rivals(task, items, &mut scratch.rivals);
        scratch.clock.clear();
        scratch.clock.extend_from_slice(&scratch.known);
        self.reduce(&mut scratch.rivals, &mut scratch.clock);
        self.collect_holders(items, &scratch.known, &mut scratch.rivals);
        for item in items {
            // Let in by whoever gave the object up, who is no rival.
            if let Item::Object { object, access, .. } = item {
                if access.waits() {
                    let touched = self.objects.get(object.index()).and_then(|log| log.last());
                    if let Some((last, _)) = touched {
                        join(&mut scratch.clock, self.clock(*last));
                    }
                }
            }
        }
        let nth = self.tasks[task.index()].segments.len() as u32;
        scratch.clock[task.index()] = nth + 1;
        let first = if part.first { index } else { self.segments[index as usize - 1].first };
        let item_at = self.items.len() as u32;
        let clock_at = self.clocks.len() as u32;
        self.items.extend_from_slice(items);
        self.clocks.extend_from_slice(&scratch.clock);
        let items_end = self.items.len() as u32;
        let clock = (clock_at, self.clocks.len() as u32);
        self.segments.push(Segment { task, step, nth, first, items: (item_at, items_end), clock });
        self.scratch = scratch;
        self.note(task, index, items);
    }

    /// Writes the items of a new segment into the logs.
    fn note(&mut self, task: TaskId, index: Index, items: &[Item]) {
        self.log(task).segments.push(index);
        for item in items {
            match item {
                Item::Object { object, .. } => {
                    entry(&mut self.objects, object.index()).push((index, *item));
                }
                Item::Called { history, .. } => {
                    entry(&mut self.histories, *history).push((index, *item));
                }
                Item::Ended => self.log(task).ended = true,
                Item::Looked(other) | Item::Aborted(other) | Item::Woke(other) => {
                    self.log(*other).notes.push((index, *item));
                }
                Item::Spawned(child) => self.log(*child).creator = Some(index),
                Item::Maybe(_) => self.maybes.push((index, *item)),
                Item::Joined(_) | Item::Over => {}
            }
        }
    }

    /// Whoever took a lock last that is waited for in `items`, as far as `known` does not know it: it
    /// could have been taken before. Whatever else stands between the two does not matter.
    pub(crate) fn collect_holders(&self, items: &[Item], known: &[u32], holders: &mut Vec<Index>) {
        for item in items {
            let Item::Object { object, access, .. } = item else { continue };
            if !access.waits() {
                continue;
            }
            let log = self.objects.get(object.index()).into_iter().flatten();
            let took = |item: &Item| matches!(item, Item::Object { takes: true, .. });
            let last = log.rev().find(|(_, item)| took(item));
            if let Some((last, _)) = last.filter(|(last, _)| !self.knows(known, *last)) {
                if !holders.contains(last) {
                    holders.push(*last);
                }
            }
        }
    }

    /// The segments of other tasks that may not be swapped with such a one, those left out that
    /// happened before others of them for certain. Of locks that are waited for not these, but
    /// their [holders](Self::collect_holders).
    fn collect_rivals(&self, task: TaskId, items: &[Item], rivals: &mut Vec<Index>) {
        let mut add = |index: Index| {
            if self.segments[index as usize].task != task {
                rivals.push(index);
            }
        };
        for (index, maybe) in &self.maybes {
            if dependent((task, items), (self.task_of(*index), std::slice::from_ref(maybe))) {
                add(*index);
            }
        }
        for (at, item) in items.iter().enumerate() {
            match item {
                Item::Object { object, access, .. } => {
                    let Some(log) = self.objects.get(object.index()) else { continue };
                    // What is done to a lock that was taken in the same step waits for nobody.
                    let taken = |item: &Item| match item {
                        Item::Object { object: other, takes, .. } => *takes && other == object,
                        _ => false,
                    };
                    if access.waits() || items[..at].iter().any(taken) {
                        continue;
                    }
                    for (index, other) in log.iter().rev() {
                        if item.conflicts(task, *other, self.task_of(*index)) {
                            add(*index);
                        }
                        if is_last_of_all(other, *object) {
                            break;
                        }
                    }
                }
                Item::Called { history, .. } => {
                    for (index, other) in self.histories.get(*history).into_iter().flatten() {
                        if item.conflicts(task, *other, self.task_of(*index)) {
                            add(*index);
                        }
                    }
                }
                Item::Looked(target) => {
                    let log = self.tasks.get(target.index()).filter(|log| log.ended);
                    log.iter().filter_map(|log| log.segments.last()).for_each(|end| add(*end));
                }
                Item::Ended => {
                    let Some(log) = self.tasks.get(task.index()) else { continue };
                    let looks = log.notes.iter().filter(|note| matches!(note.1, Item::Looked(_)));
                    looks.for_each(|(index, _)| add(*index));
                }
                Item::Aborted(target) | Item::Woke(target) => {
                    self.last_of(*target).into_iter().for_each(&mut add);
                }
                Item::Over => {
                    let last = self.tasks.iter().filter_map(|log| log.segments.last());
                    last.for_each(|index| add(*index));
                }
                Item::Maybe(_) => {
                    let maybe = std::slice::from_ref(item);
                    let others = 0..self.segments.len() as Index;
                    others.filter(|index| self.collides(task, maybe, *index)).for_each(&mut add);
                }
                Item::Joined(_) | Item::Spawned(_) => {}
            }
        }
    }

    /// Leaves those rivals that did not happen before `clock` or another one; `clock` knows them
    /// then.
    fn reduce(&self, rivals: &mut Vec<Index>, clock: &mut [u32]) {
        rivals.sort_unstable_by(|a, b| b.cmp(a));
        rivals.retain(|rival| {
            let new = !self.knows(clock, *rival);
            if new {
                join(clock, self.clock(*rival));
            }
            new
        });
    }

    /// What the next segment of `task` has to come after in any case.
    pub(crate) fn known_to(&self, task: TaskId, known: &mut Vec<u32>) {
        known.clear();
        known.resize(self.tasks.len().max(task.index() + 1), 0);
        let log = self.tasks.get(task.index());
        let before = log.and_then(|log| log.segments.last().copied().or(log.creator));
        if let Some(before) = before {
            join(known, self.clock(before));
        }
    }

    /// How many segments a task has.
    pub(crate) fn segments_of(&self, task: TaskId) -> usize {
        self.tasks.get(task.index()).map_or(0, |log| log.segments.len())
    }

    /// The segment that was just added, to be moved.
    pub(crate) fn latest(&self) -> Late<'_> {
        let end = self.segments.len() as Index - 1;
        let task = self.segments[end as usize].task;
        let Scratch { known, rivals, .. } = &self.scratch;
        Late { task, items: self.items_of(end), end, known, rivals }
    }

    /// How many histories there may be.
    pub(crate) fn histories(&self) -> usize {
        self.histories.len()
    }

    /// How many segments there are.
    pub(crate) fn len(&self) -> Index {
        self.segments.len() as Index
    }

    /// The step of a segment.
    pub(crate) fn step_of(&self, index: Index) -> u32 {
        self.segments[index as usize].step
    }

    /// The task of a segment.
    pub(crate) fn task_of(&self, index: Index) -> TaskId {
        self.segments[index as usize].task
    }

    /// The first segment of the step of a segment.
    pub(crate) fn first_of(&self, index: Index) -> Index {
        self.segments[index as usize].first
    }

    /// The first segment of a step.
    pub(crate) fn first_in(&self, step: u32) -> Index {
        self.segments.partition_point(|segment| segment.step < step) as Index
    }

    /// The last segment of a task.
    pub(crate) fn last_of(&self, task: TaskId) -> Option<Index> {
        self.tasks.get(task.index()).and_then(|log| log.segments.last()).copied()
    }

    /// What a segment did.
    pub(crate) fn items_of(&self, index: Index) -> &[Item] {
        let (from, to) = self.segments[index as usize].items;
        &self.items[from as usize..to as usize]
    }

    /// How many segments of each task happened before and at a segment.
    pub(crate) fn clock(&self, index: Index) -> &[u32] {
        let (from, to) = self.segments[index as usize].clock;
        &self.clocks[from as usize..to as usize]
    }

    /// Whether `clock` counts a segment.
    pub(crate) fn knows(&self, clock: &[u32], index: Index) -> bool {
        let segment = &self.segments[index as usize];
        clock.get(segment.task.index()).is_some_and(|count| *count > segment.nth)
    }

    /// Whether such items may not be swapped with a segment of another task.
    pub(crate) fn collides(&self, task: TaskId, items: &[Item], index: Index) -> bool {
        dependent((task, items), (self.task_of(index), self.items_of(index)))
    }

    /// A number that all runs with this happens-before have in common, and no others as far as 64
    /// bits can tell. `names` gives for each task a number that means it in every run. The classes are
    /// those of `census::class_of`, finer where recorded calls are told apart by their order.
    #[cfg(test)]
    pub(crate) fn class(&self, names: &[u64]) -> u64 {
        let mut class = 0u64;
        for index in 0..self.segments.len() {
            let segment = &self.segments[index];
            let mut number = mix(names[segment.task.index()], u64::from(segment.nth));
            for (task, count) in self.clock(index as Index).iter().enumerate() {
                if *count > 0 {
                    number = number.wrapping_add(mix(names[task] ^ 1, u64::from(*count)));
                }
            }
            class = class.wrapping_add(mix(number, 2));
        }
        class
    }

    fn log(&mut self, task: TaskId) -> &mut TaskLog {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, TaskLog::default);
        }
        &mut self.tasks[task.index()]
    }
}

/// Whether all earlier accesses to `object` conflict with this one, so that they happened before it.
fn is_last_of_all(item: &Item, object: ObjectId) -> bool {
    match item {
        Item::Object { object: other, access, .. } => {
            *other == object && access.conflicts(Access::Read)
        }
        _ => false,
    }
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
