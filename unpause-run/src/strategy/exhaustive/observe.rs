//! Computes footprints of steps by comparing the run before a step with the run after it.
//!
//! The footprint of a step contains each operation that the step did, with or without a point. The footprint also
//! contains each guarded operation that the task had announced, because the guard determined the effect of the step.
//! All items come from events and announcements. The only knowledge from other runs is the set of differences that must
//! distinguish runs, for example the order of recorded calls.

use super::contacts::{self, Sign};
use super::node_lives::{ends, outlives};
use super::plan::Rules;
use crate::run::board::{Announced, CallPoint, Contact, Life, Status, TaskRow};
use crate::run::choice::View;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::kind::{Kind, Span, WATCH};
use crate::run::op::task::{ABORT, COUNT, DISARM, END, JOIN, LOOK, WAKE};
use crate::run::op::{Access, lock, net, node, word};
use crate::strategy::divided::Noticed;
use crate::strategy::footprint::StepItem;
use crate::strategy::happens_before::{HappensBefore, NewStep, drawn};
use crate::strategy::search::Apart;
use unpause_ordered::sort_by_key;

/// The observer of a run, which computes the footprint of each step.
#[derive(Debug, Default)]
pub struct Observer {
    rules: Rules,
    /// The differences that distinguish runs.
    apart: Apart,
    /// True if a new difference was learnt since the last call of `take_learnt`.
    learnt: bool,
    /// Facts that hold for the whole search.
    noticed: Noticed,
    task: TaskId,
    life: Life,
    /// True if time advanced before the step.
    time_moved: bool,
    events: usize,
    contacts: usize,
    calls: usize,
    woken: Vec<bool>,
    /// The tasks that wait at the end of the run for something outside this library.
    waiting: Vec<TaskId>,
    /// The description of the first waiting task.
    waits: String,
    /// True if no task could step at the end of the run although the run passed.
    ends_stalled: bool,
    /// True if the task is dropped in the step.
    dies: bool,
    items: Vec<StepItem>,
    guarded: Vec<StepItem>,
    /// The guarded operations of the tasks that the step created.
    born: Vec<(TaskId, StepItem)>,
    /// The values drawn in the step, with their bounds.
    draws: Vec<(u64, u64)>,
}

impl Observer {
    /// Begins a run.
    pub fn begin(&mut self) {
        self.draws.clear();
        self.waiting.clear();
    }

    /// Reads the state of the run before the step of `task`.
    pub fn before(&mut self, view: &View<'_>, task: TaskId) {
        (self.task, self.life) = (task, view.task(task).life);
        self.time_moved = view.time_moved();
        self.events = view.events().len();
        self.contacts = view.contacts().len();
        self.calls = view.calls().len();
        self.woken.clear();
        self.woken.extend(view.tasks().iter().map(|row| row.woken));
        self.draws.clear();
        self.items.clear();
        self.dies = view.task(task).aborted;
        // A dropped task does not act on its guards.
        if !self.dies {
            add_guarded(view, task, &mut self.items);
        }
    }

    /// Records that the step drew a value below `bound`.
    pub fn drew(&mut self, value: u64, bound: u64) {
        self.draws.push((value, bound));
    }

    /// Records that the `nth` draw of the step made no difference. The draw then counts as a draw of 0, which every
    /// search tries.
    pub fn settle(&mut self, nth: usize) {
        self.draws[nth].0 = 0;
    }

    /// Reads the state of the run after its last step.
    pub fn after_last(&mut self, view: &View<'_>) {
        self.after(view);
        let waits = |row: &TaskRow| {
            row.status == Status::Blocked && row.announced.is_empty() && row.held == 0
        };
        let waiting = (0..).zip(view.tasks()).filter(|(_, row)| waits(row));
        self.ends_stalled = view.ends_stalled();
        self.waiting.clear();
        self.waiting.extend(waiting.map(|(task, _)| TaskId(task)));
        // A task that panicked waits for nothing.
        let others = || self.waiting.iter().find(|task| **task != self.task);
        if let (Some(task), None) = (others().or(self.waiting.first()), &self.noticed.contact) {
            self.waits = contacts::waits(view, *task);
        }
    }

