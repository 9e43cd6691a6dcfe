//! The parking tokens of tasks. Each task has one token, which is created on first use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ear::Ear;
use crate::rt::object::Lookup;
use crate::rt::object::Object;
use crate::rt::part::Part;
use crate::rt::world::World;
use crate::run::board::Life;
use crate::run::event::ValueKind;
use crate::run::ids::TaskId;

/// The parking token of a task.
#[derive(Debug)]
pub(crate) struct Parking {
    pub(crate) object: Object,
    is_there: AtomicBool,
    /// The ear of the task that waits for the token. The ear is called when the token becomes available.
    sleeper: Mutex<Option<Arc<Ear>>>,
}

/// The tokens in use, by task.
#[derive(Default)]
pub(in crate::rt) struct Parkings(Vec<Option<Arc<Parking>>>);

impl Part for Parkings {
    fn forget(&mut self) {
        self.0.clear();
    }
}

impl Parking {
    /// Makes the token available.
    pub(crate) fn give(&self) {
        self.is_there.store(true, Ordering::Relaxed);
        let sleeper = self.sleeper().clone();
        if let Some(ear) = sleeper {
            std::task::Wake::wake_by_ref(&ear);
        }
    }

    /// Consumes the token. Returns `false` if the token is not available.
    pub(crate) fn take(&self) -> bool {
        self.is_there.swap(false, Ordering::Relaxed)
    }

    /// Sets the ear that is called when the token becomes available, because the task waits for it.
    /// `None` if the task no longer waits.
    pub(crate) fn set_sleeper(&self, ear: Option<Arc<Ear>>) {
        *self.sleeper() = ear;
    }

    fn sleeper(&self) -> MutexGuard<'_, Option<Arc<Ear>>> {
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of the token among the objects of its task. No object that the task creates has this
/// number.
const NTH: u32 = u32::MAX;

impl World {
    /// Returns the token of the current task.
    pub(crate) fn own_parking(&self) -> Arc<Parking> {
        let task = self.state().current();
        self.parking(task)
    }

    /// Returns the current task.
    pub(crate) fn current_task(&self) -> TaskId {
        self.state().current()
    }

    /// Returns the token of a task in this run.
    pub(crate) fn parking(&self, task: TaskId) -> Arc<Parking> {
        let mut state = self.state();
        if let Some(Some(parking)) = state.parts.get::<Parkings>().0.get(task.index()) {
            return parking.clone();
        }
        let object = Object::new("token", state.board.tasks[task.index()].place, false);
        let creator = Some((task, NTH));
        let added = state.objects.find_or_add(&object, ValueKind::Opaque, creator, Life::OUTSIDE);
        if let Ok(Lookup::New(id)) = added {
            state.add_object(id, 0);
        }
        let (is_there, sleeper) = (AtomicBool::new(false), Mutex::default());
        let parking = Arc::new(Parking { object, is_there, sleeper });
        let Parkings(parkings) = state.parts.get_mut();
        parkings.resize(parkings.len().max(task.index() + 1), None);
        parkings[task.index()] = Some(parking.clone());
        parking
    }
}
