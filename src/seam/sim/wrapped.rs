//! Objects of other libraries with operations that are points: see [`Ear`](crate::rt::Ear).

use std::sync::{Arc, Mutex, PoisonError};
use unpause_ordered::Map;

use super::Here;
use super::carrier::Latch;
use super::group::kept;
use super::point::RunObject;
use crate::rt::{Hold, Object, WORLD, in_run, interned, made, object_id, run};
use crate::run::Failure;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::kind::Kind;
use crate::run::op::{Access, Op};

/// The identity of a wrapped object in runs.
#[derive(Debug)]
pub(crate) struct Wrapped {
    object: Object,
}

/// The operation of a call without a point that panicked. Such a call may have changed anything, so searches keep its
/// order with all other operations on the object.
const UNWIND: Op = Op::new("panic_in_a_call", Access::Tell).by_hand().quiet();

/// The value of type `R` of each object of a run.
struct ValuesOfRun<R>(Mutex<Map<ObjectId, Arc<R>>>);

impl<R> Default for ValuesOfRun<R> {
    fn default() -> ValuesOfRun<R> {
        ValuesOfRun(Mutex::default())
    }
}

/// A part of the program with access to such an object: its owner, or a reference to it.
pub(crate) trait Owner {
    /// Returns the identity of the object in runs.
    fn wrapped(&self) -> &Wrapped;

    /// Returns the values to record when a call begins to wait.
    #[inline]
    fn queued(&self) -> Values {
        Values::None
    }

    /// Called when the call is dropped while it still waits.
    #[inline]
    fn left(&self) {}
}

impl<T: Owner> Owner for &T {
    #[inline]
    fn wrapped(&self) -> &Wrapped {
        (**self).wrapped()
    }

    #[inline]
    fn queued(&self) -> Values {
        (**self).queued()
    }

    #[inline]
    fn left(&self) {
        (**self).left();
    }
}

impl Owner for Wrapped {
    #[inline]
    fn wrapped(&self) -> &Wrapped {
        self
    }
}

impl<T: Owner> Owner for Arc<T> {
    #[inline]
    fn wrapped(&self) -> &Wrapped {
        (**self).wrapped()
    }

    #[inline]
    fn queued(&self) -> Values {
        (**self).queued()
    }

    #[inline]
    fn left(&self) {
        (**self).left();
    }
}

/// The operations of a call that may have to wait.
#[derive(Debug)]
pub(crate) struct CallOps {
    /// The call is announced, and done without a wait.
    pub(crate) begin: Op,
    /// The call is done without a wait, and without success.
    pub(crate) refuse: Op,
    /// The call has begun, and waits.
    pub(crate) queue: Op,
    /// The call is announced while it waits, and done afterwards.
    pub(crate) hear: Op,
    /// The call is dropped while it waits.
    pub(crate) leave: Op,
    /// The operations by hand: done, done without success, and begun to wait.
    pub(crate) by_hand: [Op; 3],
}

