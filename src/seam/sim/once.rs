//! Values that are created once in each run.
//!
//! A static is one object that many runs use, simultaneously or one after the other. References to its value live as
//! long as the static. So the values of earlier runs stay in place until the object is dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};

use super::Here;
use super::point::{Backend, Point, RunObject};
use crate::rt::{Ear, Hold, Object, PendingOp, WORLD, World, in_run, object_id, run};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::op::{Access, Op, once};
use crate::seam::SPENT;
use crate::seam::once::{OnceOps, RealOnce};

const SETTLE: Op = Op::of_kind("initialise", Access::Tell, once::SETTLE);
const GIVE_UP: Op = Op::of_kind("give_up_the_initialisation", Access::Tell, once::GIVE_UP);

/// A value that is created once in each run, and once outside of runs.
#[derive(Debug)]
pub(crate) struct OnceValue<T> {
    pub(crate) object: Object,
    runs: Mutex<Runs>,
    values: RunValues<T>,
    /// The value outside of runs.
    real: RealOnce<T>,
}

/// The states of the latest runs that used the object, one run for each worker.
#[derive(Debug)]
struct Runs {
    of_worlds: Vec<OfRun>,
    /// The number of runs that have used the object.
    count: usize,
}

#[derive(Debug)]
struct OfRun {
    world: u64,
    run: u64,
    /// The object in the run. A static has one object per node.
    object: ObjectId,
    /// The index of the value.
    value: usize,
    phase: Phase,
    is_poisoned: bool,
    /// The tasks that wait for the end of the initialisation.
    waiters: Vec<Arc<Ear>>,
    /// The tasks that wait for the value.
    watchers: Vec<Arc<Ear>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Empty,
    UnderWay,
    Made,
}

impl<T> OnceValue<T> {
    pub(crate) const fn new(kind: &'static str, here: Here) -> OnceValue<T> {
        OnceValue::of(Object::new(kind, here, true))
    }

    /// Returns a value for a static. Each node has its own value.
    pub(crate) const fn of_static(kind: &'static str, here: Here) -> OnceValue<T> {
        OnceValue::of(Object::of_static(kind, here))
    }

    const fn of(object: Object) -> OnceValue<T> {
        let runs = Runs { of_worlds: Vec::new(), count: 0 };
        OnceValue {
            object,
            runs: Mutex::new(runs),
            values: RunValues::new(),
            real: RealOnce::new(),
        }
    }

    /// Returns the value. If the value does not exist, `make` creates it. The argument of `make` is `true` if a
    /// previous attempt has panicked.
    pub(crate) async fn get_or_make<F: Future<Output = T>>(
        &self,
        ops: &'static OnceOps,
        here: Here,
        make: impl FnOnce(bool) -> F,
    ) -> &T {
        if !in_run() {
            return self.real.get_or_make(make).await;
        }
        match Begin::new(self, ops, here, true).await {
            Begun::Found(value) => value,
            Begun::First(attempt) => {
                let is_poisoned = self.with_run(attempt.object, |of_run| of_run.is_poisoned);
                let value = make(is_poisoned).await;
                attempt.settle(value)
            }
        }
    }

    /// Waits until the value exists.
    pub(crate) async fn wait(&self, ops: &'static OnceOps, here: Here) -> &T {
        if !in_run() {
            return self.real.cell.wait().await;
        }
        match Begin::new(self, ops, here, false).await {
            Begun::Found(value) => value,
            Begun::First(_) => unreachable!("it makes no value"),
        }
    }

