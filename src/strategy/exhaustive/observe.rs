//! What a step of a run did, seen from outside: its footprint, cut into segments.

use std::collections::{BTreeSet, VecDeque};

use crate::choice::{CallPoint, Status, View};
use crate::event::{Event, Values};
use crate::ids::{ObjectId, TaskId};
use crate::op::{Access, Op};
use crate::strategy::exhaustive::effects::Effects;
use crate::strategy::footprint::Item;
use crate::strategy::happens_before::{HappensBefore, Index, Part, mix};

/// Looks at the run before a step and after it.
///
/// A task that awaits the handles of others one by one does the same whether they have ended or not,
/// in one step or in several. One that has several branches does not: what the other branches do
/// comes before the join or after it. Which of the two a task is cannot be told from a step that
/// found all handles ready; it is learnt from one that did not, and kept from run to run.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// Tasks that were seen to await a handle in one of several branches, by [`name`](Self::names).
    branching: BTreeSet<u64>,
    /// Whether there is one more since this was last asked.
    learnt: bool,
    /// Whether it matters in which order calls returned and began that no step orders. If not, whoever
    /// searches has to look at all these orders of a run.
    strict: bool,
    /// Whether a task waited for or woke another by something that is not of this library.
    blind: bool,
    /// By task of the run: a number that means it in every run.
    names: Vec<u64>,
    task: TaskId,
    tasks: usize,
    events: usize,
    glances: usize,
    calls: usize,
    woken: Vec<bool>,
    /// What the task was waiting for: a lock that was held, a task that had not ended.
    waits: Vec<(Access, Option<ObjectId>, Option<TaskId>)>,
    /// The targets of its joins.
    joins: Vec<TaskId>,
    /// How many operations it had announced.
    announced: usize,
    /// Whether there was just one thing that let it step.
    alone: bool,
    /// That thing, if it was the end of another task.
    let_in_by: Option<TaskId>,
    /// What conditions of the task looked at that it waits for, or was let go on to ask again.
    watched: Vec<ObjectId>,
    /// The steps that let it go on by changing that, if nothing else did.
    let_in_by_changes: Vec<u32>,
    /// The accesses that it had announced and could do, and their keys.
    accesses: Vec<(u32, &'static Op, ObjectId)>,
    effects: Effects,
    /// Whether the task could have stepped without having been woken or aborted.
    could_anyway: bool,
    pub(crate) items: Vec<Item>,
    /// Where segments after the first begin.
    cuts: Vec<usize>,
}

impl Observer {
    /// `task` was chosen to step.
    pub(crate) fn before(&mut self, view: &View<'_>, task: TaskId) {
        let row = view.task(task);
        self.task = task;
        self.tasks = view.tasks().len();
        self.events = view.events().len();
        self.glances = view.glances().len();
        self.calls = view.calls().len();
        self.woken.clear();
        self.woken.extend(view.tasks().iter().map(|row| row.woken));
        self.could_anyway = row.enabled > 0;
        self.effects.begin(row);
        self.waits.clear();
        self.joins.clear();
        self.accesses.clear();
        self.announced = 0;
        self.alone = row.enabled == 1 && !row.woken;
        self.let_in_by = None;
        for announced in row.announced.iter() {
            self.announced += 1;
            if !announced.enabled {
                self.waits.push((announced.op.access, announced.object, announced.target));
            } else if let Some(object) = announced.object {
                self.accesses.push((announced.key, announced.op, object));
            } else if self.alone {
                self.let_in_by = announced.target;
            }
            self.joins.extend(announced.target);
        }
        self.watched.clear();
        self.let_in_by_changes.clear();
        let mut watches = 0;
        for watch in view.watches_of(task) {
            watches += 1;
            self.watched.extend_from_slice(&watch.objects);
            self.let_in_by_changes.extend_from_slice(&watch.changes);
        }
        if row.aborted {
            // It is dropped, whatever it waits for.
            self.watched.clear();
        }
        if row.aborted || !self.alone || watches > 1 {
            self.let_in_by_changes.clear();
        }
        self.names.truncate(self.tasks);
        for row in &view.tasks()[self.names.len()..] {
            let parent = row.parent.map_or(1, |parent| self.names[parent.index()]);
            self.names.push(mix(parent, u64::from(row.nth)));
        }
    }

    /// The step is over, and the run goes on.
    pub(crate) fn after(&mut self, view: &View<'_>) {
        self.after_last(view);
        let row = view.task(self.task);
        self.blind |= row.status == Status::Blocked && row.announced.is_empty();
    }

