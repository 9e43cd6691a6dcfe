//! Slots: the shared memory of cells.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Here;
use super::point::{Backend, Point, RunObject};
use crate::rt::{Object, WORLD, in_run, object_id};
use crate::run::event::Values;
use crate::run::ids::{ObjectId, Place};
use crate::run::op::Op;
use crate::seam::SPENT;
use crate::seam::value::{bits_of, kind_of};

/// A value of any type that is read and written as a whole. Each run has its own value. At the start of a run, this is
/// the original value if the slot was created in the run, else a clone of [`SlotValues::initial`].
#[derive(Debug)]
pub(crate) struct Slot<T> {
    pub(crate) object: Object,
    is_static: bool,
    values: Mutex<SlotValues<T>>,
}

#[derive(Debug)]
struct SlotValues<T> {
    /// The initial value of each run. Unless this is a static, also the initial value outside of runs. `None` for a
    /// slot that was created in a run, because a copy would keep objects alive that the program has dropped.
    initial: Option<T>,
    /// For a static, the value outside of runs, set by its first use.
    outside: Option<T>,
    /// The value of the first run. The value is stored inline, so that the creation of a cell in a run allocates
    /// nothing.
    in_first: Option<RunValue<T>>,
    /// The values of other workers' runs, for a cell that was created outside of runs.
    in_others: Vec<RunValue<T>>,
}

#[derive(Debug)]
struct RunValue<T> {
    /// The worker of the run. The worker's next run replaces this entry.
    world: u64,
    run: u64,
    /// The object in the run. A static has one object per node.
    object: Option<ObjectId>,
    value: T,
}

impl<T> Slot<T> {
    pub(crate) fn new(value: T, here: Here) -> Slot<T>
    where
        T: 'static,
    {
        let outside_runs = !in_run();
        let mut object = Object::new("cell", here, outside_runs);
        let mut values = SlotValues::empty();
        if outside_runs {
            object = object.shared();
            values.initial = Some(value);
        } else {
            WORLD.with(|world| {
                let id = world.created(&object, kind_of::<T>(), 0);
                let (world, run) = (world.number(), world.run());
                values.in_first = Some(RunValue { world, run, object: id, value });
            });
        }
        Slot { object, is_static: false, values: Mutex::new(values) }
    }

    pub(crate) const fn of_static(value: T, here: Here) -> Slot<T> {
        let initial = Some(value);
        let values = SlotValues { initial, outside: None, in_first: None, in_others: Vec::new() };
        Slot {
            object: Object::of_static("cell", here),
            is_static: true,
            values: Mutex::new(values),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SlotValues<T>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        let values = self.values.get_mut().unwrap_or_else(PoisonError::into_inner);
        match values.current(&self.object) {
            Some(at) => &mut values.at(at).value,
            None => values.real(),
        }
    }

    pub(crate) fn into_inner(self) -> T {
        let mut values = self.values.into_inner().unwrap_or_else(PoisonError::into_inner);
        match values.current(&self.object) {
            Some(at) if at > 0 => values.in_others.swap_remove(at - 1).value,
            Some(_) => values.in_first.expect("it is there").value,
            None => {
                let SlotValues { initial, outside, in_first, .. } = values;
                let first = || in_first.map(|first| first.value);
                outside.or(initial).or_else(first).expect(SOME)
            }
        }
    }

    #[inline]
    pub(crate) fn point<F, R>(
        &self,
        op: &'static Op,
        here: Here,
        effect: F,
    ) -> Point<'_, Self, impl FnMut(&Backend<'_>) -> R + use<T, F, R>>
    where
        F: FnOnce(&Backend<'_>) -> R,
        T: 'static,
    {
        // The effect moves a value, but the point performs it only once.
        let mut effect = Some(effect);
        Point::new(self, op, here, move |backend: &Backend<'_>| {
            effect.take().expect(SPENT)(backend)
        })
    }

    /// Calls `access` with the value; `show` returns the values for the trace.
    pub(crate) fn access<R>(
        &self,
        backend: &Backend<'_>,
        access: impl FnOnce(&mut T) -> R,
        show: impl FnOnce(&R, &T) -> Values,
    ) -> R
    where
        T: Clone,
    {
        let Backend::Run(pending) = backend else {
            return self.outside_runs(access);
        };
        pending.finish();
        let (result, shown) = self.in_run(pending.object, |value| {
            let result = access(value);
            let shown = show(&result, value);
            (result, shown)
        });
        WORLD.with(|world| world.set_values(shown));
        result
    }

