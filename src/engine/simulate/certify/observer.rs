//! The effects of the steps of a run, as lines for a checker that does not depend on the search.

use std::fmt::Write as _;
use std::sync::Arc;

use super::possible::{Possible, PossibleTasks};
use crate::engine::results::{list, quoted};
use crate::engine::simulate::exhaust::audit::operation;
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::run::board::CallPoint;
use crate::run::choice::{Draw, Strategy};
use crate::run::event::Event;
use crate::run::ids::TaskId;
use crate::run::op::kind::Kind;
use crate::run::op::task::END;
use crate::run::schedule::Schedule;
use crate::run::{DrawRecord, Failure, Run};
use crate::strategy::footprint::StepItem;
use crate::strategy::guided::Guided;
use crate::strategy::happens_before::{HappensBefore, Index, name_of};
use crate::strategy::search::Apart;
use crate::strategy::witness::Witness;

/// An observer of runs. Writes a line for each run.
pub(in crate::engine::simulate) struct RunObserver {
    witness: Witness,
    /// True if the search explored each order of all steps, and each order of branches.
    is_by_step: bool,
    /// The kinds of operations that were already described in the output.
    kinds: Vec<Kind>,
    /// The tasks that could take each step, if the search has a bound.
    possible: Option<PossibleTasks>,
    pub(in crate::engine::simulate) lines: String,
}

impl RunObserver {
    /// Creates an observer that uses these criteria for distinguishing runs. `is_bounded` is true for a search with a
    /// bound.
    pub(in crate::engine::simulate) fn new(apart: Apart, is_bounded: bool) -> RunObserver {
        let witness = Witness::default();
        witness.tell_apart(apart);
        let (kinds, lines) = (Vec::new(), String::new());
        let possible = is_bounded.then(PossibleTasks::default);
        RunObserver { witness, is_by_step: apart.steps, kinds, possible, lines }
    }

    /// Returns a strategy that begins with this schedule.
    pub(in crate::engine::simulate) fn strategy(
        &self,
        schedule: Arc<Schedule>,
    ) -> Box<dyn Strategy> {
        let guided = Guided::new(schedule);
        self.witness.watch(match &self.possible {
            Some(possible) => possible.watch(Box::new(guided.at_no_cost())),
            None => Box::new(guided),
        })
    }

    /// Writes the last run. `unfit` is the reason why the run cannot be a part of a proof, if
    /// known.
    pub(in crate::engine::simulate) fn write(
        &mut self,
        run: &Run,
        failure: Option<&Failure>,
        unfit: Option<String>,
    ) {
        if let Some(Failure::Diverged { step, .. }) = failure {
            let _ = writeln!(self.lines, "{{\"stopped\":{step}}}");
            return;
        }
        let RunObserver { witness, is_by_step, kinds, possible, lines } = self;
        let possible = possible.as_ref().map(PossibleTasks::steps);
        let line = witness.look(ends_by_a_step(failure), |order| {
            let mut writer = LineWriter {
                run,
                order,
                is_by_step: *is_by_step,
                kinds,
                possible: possible.as_deref().map_or(&[], Vec::as_slice),
                lines,
                draws: run.draws.iter(),
                events: run.events.iter(),
            };
            writer.run()
        });
        let learnt = || "the program distinguishes runs that the search did not".to_owned();
        let unfit = unfit.or_else(|| witness.has_learnt().then(learnt));
        let unfit = unfit.map_or("null".to_owned(), |unfit| quoted(&unfit));
        let _ = writeln!(lines, "{{\"unfit\":{unfit},{line}}}");
    }

    /// Returns the witness of the last run.
    pub(in crate::engine::simulate) fn witness(&self) -> &Witness {
        &self.witness
    }
}

struct LineWriter<'a> {
    run: &'a Run,
    order: &'a HappensBefore,
    is_by_step: bool,
    kinds: &'a mut Vec<Kind>,
    /// The tasks that could take each step. Empty without a bound.
    possible: &'a [Possible],
    lines: &'a mut String,
    /// The draws and the events that are not written yet.
    draws: std::slice::Iter<'a, DrawRecord>,
    events: std::slice::Iter<'a, Event>,
}