    /// The step is over, and it may have been the last.
    pub(crate) fn after_last(&mut self, view: &View<'_>) {
        self.items.clear();
        self.cuts.clear();
        let events = &view.events()[self.events..];
        let row = view.task(self.task);
        for (access, object, target) in &self.waits {
            // Polled, because something else could go on: it saw that this could not.
            match (object, target) {
                (Some(object), _) if access.waits() => {
                    let access = Access::Read;
                    self.items.push(Item::Object { object: *object, access, takes: false });
                }
                (_, Some(target)) => self.items.push(Item::Looked(*target)),
                _ => {}
            }
        }
        // Given up because another branch was ready or the task was aborted. Whether that is so depends on
        // other tasks, and what a step touches must not: a search that turns it round with what made it so
        // has to know what the step would have touched then.
        for (key, op, object) in &self.accesses {
            let is_done = |event: &Event| event.object == Some(*object) && event.op == *op;
            let is_left = row.announced.iter().any(|announced| announced.key == *key);
            if !is_left && !events.iter().any(is_done) {
                // Of a lock that is held by somebody this is too much, which costs runs and loses none.
                let takes = matches!(op.access, Access::Lock | Access::TryLock);
                let access = if takes { Access::TryLock } else { op.access };
                self.items.push(Item::Object { object: *object, access, takes });
            }
        }
        // Whether it is let go on depends on what was changed.
        for object in &self.watched {
            self.items.push(Item::Object { object: *object, access: Access::Read, takes: false });
        }
        let branches = self.look_for_branches(view);
        if branches {
            let targets = row.announced.iter().filter_map(|announced| announced.target);
            self.items.extend(targets.map(Item::Looked));
        }
        let mut others = self.others(view);
        for (nth, event) in events.iter().enumerate() {
            while others.front().is_some_and(|other| other.0 <= self.events + nth) {
                self.items.extend(others.pop_front().map(|(_, item)| item));
            }
            match (event.op.access, event.values, event.object) {
                (Access::Join, Values::Task(target), _) if branches => {
                    let enabling = self.let_in_by == Some(target);
                    let item = if enabling { Item::Joined } else { Item::Looked };
                    self.items.push(item(target));
                }
                (Access::Join, Values::Task(target), _) => {
                    if nth > 0 || !self.joins.contains(&target) {
                        self.cuts.push(self.items.len());
                    }
                    self.items.push(Item::Joined(target));
                }
                (Access::Spawn, Values::Task(child), _) => self.items.push(Item::Spawned(child)),
                (Access::Abort, Values::Task(target), _) => self.items.push(Item::Aborted(target)),
                (access, values, Some(object)) => {
                    let taken = access == Access::TryLock && values != Values::Failed;
                    let takes = access.waits() || taken;
                    // Polled for something else while it was held, it would have gone on waiting.
                    if access.waits() && !self.alone {
                        let access = Access::TryLock;
                        self.items.push(Item::Object { object, access, takes: false });
                    }
                    self.items.push(Item::Object { object, access, takes });
                }
                _ => {}
            }
        }
        self.items.extend(others.into_iter().map(|(_, item)| item));
        for (task, woken) in self.woken.iter().enumerate() {
            let id = TaskId(task as u32);
            if id != self.task && !woken && view.task(id).woken {
                self.items.push(Item::Woke(id));
                self.blind = true;
            }
        }
        if row.status == Status::Done {
            self.items.push(Item::Ended);
        }
        let aborts = events.iter().filter_map(|event| match (event.op.access, event.values) {
            (Access::Abort, Values::Task(target)) => Some(target),
            _ => None,
        });
        let name = |task: TaskId| self.names.get(task.index()).copied().unwrap_or_default();
        self.effects.end(&self.items, aborts.map(name));
    }

    /// What the step did that is no event, in order, and after how many operations of the run.
    fn others(&mut self, view: &View<'_>) -> VecDeque<(usize, Item)> {
        let mut others = self.calls(view);
        let glances = view.glances()[self.glances..].iter();
        others.extend(glances.map(|glance| (glance.events, Item::Looked(glance.target))));
        others.make_contiguous().sort_by_key(|(events, _)| *events);
        others
    }

