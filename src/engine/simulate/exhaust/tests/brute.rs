//! The oracle executes every answer to every choice.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::run::board::Status;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::{Seed, TaskId};
use crate::strategy::exhaustive::Observer;
use crate::strategy::happens_before::HappensBefore;
use crate::strategy::search::Apart;

#[derive(Default)]
struct Path {
    /// Answer and bound.
    taken: Vec<(u64, u64)>,
    at: usize,
    order: HappensBefore,
    observer: Observer,
    steps: u32,
    /// For each step, the enabled tasks.
    enabled: Vec<Vec<TaskId>>,
    /// True if enabled tasks, or tasks waiting for a lock, were left when the last run ended.
    leaves: bool,
}

/// Goes through all decisions.
#[derive(Clone, Default)]
pub(super) struct Brute(Arc<Mutex<Path>>);

impl Path {
    fn below(&mut self, bound: u64) -> u64 {
        if self.at == self.taken.len() {
            self.taken.push((0, bound));
        }
        self.at += 1;
        assert_eq!(self.taken[self.at - 1].1, bound, "a run is a function of its decisions");
        self.taken[self.at - 1].0
    }

    fn add_last_step(&mut self) {
        self.observer.add_to(&mut self.order);
    }
}

impl Brute {
    fn path(&self) -> MutexGuard<'_, Path> {
        self.0.lock().unwrap()
    }

    /// The class of the run that ended.
    pub(super) fn class(&self, cut: bool) -> u64 {
        let mut path = self.path();
        path.observer.end(cut);
        path.add_last_step();
        path.order.class()
    }

    /// The tasks enabled at each step of the run that ended.
    pub(super) fn enabled(&self) -> Vec<Vec<TaskId>> {
        self.path().enabled.clone()
    }

    /// True if enabled tasks, or tasks waiting for a lock, were left when the run ended.
    pub(super) fn leaves(&self) -> bool {
        self.path().leaves
    }

    /// Classes have these differences in them.
    pub(super) fn tell_apart(&self, differences: Apart) {
        self.path().observer.tell_apart(differences);
    }

    /// Selects the next run. Returns `false` if there is no further run.
    pub(super) fn advance(&self) -> bool {
        let mut path = self.path();
        while let Some((answer, bound)) = path.taken.pop() {
            if answer + 1 < bound {
                path.taken.push((answer + 1, bound));
                return true;
            }
        }
        false
    }
}

impl Strategy for Brute {
    fn begin(&mut self, _: Seed) {
        let mut path = self.path();
        path.observer.begin();
        path.at = 0;
        path.steps = 0;
        path.enabled.clear();
        path.order.truncate(0);
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let mut path = self.path();
        if path.steps > 0 {
            path.observer.after(view);
            path.add_last_step();
        }
        path.steps += 1;
        let mut tasks = view.candidates().to_vec();
        tasks.sort();
        let task = tasks[path.below(tasks.len() as u64) as usize];
        path.enabled.push(tasks);
        path.observer.before(view, task);
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, draw: &Draw) -> Result<u64, Mismatch> {
        let mut path = self.path();
        let value = path.below(draw.bound);
        path.observer.drew(value, draw.bound);
        Ok(value)
    }

    // Brute force tries both values, although they do not distinguish classes.
    fn settle(&mut self, nth: usize) {
        let observer = &mut self.path().observer;
        if !observer.apart().steps {
            observer.settle(nth);
        }
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), Mismatch> {
        let mut path = self.path();
        path.observer.after_last(view);
        path.leaves = view.tasks().iter().any(|row| {
            let waits = row.announced.iter().any(|announced| announced.op.access.waits());
            row.status == Status::Ready || waits
        });
        Ok(())
    }
}
