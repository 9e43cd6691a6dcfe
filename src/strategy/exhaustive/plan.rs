//! The plan of an exhaustive search: which task has to go first, and before which step, in a later run.
//!
//! The rule is about *announcements*. A task `q` stood at operations that it had announced, from its own
//! last step (its *base*) until it stepped again, was dropped, or the run ended. A step `i` of another task
//! that came meanwhile, or before the announcement without being known to it, may have kept `q` from what it
//! would have done: it races with the step that `q` took in the end, or it may have disabled an operation
//! that `q` had announced. Then `q` has to go before `i`, in some run that is equal up to `i`:
//!
//! ```text
//! A := the steps after i that happened before the announcement
//! A is not empty              the first steps of A go before i, so that q gets there
//! q could step at i           q goes there
//!   but sleeps there          so do, besides, steps that conflict with what q would do there
//! q could not step at i       any step of this or a later run that may enable it, and does not come after i,
//!                             goes before i, with what happened before it
//! ```
//!
//! The fate of the announcement (done, pending at the end, dropped by an abort or by another branch) makes no
//! difference. Completeness is by induction over the position of the first step that has no counterpart in
//! any explored run; it needs the law of [`op::kind`](crate::run::op::kind), and that an operation announced with a
//! guard is in the footprint of each step of its task. Awaits are treated so by Jonsson, Lång and Sagonas
//! (*Awaiting for Godot*, FMCAD 2022), for one enabling step each.
//!
//! Costs O(steps · conflicting steps) a run, for the steps that are new in it.

mod rules;

#[cfg(test)]
pub(crate) use self::rules::without;
pub(crate) use self::rules::{Rule, Rules};

use super::{Explorer, Frame};
use crate::run::ids::TaskId;
use crate::run::op::task::ABORT;
use crate::strategy::footprint::Item;
use crate::strategy::happens_before::{HappensBefore, Index};

/// A task that has to go first at a frame and cannot, or is thought to have been looked at already: later steps
/// decide what is tried in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Open {
    task: TaskId,
    /// The step up to which the run has to be the same for it to be so.
    until: Index,
}

impl Explorer {
    /// Plans later runs, from what is new in this one.
    pub(super) fn plan(&mut self) {
        let Explorer { frames, depth, kept, order, races, astray, rules, .. } = self;
        let length = order.len();
        debug_assert!(length as usize <= *depth);
        let mut plan = Plan { frames, order, rules: *rules, astray };
        for at in 0..(*kept as Index).min(length) {
            plan.look_again(at, *kept as Index);
        }
        for (earlier, later) in races.iter() {
            let task = order.task_of(*later);
            plan.hold_back(*earlier, task, order.base(*later), *later);
        }
        for step in *kept as Index..length {
            plan.add_disabled_by(step);
            plan.add_disabled_before(step);
        }
    }
}

struct Plan<'a> {
    frames: &'a mut [Frame],
    order: &'a HappensBefore,
    rules: Rules,
    astray: &'a mut u64,
}

