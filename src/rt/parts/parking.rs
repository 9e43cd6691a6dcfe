//! The tokens of tasks that park: one for each task, made when it is first used.

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

/// The token of a task.
#[derive(Debug)]
pub(crate) struct Parking {
    pub(crate) object: Object,
    is_there: AtomicBool,
    /// Called when the token is given, while the task waits for it.
    sleeper: Mutex<Option<Arc<Ear>>>,
}

/// The tokens of tasks that were used, by task.
#[derive(Default)]
pub(in crate::rt) struct Parkings(Vec<Option<Arc<Parking>>>);

impl Part for Parkings {
    fn forget(&mut self) {
        self.0.clear();
    }
}

impl Parking {
    /// Gives the token.
    pub(crate) fn give(&self) {
        self.is_there.store(true, Ordering::Relaxed);
        let sleeper = self.sleeper().clone();
        if let Some(ear) = sleeper {
            std::task::Wake::wake_by_ref(&ear);
        }
    }

    /// Takes the token. Returns `false` if there is none.
    pub(crate) fn take(&self) -> bool {
        self.is_there.swap(false, Ordering::Relaxed)
    }

    /// The task waits, and `ear` is called when the token is given; with none it waits no longer.
    pub(crate) fn set_sleeper(&self, ear: Option<Arc<Ear>>) {
        *self.sleeper() = ear;
    }

    fn sleeper(&self) -> MutexGuard<'_, Option<Arc<Ear>>> {
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of the token among the objects of its task, which no object that the task creates has.
const NTH: u32 = u32::MAX;

impl World {
    /// The token of the current task.
    pub(crate) fn own_parking(&self) -> Arc<Parking> {
        let task = self.state().current();
        self.parking(task)
    }

    /// The current task.
    pub(crate) fn current_task(&self) -> TaskId {
        self.state().current()
    }

    /// The token of a task of this run.
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
