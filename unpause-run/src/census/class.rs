//! The class number of a run.
//!
//! Each event gets a hash of only its predecessors in the happens-before order. The predecessors are the last event of
//! its task and the last access that changed its object. If the event itself changes the object, the hash also includes
//! the sum of the reads since, because reads have no order. A failed compare-exchange counts as a read.
//!
//! Some objects, such as channels, have operations with their own kinds. For such an object, the hash includes the sums
//! of the earlier events that conflict with the event. These sums cost one step for each earlier message of a channel.
//!
//! The class number is the sum over the events of the run, so it does not depend on the order of independent steps. Two
//! runs of different classes have the same number with a probability of about 2^-64. Musuvathi and Qadeer (*Fair
//! Stateless Model Checking*, PLDI 2008) hash happens-before graphs in this way. There is one update per event.
//!
//! **Not included:**
//!
//! - values, because they follow from the order;
//! - communication between tasks outside this library, for example through a channel of another library;
//! - the real-time order of returns and invocations of calls. An exhaustive search whose runs are displayed one by one
//!   distinguishes this order. So it has more runs if calls are recorded, for example 68 runs for the 28 classes of
//!   Harris's list in the corpus;
//! - for a task with several branches, the branch that found another task ended;
//! - the number of writes to several objects before a task that waits for these objects reads them again;
//! - the operations on an object before a task stopped waiting for it;
//! - the order in which tasks added nodes, if an address shows it.
//!
//! Steps that the death of a node undoes are included. So two runs that differ only in such steps have different
//! numbers, although a search needs only one of the two runs.
//!
//! An object that a `const` constructor creates is identified by its place and its number at this place, as in reports.

use crate::run::event::{Event, Values};
use crate::run::op::Access;
use crate::run::op::kind::{Kind, Span};
use crate::run::op::task::ABORT;
use crate::run::rng::mix;
use crate::run::{ObjectRecord, Run, TaskRecord};

/// Returns the class number of a run, which is the same for two runs that differ only in the order of independent
/// steps.
///
/// ```
/// use sim::{Atomic, Ordering::SeqCst, Runner};
/// use std::collections::BTreeSet;
///
/// // Two tasks, an atomic for each: their orders make no difference.
/// let classes: BTreeSet<u64> = (0..100)
///     .map(|seed| {
///         let run = Runner::new().hermetic().run_seed(seed, async || {
///             sim::map_concurrently(0..2, async |n| Atomic::new(n).store(7, SeqCst).await).await;
///         });
///         sim::census::class_of(&run)
///     })
///     .collect();
/// assert_eq!(classes.len(), 1);
/// ```
pub fn class_of(run: &Run) -> u64 {
    let names: Vec<u64> = run.tasks.iter().map(name_of_task).collect();
    let mut objects: Vec<ObjectHash> = run
        .objects
        .iter()
        .enumerate()
        .map(|(at, record)| ObjectHash::nothing(name_of_object(record, &run.objects[..at], &names)))
        .collect();
    let mut tasks: Vec<TaskHash> = names.into_iter().map(TaskHash::nothing).collect();
    let mut sum = 0u64;
    let (mut draws, mut events) = (run.draws.iter().peekable(), run.events.iter().peekable());
    for (number, step) in (0..).zip(&run.steps) {
        while let Some(draw) = draws.next_if(|draw| draw.step == number) {
            let task = &mut tasks[step.task.index()];
            // Values that searches do not explore, and values of draws that made no difference, do not belong to the
            // class.
            let value = if draw.given { 0 } else { draw.value };
            task.own = mix(mix(task.take(), draw.bound), value);
            sum = sum.wrapping_add(task.own);
        }
        while let Some(event) = events.next_if(|event| event.step == number) {
            sum = sum.wrapping_add(event_hash(event, &mut tasks, &mut objects));
        }
    }
    sum
}

/// The hash of the accesses to an object.
struct ObjectHash {
    /// The hash of the last access that changed the object; initially, of the object's name.
    changed: u64,
    /// The sum of the hashes of later accesses, which are all reads.
    reads: u64,
    /// The sums of the hashes of all events, by kind, if the object's operations have their own kinds.
    by_kind: Vec<u64>,
    /// The events with message numbers, and their hashes. No sum includes these hashes.
    numbered: Vec<((Kind, Span), u64)>,
}

impl ObjectHash {
    fn nothing(name: u64) -> ObjectHash {
        ObjectHash { changed: name, reads: 0, by_kind: Vec::new(), numbered: Vec::new() }
    }