/// The effect of a call's result on the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// The call is done.
    Done,
    /// The call is done, and the task holds the object until it is [released](Wrapped::give_up).
    Holds,
    /// The call is done, with these values.
    With(Values),
    /// The call is done. The call is recorded as this operation if it did not wait.
    As(&'static Op),
    /// The call failed and changed nothing.
    ToNothing,
    /// The call failed. If it waited, it is recorded as this operation, which returns what the call had received in the
    /// queue.
    GivesBack(&'static Op),
}

impl CallOps {
    /// Returns the operations of a call that changes the object. The names are for the call and for its wait. The kinds
    /// are for completion without a wait, failure, queueing and continuation. `leave` is recorded if the call is
    /// dropped while it waits.
    pub(crate) const fn acting(
        (name, queues): (&'static str, &'static str),
        [begin, refuse, queue, hear]: [Kind; 4],
        leave: Op,
    ) -> CallOps {
        CallOps::of(
            [
                Op::of_kind(name, Access::Act, begin),
                Op::of_kind(name, Access::Act, refuse),
                Op::of_kind(queues, Access::Act, queue),
            ],
            Op::of_kind(name, Access::Wait, hear),
            leave,
        )
    }

    const fn of([begin, refuse, queue]: [Op; 3], hear: Op, leave: Op) -> CallOps {
        let by_hand = [begin.by_hand(), refuse.by_hand(), queue.by_hand()];
        CallOps { begin, refuse, queue, hear, leave, by_hand }
    }

    /// Returns the same operations, but screens omit the call if it does not wait, because another operation of the
    /// step shows it.
    pub(crate) const fn quiet(self) -> CallOps {
        let CallOps { begin, refuse, queue, hear, leave, .. } = self;
        CallOps::of([begin.quiet(), refuse, queue], hear, leave)
    }

    /// Returns the operations of a call that only reads the object. The call has the kind `look` and, after a wait, the
    /// kind `hear`.
    pub(crate) const fn seeing(
        (name, queues): (&'static str, &'static str),
        [look, hear]: [Kind; 2],
    ) -> CallOps {
        CallOps::of(
            [
                Op::of_kind(name, Access::Read, look),
                Op::of_kind(name, Access::Read, look),
                Op::of_kind(queues, Access::Read, look),
            ],
            Op::of_kind(name, Access::Wait, hear),
            CallOps::stop_waiting(look),
        )
    }

    /// Returns the operation for the end of a wait that leaves the object unchanged.
    pub(crate) const fn stop_waiting(look: Kind) -> Op {
        Op::of_kind("stop_waiting", Access::Peek, look)
    }

    /// Returns the operation for the end of a wait in a queue, which lets other tasks continue.
    pub(crate) const fn leave_the_queue(leave: Kind) -> Op {
        Op::of_kind("leave_the_queue", Access::Tell, leave)
    }
}

impl Wrapped {
    /// Returns an object of this kind.
    pub(crate) fn new(kind: &'static str, here: Here) -> Wrapped {
        Wrapped { object: made(Object::new(kind, here, false), ValueKind::Unsigned, 0) }
    }

    /// Like [`new`](Self::new), but the object belongs to no node: all nodes may use it.
    pub(crate) fn outside(kind: &'static str, here: Here) -> Wrapped {
        Wrapped::for_all(Object::new(kind, here, false), None)
    }

    /// Like [`outside`](Self::outside), but with a name.
    pub(crate) fn outside_named(kind: &'static str, name: &str, here: Here) -> Wrapped {
        Wrapped::for_all(Object::new(kind, here, false).named(interned(name)), None)
    }

    /// Like [`outside_named`](Self::outside_named), but with a static name and optionally a key, as in
    /// [`outside_keyed`](Self::outside_keyed).
    pub(crate) fn outside_known(
        kind: &'static str,
        name: &'static str,
        key: Option<u32>,
        here: Here,
    ) -> Wrapped {
        Wrapped::for_all(Object::new(kind, here, false).named(name), key)
    }

    /// Like [`outside_named`](Self::outside_named), but for an object that any task may be the first to use. Runs
    /// identify it by `key`, and not by its creator. Objects of one run have different keys.
    pub(crate) fn outside_keyed(kind: &'static str, name: &str, key: u32, here: Here) -> Wrapped {
        Wrapped::for_all(Object::new(kind, here, false).named(interned(name)), Some(key))
    }

    /// Like [`outside_keyed`](Self::outside_keyed), but for a word with values of this kind.
    pub(crate) fn outside_word(name: &str, values: ValueKind, key: u32, here: Here) -> Wrapped {
        let object = Object::new("word", here, false).named(interned(name));
        if in_run() {
            WORLD.with(|world| world.created_for_all(&object, values, Some(key)));
        }
        Wrapped { object }
    }

    fn for_all(object: Object, key: Option<u32>) -> Wrapped {
        if in_run() {
            WORLD.with(|world| world.created_for_all(&object, ValueKind::Unsigned, key));
        }
        Wrapped { object }
    }

    /// Returns an object for a static.
    pub(crate) const fn of_static(kind: &'static str, here: Here) -> Wrapped {
        Wrapped { object: Object::new(kind, here, false) }
    }

    /// Returns an object for a static that is different in each run, and in each life of a node. The values of the
    /// object [belong to the run](Self::value_of_run).
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) const fn by_run(kind: &'static str, here: Here) -> Wrapped {
        Wrapped { object: Object::of_static(kind, here) }
    }

    /// Returns the value that belongs to the object in this run. If the object is [for a static](Self::by_run), each
    /// life of a node has its own value. `None` outside of runs.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn value_of_run<R: Send + Sync + 'static>(
        &self,
        here: Here,
        first: impl FnOnce() -> R,
    ) -> Option<Arc<R>> {
        if !in_run() {
            return None;
        }
        let id = self.id(here);
        let values = kept::<ValuesOfRun<R>>();
        let mut values = values.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(values.entry(id).or_insert_with(|| Arc::new(first())).clone())
    }

    /// Like [`value_of_run`](Self::value_of_run), but returns `None` if the run has not used the value yet. Changes
    /// nothing in the run.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn known_value_of_run<R: Send + Sync + 'static>(&self) -> Option<Arc<R>> {
        if !in_run() {
            return None;
        }
        let id = WORLD.with(|world| world.known(&self.object))?;
        let values = kept::<ValuesOfRun<R>>();
        let values = values.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(&id).cloned()
    }

    /// Records an operation without values and without a point. The caller performs the operation in this step.
    #[inline]
    pub(crate) fn record(&self, op: &'static Op, here: Here) {
        if in_run() {
            WORLD.with(|world| world.did_alone(op, &self.object, here));
        }
    }

    /// Performs an operation without a point. `op` returns the operation to record, depending on the result.
    pub(crate) fn now<R>(
        &self,
        here: Here,
        act: impl FnOnce() -> R,
        op: impl FnOnce(&R) -> (&'static Op, Values),
    ) -> R {
        self.now_with(here, act, |result| (op(result), Hold::Stays))
    }

    /// Like [`now`](Self::now), for an operation without values.
    pub(crate) fn act<R>(&self, op: &'static Op, here: Here, act: impl FnOnce() -> R) -> R {
        self.now(here, act, |_| (op, Values::None))
    }

    /// Like [`now`](Self::now), but for an operation that reads a number.
    pub(crate) fn count(
        &self,
        op: &'static Op,
        here: Here,
        count: impl FnOnce() -> usize,
    ) -> usize {
        self.now(here, count, |count| (op, Values::Read(*count as u64)))
    }

    /// Like [`now`](Self::now), but for an operation that reads a truth value.
    pub(crate) fn check(&self, op: &'static Op, here: Here, check: impl FnOnce() -> bool) -> bool {
        self.now(here, check, |is_so| (op, Values::Read(u64::from(*is_so))))
    }

    /// Like [`now`](Self::now), but for an operation that is recorded as another operation if it fails.
    pub(crate) fn attempt<R, E>(
        &self,
        [done, failed]: [&'static Op; 2],
        here: Here,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        self.now(here, act, |result| match result {
            Ok(_) => (done, Values::None),
            Err(_) => (failed, Values::Failed),
        })
    }

    /// Like [`attempt`](Self::attempt). If the operation succeeds, the task holds the object until it is
    /// [released](Self::give_up).
    pub(crate) fn attempt_to_hold<R, E>(
        &self,
        [done, failed]: [&'static Op; 2],
        here: Here,
        act: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E> {
        self.now_with(here, act, |result| match result {
            Ok(_) => ((done, Values::None), Hold::Begins),
            Err(_) => ((failed, Values::Failed), Hold::Stays),
        })
    }

    fn now_with<R>(
        &self,
        here: Here,
        act: impl FnOnce() -> R,
        op: impl FnOnce(&R) -> ((&'static Op, Values), Hold),
    ) -> R {
        if !in_run() {
            return act();
        }
        let object = self.id(here);
        let unwinding = Unwinding { object, here };
        let result = act();
        std::mem::forget(unwinding);
        let ((op, values), hold) = op(&result);
        WORLD.with(|world| world.did(op, object, here, (values, hold)));
        result
    }

    /// Records an operation of a destructor in the step of the destructor. Has no effect on an object of another run.
    pub(crate) fn last(&self, op: &'static Op, here: Here) {
        if in_run() {
            WORLD.with(|world| world.did_last_alone(op, &self.object, here));
        }
    }

    /// Like [`last`](Self::last), but also releases this many parts of the object.
    pub(crate) fn give_up(&self, op: &'static Op, here: Here, parts: u32) {
        if in_run() {
            WORLD.with(|world| world.did_last(op, &self.object, here, Hold::Ends(parts)));
        }
    }

    /// Records that a part of the object that the task holds was split into two parts.
    pub(crate) fn hold_one_more(&self, here: Here) {
        if in_run() {
            WORLD.with(|world| world.hold_one_more(&self.object, here));
        }
    }

    /// Fails the run, because an operation that blocks its thread would block the only thread of the run.
    pub(crate) fn blocks(&self, name: &str, instead: &str, here: Here) {
        super::fail(|| Failure::Misuse {
            message: format!(
                "{name} blocks its thread, and all tasks of a run are on one: write {instead}"
            ),
            place: here.to_string(),
        });
    }

    pub(super) fn id(&self, here: Here) -> ObjectId {
        object_id(&self.object, ValueKind::Unsigned, here, || 0)
    }
}

/// A call in progress on an object. The drop of this value records that the call panicked: the call may have changed
/// the object, for example by a closure of the program.
struct Unwinding {
    object: ObjectId,
    here: Here,
}

impl Drop for Unwinding {
    fn drop(&mut self) {
        WORLD.with(|world| world.did_before_end(&UNWIND, self.object, self.here));
    }
}

/// An operation of the current step, and its object.
pub(crate) type Deed<'a> = (&'a Wrapped, &'static Op);

/// Records several operations without values and without a point, in this order.
#[inline]
pub(crate) fn record_all<const N: usize>(deeds: [Option<Deed<'_>>; N], here: Here) {
    if in_run() {
        let deeds = deeds.map(|deed| deed.map(|(wrapped, op)| (&wrapped.object, op)));
        WORLD.with(|world| world.did_all(&deeds, here));
    }
}

/// An object of a run with two operations. The first operation creates the object and puts a value down in the same
/// step; the second operation gets the value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// The number of the run, and the number of the object in that run. `None` if it was created outside of runs.
    made: Option<(u64, ObjectId)>,
}

impl Passed {
    /// Creates the object for all nodes, and records that the operation `op` puts a value down.
    #[inline]
    pub(crate) fn put(kind: &'static str, op: &'static Op, here: Here) -> Passed {
        let made = in_run().then(|| {
            let object = WORLD.with(|world| world.create_by(op, kind, here, |_| ()));
            (run(), object)
        });
        Passed { made }
    }

    /// Like [`put`](Self::put), and opens the latches for which `each` calls its argument.
    #[inline]
    pub(crate) fn put_and_open(
        kind: &'static str,
        op: &'static Op,
        here: Here,
        each: impl FnOnce(&mut dyn FnMut(&Latch)),
    ) -> Passed {
        let made = in_run().then(|| {
            let object = WORLD.with(|world| {
                world.create_by(op, kind, here, |enable| {
                    each(&mut |latch| enable(latch.announcement()));
                })
            });
            (run(), object)
        });
        Passed { made }
    }

    /// Records that the operation `op` gets the value.
    #[inline]
    pub(crate) fn get(self, op: &'static Op, here: Here) {
        if let Some((_, object)) = self.made.filter(|(made, _)| *made == run()) {
            WORLD.with(|world| world.did_to(op, object, here));
        }
    }
}

impl RunObject for Wrapped {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(self.id(place))
    }
}
