//! The plan of an exhaustive search: adds race reversals to the backtrack sets of earlier frames.
//!
//! The rule is about *announcements*. The operations that a task `q` has announced are pending from the last step of
//! `q` (its *base*) until `q` steps again, `q` is dropped, or the run ends. Let `i` be a step of another task during
//! this time, or an earlier step that did not happen before the announcement. If `i` races with the next step of `q`,
//! or may have disabled a pending operation of `q`, some run with the same steps before `i` must execute `q` first:
//!
//! ```text
//! A := the steps after i that happened before the announcement
//! A is not empty              add an initial of A at i, because q needs A to get there
//! q is enabled at i           add q at i
//!   but in the sleep set      add also the steps that conflict with the sleeping step of q
//! q is not enabled at i       for each step of this or a later run that may enable q, and does not happen after i:
//!                             add an initial of that step with all that happened before it
//! ```
//!
//! It makes no difference if the announced operation is done, pending at the end, or dropped by an abort or another
//! branch. The completeness proof is an induction over the position of the first step that has no counterpart in any
//! explored run. The proof needs the law of [`op::kind`](crate::run::op::kind), and requires that an operation
//! announced with a guard is in the footprint of each step of its task. Jonsson, Lång and Sagonas treat awaits in this
//! way (*Awaiting for Godot*, FMCAD 2022), with one enabling step per await.
//!
//! Planning costs O(steps · conflicting steps) per run, counting only the steps that are new in this run.

mod rules;

#[cfg(any(test, feature = "planted"))]
pub use self::rules::without;
pub use self::rules::{Rule, Rules};

use super::{Explorer, SearchFrame};
use crate::run::ids::TaskId;
use crate::run::op::task::ABORT;
use crate::strategy::divided::Wish;
use crate::strategy::footprint::StepItem;
use crate::strategy::happens_before::{HappensBefore, Index};

/// An incomplete reversal at a frame. The task of the reversal is not enabled or is asleep at the frame, so later steps
/// may add other tasks to the backtrack set instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenReversal {
    task: TaskId,
    /// The reversal is needed in all runs with the same steps up to and including this one.
    until: Index,
}

#[cfg(any(test, feature = "planted"))]
impl OpenReversal {
    /// Returns the number `at` of its frame, its task, and the last step of the prefix that needs the reversal.
    pub(super) fn named(&self, at: usize) -> (usize, TaskId, Index) {
        (at, self.task, self.until)
    }
}

impl Explorer {
    /// Plans later runs from the new steps of this run.
    pub(super) fn plan(&mut self) {
        let Explorer { frames, depth, kept, order, races, astray, rules, place, .. } = self;
        let length = order.steps();
        debug_assert!(length as usize <= *depth);
        let from = place.plans_from(*kept) as Index;
        let (root, wishes) = (place.seat.root as Index, &mut place.wishes);
        let mut plan = Planner { frames, order, rules: *rules, astray, root, wishes };
        for at in 0..from.min(length) {
            plan.revisit(at, from);
        }
        for (earlier, later) in races.iter().filter(|(_, later)| *later >= from) {
            let task = order.task_of(*later);
            plan.reverse_race(*earlier, task, order.base(*later), *later);
        }
        for step in from..length {
            plan.add_disabled_by(step);
            plan.add_disabled_before(step);
        }
    }
}

struct Planner<'a> {
    frames: &'a mut [SearchFrame],
    order: &'a HappensBefore,
    rules: Rules,
    astray: &'a mut u64,
    /// The first frame that is not shared. Additions to earlier, shared frames are also requested.
    root: Index,
    wishes: &'a mut Vec<Wish>,
}