    /// Reads the state of the run after a step.
    pub fn after(&mut self, view: &View<'_>) {
        for (nth, event) in view.events()[self.events..].iter().enumerate() {
            if self.rules.has_event(nth, event) {
                self.items.extend(item(view, event, self.apart.stores));
            }
            self.add_counts(view, event);
            self.add_order_of_nodes(view, event);
        }
        self.forget_guards_of_done();
        let (mut timed, mut shares): (_, Option<Sign>) = (false, None);
        for mark in &view.contacts()[self.contacts..] {
            let kind = match mark.contact {
                Contact::Sleeps => {
                    // A loop of a plain thread sleeps until the memory that it reads has changed. The loop announces
                    // this wait.
                    let row = view.task(self.task);
                    self.noticed.blind |= row.status == Status::Blocked && row.announced.is_empty();
                    continue;
                }
                Contact::LeftWaker => {
                    shares.get_or_insert(Sign::LeftWaker(self.task));
                    continue;
                }
                Contact::Told => continue,
                Contact::SawOrderOfNodes => {
                    self.noticed.sees_order_of_nodes = true;
                    continue;
                }
                Contact::Looked => LOOK,
                Contact::Counted => COUNT,
                Contact::Disarmed => DISARM,
                // Time advanced because no task could step, so this is an effect of all tasks.
                Contact::TimedOut => {
                    (self.noticed.blind, timed) = (true, true);
                    WAKE
                }
            };
            self.items.push(StepItem::Task { target: mark.target, kind, done: true });
        }
        if self.noticed.sees_order_of_nodes {
            self.learn(self.noticed.apart());
        }
        self.add_calls(view);
        for (task, woken) in self.woken.iter().enumerate() {
            let target = TaskId(task as u32);
            if target != self.task && !woken && view.task(target).woken {
                self.items.push(StepItem::Task { target, kind: WAKE, done: true });
                if !timed {
                    shares.get_or_insert(Sign::Woke(self.task, target));
                }
            }
        }
        // The waker came through memory that the observer does not see. This memory may contain several wakers.
        if let Some(sign) = shares.filter(|_| !self.noticed.blind) {
            if self.noticed.contact.is_none() {
                self.noticed.contact = Some(sign.text(view, &view.events()[self.events..]));
            }
            self.learn(Apart::STEPS);
        }
        self.forget_what_is_said();
        self.born.clear();
        for nth in 0..self.items.len() {
            if let StepItem::Spawned(child) = self.items[nth] {
                self.guarded.clear();
                add_guarded(view, child, &mut self.guarded);
                self.born.extend(self.guarded.iter().map(|item| (child, *item)));
            }
        }
        self.guarded.clear();
        let row = view.task(self.task);
        if row.status == Status::Done {
            self.items.push(StepItem::Task { target: self.task, kind: END, done: true });
        } else {
            add_guarded(view, self.task, &mut self.guarded);
        }
        if self.apart.steps {
            self.items.push(StepItem::Unseen);
        }
        self.add_lives(view);
    }

    /// Adds items for ends of node lives, and an item if the step has effects that outlive its own life.
    fn add_lives(&mut self, view: &View<'_>) {
        let (events, contacts) = (&view.events()[self.events..], &view.contacts()[self.contacts..]);
        let life = self.life;
        let is_foreign = |of: Life| of != Life::OUTSIDE && of != life;
        let mut objects = events.iter().filter_map(|event| event.object);
        if objects.any(|object| is_foreign(view.life_of(object))) {
            self.learn(Apart::DEATHS);
        }
        let outlives = life != Life::OUTSIDE
            && (self.apart.deaths
                || !self.draws.is_empty()
                || outlives(view, life, (events, contacts), &self.items));
        if outlives {
            self.items.push(StepItem::Life { life, ends: false });
        }
        for life in ends(view, events) {
            self.items.push(StepItem::Life { life, ends: true });
        }
    }

    /// Adds the effects of an event on the numbers of messages that network faults have stopped, if these numbers
    /// matter.
    //
    // There is no separate event for each message that a fault may stop: it would slow down all runs, and most programs
    // do not read the numbers.
    fn add_counts(&mut self, view: &View<'_>, event: &Event) {
        let kind = event.op.kind;
        if kind == Some(net::link::COUNT) {
            self.learn(Apart::COUNTS);
            self.items.push(StepItem::Counted { reads: true });
        }
        if !self.apart.counts {
            return;
        }
        let raises = [net::link::LOSE, net::CUT, net::WAIT_BEHIND];
        let mut may_raise = kind.is_some_and(|kind| raises.contains(&kind));
        if let (Access::Spawn, Values::Task(child)) = (event.op.access, event.values) {
            let row = view.task(child);
            may_raise = row.route.is_some();
            let arrival = row.announced.iter().next();
            let arrival = arrival.filter(|it| may_raise && it.op.access == Access::Wait);
            if let Some(on) = arrival.and_then(|arrival| arrival.object) {
                let (key, kind, span) = (view.key_of(on), net::SEND_COUNTED, Span::NONE);
                self.items.push(StepItem::Object { object: on, key, kind, span, done: true });
            }
        }
        if may_raise {
            self.items.push(StepItem::Counted { reads: false });
        }
    }

