//! The first steps of the explained run, in a program with a region as one step.
//!
//! A candidate is also tested by runs that begin like the explained run, up to and including the first step that
//! interrupted its region. Such runs without the candidate often fail. So if none fails with it, this is hardly chance.

use crate::run::Run;
use crate::run::event::Values;
use crate::run::ids::TaskId;
use crate::run::op::Access;
use crate::run::what_if::{Site, WhatIf};

/// Returns the tasks of the first `end` steps of a run, without the steps that the modified program executes together
/// with an earlier step of the same task.
pub(super) fn first_steps(run: &Run, what_if: &WhatIf, end: usize) -> Vec<TaskId> {
    // For each task, the number of the region that the task is in.
    let mut inside: Vec<Option<usize>> = vec![None; run.tasks.len()];
    let mut events = run.events.iter().peekable();
    let mut tasks = Vec::new();
    for (number, step) in (0..).zip(run.steps.iter().take(end)) {
        let (mut is_first, mut is_fused) = (true, false);
        while let Some(event) = events.next_if(|event| event.step == number) {
            let site = Site { op: event.op.name, place: event.place };
            let Some(own) = inside.get_mut(event.task.index()) else { continue };
            if std::mem::take(&mut is_first) {
                // The step begins with the operation that the task had announced. An operation outside the region
                // leaves the region, and a yield ends the step but not the region.
                *own = own.filter(|at| what_if.sections[*at].has(site));
                is_fused = own.is_some() && event.op.access != Access::Yield;
            }
            if event.values != Values::Failed {
                *own = what_if.after(*own, site);
            }
        }
        if !is_fused {
            tasks.push(step.task);
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use super::*;
    use crate::Atomic;
    use crate::rt::{RunLimits, TaskBody, Worker};
    use crate::run::event::Event;
    use crate::run::ids::Seed;
    use crate::run::what_if::Section;
    use crate::strategy::after::{After, Then};
    use crate::sync::Ordering::SeqCst;

    const LIMITS: RunLimits = RunLimits::of_test(100);

    /// Two tasks of four operations each. The lines of both tasks are the same.
    async fn two_tasks() {
        let word = Arc::new(Atomic::new(0));
        let tasks = [1, 2].map(|value| {
            let word = word.clone();
            crate::spawn(async move {
                word.store(value, SeqCst).await;
                word.fetch_add(1, SeqCst).await;
                word.fetch_sub(1, SeqCst).await;
                word.swap(value, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
    }

    /// Returns a run that begins with steps of these tasks.
    fn run_of(tasks: &[u32], limits: &RunLimits) -> Run {
        let steps: Arc<[TaskId]> = tasks.iter().map(|task| TaskId(*task)).collect();
        let after = After::new(steps.clone(), steps.len(), Then::Sticky, 0).leniently();
        let mut worker = Worker::new(Box::new(after));
        let place = std::panic::Location::caller();
        worker.run(Seed(0), limits, place, pin!(TaskBody::new(two_tasks())));
        worker.extract(Seed(0), "")
    }

    fn tasks(run: &Run) -> Vec<TaskId> {
        run.steps.iter().map(|step| step.task).collect()
    }

    fn events_of(run: &Run, task: u32) -> Vec<Event> {
        run.events.iter().filter(|event| event.task.0 == task).copied().collect()
    }

    #[test]
    fn steps_in_the_region_are_left_out_for_each_task() {
        // The second task executes its region without an interruption, the first task is interrupted within its region.
        let run = run_of(&[0, 2, 2, 2, 2, 1, 1, 1, 2], &LIMITS);
        let all = tasks(&run);
        let own = events_of(&run, 1);
        let named = |name| own.iter().find(|event| event.op.name == name).unwrap();
        let site = |event: &Event| Site { op: event.op.name, place: event.place };
        let (from, known, to) = (named("store"), named("fetch_add"), named("fetch_sub"));
        let section = Section { from: site(from), to: site(to), known: vec![site(known)] };
        let what_if = WhatIf { sections: vec![section], waits: true };
        let inner: Vec<u32> = [1, 2]
            .iter()
            .flat_map(|task| events_of(&run, *task))
            .filter(|event| ["fetch_add", "fetch_sub"].contains(&event.op.name))
            .map(|event| event.step)
            .collect();
        assert_eq!(inner.len(), 4, "{run:?}");
        for end in 0..=all.len() {
            let expected: Vec<TaskId> = (0..)
                .zip(&all)
                .take(end)
                .filter(|(step, _)| !inner.contains(step))
                .map(|(_, task)| *task)
                .collect();
            assert_eq!(first_steps(&run, &what_if, end), expected, "{end}");
        }
        // The modified program can follow all of these steps, and needs no others.
        let steps = first_steps(&run, &what_if, all.len());
        let numbers: Vec<u32> = steps.iter().map(|task| task.0).collect();
        let limits = RunLimits { what_if: Some(Arc::new(what_if)), ..LIMITS };
        assert_eq!(tasks(&run_of(&numbers, &limits)), steps);
    }
}
