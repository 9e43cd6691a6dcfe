//! Display names of the tasks, objects and operations of a run.

use std::ptr;

use super::stale;
use super::waiting;
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, Spot, TaskId, TaskPath};
use crate::run::memory_model::{MISSED, OrderMark, PRECEDED};
use crate::run::op::Access;
use crate::run::{ObjectRecord, Run, TaskRecord, Wait};
use unpause_check::picture::screen::{clean, cut};
use unpause_ordered::Map;

/// The maximum width of a task's name, in columns.
const NAME_MAX: usize = 40;
/// The maximum width of the text of a message.
const MESSAGE_MAX: usize = 48;

/// The display names of one run.
pub(super) struct DisplayNames<'a> {
    run: &'a Run,
    objects: Vec<String>,
}

impl<'a> DisplayNames<'a> {
    /// Creates the names. Linear in the run, except for a logarithmic factor per task.
    pub(super) fn new(run: &'a Run) -> DisplayNames<'a> {
        DisplayNames { run, objects: object_names(run) }
    }

    /// Returns these names with the object names of another run of the same program. An object that the other run did
    /// not use has `(only here)` after its own name.
    pub(super) fn beside(self, other: &DisplayNames<'_>) -> DisplayNames<'a> {
        let DisplayNames { run, objects } = self;
        let mut known: Map<Identity, &str> = Map::new();
        for (object, name) in other.run.objects.iter().zip(&other.objects) {
            known.insert(identity(other.run, object), name);
        }
        let own = run.objects.iter().zip(objects);
        let objects = own.map(|(object, name)| match known.get(&identity(run, object)) {
            Some(name) => (*name).to_owned(),
            None => format!("{name} (only here)"),
        });
        DisplayNames { run, objects: objects.collect() }
    }

    /// Returns the name of a task: `main`, `0.1` or `0.1 writer`.
    pub(super) fn task(&self, id: TaskId) -> String {
        let task = self.run.tasks.get(id.index());
        task.map_or_else(|| format!("task {}", id.0), |t| cut(&clean(&t.to_string()), NAME_MAX))
    }

    /// Returns the name of an object: its name by the user, else its kind, such as `mutex`. If several objects have the
    /// same name, they are numbered: `mutex#1`.
    pub(super) fn object(&self, id: ObjectId) -> String {
        self.objects.get(id.index()).cloned().unwrap_or_else(|| format!("object#{}", id.index()))
    }

    /// Returns the heading of a task's column: the node of the task if it has a node, else the task itself.
    pub(super) fn column(&self, id: TaskId) -> String {
        let record = self.run.tasks.get(id.index());
        let node = record.and_then(|task| task.node.as_deref());
        node.map_or_else(|| self.task(id), |node| cut(&clean(node), NAME_MAX))
    }

    /// Returns `true` if several tasks share this column.
    pub(super) fn is_crowded(&self, column: TaskId) -> bool {
        let tasks = &self.run.tasks;
        let node = tasks.get(column.index()).and_then(|task| task.node.as_deref());
        let shares = |task: &&TaskRecord| task.from.is_none() && task.node.as_deref() == node;
        node.is_some() && tasks.iter().filter(shares).count() > 1
    }

    /// Returns the task that was spawned by the event with this index in [`Run::events`].
    pub(super) fn spawned_by(&self, event: usize) -> Option<TaskId> {
        let event = self.run.events.get(event)?;
        match event.values {
            Values::Task(task) if event.op.access == Access::Spawn => {
                // A message is sent, not spawned.
                let record = self.run.tasks.get(task.index());
                record.is_none_or(|record| record.from.is_none()).then_some(task)
            }
            _ => None,
        }
    }

    /// Returns the text of an event, such as `load atomic = 0`.
    pub(super) fn event(&self, event: &Event) -> String {
        self.unordered(event) + &self.order(event)
    }

    /// Returns the text of an event without its memory order.
    pub(super) fn unordered(&self, event: &Event) -> String {
        self.operation(event) + &self.values(event)
    }

    /// Returns the memory order of an event, if the run recorded it.
    fn order(&self, event: &Event) -> String {
        let orders = &self.run.orders;
        let same = |mark: &&OrderMark| {
            self.run.events.get(mark.event).is_some_and(|other| ptr::eq(other, event))
        };
        orders.iter().find(same).map_or_else(String::new, |mark| format!(" {:?}", mark.order))
    }

    /// Returns the text of an event without its values, such as `load atomic`.
    pub(super) fn operation(&self, event: &Event) -> String {
        let mut text = spoken(event.op.name).to_owned();
        if let Values::Task(task) = event.values {
            let record = self.run.tasks.get(task.index());
            text = match record.filter(|record| record.from.is_some()) {
                Some(record) => {
                    let to = record.node.as_deref().unwrap_or_default();
                    match Self::message(record) {
                        Some(message) => format!("{text} {message} to {to}"),
                        None => format!("{text} to {to}"),
                    }
                }
                None => format!("{text} {}", self.task(task)),
            };
        }
        if let Some(object) = event.object {
            text = format!("{text} {}", self.object(object));
        }
        text
    }

    /// Returns a message as text, if it has a text.
    pub(super) fn message(record: &TaskRecord) -> Option<String> {
        Some(cut(&clean(record.message.as_ref()?), MESSAGE_MAX))
    }

    /// Returns the text of a wait, such as `waits to lock mutex`.
    pub(super) fn wait(&self, wait: &Wait) -> String {
        let object = wait.object.map(|id| self.object(id));
        if let Some(threads) = waiting::scope_threads(self.run, wait) {
            let threads: Vec<String> = threads.iter().map(|task| self.task(*task)).collect();
            let which = if threads.is_empty() {
                String::new()
            } else {
                format!(": {}", threads.join(", "))
            };
            return format!("waits for the threads of a scope{which}");
        }
        match (wait.target, wait.op, object) {
            (Some(task), _, _) => format!("waits for {} to end", self.task(task)),
            // An operation without an effect is always enabled. With an object, it waits for a change of the object.
            (None, Some(op), Some(object)) if op.access == Access::Yield => {
                format!("waits for {object} to change")
            }
            (None, Some(op), Some(object)) => format!("waits to {} {object}", op.name),
            (None, Some(op), None) => format!("waits to {}", op.name),
            (None, None, Some(object)) => format!("waits for {object}"),
            (None, None, None) => {
                let spawned = self.run.tasks.get(wait.task.index()).map(|task| task.place);
                let known =
                    if spawned == Some(wait.place) { "spawned at" } else { "last access at" };
                format!("waits for a future outside sim, {known}")
            }
        }
    }

    /// Returns a text about the store of the newest value, for an operation that missed this value.
    fn storer(&self, event: &Event) -> String {
        let Some(store) = stale::newest(self.run, event) else { return String::new() };
        let reason =
            stale::reason(self.run, event).map_or_else(String::new, |why| format!(": {why}"));
        format!(", stored by {} at step {}{reason}", self.task(store.task), store.step)
    }

    fn values(&self, event: &Event) -> String {
        let object = event.object.and_then(|id| self.run.objects.get(id.index()));
        let kind = object.map(|o| o.values).unwrap_or_default();
        let show = |bits| kind.show(bits);
        if kind == Default::default() && event.values != Values::Failed {
            return String::new();
        }
        match event.values {
            Values::None => String::new(),
            Values::Read(saw) => format!(" = {}{}", show(saw), self.storer(event)),
            Values::Wrote(left) => format!(" := {}", show(left)),
            Values::Changed(saw, left) => format!(" {} → {}", show(saw), show(left)),
            // `compare_exchange_weak` may fail spuriously.
            Values::Refused(saw, wanted) if saw == wanted => {
                format!(" = {}, fails spuriously", show(saw))
            }
            Values::Refused(saw, wanted) => format!(" = {}, wanted {}", show(saw), show(wanted)),
            Values::Failed => " failed".to_owned(),
            Values::Messages { saw: Some(saw), .. } => format!(" = {saw}"),
            Values::Task(_) | Values::Messages { .. } => String::new(),
        }
    }
}

/// The identity of an object in all runs of a program: its place, kind and node, and its number. The number counts the
/// objects of its creator or, without a creator, the objects of its place.
type Identity = (Spot, &'static str, Option<&'static str>, Option<(TaskPath, u32)>, u32);

fn identity(run: &Run, object: &ObjectRecord) -> Identity {
    let creator = object.creator.and_then(|(task, nth)| {
        let record = run.tasks.get(task.index())?;
        Some((record.path.clone(), nth))
    });
    let ordinal = if creator.is_some() { 0 } else { object.ordinal };
    (object.place.into(), object.kind, object.node, creator, ordinal)
}

/// Returns the display form of an operation name. In traces, an operation name is one word.
fn spoken(op: &str) -> &str {
    match op {
        "ends_early" => "the timer ends early",
        "wakes_spuriously" => "wakes spuriously",
        op if op == MISSED.name => "misses the newest value of",
        op if op == PRECEDED.name => "precedes the newest value of",
        "finds_an_old_length_of" => "finds an old length of",
        "finds_old_bytes_in" => "finds old bytes in",
        "finds_an_old_entry_in" => "finds an old entry in",
        "loses_what_was_not_synced_on" => "loses what was not synced on",
        op => op,
    }
}

/// Returns the display name of each object: its name or its kind. The node is added if each node has its own object,
/// and objects with the same name are numbered.
fn object_names(run: &Run) -> Vec<String> {
    let called = |object: &ObjectRecord| {
        let name = object.name.map_or(object.kind.into(), |name| cut(&clean(name), NAME_MAX));
        match object.node {
            Some(node) => format!("{name} of {}", cut(&clean(node), NAME_MAX)),
            None => name,
        }
    };
    let called: Vec<String> = run.objects.iter().map(called).collect();
    let mut counts: Map<&str, usize> = Map::new();
    for name in &called {
        *counts.entry(name).or_default() += 1;
    }
    let mut next: Map<&str, usize> = Map::new();
    let mut numbered = |name| {
        let number = next.entry(name).or_default();
        *number += 1;
        if counts[name] == 1 { name.to_owned() } else { format!("{name}#{}", *number - 1) }
    };
    called.iter().map(|name| numbered(&name[..])).collect()
}
