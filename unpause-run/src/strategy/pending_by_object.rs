//! Pending operations by object: finds the tasks with pending operations that conflict with a
//! task's operations.
//!
//! As long as there are few tasks and each task has announced at most one operation, the index is one word per object,
//! with one bit per task. With more tasks or announcements, each object has a list, and each task stores its positions
//! in the lists. The cost of looking up an object does not depend on the number of tasks.

use crate::run::board::{Announced, Announcements};
use crate::run::ids::{ObjectId, TaskId};
use crate::run::op::Access;

/// The maximum number of tasks for the index of words, with one bit per task.
const FEW: usize = u32::BITS as usize;

/// The number for "no object". The number of an object is its index plus 1.
const NOWHERE: u32 = 0;

/// The tasks with pending operations on one object.
#[derive(Clone, Copy, Debug)]
pub(super) struct FewTasks {
    pub(super) object: ObjectId,
    /// A bit for each task.
    tasks: u32,
}

impl FewTasks {
    pub(super) fn tasks(self) -> impl Iterator<Item = TaskId> {
        let mut left = self.tasks;
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| TaskId(left.trailing_zeros()));
            left &= left.wrapping_sub(1);
            next
        })
    }
}

/// The pending operations of all tasks, by object.
#[derive(Debug)]
pub(super) struct PendingByObject {
    /// For each task, the object and the access of its operation. Not updated once there are lists.
    objects: [u32; FEW],
    accesses: [Access; FEW],
    /// For each number from `objects`, a bit for each task with an operation on that object.
    here: Vec<u32>,
    /// A bit for each task with a pending read. Reads do not conflict with each other.
    reads: u32,
    has_lists: bool,
    /// For each object, the tasks with an operation on it, and their accesses.
    lists: Vec<Vec<(TaskId, Access)>>,
    /// For each task, the objects of its operations, and its positions in their lists.
    places: Vec<Vec<(ObjectId, u32)>>,
}

