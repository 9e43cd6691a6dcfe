//! Values without synchronisation of their own: an access is neither a point nor an event, but the run detects data
//! races.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use super::Here;
use crate::rt::{Object, WORLD, in_run, object_id};
use crate::run::event::ValueKind;
use crate::run::ids::ObjectId;
use crate::seam::entered::entered;

/// The kind of these objects.
const KIND: &str = "RaceCell";

/// A value that other means must protect.
///
/// A value that was created in a run belongs to this run. A static has a value for each run, and one for code outside
/// of runs.
#[derive(Debug)]
pub(crate) struct Unguarded<T> {
    pub(crate) object: Object,
    /// The value. For a static, the initial value, which does not change.
    value: RwLock<T>,
    of_static: Option<Statics<T>>,
}

/// The values of a static.
#[derive(Debug)]
struct Statics<T> {
    copy: fn(&T) -> T,
    /// The value outside of runs, set by its first use.
    outside: OnceLock<RwLock<T>>,
    in_runs: Mutex<Vec<RunValue<T>>>,
}

/// The value of one run.
#[derive(Debug)]
struct RunValue<T> {
    /// The worker of the run. The worker's next run removes this entry.
    world: u64,
    run: u64,
    /// The object in the run. A static has one object per node.
    object: ObjectId,
    value: Arc<RwLock<T>>,
}

/// The lock of a value.
enum Held<'a, T> {
    Here(&'a RwLock<T>),
    InRun(Arc<RwLock<T>>),
}

impl<T> Deref for Held<'_, T> {
    type Target = RwLock<T>;

    fn deref(&self) -> &RwLock<T> {
        match self {
            Held::Here(lock) => lock,
            Held::InRun(lock) => lock,
        }
    }
}

impl<T> Unguarded<T> {
    pub(crate) fn new(value: T, here: Here) -> Unguarded<T> {
        let mut object = Object::new(KIND, here, false);
        match in_run() {
            // The creation is the first write.
            true => WORLD.with(|world| {
                if let Some(id) = world.created(&object, ValueKind::Opaque, 0) {
                    world.touch(id, true, here);
                }
            }),
            false => object = object.shared(),
        }
        Unguarded { object, value: RwLock::new(value), of_static: None }
    }

    pub(crate) const fn of_static(value: T, copy: fn(&T) -> T, here: Here) -> Unguarded<T> {
        let of_static =
            Some(Statics { copy, outside: OnceLock::new(), in_runs: Mutex::new(Vec::new()) });
        Unguarded { object: Object::of_static(KIND, here), value: RwLock::new(value), of_static }
    }

    /// Passes the value to `read`.
    #[track_caller]
    pub(crate) fn read<R>(&self, here: Here, read: impl FnOnce(&T) -> R) -> R {
        let lock = self.touch(here, false);
        let value = entered(lock.try_read());
        read(&value)
    }

    /// Passes the value to `write`.
    #[track_caller]
    pub(crate) fn write<R>(&self, here: Here, write: impl FnOnce(&mut T) -> R) -> R {
        let lock = self.touch(here, true);
        let mut value = entered(lock.try_write());
        write(&mut value)
    }

    /// Records an access in the run, which fails if the access is a data race. Returns the lock of the value.
    fn touch(&self, here: Here, writes: bool) -> Held<'_, T> {
        if !in_run() {
            return match &self.of_static {
                None => Held::Here(&self.value),
                Some(of) => Held::Here(of.outside.get_or_init(|| of.copy_of(&self.value))),
            };
        }
        let id = object_id(&self.object, ValueKind::Opaque, here, || 0);
        WORLD.with(|world| world.touch(id, writes, here));
        match &self.of_static {
            None => Held::Here(&self.value),
            Some(of) => Held::InRun(of.in_run(id, &self.value)),
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        let lock = match &mut self.of_static {
            Some(of) => of.current(&self.object, &mut self.value),
            None => &mut self.value,
        };
        lock.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        let Unguarded { object, value, of_static } = self;
        let lock = match of_static {
            Some(of) => of.into_current(&object, value),
            None => value,
        };
        lock.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason why the value of a run has one owner.
const ALONE: &str = "whoever has the cell alone has its value alone";

impl<T> Statics<T> {
    fn copy_of(&self, made: &RwLock<T>) -> RwLock<T> {
        RwLock::new((self.copy)(&made.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Returns the value of this object in the current run. The value starts as a copy of `made`.
    fn in_run(&self, object: ObjectId, made: &RwLock<T>) -> Arc<RwLock<T>> {
        let (world, run) = WORLD.with(|world| (world.number(), world.run()));
        let lock = || self.in_runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = lock();
        if let Some(known) = values.iter().find(|v| v.run == run && v.object == object) {
            return known.value.clone();
        }
        let is_kept = |v: &RunValue<T>| v.world != world || v.run == run;
        let (kept, stale): (Vec<_>, Vec<_>) =
            std::mem::take(&mut *values).into_iter().partition(is_kept);
        *values = kept;
        drop(values);
        // The user's `clone` and destructors run without the lock. Only this thread adds values of its run.
        drop(stale);
        let value = Arc::new(self.copy_of(made));
        lock().push(RunValue { world, run, object, value: value.clone() });
        value
    }

    /// Returns the value for an exclusive owner of the cell: the value of the current run, or outside of runs.
    fn current<'a>(&'a mut self, object: &Object, made: &'a mut RwLock<T>) -> &'a mut RwLock<T> {
        if !in_run() {
            return self.outside.get_mut().unwrap_or(made);
        }
        let values = self.in_runs.get_mut().unwrap_or_else(PoisonError::into_inner);
        match of_current_run(values, object) {
            Some(at) => Arc::get_mut(&mut values[at].value).expect(ALONE),
            None => made,
        }
    }

    /// Returns the value of `current` by move.
    fn into_current(self, object: &Object, made: RwLock<T>) -> RwLock<T> {
        if !in_run() {
            return self.outside.into_inner().unwrap_or(made);
        }
        let mut values = self.in_runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        match of_current_run(&values, object) {
            Some(at) => Arc::into_inner(values.swap_remove(at).value).expect(ALONE),
            None => made,
        }
    }
}

/// Returns the position of the value that the object has in the current run.
fn of_current_run<T>(values: &[RunValue<T>], object: &Object) -> Option<usize> {
    let (run, object) = WORLD.with(|world| (world.run(), world.known(object)));
    values.iter().position(|v| v.run == run && Some(v.object) == object)
}