impl Plan<'_> {
    /// Tasks that stood at an operation which step `at` may have disabled.
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
                if disables(item, task, asked(order, task, base)) && self.competes(at, task) {
                    self.hold_back(at, task, base, at);
                }
            }
        }
    }

    /// Steps before `at`, not known to it, that may have disabled what its task announced in it.
    fn add_disabled_before(&mut self, at: Index) {
        let order = self.order;
        let task = order.task_of(at);
        for asked in order.asked_after(at) {
            for (earlier, item) in order.touches(asked) {
                let unknown = *earlier < at && !order.is_before(*earlier, at);
                if unknown && item.may_disable(asked) && self.competes(at, task) {
                    self.hold_back(*earlier, task, Some(at), at);
                }
            }
        }
    }

    /// Whether an operation that `task` had announced when step `at` was over, and that an earlier step or this one
    /// disabled, is looked at: always, by the whole rule.
    fn competes(&self, at: Index, task: TaskId) -> bool {
        let order = self.order;
        let aborted = Item::Task { target: task, kind: ABORT, done: true };
        let died = |step: Index| (0..step).any(|before| order.items_of(before).contains(&aborted));
        self.rules.are_whole()
            || match order.next_of(task, at) {
                None => self.rules.has(Rule::Pending),
                Some(step) if died(step) => self.rules.has(Rule::Dropped),
                Some(_) => true,
            }
    }

    /// The end of the steps that may enable `task` at frame `at`: that of the run, by the whole rule.
    fn enablers_end(&self, task: TaskId, at: Index) -> Index {
        let end = self.order.len();
        match self.rules.has(Rule::LateEnablers) {
            true => end,
            false => self.order.next_of(task, at).unwrap_or(end),
        }
    }

    /// `task` has to go before step `at`; `base` is what comes before its announcement in any case. That is so
    /// in all runs that are equal up to and with step `until`.
    fn hold_back(&mut self, at: Index, task: TaskId, base: Option<Index>, until: Index) {
        if let Some(base) = base.filter(|base| *base > at) {
            return self.begin_with(at, base, task);
        }
        self.try_to_go_first(at, Open { task, until }, at + 1);
    }

    /// The same for what was open at a frame that this run has in common with those before.
    fn look_again(&mut self, at: Index, kept: Index) {
        let mut open = std::mem::take(&mut self.frames[at as usize].open);
        open.retain(|open| open.until < kept);
        let before = open.len();
        for one in &open {
            self.try_to_go_first(at, *one, kept);
        }
        // Nothing was found to be open that was not.
        debug_assert!(self.frames[at as usize].open.iter().all(|new| open.contains(new)));
        debug_assert_eq!(open.len(), before);
        self.frames[at as usize].open = open;
    }

    /// A task goes first at a frame, or other tasks in its place, as far as steps from `from` on tell.
    fn try_to_go_first(&mut self, at: Index, open: Open, from: Index) {
        let order = self.order;
        let frame = &mut self.frames[at as usize];
        let task = open.task;
        let stays_open = |frame: &mut Frame| {
            if !frame.open.contains(&open) {
                frame.open.push(open);
            }
        };
        if frame.enabled.contains(&task) {
            if frame.backtrack.contains(&task) {
                return;
            }
            let Some(asleep) = frame.asleep(task).cloned() else {
                frame.backtrack.push(task);
                return;
            };
            if !self.rules.has(Rule::Sleepers) {
                return;
            }
            stays_open(frame);
            for step in from..order.len() {
                let other = order.task_of(step);
                let conflicts = || asleep.conflicts(other, order.items_of(step));
                if other != task && !order.is_before(at, step) && conflicts() {
                    self.begin_with(at, step, task);
                }
            }
            return;
        }
        if !self.rules.has(Rule::Enablers) {
            return;
        }
        stays_open(frame);
        let asked = asked(order, task, order.base_at(task, at));
        for step in from..self.enablers_end(task, at) {
            let enables = |item: &Item| enables(item, task, asked);
            if !order.is_before(at, step) && order.items_of(step).iter().any(enables) {
                self.begin_with(at, step, task);
            }
        }
    }

    /// At frame `at` some run begins with what happened before step `end`, and with it: with one of those steps
    /// before which nothing of that happened. `task` if that may be chosen.
    fn begin_with(&mut self, at: Index, end: Index, task: TaskId) {
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
        let mut able = initials.iter().copied().filter(|initial| frame.enabled.contains(initial));
        let first = able.next();
        let chosen =
            first.filter(|first| *first == task).or(able.find(|other| *other == task)).or(first);
        match chosen {
            Some(task) => frame.backtrack.push(task),
            None => {
                *self.astray += 1;
                for task in frame.enabled.clone() {
                    if !frame.backtrack.contains(&task) {
                        frame.backtrack.push(task);
                    }
                }
            }
        }
    }
}

/// The operations with a guard that a task with this base has announced; none before its first step.
fn asked(order: &HappensBefore, task: TaskId, base: Option<Index>) -> &[Item] {
    let own = base.filter(|base| order.task_of(*base) == task);
    own.map_or(&[], |own| order.asked_after(own))
}

/// Whether an item may disable any operation of another task.
fn may_disable_some(item: &Item) -> bool {
    match item {
        Item::Object { kind, done, .. } | Item::Task { kind, done, .. } => {
            *done && kind.may_disable_some()
        }
        Item::Over => true,
        Item::Spawned(_) | Item::Called { .. } => false,
    }
}

/// Whether an item of another task may disable an operation that `task` asks for.
fn disables(item: &Item, task: TaskId, asked: &[Item]) -> bool {
    *item == Item::Over
        || item.may_disable(&Item::lives(task))
        || asked.iter().any(|asked| item.may_disable(asked))
}

/// Whether an item of another task may enable an operation that `task` asks for.
fn enables(item: &Item, task: TaskId, asked: &[Item]) -> bool {
    item.may_enable(&Item::lives(task)) || asked.iter().any(|asked| item.may_enable(asked))
}