    /// What became of recorded calls in the step, and after how many operations of the run.
    fn calls(&mut self, view: &View<'_>) -> VecDeque<(usize, Item)> {
        let mut calls = VecDeque::new();
        if !self.strict
            && view.calls()[self.calls..].iter().any(|mark| mark.point == CallPoint::Shown)
        {
            self.tell_orders_apart();
            self.learnt = true;
        }
        let called = |history, point| Item::Called { history, point, strict: self.strict };
        for (index, mark) in view.calls().iter().enumerate() {
            match mark.point {
                // In the step of the first operation since, whichever that is.
                CallPoint::Announced(call) if mark.task == self.task => {
                    let since = &view.events()[mark.events..];
                    let first = since.iter().position(|event| event.task == self.task);
                    let first = first.map(|first| mark.events + first);
                    if let Some(first) = first.filter(|first| *first >= self.events) {
                        let item = called(mark.history, CallPoint::Invoked(call));
                        calls.push_back((first + 1, item));
                    }
                }
                CallPoint::Announced(_) => {}
                point if index >= self.calls => {
                    calls.push_back((mark.events, called(mark.history, point)));
                }
                _ => {}
            }
        }
        calls
    }

    /// Whether the task that stepped has branches that await handles.
    fn look_for_branches(&mut self, view: &View<'_>) -> bool {
        let name = self.names[self.task.index()];
        if self.branching.contains(&name) {
            return true;
        }
        let row = view.task(self.task);
        let several = self.announced > 1
            || row.announced.iter().nth(1).is_some()
            || view.acted_while_it_waited();
        let joins = !self.joins.is_empty()
            || row.announced.iter().any(|announced| announced.target.is_some())
            || view.events()[self.events..].iter().any(|event| event.op.access == Access::Join);
        if several && joins {
            self.branching.insert(name);
            self.learnt = true;
        }
        several && joins
    }

    /// Compares the step, which comes next in the order, with what its task did there in other runs. Whether
    /// it might have done more than it did.
    pub(crate) fn compare(&mut self, order: &HappensBefore) -> bool {
        let (name, segments) = (self.names[self.task.index()], order.segments_of(self.task));
        self.learnt |= self.effects.learn((name, segments), &self.items, &self.names);
        let before = self.items.len();
        self.items.splice(0..0, self.effects.maybe(name, segments).map(Item::Maybe));
        let more = self.items.len() - before;
        self.cuts.iter_mut().for_each(|cut| *cut += more);
        more > 0
    }

    /// From now on, each order of calls is a run of its own.
    pub(crate) fn tell_orders_apart(&mut self) {
        self.strict = true;
    }

    /// Whether it is, see [`tell_orders_apart`](Self::tell_orders_apart).
    pub(crate) fn tells_orders_apart(&self) -> bool {
        self.strict
    }

    /// Whether tasks share what is not of this library, as far as was seen. What they do to it cannot
    /// be seen.
    pub(crate) fn is_blind(&self) -> bool {
        self.blind
    }

    /// Whether something was learnt that makes other footprints of earlier steps.
    pub(crate) fn take_learnt(&mut self) -> bool {
        std::mem::take(&mut self.learnt)
    }

    /// A run begins.
    pub(crate) fn begin(&mut self) {
        self.names.clear();
    }

    /// A run begins, and nothing is known from others.
    pub(crate) fn begin_anew(&mut self) {
        self.begin();
        self.branching.clear();
        self.effects = Effects::default();
        (self.learnt, self.strict, self.blind) = (false, false, false);
    }

    /// The run ended with that step and is cut short by it.
    pub(crate) fn over(&mut self) {
        self.items.push(Item::Over);
    }

    /// Whether every change that let the task go on came of this segment or after it, so that without it
    /// the task could not have gone on.
    pub(crate) fn waited_for(&self, order: &HappensBefore, segment: Index) -> bool {
        let after = |change: &u32| {
            let change = order.first_in(*change);
            change == segment || order.knows(order.clock(change), segment)
        };
        !self.let_in_by_changes.is_empty() && self.let_in_by_changes.iter().all(after)
    }

    /// The task that stepped.
    pub(crate) fn task(&self) -> TaskId {
        self.task
    }

    /// Adds the step to the order; `added` is called after each of its segments. `could` tells whether
    /// the task was a candidate for a step.
    pub(crate) fn add_to(
        &self,
        order: &mut HappensBefore,
        step: u32,
        could: impl Fn(u32) -> bool,
        mut added: impl FnMut(&HappensBefore),
    ) {
        let ends = self.cuts.iter().copied().chain([self.items.len()]);
        let mut from = 0;
        for (nth, to) in ends.enumerate() {
            let items = &self.items[from..to];
            let part = Part { task: self.task, step, first: nth == 0, items };
            order.push(part, |step| self.could_anyway || could(step));
            added(order);
            from = to;
        }
    }
}