    /// Passes the value to `look`. The read is an event of the step, without a point.
    pub(crate) fn peek<R>(&self, here: Here, look: impl FnOnce(&T) -> R) -> R
    where
        T: Clone + 'static,
    {
        if !in_run() {
            return self.outside_runs(|value| look(value));
        }
        let id = object_id(&self.object, kind_of::<T>(), here, || 0);
        let read = |value: &T| bits_of(value).map_or(Values::None, Values::Read);
        let (result, shown) = self.in_run(Some(id), |value| (look(value), read(value)));
        WORLD.with(|world| world.looked(id, here, shown));
        result
    }

    fn outside_runs<R>(&self, access: impl FnOnce(&mut T) -> R) -> R
    where
        T: Clone,
    {
        let mut values = self.lock();
        if self.is_static && values.outside.is_none() {
            values.outside = values.initial.clone();
        }
        access(values.real())
    }

    /// Calls `access` with the value of this object in the run.
    fn in_run<R>(&self, object: Option<ObjectId>, access: impl FnOnce(&mut T) -> R) -> R
    where
        T: Clone,
    {
        let (number, run) = WORLD.with(|world| (world.number(), world.run()));
        let mut values = self.lock();
        let found = values.position(|v| v.run == run && v.object == object);
        let mut stale = Vec::new();
        let at = found.unwrap_or_else(|| {
            // A slot of another run has no initial value. But its use has already failed this run, so it does not reach
            // this code.
            let value = values.initial.clone().expect(SOME);
            let fresh = RunValue { world: number, run, object, value };
            let is_stale = |v: &RunValue<T>| v.world == number && v.run != run;
            let mut old = values.position(is_stale);
            match old {
                Some(at) => stale.push(std::mem::replace(values.at(at), fresh)),
                None if values.in_first.is_none() => values.in_first = Some(fresh),
                None => values.in_others.push(fresh),
            }
            // These values belong to other nodes in the last run.
            if old.is_some() && values.in_others.iter().any(is_stale) {
                let all = std::mem::take(&mut values.in_others);
                let (over, on): (Vec<_>, Vec<_>) = all.into_iter().partition(is_stale);
                values.in_others = on;
                stale.extend(over);
                old = values.position(|v| v.run == run && v.object == object);
            }
            old.unwrap_or(values.in_others.len())
        });
        let result = access(&mut values.at(at).value);
        drop(values);
        drop(stale);
        result
    }
}

/// The reason why a value exists.
const SOME: &str = "a slot is made with a value, in a run or outside of runs";

impl<T> SlotValues<T> {
    fn empty() -> SlotValues<T> {
        SlotValues { initial: None, outside: None, in_first: None, in_others: Vec::new() }
    }

    /// Returns the value outside of runs. If the slot was created in a run, this is the value that the run left.
    fn real(&mut self) -> &mut T {
        let first = self.in_first.as_mut().map(|first| &mut first.value);
        self.outside.as_mut().or(self.initial.as_mut()).or(first).expect(SOME)
    }

    /// Returns the position of the object's entry for the current run of this thread.
    fn current(&self, object: &Object) -> Option<usize> {
        if !in_run() {
            return None;
        }
        let (run, object) = WORLD.with(|world| (world.run(), world.known(object)));
        self.position(|v| v.run == run && v.object == object)
    }

    fn position(&self, is: impl FnMut(&RunValue<T>) -> bool) -> Option<usize> {
        self.in_first.iter().chain(&self.in_others).position(is)
    }

    /// Returns the entry at a [`position`](Self::position).
    fn at(&mut self, position: usize) -> &mut RunValue<T> {
        match (position, &mut self.in_first) {
            (0, Some(first)) => first,
            _ => &mut self.in_others[position - 1],
        }
    }
}

impl<T: 'static> RunObject for Slot<T> {
    #[inline]
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, kind_of::<T>(), place, || 0))
    }
}
