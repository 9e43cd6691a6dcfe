//! Spinning tasks: tasks that read the same objects in a loop. Spinning tasks are the usual cause of a run that reaches
//! its step limit.

use super::Run;
use crate::run::event::Event;
use crate::run::ids::TaskId;
use crate::run::op::Access;

/// The maximum number of accesses in one iteration of a loop.
const LOOKS_MAX: usize = 8;
/// The minimum number of iterations of a loop.
const TIMES_MIN: usize = 16;

/// A task that at the end of a run only read the same objects again and again, with the same results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spin {
    /// The task.
    pub task: TaskId,
    /// The last iteration: indices into [`Run::events`], in order.
    pub looks: Vec<usize>,
    /// The number of iterations.
    pub times: usize,
}

impl Run {
    /// Returns the tasks that were spinning when the run ended. Such a task made at least sixteen iterations of at most
    /// eight reads each. A read is an operation that changes nothing: a load, or a compare-exchange that failed. Yields
    /// in between do not matter. O(events + tasks).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sim::{Atomic, Ordering::SeqCst, Runner};
    ///
    /// let run = Runner::new().strategy("random").max_steps(500).run_seed(0, async || {
    ///     # if !sim::SIMULATED { return }
    ///     let flag = Arc::new(Atomic::new(false));
    ///     let spinning = sim::spawn(async move { while !flag.load(SeqCst).await {} });
    ///     spinning.await.unwrap();
    /// });
    /// if let [spin] = &run.spins()[..] {
    ///     assert_eq!(spin.looks.len(), 1);
    ///     assert!(spin.times > 450);
    /// }
    /// # assert_eq!(run.spins().len(), usize::from(sim::SIMULATED));
    /// ```
    pub fn spins(&self) -> Vec<Spin> {
        let mut of_task: Vec<Vec<usize>> = vec![Vec::new(); self.tasks.len()];
        let mut ended = vec![false; self.tasks.len()];
        for (at, event) in self.events.iter().enumerate().rev() {
            let Some(looks) = of_task.get_mut(event.task.index()) else { continue };
            match event.op.access {
                Access::Yield => {}
                _ if ended[event.task.index()] => {}
                _ if event.is_look() => looks.push(at),
                _ => ended[event.task.index()] = true,
            }
        }
        let tasks = (0..).map(TaskId).zip(of_task);
        tasks.filter_map(|(task, latest_first)| self.spin(task, &latest_first)).collect()
    }

    /// Returns the loop at the end of these reads of a task. The reads are in reverse order.
    fn spin(&self, task: TaskId, looks: &[usize]) -> Option<Spin> {
        let key = |at: usize| {
            let Event { object, op, place, values, .. } = self.events[at];
            (object, op.name, place, values)
        };
        let rounds = |period: usize| {
            let again = looks.iter().zip(looks.iter().skip(period));
            let same = again.take_while(|(a, b)| key(**a) == key(**b)).count();
            same / period + 1
        };
        let period = (1..=LOOKS_MAX.min(looks.len())).find(|p| rounds(*p) >= TIMES_MIN)?;
        let looks_of_round = looks[..period].iter().rev().copied().collect();
        Some(Spin { task, looks: looks_of_round, times: rounds(period) })
    }
}