    /// Returns the hash of the earlier events that conflict with an event of this kind.
    fn conflicting(&self, (kind, span): (Kind, Span)) -> u64 {
        let sum = |number: usize| self.by_kind.get(number).copied().unwrap_or(0);
        let hash = kind.conflicting().fold(self.changed, |hash, at| hash.wrapping_add(sum(at)));
        let numbered = self.numbered.iter().filter(|((other, other_span), _)| {
            let is_apart = Kind::are_apart((kind, span), (*other, *other_span));
            kind.conflicting().any(|number| number == other.number()) && !is_apart
        });
        numbered.fold(hash, |hash, (_, other)| hash.wrapping_add(*other))
    }

    /// Adds the hash of an event of this kind.
    fn add(&mut self, (kind, span): (Kind, Span), hash: u64) {
        if span != Span::NONE {
            self.numbered.push(((kind, span), hash));
            return;
        }
        if self.by_kind.len() <= kind.number() {
            self.by_kind.resize(kind.number() + 1, 0);
        }
        let sum = &mut self.by_kind[kind.number()];
        *sum = sum.wrapping_add(hash);
    }
}

/// The hash of a task's events, and of other tasks' operations on the task.
struct TaskHash {
    /// The hash of the task's last event; initially, of the task's name.
    own: u64,
    /// The sums of the hashes of other tasks' operations on the task since this event, by kind. Index 0 is for
    /// operations without a kind.
    told: Vec<u64>,
}

impl TaskHash {
    fn nothing(name: u64) -> TaskHash {
        TaskHash { own: name, told: Vec::new() }
    }

    /// Returns the hash of all events so far that precede the next event of the task.
    fn take(&mut self) -> u64 {
        self.own = self.told.drain(..).filter(|sum| *sum != 0).fold(self.own, mix);
        self.own
    }

    /// Returns the hash of the events that precede an operation of this kind by another task. Two aborts have no order.
    fn conflicting(&self, kind: Option<Kind>) -> u64 {
        let sum = |number: usize| self.told.get(1 + number).copied().unwrap_or(0);
        let conflicting = kind.into_iter().flat_map(Kind::conflicting);
        conflicting.fold(self.own, |hash, number| hash.wrapping_add(sum(number)))
    }

    /// Adds the hash of an operation of this kind by another task.
    fn add(&mut self, kind: Option<Kind>, hash: u64) {
        let at = kind.map_or(0, |kind| 1 + kind.number());
        if self.told.len() <= at {
            self.told.resize(at + 1, 0);
        }
        self.told[at] = self.told[at].wrapping_add(hash);
    }
}

/// Returns the hash of an event, and records the event as the last event of its task.
fn event_hash(event: &Event, tasks: &mut [TaskHash], objects: &mut [ObjectHash]) -> u64 {
    let access = event.op.access;
    let mut hash = mix(tasks[event.task.index()].take(), access as u64);
    if let Some(seen) = event.object.and_then(|object| objects.get_mut(object.index())) {
        if let Some(kind) = event.op.kind {
            let span = match event.values {
                Values::Messages { from, to, .. } => Span { from, to },
                _ => Span::NONE,
            };
            hash = mix(mix(hash, kind.number() as u64), seen.conflicting((kind, span)));
            seen.add((kind, span), hash);
        } else if event.is_look() {
            hash = mix(hash, seen.changed);
            seen.reads = seen.reads.wrapping_add(hash);
        } else {
            hash = mix(mix(hash, seen.changed), seen.reads);
            (seen.changed, seen.reads) = (hash, 0);
        }
    }
    if let (Access::Abort | Access::Tell, Values::Task(target)) = (access, event.values) {
        // The effect of an abort or a wake-up depends on the progress of its target.
        let kind = if access == Access::Abort { Some(ABORT) } else { event.op.kind };
        let target = &mut tasks[target.index()];
        hash = mix(hash, target.conflicting(kind));
        target.add(kind, hash);
    }
    tasks[event.task.index()].own = hash;
    hash
}

fn name_of_task(task: &TaskRecord) -> u64 {
    task.path.segments().iter().fold(1, |hash, nth| mix(hash, u64::from(*nth)))
}

fn name_of_object(object: &ObjectRecord, before: &[ObjectRecord], tasks: &[u64]) -> u64 {
    match object.creator {
        Some((task, nth)) => mix(mix(2, tasks[task.index()]), u64::from(nth)),
        None => {
            let place = object.place;
            let file = place.file().bytes().fold(3, |hash, byte| mix(hash, u64::from(byte)));
            let line = u64::from(place.line()) << 32 | u64::from(place.column());
            let place_key = mix(file, line);
            let Some(node) = object.node else { return mix(place_key, u64::from(object.ordinal)) };
            // The order in which nodes first use a static does not belong to the class.
            let name = node.bytes().fold(4, |hash, byte| mix(hash, u64::from(byte)));
            let same = |other: &&ObjectRecord| other.place == place && other.node == object.node;
            mix(mix(place_key, name), before.iter().filter(same).count() as u64)
        }
    }
}
