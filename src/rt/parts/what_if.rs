//! Regions of source lines that execute as one step: see [`WhatIf`].
//!
//! In such a run, a task takes each step [fused](crate::rt::now::fuse). If the task is in a region, the operation that
//! it announces next takes effect in the same poll, like an operation that is polled by hand. So the run is equivalent
//! to a run of a program with fewer points, and its events and announcements contain all information that searches
//! need.
//!
//! A lock that is not free ends the step. The attempt is an event that reads the lock, because the effect of the step
//! depends on the lock. Yields end the step, too, and so do operations that may have to wait in other ways, such as
//! joins, messages and sleeps.

use std::sync::Arc;

use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::worker::RunLimits;
use crate::run::Failure;
use crate::run::event::Values;
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::what_if::{Site, WhatIf};

/// The maximum number of operations fused into one step. Without this limit, a loop without a point would never end.
const FUSED_MAX: u32 = 64;

/// The regions in which tasks currently are.
#[derive(Debug, Default)]
pub(in crate::rt) struct Regions {
    what_if: Option<Arc<WhatIf>>,
    /// For each task, the number of the region in which it is.
    inside: Vec<Option<usize>>,
    /// The number of events that are processed.
    events: usize,
    /// The current step, and the number of operations fused into it.
    fused: (u32, u32),
    /// True if the run ended because a task would have had to wait within a region.
    excused: bool,
}

impl Part for Regions {
    fn forget(&mut self) {
        self.what_if = None;
        self.inside.clear();
        self.events = 0;
        self.fused = (0, 0);
        self.excused = false;
    }

    fn begin(state: &mut RunState, limits: &RunLimits) {
        if let Some(what_if) = &limits.what_if {
            state.parts.get_mut::<Regions>().what_if = Some(what_if.clone());
            state.fuses = true;
        }
    }

    fn settle(state: &mut RunState) {
        // A step that may fuse operations is not a plain step.
        state.needs_work();
        state.read_events();
        let task = state.board.current;
        let Regions { what_if: Some(what_if), inside, .. } = state.parts.get() else { return };
        let Some(at) = inside.get(task.index()).copied().flatten() else { return };
        let section = &what_if.sections[at];
        let belongs = |op: &'static Op, place: Place| section.has(Site { op: op.name, place });
        // The task waits within the region, or has left the region in another way.
        let waits = state.board.tasks[task.index()].announced.any(|a| belongs(a.op, a.place));
        let is_excused = waits && !what_if.waits && !state.over;
        let regions = state.parts.get_mut::<Regions>();
        if !waits {
            regions.inside[task.index()] = None;
        }
        if is_excused {
            regions.excused = true;
            state.fail(Failure::Error { message: "a task waits within a region".to_owned() });
        }
    }

    fn fuses(state: &mut RunState, op: &'static Op, place: Place) -> bool {
        if op.access == Access::Yield {
            return false;
        }
        state.read_events();
        let (task, step) = (state.board.current, state.board.step);
        let Regions { what_if: Some(what_if), inside, fused, .. } = state.parts.get_mut() else {
            return false;
        };
        let Some(at) = inside.get(task.index()).copied().flatten() else { return false };
        if !what_if.sections[at].has(Site { op: op.name, place }) {
            return false;
        }
        let count = if fused.0 == step { fused.1 } else { 0 };
        *fused = (step, count + 1);
        count < FUSED_MAX
    }
}

impl RunState {
    /// Processes the new events, which move tasks into and out of regions.
    fn read_events(&mut self) {
        let events = &self.board.events;
        let Regions { what_if: Some(what_if), inside, events: read, .. } = self.parts.get_mut()
        else {
            return;
        };
        // The number may be too high, because an event may have been taken back.
        for event in &events[(*read).min(events.len())..] {
            // A failed attempt to acquire a lock is not an operation of the program.
            if event.values == Values::Failed {
                continue;
            }
            let site = Site { op: event.op.name, place: event.place };
            enter(what_if, inside, event.task, site);
        }
        *read = events.len();
    }

    /// Returns `true` if the run ended because a task would have had to wait within a region.
    pub(crate) fn is_excused(&self) -> bool {
        self.parts.get::<Regions>().excused
    }
}

/// Moves a task into or out of a region after its operation at `site`.
fn enter(what_if: &WhatIf, inside: &mut Vec<Option<usize>>, task: TaskId, site: Site) {
    if inside.len() <= task.index() {
        inside.resize(task.index() + 1, None);
    }
    let own = &mut inside[task.index()];
    *own = what_if.after(*own, site);
}
