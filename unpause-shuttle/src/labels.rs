//! Task labels: one value per type. A new task inherits the labels of the spawning task when it is spawned.
//!
//! A program without labels takes no additional steps, because the run is [marked](unpause_model::mark) at the first
//! use of labels.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::current::TaskId;
use crate::thread::number;

/// The labels of a task: one value per type.
#[derive(Clone, Default)]
pub struct Labels(Vec<(TypeId, Box<dyn Label>)>);

trait Label: Any {
    fn copied(&self) -> Box<dyn Label>;
}

impl<T: Clone + 'static> Label for T {
    fn copied(&self) -> Box<dyn Label> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Label> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

impl Labels {
    /// Creates an empty set of labels.
    pub fn new() -> Labels {
        Labels::default()
    }

    fn at<T: 'static>(&self) -> Option<usize> {
        self.0.iter().position(|(kind, _)| *kind == TypeId::of::<T>())
    }

    /// Sets the label of a type. Returns the previous label.
    pub fn insert<T: Clone + 'static>(&mut self, value: T) -> Option<T> {
        let previous = self.remove::<T>();
        self.0.push((TypeId::of::<T>(), Box::new(value)));
        previous
    }

    /// Returns the label of a type.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        let label: &dyn Any = &*self.0[self.at::<T>()?].1;
        label.downcast_ref()
    }

    /// Returns the label of a type, mutably.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        let at = self.at::<T>()?;
        let label: &mut dyn Any = &mut *self.0[at].1;
        label.downcast_mut()
    }

    /// Returns the label of a type. If there is none, sets it to `value` first.
    pub fn get_or_insert<T: Clone + 'static>(&mut self, value: T) -> &mut T {
        self.get_or_insert_with(|| value)
    }

    /// Returns the label of a type. If there is none, sets it to the result of `make` first.
    pub fn get_or_insert_with<T: Clone + 'static, F: FnOnce() -> T>(&mut self, make: F) -> &mut T {
        if self.at::<T>().is_none() {
            self.insert(make());
        }
        match self.get_mut() {
            Some(label) => label,
            None => unreachable!("it is set above"),
        }
    }

    /// Returns the label of a type. If there is none, sets it to the type's default first.
    pub fn get_or_insert_default<T: Default + Clone + 'static>(&mut self) -> &mut T {
        self.get_or_insert_with(T::default)
    }

    /// Adds the labels of another task. They replace labels of the same types.
    pub fn extend(&mut self, other: Labels) {
        self.0.retain(|(kind, _)| other.0.iter().all(|(of_other, _)| of_other != kind));
        self.0.extend(other.0);
    }

    /// Removes the label of a type, and returns it.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        let label: Box<dyn Any> = self.0.swap_remove(self.at::<T>()?).1;
        label.downcast().ok().map(|label| *label)
    }

    /// Removes all labels.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns `true` if there are no labels.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Labels").finish()
    }
}

/// The name of a task, as a label.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskName(String);

impl From<String> for TaskName {
    fn from(name: String) -> TaskName {
        TaskName(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> TaskName {
        TaskName(name.to_owned())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> String {
        name.0
    }
}

impl<'a> From<&'a TaskName> for &'a String {
    fn from(name: &'a TaskName) -> &'a String {
        &name.0
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A label with a function that changes the labels of every spawned child task.
#[derive(Clone)]
#[allow(clippy::type_complexity, reason = "shuttle's")]
pub struct ChildLabelFn(pub Arc<dyn Fn(TaskId, &mut Labels) + 'static>);

impl fmt::Debug for ChildLabelFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildLabelFn")
    }
}

/// Labels of any types that move to other threads.
struct Moved(Labels);

// SAFETY: shuttle's labels need not be `Send`, because shuttle runs all tasks of a test on one OS thread, one at a
// time. The engine does the same. On real threads, the test must guarantee that this is sound.
unsafe impl Send for Moved {}

/// The labels of all tasks with labels. The engine empties the list when a run begins. On real threads, [`clear`]
/// empties it, because a task of a later run may have the same number.
static LABELS: Mutex<Vec<(TaskId, Moved)>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<(TaskId, Moved)>> {
    LABELS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the labels of an earlier run on real threads. Under the engine this is not needed.
pub(crate) fn clear() {
    if !unpause_model::is_stepped() {
        all().clear();
    }
}

/// Calls `act` with the labels of a task.
pub(crate) fn with<R>(task: TaskId, act: impl FnOnce(&mut Labels) -> R) -> R {
    unpause_model::mark();
    let mut all = all();
    let at = all.iter().position(|(of, _)| *of == task).unwrap_or_else(|| {
        all.push((task, Moved(Labels::new())));
        all.len() - 1
    });
    act(&mut all[at].1.0)
}

/// Gives a new task the labels of the current task.
pub(crate) fn inherit(child: TaskId) {
    if !unpause_model::is_marked() {
        return;
    }
    let mut labels = with(TaskId::from(number()), |labels| labels.clone());
    if let Some(ChildLabelFn(change)) = labels.get().cloned() {
        change(child, &mut labels);
    }
    with(child, |own| *own = labels);
}
