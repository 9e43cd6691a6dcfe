//! Regions of lines that are one step: see [`WhatIf`].
//!
//! In such a run a task takes each step [fused](crate::rt::now::fuse). The operation that it announces next takes
//! effect in the same poll if the task is in a region, like an operation that is polled by hand. So the run is one of a
//! program with fewer points, and its events and announcements tell searches all that they need.
//!
//! A lock that is not free ends the step. The attempt is an event, a look at the lock: what the step did depends on it.
//! Operations that may have to wait in other ways, such as joins, messages and sleeps, and yields end the step, too.

use std::sync::Arc;

use crate::rt::part::Part;
use crate::rt::state::RunState;
use crate::rt::worker::RunLimits;
use crate::run::Failure;
use crate::run::event::Values;
use crate::run::ids::{Place, TaskId};
use crate::run::op::{Access, Op};
use crate::run::what_if::{Site, WhatIf};

/// Operations that one step may take in. A loop without a point would have no end.
const FUSED_MAX: u32 = 64;

/// The regions that tasks are in.
#[derive(Debug, Default)]
pub(in crate::rt) struct Regions {
    what_if: Option<Arc<WhatIf>>,
    /// By task: the region that it is in, by number.
    inside: Vec<Option<usize>>,
    /// The number of events that were read.
    events: usize,
    /// The current step, and the number of operations that it took in.
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
        // A step that may take in others is no plain one.
        state.needs_work();
        state.read_events();
        let task = state.board.current;
        let Regions { what_if: Some(what_if), inside, .. } = state.parts.get() else { return };
        let Some(at) = inside.get(task.index()).copied().flatten() else { return };
        let section = &what_if.sections[at];
        let belongs = |op: &'static Op, place: Place| section.has(Site { op: op.name, place });
        // It waits within the region, or has left it by another way.
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
    /// Moves tasks into and out of regions by their new events.
    fn read_events(&mut self) {
        let events = &self.board.events;
        let Regions { what_if: Some(what_if), inside, events: read, .. } = self.parts.get_mut()
        else {
            return;
        };
        // An event may have been taken back.
        for event in &events[(*read).min(events.len())..] {
            // An attempt to take a lock is none of the program's operations.
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

/// Moves a task that did an operation at this site.
fn enter(what_if: &WhatIf, inside: &mut Vec<Option<usize>>, task: TaskId, site: Site) {
    if inside.len() <= task.index() {
        inside.resize(task.index() + 1, None);
    }
    let own = &mut inside[task.index()];
    if own.is_some_and(|at| what_if.sections[at].to == site) {
        *own = None;
    }
    // The end of a round may be the beginning of the next one.
    if let Some(at) = what_if.sections.iter().position(|section| section.from == site) {
        *own = Some(at);
    }
}
