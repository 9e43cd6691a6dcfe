//! Watches: tasks that wait until an object changes, with an index by task and by object.
//!
//! The end of a step visits only the watches of the objects that the step changed, and the watches that began in the
//! step. So a thousand tasks that wait for another lock add no cost to a step.
//!
//! This module does not know which events change an object, and how a task reacts. The runtime decides this.

use crate::run::ids::{ObjectId, Place, TaskId};

/// Marker for the absence of a slot.
const NONE: u32 = u32::MAX;

/// A condition that was false, and the objects that it read. The condition is evaluated again after one of these
/// objects has changed.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The task that waits.
    pub task: TaskId,
    /// The key of the pending operation, which is the first operation of the next evaluation of the condition.
    pub key: u32,
    /// The place where the task waits.
    pub place: Place,
    /// The objects that the condition read.
    pub objects: Vec<ObjectId>,
    /// True if one of these objects has changed since the condition was evaluated.
    pub changed: bool,
    /// The number of operations of the run that had been searched for changes when the watch began.
    pub seen: usize,
}

#[derive(Debug)]
struct Slot {
    watch: Watch,
    /// The number of watches of the run that began before this watch.
    order: u32,
    /// The next watch of the same task, by order.
    next: u32,
}

/// The watches of a run.
#[derive(Debug, Default)]
pub struct Watches {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    /// The number of watches that have not ended.
    live: u32,
    /// The number of watches that have begun in the run.
    begun: u32,
    /// For each task, its first watch.
    of_tasks: Vec<u32>,
    /// For each object, its watches, by order.
    //
    // Invariant: a watch is in the lists of its objects while it is neither changed nor fresh.
    of_objects: Vec<Vec<u32>>,
    /// The number of watches in the lists of objects.
    listed: u32,
    /// The watches that began since the last settlement, by order.
    fresh: Vec<u32>,
    /// The watches to visit in the current settlement, from last to first. The upper half of a number is the order, the
    /// lower half is the slot.
    due: Vec<u64>,
    /// The number of operations of the run that have been searched for changes of the objects in the lists.
    searched: usize,
}