impl Default for PendingByObject {
    fn default() -> PendingByObject {
        PendingByObject {
            objects: [NOWHERE; FEW],
            accesses: [Access::Start; FEW],
            here: Vec::new(),
            reads: 0,
            has_lists: false,
            lists: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl PendingByObject {
    pub(super) fn clear(&mut self) {
        self.objects.fill(NOWHERE);
        self.here.clear();
        self.has_lists = false;
        self.lists.iter_mut().for_each(Vec::clear);
        self.places.iter_mut().for_each(Vec::clear);
    }

    /// Calls `each` with the object and the other task for each pending operation that conflicts with an operation of
    /// `task`.
    pub(super) fn rivals(&self, task: TaskId, mut each: impl FnMut(ObjectId, TaskId)) {
        match self.few_rivals(task) {
            Some(few) => few.tasks().for_each(|other| each(few.object, other)),
            None => self.rivals_in_lists(task, each),
        }
    }

    /// Returns the conflicting tasks, if all are at one object. `None` if the lists must be searched; see `rivals`.
    #[inline]
    pub(super) fn few_rivals(&self, task: TaskId) -> Option<FewTasks> {
        let nobody = FewTasks { object: ObjectId::new(0), tasks: 0 };
        if self.has_lists {
            return self.places.get(task.index()).is_none_or(Vec::is_empty).then_some(nobody);
        }
        let object = match self.objects.get(task.index()) {
            None | Some(&NOWHERE) => return Some(nobody),
            Some(object) => *object,
        };
        let own = 1 << task.0;
        let no_rivals = if self.reads & own == 0 { own } else { self.reads };
        Some(FewTasks {
            object: ObjectId::new(object - 1),
            tasks: self.here[object as usize] & !no_rivals,
        })
    }

    fn rivals_in_lists(&self, task: TaskId, mut each: impl FnMut(ObjectId, TaskId)) {
        let Some(places) = self.places.get(task.index()) else { return };
        for (object, at) in places {
            let here = &self.lists[object.index()];
            let did = here[*at as usize].1;
            for (other, access) in here {
                if *other != task && access.conflicts(did) {
                    each(*object, *other);
                }
            }
        }
    }

    /// Replaces the pending operations of the task.
    #[inline]
    pub(super) fn update(&mut self, task: TaskId, announced: &Announcements) {
        if self.has_lists {
            return self.update_lists(task, announced);
        }
        let (object, access) = match announced.only() {
            Some(Announced { object: Some(object), op, .. }) => {
                debug_assert!(op.access.conflicts(Access::Write), "{op:?} with an object");
                (object.index() as u32 + 1, op.access)
            }
            None if !announced.is_empty() => return self.make_lists(task, announced),
            _ => (NOWHERE, Access::Start),
        };
        if task.index() >= FEW {
            return self.make_lists(task, announced);
        }
        let bit = 1 << task.0;
        let before = std::mem::replace(&mut self.objects[task.index()], object);
        if before != object {
            if self.here.len() <= object as usize {
                self.here.resize(object as usize + 1, 0);
            }
            if before != NOWHERE {
                self.here[before as usize] &= !bit;
            }
            self.here[object as usize] |= bit;
        }
        self.accesses[task.index()] = access;
        self.reads = self.reads & !bit | u32::from(access == Access::Read) << task.0;
    }

    #[inline]
    fn update_lists(&mut self, task: TaskId, announced: &Announcements) {
        if self.places.len() <= task.index() {
            self.places.resize_with(task.index() + 1, Vec::new);
        }
        // Almost always, the task had one operation and now has one operation.
        let object = announced.only().map(|only| only.object);
        match (&self.places[task.index()][..], object) {
            ([], Some(None)) => {}
            (&[place], Some(Some(object))) => {
                let access = announced.first.op.access;
                if place.0 == object {
                    self.lists[object.index()][place.1 as usize].1 = access;
                } else {
                    self.leave(place);
                    self.places[task.index()][0] = self.enter(object, task, access);
                }
            }
            _ => self.update_several(task, announced),
        }
    }

    #[inline(never)]
    fn update_several(&mut self, task: TaskId, announced: &Announcements) {
        while let Some(place) = self.places[task.index()].pop() {
            self.leave(place);
        }
        for announced in announced.iter() {
            let Some(object) = announced.object else { continue };
            let place = self.enter(object, task, announced.op.access);
            self.places[task.index()].push(place);
        }
    }

    /// Switches to lists.
    #[cold]
    fn make_lists(&mut self, task: TaskId, announced: &Announcements) {
        self.has_lists = true;
        self.places.resize_with(self.objects.len().max(self.places.len()), Vec::new);
        for at in 0..self.objects.len() {
            if self.objects[at] != NOWHERE {
                let object = ObjectId::new(self.objects[at] - 1);
                let place = self.enter(object, TaskId(at as u32), self.accesses[at]);
                self.places[at].push(place);
            }
        }
        self.update_lists(task, announced);
    }

    /// Adds an operation to the list of its object. Returns its position.
    #[inline]
    fn enter(&mut self, object: ObjectId, task: TaskId, access: Access) -> (ObjectId, u32) {
        if self.lists.len() <= object.index() {
            self.lists.resize_with(object.index() + 1, Vec::new);
        }
        let here = &mut self.lists[object.index()];
        here.push((task, access));
        (object, here.len() as u32 - 1)
    }

    /// Removes an operation from a list. The last operation of the list moves to the free position.
    #[inline]
    fn leave(&mut self, (object, at): (ObjectId, u32)) {
        let here = &mut self.lists[object.index()];
        here.swap_remove(at as usize);
        let end = here.len() as u32;
        if let Some((moved, _)) = here.get(at as usize) {
            let mut places = self.places[moved.index()].iter_mut();
            places.find(|place| **place == (object, end)).expect("it stood at the end").1 = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::op::Op;
    use crate::run::rng::Rng;

    static OPS: [Op; 4] = [
        Op::new("read", Access::Read),
        Op::new("write", Access::Write),
        Op::new("lock", Access::Lock),
        Op::new("yield", Access::Yield),
    ];

    fn announcements(rng: &mut Rng, several: bool) -> Announcements {
        let mut announced = Announcements::default();
        for key in 0..rng.below(if several { 4 } else { 2 }) as u32 {
            let op = &OPS[rng.below(4) as usize];
            let object = (op.access != Access::Yield).then(|| ObjectId::new(rng.below(3) as u32));
            announced.push(Announced { op, object, key: key + 1, ..Announced::NOTHING });
        }
        announced
    }

    /// Finds the conflicting tasks by a search of all announcements.
    fn rivals(all: &[Announcements], task: usize) -> Vec<(ObjectId, TaskId)> {
        let mut found = Vec::new();
        for own in all[task].iter() {
            for (at, others) in all.iter().enumerate().filter(|(at, _)| *at != task) {
                for other in others.iter() {
                    let meet = own.object.is_some() && own.object == other.object;
                    if meet && own.op.access.conflicts(other.op.access) {
                        found.extend(own.object.map(|object| (object, TaskId(at as u32))));
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn rivals_are_those_that_a_look_at_all_finds() {
        let mut rng = Rng::new(1);
        let mut stands = PendingByObject::default();
        for (tasks, several) in [(2, false), (16, false), (5, true), (17, false), (40, true)] {
            stands.clear();
            let mut all: Vec<Announcements> = Vec::new();
            for turn in 0..1000 {
                let task = rng.below(tasks.min(1 + turn / 10)) as usize;
                all.resize_with(all.len().max(task + 1), Announcements::default);
                all[task] = announcements(&mut rng, several && turn > 200);
                stands.update(TaskId(task as u32), &all[task]);
                let of = rng.below(all.len() as u64) as usize;
                let mut found = Vec::new();
                stands.rivals(TaskId(of as u32), |object, other| found.push((object, other)));
                found.sort_unstable();
                assert_eq!(found, rivals(&all, of), "{tasks} {several} {turn}");
            }
            assert_eq!(stands.has_lists, several || tasks > FEW as u64);
        }
    }
}