    /// Returns the value, if it exists. `op` is a read.
    pub(crate) fn get(
        &self,
        op: &'static Op,
        here: Here,
    ) -> impl Future<Output = Option<&T>> + use<'_, T> {
        Point::new(self, op, here, move |backend: &Backend<'_>| {
            let Backend::Run(pending) = backend else { return self.real.cell.get() };
            pending.finish();
            let value = pending.object.and_then(|object| self.made(object));
            WORLD.with(|world| world.set_values(Values::Read(u64::from(value.is_some()))));
            value
        })
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        match self.place_of_value() {
            Some(place) => self.values.at_mut(place).get_mut(),
            None => self.real.cell.get_mut(),
        }
    }

    pub(crate) fn into_inner(mut self) -> Option<T> {
        match self.place_of_value() {
            Some(place) => self.values.at_mut(place).take(),
            None => self.real.cell.into_inner(),
        }
    }

    /// Takes the value, if it exists, and leaves the cell empty.
    pub(crate) fn take(&mut self) -> Option<T> {
        let object = self.in_this_run();
        let Some(place) = self.place_of_value() else {
            return std::mem::replace(&mut self.real, RealOnce::new()).cell.into_inner();
        };
        let runs = self.runs.get_mut().unwrap_or_else(PoisonError::into_inner);
        runs.of_worlds.retain(|of_run| of_run.run != run() || Some(of_run.object) != object);
        self.object.forget();
        self.values.at_mut(place).take()
    }

    /// Returns the index of the value of this run. Outside of runs it is `None`, unless only runs have used the cell.
    /// In that case, it is the index of the last run's value.
    fn place_of_value(&mut self) -> Option<usize> {
        let object = self.in_this_run();
        let runs = self.runs.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !in_run() && self.real.cell.is_initialized() {
            return None;
        }
        let is_it =
            |of_run: &&OfRun| !in_run() || of_run.run == run() && Some(of_run.object) == object;
        runs.of_worlds.iter().rfind(is_it).map(|of_run| of_run.value)
    }

    /// Returns the object in this run, if the run knows it.
    fn in_this_run(&self) -> Option<ObjectId> {
        if in_run() { WORLD.with(|world| world.known(&self.object)) } else { None }
    }

    /// Returns the value of this run's object, if it was created.
    fn made(&self, object: ObjectId) -> Option<&T> {
        let place = |of_run: &mut OfRun| (of_run.phase == Phase::Made).then_some(of_run.value);
        let place = self.with_run(object, place);
        place.and_then(|place| self.values.at(place).get())
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` with the state of this run's object.
    fn with_run<R>(&self, object: ObjectId, act: impl FnOnce(&mut OfRun) -> R) -> R {
        let (world, run) = WORLD.with(|world| (world.number(), world.run()));
        let mut runs = self.lock();
        let Runs { of_worlds, count } = &mut *runs;
        let is_it = |of_run: &OfRun| of_run.run == run && of_run.object == object;
        let at = of_worlds.iter().position(is_it).unwrap_or_else(|| {
            let value = std::mem::replace(count, *count + 1);
            // Removes the states of the worker's last run.
            of_worlds.retain(|of_run| of_run.world != world || of_run.run == run);
            of_worlds.push(OfRun::new(world, (run, object), value));
            of_worlds.len() - 1
        });
        act(&mut of_worlds[at])
    }

    /// Like [`with_run`](Self::with_run), but for destructors. Has no effect outside of the run with this number.
    fn with_this_run(
        &self,
        (number, object): (u64, ObjectId),
        act: impl FnOnce(&mut OfRun),
    ) -> bool {
        let is_on = in_run() && run() == number;
        if is_on {
            self.with_run(object, act);
        }
        is_on
    }
}

impl OfRun {
    fn new(world: u64, (run, object): (u64, ObjectId), value: usize) -> OfRun {
        let (waiters, watchers) = (Vec::new(), Vec::new());
        OfRun {
            world,
            run,
            object,
            value,
            phase: Phase::Empty,
            is_poisoned: false,
            waiters,
            watchers,
        }
    }
}

impl<T> RunObject for OnceValue<T> {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, ValueKind::Opaque, place, || 0))
    }
}

/// A future that begins to create the value, or waits until the value exists.
#[must_use = "futures do nothing unless you `.await` or poll them"]
struct Begin<'a, T> {
    once: Option<&'a OnceValue<T>>,
    ops: &'static OnceOps,
    pending: PendingOp,
    /// The run in which this future waits, and the waker to call in it.
    waits: Option<(u64, Arc<Ear>)>,
    /// The object for which this future waits in that run.
    waits_for: Option<ObjectId>,
    /// False if this future only waits for the value, and never creates it.
    makes: bool,
}

enum Begun<'a, T> {
    First(RunAttempt<'a, T>),
    Found(&'a T),
}

impl<'a, T> Begin<'a, T> {
    fn new(once: &'a OnceValue<T>, ops: &'static OnceOps, here: Here, makes: bool) -> Begin<'a, T> {
        let pending = PendingOp::new(&ops.begin, here);
        Begin { once: Some(once), ops, pending, waits: None, waits_for: None, makes }
    }

    /// Performs the operation in its turn. Returns `None` if the operation must wait.
    fn act(&mut self, once: &'a OnceValue<T>) -> Option<Begun<'a, T>> {
        let object = self.object();
        let phase = once.with_run(object, |of_run| {
            let phase = of_run.phase;
            if self.makes && phase == Phase::Empty {
                of_run.phase = Phase::UnderWay;
            }
            phase
        });
        let later = self.waits.is_some();
        match phase {
            Phase::Made => {
                self.record(&self.ops.found[usize::from(later)], Hold::Stays);
                once.made(object).map(Begun::Found)
            }
            Phase::Empty if self.makes => {
                let begun = if later { &self.ops.begin_later } else { &self.ops.begin };
                self.record(begun, Hold::Begins);
                let here = self.pending.place;
                Some(Begun::First(RunAttempt { once, run: run(), object, here, is_over: false }))
            }
            Phase::Empty | Phase::UnderWay => {
                self.record(&self.ops.queue, Hold::Stays);
                let (_, ear) = self.waits.get_or_insert_with(|| (run(), WORLD.with(World::ear)));
                ear.open();
                let ear = ear.clone();
                self.waits_for = Some(object);
                once.with_run(object, |of_run| match self.makes {
                    true => of_run.waiters.push(ear),
                    false => of_run.watchers.push(ear),
                });
                None
            }
        }
    }

    fn record(&self, op: &'static Op, hold: Hold) {
        let place = self.pending.place;
        WORLD.with(|world| world.did(op, self.object(), place, (Values::None, hold)));
    }

    fn object(&self) -> ObjectId {
        self.pending.object.expect("it is one")
    }

    /// Ends the wait, and removes its wakers.
    fn leave(&mut self) {
        if let (Some(once), Some(object), Some((number, ear))) =
            (self.once, self.waits_for, self.waits.take())
        {
            once.with_this_run((number, object), |of_run| {
                of_run.waiters.retain(|other| !Arc::ptr_eq(other, &ear));
                of_run.watchers.retain(|other| !Arc::ptr_eq(other, &ear));
            });
        }
    }
}

impl<'a, T> Future for Begin<'a, T> {
    type Output = Begun<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Begun<'a, T>> {
        let once = self.once.expect(SPENT);
        loop {
            let Begin { pending, waits, .. } = &mut *self;
            let ear = waits.as_ref().map(|(_, ear)| &**ear);
            if pending.poll_turn(cx, once, ear).is_pending() {
                return Poll::Pending;
            }
            if let Some(begun) = self.act(once) {
                self.leave();
                self.once = None;
                return Poll::Ready(begun);
            }
            self.pending = PendingOp::new(&self.ops.hear, self.pending.place);
        }
    }
}

impl<T> Drop for Begin<'_, T> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// An attempt to create the value in a run. Dropping it cancels the attempt.
struct RunAttempt<'a, T> {
    once: &'a OnceValue<T>,
    run: u64,
    object: ObjectId,
    here: Here,
    is_over: bool,
}

impl<'a, T> RunAttempt<'a, T> {
    /// Completes the attempt with this value.
    fn settle(mut self, value: T) -> &'a T {
        let mut place = 0;
        let mut woken = Vec::new();
        let is_on = self.once.with_this_run((self.run, self.object), |of_run| {
            (of_run.phase, of_run.is_poisoned) = (Phase::Made, false);
            place = of_run.value;
            woken.append(&mut of_run.waiters);
            woken.append(&mut of_run.watchers);
        });
        assert!(is_on, "a value that a run makes is made to its end in another one");
        self.is_over = true;
        let slot = self.once.values.at(place);
        let is_first = slot.set(value).is_ok();
        debug_assert!(is_first, "a run has one attempt at a time");
        self.ended(&SETTLE, &woken);
        slot.get().expect("it was set above")
    }

    fn ended(&self, op: &'static Op, woken: &[Arc<Ear>]) {
        let hold = (Values::None, Hold::Ends(1));
        WORLD.with(|world| world.did(op, self.object, self.here, hold));
        woken.iter().for_each(std::task::Wake::wake_by_ref);
    }
}

impl<T> Drop for RunAttempt<'_, T> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut woken = Vec::new();
        let is_on = self.once.with_this_run((self.run, self.object), |of_run| {
            of_run.phase = Phase::Empty;
            of_run.is_poisoned |= std::thread::panicking();
            woken.append(&mut of_run.waiters);
        });
        if is_on {
            self.ended(&GIVE_UP, &woken);
        }
    }
}

/// Values with indices from 0 on, which never move.
#[derive(Debug)]
struct RunValues<T> {
    first: OnceLock<T>,
    more: OnceLock<Box<Chunk<T>>>,
}

/// Some values, and a link to a chunk with twice as many.
#[derive(Debug)]
struct Chunk<T> {
    values: Box<[OnceLock<T>]>,
    more: OnceLock<Box<Chunk<T>>>,
}

impl<T> Chunk<T> {
    fn of(count: usize) -> Box<Chunk<T>> {
        let values = (0..count).map(|_| OnceLock::new()).collect();
        Box::new(Chunk { values, more: OnceLock::new() })
    }
}

/// The number of values in the first chunk.
const CHUNK: usize = 16;

impl<T> RunValues<T> {
    const fn new() -> RunValues<T> {
        RunValues { first: OnceLock::new(), more: OnceLock::new() }
    }

    fn at(&self, number: usize) -> &OnceLock<T> {
        let Some(mut at) = number.checked_sub(1) else { return &self.first };
        let mut chunk = self.more.get_or_init(|| Chunk::of(CHUNK));
        while at >= chunk.values.len() {
            at -= chunk.values.len();
            chunk = chunk.more.get_or_init(|| Chunk::of(2 * chunk.values.len()));
        }
        &chunk.values[at]
    }

    fn at_mut(&mut self, number: usize) -> &mut OnceLock<T> {
        // This call adds the chunk if the chunk does not exist yet.
        self.at(number);
        let Some(mut at) = number.checked_sub(1) else { return &mut self.first };
        let mut chunk = self.more.get_mut().expect("it is there");
        while at >= chunk.values.len() {
            at -= chunk.values.len();
            chunk = chunk.more.get_mut().expect("it is there");
        }
        &mut chunk.values[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_runs_stay_where_they_are() {
        let mut values = RunValues::<usize>::new();
        let first = values.at(0);
        first.set(0).unwrap();
        for number in 1..200 {
            values.at(number).set(number).unwrap();
        }
        assert!(std::ptr::eq(first, values.at(0)));
        assert!((0..200).all(|number| values.at(number).get() == Some(&number)));
        assert_eq!(
            (0..200).map(|number| values.at_mut(number).take().unwrap()).sum::<usize>(),
            19_900
        );
    }
}