impl Watches {
    /// Returns `true` if no task waits for a change.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Removes all watches, but keeps the allocations.
    #[inline]
    pub fn clear(&mut self) {
        if self.begun > 0 {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        (self.live, self.begun, self.listed, self.searched) = (0, 0, 0, 0);
        self.vacant.clear();
        self.vacant.extend(0..self.slots.len() as u32);
        self.of_tasks.clear();
        self.of_objects.iter_mut().for_each(Vec::clear);
        self.fresh.clear();
        self.due.clear();
    }

    /// Begins a watch.
    pub fn begin(&mut self, watch: Watch) {
        let task = watch.task.index();
        let slot = Slot { watch, order: self.begun, next: NONE };
        (self.live, self.begun) = (self.live + 1, self.begun + 1);
        let at = match self.vacant.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        if self.of_tasks.len() <= task {
            self.of_tasks.resize(task + 1, NONE);
        }
        *self.link(task, |_| false) = at;
        self.fresh.push(at);
    }

    /// Returns the link to the first watch of a task that satisfies `wanted`, or the end of the task's list.
    fn link(&mut self, task: usize, wanted: impl Fn(&Watch) -> bool) -> &mut u32 {
        let (mut before, mut at) = (NONE, self.of_tasks[task]);
        while at != NONE && !wanted(&self.slots[at as usize].watch) {
            (before, at) = (at, self.slots[at as usize].next);
        }
        match before {
            NONE => &mut self.of_tasks[task],
            before => &mut self.slots[before as usize].next,
        }
    }

    /// Ends the watch of a pending operation, if the operation has a watch.
    pub fn end(&mut self, task: TaskId, key: u32) {
        if task.index() >= self.of_tasks.len() {
            return;
        }
        let at = *self.link(task.index(), |watch| watch.key == key);
        if at == NONE {
            return;
        }
        let next = self.slots[at as usize].next;
        *self.link(task.index(), |watch| watch.key == key) = next;
        match self.fresh.iter().position(|fresh| *fresh == at) {
            Some(nth) => _ = self.fresh.remove(nth),
            None if !self.slots[at as usize].watch.changed => self.leave_lists(at, None),
            None => {}
        }
        self.vacant.push(at);
        self.live -= 1;
    }

    /// Removes a watch from the lists of its objects, except `but`.
    fn leave_lists(&mut self, at: u32, but: Option<ObjectId>) {
        let Watches { slots, of_objects, .. } = self;
        let Slot { watch, order, .. } = &slots[at as usize];
        for object in watch.objects.iter().filter(|object| Some(**object) != but) {
            let list = &mut of_objects[object.index()];
            let nth = list.partition_point(|other| slots[*other as usize].order < *order);
            // The watch may name an object twice.
            if list.get(nth) == Some(&at) {
                list.remove(nth);
            }
        }
        self.listed -= 1;
    }

    /// Returns the watches of a task, by order.
    pub fn of(&self, task: TaskId) -> impl Iterator<Item = &Watch> {
        let slot = |at: u32| self.slots.get(at as usize);
        let first = self.of_tasks.get(task.index()).and_then(|at| slot(*at));
        std::iter::successors(first, move |last| slot(last.next)).map(|slot| &slot.watch)
    }

    /// Ends the wait of the first watch of a task without a change. Returns the key of the pending operation, or `None`
    /// if the task has no watch.
    pub fn let_go(&mut self, task: TaskId) -> Option<u32> {
        let at = *self.of_tasks.get(task.index())?;
        let watch = &mut self.slots.get_mut(at as usize)?.watch;
        let (key, waits) = (watch.key, !std::mem::replace(&mut watch.changed, true));
        if waits && !self.fresh.contains(&at) {
            self.leave_lists(at, None);
        }
        Some(key)
    }

    /// Settles the watches after a step. `events` are the operations of the run, and `changed` returns the object that
    /// an operation changed, if any. Afterwards, [`next_settled`](Self::next_settled) returns the watches with a new
    /// state.
    pub fn settle<T>(&mut self, events: &[T], changed: impl Fn(&T) -> Option<ObjectId>) {
        debug_assert!(self.due.is_empty());
        let searched = std::mem::replace(&mut self.searched, events.len());
        if self.listed > 0 {
            events[searched..].iter().filter_map(&changed).for_each(|object| self.change(object));
        }
        let mut fresh = std::mem::take(&mut self.fresh);
        for at in fresh.drain(..) {
            let Slot { watch, order, .. } = &mut self.slots[at as usize];
            let is_of = |object| watch.objects.contains(&object);
            watch.changed |= events[watch.seen..].iter().filter_map(&changed).any(is_of);
            self.due.push(u64::from(*order) << 32 | u64::from(at));
            if !watch.changed {
                self.enter_lists(at);
            }
        }
        self.fresh = fresh;
        self.due.sort_unstable();
        self.due.reverse();
    }

    /// Marks all watches of this object as changed.
    fn change(&mut self, object: ObjectId) {
        let Some(list) = self.of_objects.get_mut(object.index()) else { return };
        let mut list = std::mem::take(list);
        for at in list.drain(..) {
            let Slot { watch, order, .. } = &mut self.slots[at as usize];
            watch.changed = true;
            self.due.push(u64::from(*order) << 32 | u64::from(at));
            self.leave_lists(at, Some(object));
        }
        self.of_objects[object.index()] = list;
    }

    /// Returns the next watch that changed or was new in the last settlement. The watches are returned in the order in
    /// which they began. If the watch has changed, its task can step.
    pub fn next_settled(&mut self) -> Option<&Watch> {
        let due = self.due.pop()?;
        Some(&self.slots[due as u32 as usize].watch)
    }

    /// Adds a watch to the lists of its objects.
    fn enter_lists(&mut self, at: u32) {
        let Watches { slots, of_objects, listed, .. } = self;
        for object in &slots[at as usize].watch.objects {
            if of_objects.len() <= object.index() {
                of_objects.resize_with(object.index() + 1, Vec::new);
            }
            let list = &mut of_objects[object.index()];
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
        *listed += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::run::rng::Rng;

    /// A reference implementation without an index: each settlement visits all watches, in the order in which they
    /// began.
    #[derive(Default)]
    struct Simple(Vec<Watch>);

    impl Simple {
        /// Returns the operations that become enabled or disabled, in this order. `enabled` contains the enabled
        /// operations.
        fn settle(&mut self, events: &[ObjectId], enabled: &mut Vec<u32>) -> Vec<(u32, bool)> {
            let mut new = Vec::new();
            for watch in &mut self.0 {
                watch.changed |=
                    events[watch.seen..].iter().any(|event| watch.objects.contains(event));
                watch.seen = events.len();
                if enabled.contains(&watch.key) != watch.changed {
                    set(enabled, watch.key, watch.changed);
                    new.push((watch.key, watch.changed));
                }
            }
            new
        }
    }

    fn set(enabled: &mut Vec<u32>, key: u32, is_enabled: bool) {
        enabled.retain(|other| *other != key);
        enabled.extend(is_enabled.then_some(key));
    }

    /// Settles the watches with the index. Returns the operations that become enabled or disabled, in this order.
    fn settle(
        watches: &mut Watches,
        events: &[ObjectId],
        enabled: &mut Vec<u32>,
    ) -> Vec<(u32, bool)> {
        let mut new = Vec::new();
        watches.settle(events, |event| Some(*event));
        while let Some(Watch { key, changed, .. }) = watches.next_settled() {
            if enabled.contains(key) != *changed {
                set(enabled, *key, *changed);
                new.push((*key, *changed));
            }
        }
        new
    }

    /// Executes one run of random steps with both implementations. Returns the number of operations that changes
    /// enabled.
    fn compare(rng: &mut Rng, watches: &mut Watches) -> usize {
        let mut simple = Simple::default();
        let (mut events, mut keys, mut woken) = (Vec::new(), 0, 0);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (tasks, objects) = (1 + rng.below(6), 1 + rng.below(6));
        for _ in 0..rng.below(60) {
            for _ in 0..rng.below(4) {
                let task = TaskId(rng.below(tasks) as u32);
                match rng.below(8) {
                    0..=2 => events.push(ObjectId::new(rng.below(objects) as u32)),
                    3..=5 => {
                        keys += 1;
                        let read = 0..rng.below(4);
                        let objects =
                            read.map(|_| ObjectId::new(rng.below(objects) as u32)).collect();
                        let seen = events.len().saturating_sub(rng.below(3) as usize);
                        let changed = rng.below(8) == 0;
                        let place = Location::caller();
                        let watch = Watch { task, key: keys, place, objects, changed, seen };
                        // An operation is enabled when it is announced.
                        ours.push(keys);
                        theirs.push(keys);
                        simple.0.push(watch.clone());
                        watches.begin(watch);
                    }
                    6 if !simple.0.is_empty() => {
                        let nth = rng.below(simple.0.len() as u64) as usize;
                        let watch = simple.0.remove(nth);
                        watches.end(watch.task, watch.key);
                        watches.end(watch.task, watch.key);
                    }
                    _ => {
                        let first = simple.0.iter_mut().find(|watch| watch.task == task);
                        let key = first.map(|watch| {
                            watch.changed = true;
                            watch.key
                        });
                        assert_eq!(watches.let_go(task), key);
                        if let Some(key) = key {
                            set(&mut ours, key, true);
                            set(&mut theirs, key, true);
                        }
                    }
                }
            }
            let new = settle(watches, &events, &mut ours);
            assert_eq!(new, simple.settle(&events, &mut theirs));
            woken += new.iter().filter(|(_, enabled)| *enabled).count();
            assert_eq!(watches.is_empty(), simple.0.is_empty());
            for task in (0..tasks).map(|task| TaskId(task as u32)) {
                let of = simple.0.iter().filter(|watch| watch.task == task);
                let all = of.map(|watch| (watch.key, watch.changed));
                assert!(watches.of(task).map(|watch| (watch.key, watch.changed)).eq(all));
            }
        }
        woken
    }

    #[test]
    fn the_index_settles_the_same_watches_in_the_same_order() {
        let (mut rng, mut watches, mut woken) = (Rng::new(1), Watches::default(), 0);
        for _ in 0..5_000 {
            woken += compare(&mut rng, &mut watches);
            // The next run reuses the state that this run leaves.
            watches.clear();
            assert!(watches.is_empty() && watches.listed == 0);
        }
        assert!(woken > 10_000, "{woken}");
    }

    #[test]
    fn a_step_does_not_visit_the_watches_of_other_objects() {
        let mut watches = Watches::default();
        let place = Location::caller();
        for n in 0..1_000 {
            let (task, objects) = (TaskId(n), vec![ObjectId::new(n % 2)]);
            watches.begin(Watch { task, key: n + 1, place, objects, changed: false, seen: 0 });
        }
        let mut visits = |events: &[ObjectId]| {
            watches.settle(events, |event| Some(*event));
            std::iter::from_fn(|| watches.next_settled().map(|watch| watch.changed))
                .collect::<Vec<_>>()
        };
        assert_eq!(visits(&[]), [false; 1_000]);
        assert_eq!(visits(&[ObjectId::new(2), ObjectId::new(9)]), [false; 0]);
        assert_eq!(visits(&[ObjectId::new(2), ObjectId::new(9), ObjectId::new(1)]), [true; 500]);
        assert_eq!(
            visits(&[ObjectId::new(2), ObjectId::new(9), ObjectId::new(1), ObjectId::new(1)]),
            [false; 0]
        );
    }
}
