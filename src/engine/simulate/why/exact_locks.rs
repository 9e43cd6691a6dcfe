//! Proofs for runs of plain threads that step whole lock calls.
//!
//! Such a run leaves out some orders of lock operations, for example of `read` and of `try_lock`. All its interleavings
//! together are not all interleavings of the program, so a search of them proves nothing. A search of the whole program
//! does not depend on the explained run. So its runs step locks in the detail of searches, which leaves out no order.
//! A region consists of lines, so it has the same meaning in each detail. Only searches below a prefix of the explained
//! run need the detail of this run, and remain without a proof.

use std::sync::Arc;

use unpause_ordered::Set;

use super::candidates::{Points, points};
use super::lab::Lab;
use super::memory::without_store_choices;
use crate::native;
use crate::rt::Worker;
use crate::run::Run;
use crate::run::ids::Seed;
use crate::run::memory_model::MemoryModel;
use crate::run::schedule::Schedule;

/// A guard that makes future searches step whole lock calls again.
pub(super) struct StepsCalls;

impl Drop for StepsCalls {
    fn drop(&mut self) {
        native::step_instructions(false);
    }
}

/// Returns the drawn values of a run with the detail of searches. `None` if the run itself leaves out no order, or has
/// no plain threads.
pub(super) fn exact_schedule(run: &Run, memory: MemoryModel) -> Option<Arc<Schedule>> {
    let mut run = match memory {
        MemoryModel::Sc => run.clone(),
        MemoryModel::C11 => without_store_choices(run),
    };
    let draw = run.draws.iter_mut().find(|draw| native::is_detail(draw.why))?;
    draw.value = native::exact_detail(draw.value, draw.bound)?;
    Some(Arc::new(Schedule::of(&run)))
}

impl Lab<'_, '_> {
    /// Returns the points of `runs` runs with the detail of searches, if earlier runs have left out orders. If a lock
    /// is used outside of its calls, later searches step its instructions.
    pub(super) fn points_exactly(&mut self, runs: u64) -> Vec<Points> {
        let Some(schedule) = self.exact.clone().filter(|_| self.is_simplified) else {
            return Vec::new();
        };
        let (mut seen, mut untried) = (Vec::new(), Set::new());
        let mut see = |worker: &Worker, _| {
            seen.push(points(&worker.outline(Seed(0), ""), &[]));
            worker.add_untried(&mut untried);
            true
        };
        self.exactly(schedule, |lab| _ = lab.walk(runs, &mut see));
        if native::begin_instructions(&mut untried).is_none() {
            return seen;
        }
        self.steps_calls = Some(StepsCalls);
        self.exact = exact_schedule(self.run, self.session.config.memory);
        let Some(schedule) = self.exact.clone() else { return seen };
        seen.clear();
        let mut see = |worker: &Worker, _| {
            seen.push(points(&worker.outline(Seed(0), ""), &[]));
            true
        };
        self.exactly(schedule, |lab| _ = lab.walk(runs, &mut see));
        seen
    }

    /// Calls `act` with other drawn values, which have the detail of searches.
    pub(super) fn exactly<R>(
        &mut self,
        schedule: Arc<Schedule>,
        act: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let own = std::mem::replace(&mut self.schedule, schedule);
        let was_simplified = std::mem::replace(&mut self.is_simplified, false);
        self.is_exact = true;
        let done = act(self);
        self.is_exact = false;
        self.is_simplified = was_simplified;
        self.schedule = own;
        done
    }
}