impl LineWriter<'_> {
    fn run(&mut self) -> String {
        let tasks = self.run.tasks.iter().map(|task| quoted(&task.path.to_string()));
        let lives = (0..self.run.tasks.len() as u32)
            .map(|task| self.order.life_of(TaskId(task)).index().to_string());
        let (tasks, lives) = (list(tasks), list(lives));
        let steps: Vec<String> = (0..self.order.steps()).map(|step| self.step(step)).collect();
        format!("\"tasks\":{tasks},\"lives\":{lives},\"steps\":{}", list(steps))
    }

    fn step(&mut self, step: Index) -> String {
        let order = self.order;
        let task = order.task_of(step);
        let items = order.items_of(step);
        let is_end =
            |item: &StepItem| *item == StepItem::Task { target: task, kind: END, done: true };
        let ends = items.iter().any(is_end);
        let possible = self.possible.get(step as usize);
        let after_yield = possible.is_some_and(|possible| possible.after_yield);
        let ready = possible.map_or(&[][..], |possible| &possible.tasks);
        let ready = list(ready.iter().map(|task| task.0.to_string()));
        let flags = u8::from(order.is_after_all(step)) | u8::from(ends) << 1;
        let flags = flags | u8::from(after_yield) << 2;
        let mut draws = Vec::new();
        while let Some(draw) = self.draws.as_slice().first().filter(|draw| draw.step <= step) {
            // Such a search also varies the orders of branches that made no difference to the objects of the run.
            let is_given = draw.given && !(self.is_by_step && draw.why == Draw::BRANCH);
            draws.push(format!("[{},{},{}]", draw.value, draw.bound, u8::from(is_given)));
            self.draws.next();
        }
        let mut did = 0;
        while let Some(event) = self.events.as_slice().first().filter(|event| event.step <= step) {
            if let Some((name, line, column, values)) = operation(self.run, event) {
                let place = [u64::from(line), u64::from(column)];
                let bytes = name.bytes().chain(values.bytes()).map(u64::from);
                did = place.into_iter().chain(bytes).fold(did, name_of);
            }
            self.events.next();
        }
        let killed = order.killed_by(step).map(|task| format!("[3,{}]", task.0));
        let killed: Vec<String> = killed.collect();
        let mut effects = vec![self.effect(&StepItem::lives(task))];
        effects.extend(items.iter().map(|item| self.effect(item)));
        effects.extend(killed);
        let own = order.guarded_after(step).iter().map(|guard| (task, *guard));
        let children = items.iter().filter_map(|item| match item {
            StepItem::Spawned(child) => Some(*child),
            _ => None,
        });
        let born = children
            .flat_map(|child| order.born_with(child).iter().map(move |guard| (child, *guard)));
        let guards: Vec<String> = own
            .chain(born)
            .map(|(task, guard)| format!("[{},{}]", task.0, self.effect(&guard)))
            .collect();
        let guards = list(guards);
        let (did, draws) = (name_of(did, order.drawn_by(step)), list(draws));
        format!("[{},{flags},{did},{draws},{},{guards},{ready}]", task.0, list(effects))
    }

    fn effect(&mut self, item: &StepItem) -> String {
        match *item {
            StepItem::Object { object, kind, span, done, .. } => {
                let (kind, done) = (self.kind(kind), u8::from(done));
                format!("[0,{},{kind},{done},{},{}]", object.index(), span.from, span.to)
            }
            StepItem::Task { target, kind, done } => {
                format!("[1,{},{},{}]", target.0, self.kind(kind), u8::from(done))
            }
            StepItem::Spawned(task) => format!("[2,{}]", task.0),
            StepItem::Called { history, point, strict } => {
                let point = match point {
                    CallPoint::Invoked(_) => 0,
                    CallPoint::Returned(_) => 1,
                    CallPoint::Checked => 2,
                    CallPoint::Shown => 3,
                    CallPoint::Announced(_) => 4,
                };
                format!("[4,{history},{point},{}]", u8::from(strict))
            }
            StepItem::Life { life, ends } => format!("[5,{},{}]", life.index(), u8::from(ends)),
            StepItem::Counted { reads } => format!("[6,{}]", u8::from(reads)),
            StepItem::Unseen => "[7]".to_owned(),
            StepItem::Over => "[8]".to_owned(),
        }
    }

    /// Returns the number of a kind. Each kind is described before its first use.
    fn kind(&mut self, kind: Kind) -> usize {
        let known = self.kinds.iter().position(|known| *known == kind);
        known.unwrap_or_else(|| {
            let [bit, conflicts, enables, disables, side] = kind.relation();
            let _ = writeln!(
                self.lines,
                "{{\"kind\":[{bit},{conflicts},{enables},{disables},{side}]}}"
            );
            self.kinds.push(kind);
            self.kinds.len() - 1
        })
    }
}
