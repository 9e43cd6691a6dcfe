//! Footprints of steps: compares the run before a step with the run after it.
//!
//! The footprint of a step has each operation that was done in it, with a point or without, and each that its
//! task had announced with a guard: whether such an operation could be done decided what the step did. All
//! of it comes from events and announcements; nothing is learnt from other runs, but whether recorded calls
//! have to be told apart by their order.

use crate::run::board::{Announced, CallPoint, Contact, Status};
use crate::run::choice::View;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::{Kind, WATCH};
use crate::run::op::task::{ABORT, DISARM, END, JOIN, LOOK, WAKE};
use crate::run::op::{Access, lock};
use crate::strategy::footprint::Item;
use crate::strategy::happens_before::{HappensBefore, Part};

/// Makes footprints of steps.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// Whether it matters in which order calls returned and began that no step orders. If not, whoever
    /// searches has to look at all these orders of a run.
    strict: bool,
    /// Whether somebody was shown a history since this was last asked.
    learnt: bool,
    /// Whether tasks waited for each other or woke each other by something that is not of this library.
    blind: bool,
    task: TaskId,
    events: usize,
    contacts: usize,
    calls: usize,
    woken: Vec<bool>,
    /// Whether the task is dropped in the step.
    dies: bool,
    items: Vec<Item>,
    asked: Vec<Item>,
    /// Values drawn in the step, and below what.
    draws: Vec<(u64, u64)>,
}

impl Observer {
    /// A run begins.
    pub(crate) fn begin(&mut self) {
        self.draws.clear();
    }

    /// `task` was chosen to step.
    pub(crate) fn before(&mut self, view: &View<'_>, task: TaskId) {
        self.task = task;
        self.events = view.events().len();
        self.contacts = view.contacts().len();
        self.calls = view.calls().len();
        self.woken.clear();
        self.woken.extend(view.tasks().iter().map(|row| row.woken));
        self.draws.clear();
        self.items.clear();
        self.dies = view.task(task).aborted;
        // Dropped, it did not act on what it waited for.
        if !self.dies {
            ask(view, task, &mut self.items);
        }
    }

    /// The step drew a value below `bound`.
    pub(crate) fn drew(&mut self, value: u64, bound: u64) {
        self.draws.push((value, bound));
    }

    /// The step is over, and the run goes on.
    pub(crate) fn after(&mut self, view: &View<'_>) {
        self.after_last(view);
        let row = view.task(self.task);
        self.blind |= row.status == Status::Blocked && row.announced.is_empty();
    }

    /// The step is over, and it may have been the last.
    pub(crate) fn after_last(&mut self, view: &View<'_>) {
        for event in &view.events()[self.events..] {
            self.items.extend(item(view, event));
        }
        for mark in &view.contacts()[self.contacts..] {
            let kind = match mark.contact {
                Contact::Looked => LOOK,
                Contact::Disarmed => DISARM,
            };
            self.items.push(Item::Task { target: mark.target, kind, done: true });
        }
        self.add_calls(view);
        for (task, woken) in self.woken.iter().enumerate() {
            let target = TaskId(task as u32);
            if target != self.task && !woken && view.task(target).woken {
                self.items.push(Item::Task { target, kind: WAKE, done: true });
                self.blind = true;
            }
        }
        // What a task does to itself comes in the order of its steps.
        let own = |item: &Item| matches!(item, Item::Task { target, .. } if *target == self.task);
        self.items.retain(|item| !own(item));
        self.asked.clear();
        let row = view.task(self.task);
        if row.status == Status::Done {
            self.items.push(Item::Task { target: self.task, kind: END, done: true });
        } else {
            ask(view, self.task, &mut self.asked);
        }
    }

    /// The run ended with the step and is cut short by it.
    pub(crate) fn over(&mut self) {
        self.items.push(Item::Over);
    }

    /// Adds what became of recorded calls in the step.
    fn add_calls(&mut self, view: &View<'_>) {
        let news = &view.calls()[self.calls..];
        if !self.strict && news.iter().any(|mark| mark.point == CallPoint::Shown) {
            self.tell_orders_apart();
            self.learnt = true;
        }
        let strict = self.strict;
        // Invocations are stamped with the first operation of the task since, whichever that is; within a
        // step the order of what became of calls counts.
        let mut marks: Vec<(usize, Item)> = Vec::new();
        for (index, mark) in view.calls().iter().enumerate() {
            let called = |point| Item::Called { history: mark.history, point, strict };
            match mark.point {
                CallPoint::Announced(call) if mark.task == self.task => {
                    let since = &view.events()[mark.events..];
                    let first = since.iter().position(|event| event.task == self.task);
                    let first = first.map(|first| mark.events + first);
                    if let Some(first) = first.filter(|first| *first >= self.events) {
                        marks.push((first + 1, called(CallPoint::Invoked(call))));
                    }
                }
                CallPoint::Announced(_) => {}
                point if index >= self.calls => marks.push((mark.events, called(point))),
                _ => {}
            }
        }
        marks.sort_by_key(|(events, _)| *events);
        self.items.extend(marks.into_iter().map(|(_, item)| item));
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

    /// A run begins, and nothing is known from others.
    pub(crate) fn begin_anew(&mut self) {
        self.begin();
        (self.learnt, self.strict, self.blind) = (false, false, false);
    }

    /// The task that stepped.
    pub(crate) fn task(&self) -> TaskId {
        self.task
    }

    /// The items of the step.
    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Adds the step to the order.
    pub(crate) fn add_to(&self, order: &mut HappensBefore) {
        let Observer { task, items, asked, draws, .. } = self;
        order.push(Part { task: *task, items, asked, draws });
    }
}

/// The item of an event; none if nobody else can tell.
fn item(view: &View<'_>, event: &Event) -> Option<Item> {
    let on = |target, kind| Some(Item::Task { target, kind, done: true });
    match (event.op.access, event.values) {
        (Access::Join, Values::Task(target)) => on(target, JOIN),
        (Access::Abort, Values::Task(target)) => on(target, ABORT),
        (Access::Spawn, Values::Task(child)) => Some(Item::Spawned(child)),
        (access, _) => {
            let kind = access.kind(event.is_look())?;
            Some(object(view, event.object?, kind, true))
        }
    }
}

/// Adds the announced operations of a task whose guards others can turn.
fn ask(view: &View<'_>, task: TaskId, asked: &mut Vec<Item>) {
    for Announced { op, object: on, target, .. } in view.task(task).announced.iter() {
        match (op.access, on, target) {
            (Access::Lock, Some(on), _) => {
                asked.push(object(view, *on, lock::ACQUIRE, false));
            }
            (Access::Join, _, Some(target)) => {
                asked.push(Item::Task { target: *target, kind: JOIN, done: false });
            }
            _ => {}
        }
    }
    for watch in view.watches_of(task) {
        asked.extend(watch.objects.iter().map(|on| object(view, *on, WATCH, false)));
    }
}

fn object(view: &View<'_>, object: ObjectId, kind: Kind, done: bool) -> Item {
    Item::Object { object, key: view.key_of(object), kind, done }
}