    /// Adds the effect of an event on the order in which nodes were added, if this order matters.
    //
    // The order matters if several tasks add nodes and the program sees the number or address of a node. For other
    // programs, which are the majority, the search tries only one order.
    fn add_order_of_nodes(&mut self, view: &View<'_>, event: &Event) {
        if event.op.kind != Some(node::table::ADD) {
            return;
        }
        let Noticed { adder, adders, .. } = &mut self.noticed;
        *adders |= *adder.get_or_insert(event.task) != event.task;
        if let (true, Some(on)) = (self.apart.nodes, event.object) {
            let (key, kind, span) = (view.key_of(on), node::table::ADD_IN_ORDER, Span::NONE);
            self.items.push(StepItem::Object { object: on, key, kind, span, done: true });
        }
    }

    /// Removes two kinds of effects: effects of the task on itself, which its steps order, and
    /// effects on tasks that it killed, except their deaths.
    fn forget_what_is_said(&mut self) {
        let dead: Vec<TaskId> = self.items.iter().filter_map(StepItem::killed).collect();
        let own = self.task;
        self.items.retain(|item| match *item {
            StepItem::Task { target, .. } if target == own => false,
            StepItem::Task { target, kind: DISARM, .. } => !dead.contains(&target),
            _ => true,
        });
    }