impl Planner<'_> {
    /// Reverses step `at` with the pending operations that it may have disabled.
    fn add_disabled_by(&mut self, at: Index) {
        let order = self.order;
        let stepped = order.task_of(at);
        for item in order.items_of(at) {
            if !may_disable_some(item) {
                continue;
            }
            for task in (0..order.tasks() as u32).map(TaskId) {
                if task == stepped || !order.is_alive_after(task, at) {
                    continue;
                }
                let base = order.base_at(task, at);
                if disables(item, task, guarded_by(order, task, base)) && self.competes(at, task) {
                    self.reverse_race(at, task, base, at);
                }
            }
        }
    }

    /// Reverses the announcements of step `at` with earlier concurrent steps that may have disabled the announced
    /// operations.
    fn add_disabled_before(&mut self, at: Index) {
        let order = self.order;
        let own = order.guarded_after(at).iter().map(|guarded| (order.task_of(at), guarded));
        let of_children = order.items_of(at).iter().filter_map(|item| match item {
            StepItem::Spawned(child) => Some(*child),
            _ => None,
        });
        let born = of_children
            .flat_map(|child| order.born_with(child).iter().map(move |guarded| (child, guarded)));
        for (task, guarded) in own.chain(born) {
            for (earlier, item) in order.touches(guarded) {
                let unknown = *earlier < at && !order.is_before(*earlier, at);
                if unknown && item.may_disable(guarded) && self.competes(at, task) {
                    self.reverse_race(*earlier, task, Some(at), at);
                }
            }
        }
    }

    /// Returns `true` if an operation of `task` that was pending after step `at` takes part in reversals. Always
    /// `true`, unless a test leaves out a part of the rule.
    fn competes(&self, at: Index, task: TaskId) -> bool {
        let order = self.order;
        let aborted = StepItem::Task { target: task, kind: ABORT, done: true };
        let died = |step: Index| (0..step).any(|before| order.items_of(before).contains(&aborted));
        self.rules.are_whole()
            || match order.next_of(task, at) {
                None => self.rules.has(Rule::Pending),
                Some(step) if died(step) => self.rules.has(Rule::Dropped),
                Some(_) => true,
            }
    }

    /// Returns the end of the steps that may enable `task` at frame `at`. The end is the end of the run, unless a test
    /// leaves out `LateEnablers`.
    fn enablers_end(&self, task: TaskId, at: Index) -> Index {
        let end = self.order.steps();
        match self.rules.has(Rule::LateEnablers) {
            true => end,
            false => self.order.next_of(task, at).unwrap_or(end),
        }
    }

    /// Plans a run in which `task` steps before step `at`. The announcement of `task` always comes after step `base`.
    /// The reversal is needed in all runs with the same steps up to and including `until`.
    fn reverse_race(&mut self, at: Index, task: TaskId, base: Option<Index>, until: Index) {
        if let Some(base) = base.filter(|base| *base > at) {
            return self.add_initial(at, base, task);
        }
        self.add_backtrack(at, OpenReversal { task, until }, at + 1);
    }

    /// Continues the open reversals of a frame in the common prefix, with the steps from `kept` on.
    fn revisit(&mut self, at: Index, kept: Index) {
        let mut open = std::mem::take(&mut self.frames[at as usize].open);
        open.retain(|open| open.until < kept);
        let before = open.len();
        for reversal in &open {
            self.add_backtrack(at, *reversal, kept);
        }
        // The loop opens no new reversals.
        debug_assert!(self.frames[at as usize].open.iter().all(|new| open.contains(new)));
        debug_assert_eq!(open.len(), before);
        self.frames[at as usize].open = open;
    }

    /// Adds a task to the backtrack set of a frame. If the task is asleep or not enabled there, instead adds initials
    /// of the steps from `from` on that must precede the task.
    fn add_backtrack(&mut self, at: Index, open: OpenReversal, from: Index) {
        let order = self.order;
        let frame = &mut self.frames[at as usize];
        let task = open.task;
        let stays_open = |frame: &mut SearchFrame| {
            if !frame.open.contains(&open) {
                frame.open.push(open);
            }
        };
        if frame.enabled.contains(&task) {
            if frame.backtrack.contains(&task) {
                return;
            }
            let Some(asleep) = frame.asleep(task).cloned() else {
                return self.add(at, vec![task], task);
            };
            if !self.rules.has(Rule::Sleepers) {
                return;
            }
            // Earlier runs have explored the step of this task at this frame. The continuation of the step is new only
            // after a step that conflicts with it.
            stays_open(frame);
            for step in from..order.steps() {
                let other = order.task_of(step);
                let conflicts = || asleep.conflicts(other, order.items_of(step));
                if other != task && !order.is_before(at, step) && conflicts() {
                    self.add_initial(at, step, task);
                }
            }
            return;
        }
        if !self.rules.has(Rule::Enablers) {
            return;
        }
        // The task needs an enabling step. This step must come before `at`, unless it depends on `at`.
        stays_open(frame);
        let guarded = guarded_by(order, task, order.base_at(task, at));
        for step in from..self.enablers_end(task, at) {
            let enables = |item: &StepItem| enables(item, task, guarded);
            if !order.is_before(at, step) && order.items_of(step).iter().any(enables) {
                self.add_initial(at, step, task);
            }
        }
    }

    /// Adds an initial to frame `at`, for `end` and the steps after `at` that happened before `end`. A task is an
    /// initial if its first step among these steps has no predecessor among them. Prefers `task`. Does nothing if an
    /// initial is already in the backtrack set or asleep.
    fn add_initial(&mut self, at: Index, end: Index, task: TaskId) {
        let order = self.order;
        let clock = order.clock(end);
        let firsts: Vec<Index> = order.firsts(clock, at).collect();
        let is_initial = |first: &Index| {
            !firsts.iter().any(|other| other != first && order.is_before(*other, *first))
        };
        let initials = firsts.iter().filter(|first| is_initial(first));
        let initials: Vec<TaskId> = initials.map(|first| order.task_of(*first)).collect();
        let frame = &mut self.frames[at as usize];
        if initials.iter().any(|task| frame.backtrack.contains(task) || frame.sleeps(*task)) {
            return;
        }
        let able: Vec<TaskId> =
            initials.into_iter().filter(|initial| frame.enabled.contains(initial)).collect();
        if !able.is_empty() {
            return self.add(at, able, task);
        }
        *self.astray += 1;
        for task in frame.enabled.clone() {
            if !self.frames[at as usize].backtrack.contains(&task) {
                self.add(at, vec![task], task);
            }
        }
    }

    /// Adds one of the `initials` to the backtrack set of a frame: `prefer`, if possible. If the frame is shared, the
    /// request names all initials, because any initial may already be in the backtrack set when the request is
    /// evaluated.
    fn add(&mut self, at: Index, initials: Vec<TaskId>, prefer: TaskId) {
        let wish = Wish { depth: at as usize, initials, prefer };
        let Some(task) = wish.chosen() else { return };
        self.frames[at as usize].backtrack.push(task);
        if at < self.root {
            self.wishes.push(wish);
        }
    }
}

