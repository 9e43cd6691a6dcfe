//! Lives: the owners of tasks and objects. A node of a cluster has a life from its start to its end. The body of the
//! test and all other code is outside of lives.
//!
//! A task is in the life of its spawner, or in the life that was [entered](World::in_life) at its spawn. Tasks of a
//! life that has ended take no step. The futures of these tasks are dropped at the end of the step, while the state is
//! not borrowed.

use std::sync::Arc;

use super::interned::interned;
use super::now;
use super::object::{Object, key_by_node};
use super::state::RunState;
use super::world::World;
use crate::run::board::{Life, TaskRow};
use crate::run::ids::{ObjectId, TaskId};

/// A life: the time of a node from its start to its end.
#[derive(Debug)]
pub(super) struct LifeRow {
    pub(super) name: Arc<str>,
    /// The number of the life's node.
    node: u32,
    pub(super) is_over: bool,
    pub(super) is_paused: bool,
}

/// The lives of a run.
#[derive(Debug, Default)]
pub(super) struct Lives {
    pub(super) rows: Vec<LifeRow>,
    /// The life of the running code, if it differs from the life of the current task.
    entered: Option<Life>,
    /// Tasks of ended lives whose futures must be dropped. The tasks are dropped from the end of the list.
    pub(super) dying: Vec<TaskId>,
    /// True if objects may be used by several lives.
    pub(super) share: bool,
    /// True after the end of the run, when all lives are over.
    pub(super) all_over: bool,
}

/// Returns the index of the row of a life; `None` outside of lives.
pub(super) fn row(life: Life) -> Option<usize> {
    life.index().checked_sub(1)
}

impl Lives {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.dying.clear();
        (self.entered, self.share, self.all_over) = (None, false, false);
    }

    fn row(&self, life: Life) -> Option<&LifeRow> {
        self.rows.get(row(life)?)
    }

    /// Returns the number of the node of a life; `None` outside of lives.
    pub(super) fn node_of(&self, life: Life) -> Option<u32> {
        Some(self.row(life)?.node)
    }

    /// Returns the name of the node of this life, and the number of the life within the node, starting at 1.
    pub(super) fn name_of(&self, life: Life) -> Option<(&str, usize)> {
        let LifeRow { name, node, .. } = self.row(life)?;
        let earlier = &self.rows[..life.index()];
        Some((name, earlier.iter().filter(|row| row.node == *node).count()))
    }

    fn is_over(&self, life: Life) -> bool {
        self.row(life).is_some_and(|row| row.is_over)
    }
}

impl World {
    /// Begins a life of the node with this name and number.
    pub(crate) fn begin_life(&self, name: Arc<str>, node: u32) -> Life {
        let rows = &mut self.state().lives.rows;
        rows.push(LifeRow { name, node, is_over: false, is_paused: false });
        let life = Life(rows.len() as u32);
        now::has_nodes();
        life
    }

    /// Returns the life of the running code.
    pub(crate) fn life(&self) -> Life {
        self.state().running_life()
    }

    /// Returns `true` if the life is not over.
    pub(crate) fn lives(&self, life: Life) -> bool {
        let lives = &self.state().lives;
        !lives.all_over && !lives.is_over(life)
    }

    /// Calls `act` as code of the life.
    pub(crate) fn in_life<R>(&self, life: Life, act: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a World, Option<Life>);

        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.state().lives.entered = self.1;
            }
        }

        let before = self.state().lives.entered.replace(life);
        let _leave = Leave(self, before);
        act()
    }
}

impl RunState {
    /// Returns the life of the running code.
    pub(super) fn running_life(&self) -> Life {
        self.lives.entered.unwrap_or_else(|| self.life_of(self.current()))
    }

    /// Returns the life of a task.
    #[inline]
    pub(super) fn life_of(&self, task: TaskId) -> Life {
        self.board.tasks.at(task.index()).life
    }

    /// Returns the name of the node of a task; `None` outside of lives.
    pub(super) fn node_of(&self, task: TaskId) -> Option<String> {
        Some(self.lives.row(self.life_of(task))?.name.to_string())
    }

    /// Assigns a life to a task that was just spawned.
    pub(super) fn join_life(&mut self, task: TaskId, parent: TaskId) {
        let life = self.lives.entered.unwrap_or_else(|| self.life_of(parent));
        self.board.tasks.at_mut(task.index()).life = life;
        let Some(LifeRow { is_paused, is_over, .. }) = self.lives.row(life) else { return };
        let (is_paused, is_over) = (*is_paused, *is_over);
        if is_paused {
            self.board.tasks.at_mut(task.index()).held |= TaskRow::PAUSED;
            self.remove_ready(task);
        }
        if is_over {
            // A destructor of an ended life spawned the task.
            self.close_task(task, true, &mut Vec::new());
            self.lives.dying.push(task);
            self.needs_work();
        }
    }

    /// Returns the life of the running code if each life has its own instance of the object, otherwise `OUTSIDE`.
    #[inline]
    pub(super) fn life_for(&self, object: &Object) -> Life {
        match object.is_by_node() {
            true if !self.lives.rows.is_empty() && !self.lives.share => self.running_life(),
            _ => Life::OUTSIDE,
        }
    }

    /// Returns the row of an object, if the run has one.
    pub(super) fn find_object(&self, object: &Object) -> Option<ObjectId> {
        self.objects.find(object, self.life_for(object))
    }

    /// Gives a new object, of which each life has its own, the name and a key of this life.
    #[cold]
    pub(super) fn name_after(&mut self, object: ObjectId, life: Life) {
        let Some((name, nth)) = self.lives.name_of(life) else { return };
        let name =
            if nth == 1 { interned(name) } else { interned(&format!("{name} in life {nth}")) };
        let row = self.row(object);
        row.record.node = Some(name);
        row.key = key_by_node(row.key, name);
        self.give(object, life);
    }

    /// Makes the life of the running code the owner of an object that was just created.
    pub(super) fn own(&mut self, object: ObjectId) {
        let life = self.running_life();
        self.row(object).life = life;
        self.give(object, life);
    }

    /// Makes strategies treat an object as memory of the life.
    fn give(&mut self, object: ObjectId, life: Life) {
        if life != Life::OUTSIDE {
            let lives = &mut self.board.object_lives;
            lives.resize(lives.len().max(object.index() + 1), Life::OUTSIDE);
            lives[object.index()] = life;
        }
    }
}