    /// Removes the guards of operations that were done. A done operation conflicts with every operation that changes
    /// its guard, or is ordered with it by another object.
    fn forget_guards_of_done(&mut self) {
        let mut at = 0;
        while let Some(item) = self.items.get(at) {
            let is_over = match *item {
                StepItem::Object { object: on, kind: guarded, done: false, .. } => {
                    let is_it = |item: &StepItem| match *item {
                        StepItem::Object { object, kind, done, .. } => {
                            done && (object, kind) == (on, guarded)
                        }
                        _ => false,
                    };
                    self.items.iter().any(is_it)
                }
                _ => false,
            };
            if is_over {
                self.items.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Ends the run. [`after_last`](Self::after_last) has read the run before. `cut` is true if the step ended the run,
    /// although other tasks may still be enabled.
    pub fn end(&mut self, cut: bool) {
        let cut = cut && !self.ends_stalled;
        // A task that panicked waits for nothing.
        let panicked = cut.then_some(self.task);
        if !self.noticed.blind && self.waiting.iter().any(|task| Some(*task) != panicked) {
            self.noticed.contact.get_or_insert_with(|| std::mem::take(&mut self.waits));
            self.learn(Apart::STEPS);
        }
        if cut {
            self.items.push(StepItem::Over);
        }
    }

    /// Adds the points of recorded calls that the step reached.
    fn add_calls(&mut self, view: &View<'_>) {
        let news = &view.calls()[self.calls..];
        if news.iter().any(|mark| mark.point == CallPoint::Shown) {
            self.learn(Apart::ORDERS);
        }
        let strict = self.apart.orders;
        // The time of an invocation is the first operation of the task after the call was announced. The order of the
        // points within a step matters.
        let mut marks: Vec<(usize, StepItem)> = Vec::new();
        for (index, mark) in view.calls().iter().enumerate() {
            let called = |point| StepItem::Called { history: mark.history, point, strict };
            match mark.point {
                CallPoint::Announced(call) if mark.task == self.task => {
                    let mut since = mark.events..view.events().len();
                    let first = since.find(|at| {
                        view.events()[*at].task == self.task && !view.is_of_invariant(*at)
                    });
                    if let Some(first) = first.filter(|first| *first >= self.events) {
                        marks.push((first + 1, called(CallPoint::Invoked(call))));
                    }
                }
                CallPoint::Announced(_) => {}
                point if index >= self.calls => marks.push((mark.events, called(point))),
                _ => {}
            }
        }
        sort_by_key(&mut marks, |(events, _)| *events);
        self.items.extend(marks.into_iter().map(|(_, item)| item));
    }

    /// Makes these differences also distinguish runs, from now on.
    pub fn tell_apart(&mut self, differences: Apart) {
        self.apart = self.apart.and(differences);
    }

    /// Returns the differences that distinguish runs.
    pub fn apart(&self) -> Apart {
        self.apart
    }

    /// Learns that these differences distinguish runs.
    fn learn(&mut self, differences: Apart) {
        let known = self.apart;
        self.tell_apart(differences);
        self.learnt |= self.apart != known;
    }

    /// Returns `true` if tasks affected each other in an unseen way that [telling steps apart](Self::tell_apart) cannot
    /// cover.
    pub fn is_blind(&self) -> bool {
        self.noticed.blind
    }

    /// Returns `true`, once, if footprints of earlier steps have become invalid.
    pub fn take_learnt(&mut self) -> bool {
        std::mem::take(&mut self.learnt)
    }

    /// Begins a run and forgets everything learnt from earlier runs.
    pub fn begin_anew(&mut self) {
        self.begin();
        (self.learnt, self.apart) = (false, Apart::NOTHING);
        self.noticed = Noticed { contact: self.noticed.contact.take(), ..Noticed::default() };
    }

    /// Begins a part of a divided search with the known differences and facts.
    pub fn begin_part(&mut self, apart: Apart, noticed: &Noticed) {
        (self.learnt, self.apart) = (false, apart);
        self.noticed.clone_from(noticed);
    }

    /// Returns the facts that hold for the whole search.
    pub fn noticed(&self) -> &Noticed {
        &self.noticed
    }

    /// Returns the task of the step.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Returns the items of the step.
    pub fn items(&self) -> &[StepItem] {
        &self.items
    }

    /// Adds the step to the happens-before order.
    pub fn add_to(&self, order: &mut HappensBefore) {
        let Observer { task, life, time_moved, items, guarded, born, draws, .. } = self;
        let (task, life, after_all, drawn) = (*task, *life, *time_moved, drawn(draws));
        order.push(NewStep { task, after_all, items, guarded, born, drawn, life });
    }
}

/// Returns the item of an event; `None` if no other task can observe the event. If `stores` is true, a
/// read-modify-write that leaves the value unchanged is a write.
fn item(view: &View<'_>, event: &Event, stores: bool) -> Option<StepItem> {
    let on = |target, kind| Some(StepItem::Task { target, kind, done: true });
    match (event.op.access, event.values) {
        (Access::Join, Values::Task(target)) => on(target, JOIN),
        (Access::Abort, Values::Task(target)) => on(target, ABORT),
        (Access::Tell, Values::Task(target)) => on(target, event.op.kind?),
        (Access::Spawn, Values::Task(child)) => Some(StepItem::Spawned(child)),
        (access, _) => {
            let stores = || stores && matches!(event.values, Values::Changed(..));
            let is_store = access == Access::ReadModifyWrite && stores();
            let kind = event.op.kind.or_else(|| access.kind(event.is_look() && !is_store))?;
            let span = match event.values {
                Values::Messages { from, to, .. } => Span { from, to },
                _ => Span::NONE,
            };
            let (object, key) = (event.object?, view.key_of(event.object?));
            Some(StepItem::Object { object, key, kind, span, done: true })
        }
    }
}

/// Adds the guarded operations that a task has announced.
fn add_guarded(view: &View<'_>, task: TaskId, guarded: &mut Vec<StepItem>) {
    for Announced { op, object: on, target, .. } in view.task(task).announced.iter() {
        match (op.access, on, target) {
            (Access::Lock, Some(on), _) => {
                guarded.push(guard(view, *on, lock::ACQUIRE));
            }
            (Access::LockShared, Some(on), _) => {
                guarded.push(guard(view, *on, lock::SHARE));
            }
            (Access::Wait, Some(on), _) => {
                let kind = op.kind.expect("an operation that goes on has a kind");
                guarded.push(guard(view, *on, kind));
            }
            (Access::Resume, Some(on), _) => {
                guarded.push(guard(view, *on, word::RESUME));
            }
            (Access::Join, _, Some(target)) => {
                guarded.push(StepItem::Task { target: *target, kind: JOIN, done: false });
            }
            _ => {}
        }
    }
    for watch in view.watches_of(task) {
        guarded.extend(watch.objects.iter().map(|on| guard(view, *on, WATCH)));
    }
}

fn guard(view: &View<'_>, object: ObjectId, kind: Kind) -> StepItem {
    StepItem::Object { object, key: view.key_of(object), kind, span: Span::NONE, done: false }
}