/// Returns the guarded operations that a task with this base has announced.
fn guarded_by(order: &HappensBefore, task: TaskId, base: Option<Index>) -> &[StepItem] {
    let own = base.filter(|base| order.task_of(*base) == task);
    own.map_or(order.born_with(task), |own| order.guarded_after(own))
}

/// Returns `true` if the item may disable some operation of another task.
fn may_disable_some(item: &StepItem) -> bool {
    match item {
        StepItem::Object { kind, done, .. } | StepItem::Task { kind, done, .. } => {
            *done && kind.may_disable_some()
        }
        StepItem::Over => true,
        StepItem::Spawned(_)
        | StepItem::Called { .. }
        | StepItem::Life { .. }
        | StepItem::Counted { .. }
        | StepItem::Unseen => false,
    }
}

/// Returns `true` if an item of another task may disable a step of `task`, which has announced `guarded`.
fn disables(item: &StepItem, task: TaskId, guarded: &[StepItem]) -> bool {
    *item == StepItem::Over
        || item.may_disable(&StepItem::lives(task))
        || guarded.iter().any(|guarded| item.may_disable(guarded))
}

/// Returns `true` if an item of another task may enable a step of `task`, which has announced `guarded`.
fn enables(item: &StepItem, task: TaskId, guarded: &[StepItem]) -> bool {
    item.may_enable(&StepItem::lives(task))
        || guarded.iter().any(|guarded| item.may_enable(guarded))
}
