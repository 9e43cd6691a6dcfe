//! Sampled runs with the memory `c11`, whose outcomes are compared instead of their classes.
//!
//! Each run of the program has an outcome of the search, also a repetition of a run in another order of its steps. If
//! the search has no such outcome, it has an error, or tasks share something that it does not see. Then the search must
//! begin again, with a run for each order of steps: that search depends on no assumption about shared objects.
//!
//! A repetition itself can show that tasks share something unseen. Until two runs of the same steps first differ, all
//! reads had the same values. So their first difference is a read that chose another store, or an effect of something
//! unseen ([`acts_otherwise`]).

use unpause_ordered::Map;

use super::again::{Again, Operation, difference, operation, sight};
use super::clash::{Expected, after_swaps, first_that_differs, swaps_to};
use super::outcomes::outcome;
use super::{Auditor, MADE_AGAIN, Other, SampledClass};
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::report::{Clash, StepText};
use crate::rt::FalseRound;
use crate::run::event::Values;
use crate::run::ids::TaskPath;
use crate::run::op::Op;
use crate::run::store_choice::is_store_choice;
use crate::run::trace::format;
use crate::run::{DrawRecord, Failure, Run};
use crate::strategy::witness::Witness;

/// A run, and the evaluations of conditions that were false and only loaded atomics.
type Loads<'r> = (&'r Run, &'r [FalseRound]);

impl Auditor<'_, '_> {
    /// Returns the outcome of the run with this number instead of its class, and the other orders in which it must be
    /// repeated.
    pub(super) fn look_at_outcome(
        &mut self,
        witness: &Witness,
        (outcome, number): (u64, u64),
        failure: Option<&Failure>,
    ) -> SampledClass {
        let is_long = matches!(failure, Some(Failure::StepLimit { .. }));
        let is_new = !is_long && self.sampled.classes.insert(outcome);
        let may_share = failure.is_none() && self.may_share_unseen();
        let is_made_again = may_share && (is_new || number < MADE_AGAIN);
        let others = witness.look(ends_by_a_step(failure), |order| match is_made_again {
            // Steps that deaths roll back may have left stores that a repetition without them cannot choose.
            true => Other::all(order).into_iter().take(1).collect(),
            false => Vec::new(),
        });
        SampledClass {
            class: outcome,
            known: self.search.and_then(|search| search.has_class(outcome)),
            is_kept: self.search.is_none_or(|search| search.keeps_class(outcome)),
            others,
        }
    }

    /// Returns `true` if tasks may share something that the search does not see, and the search depends on it. Plain
    /// threads share memory, which is seen.
    fn may_share_unseen(&self) -> bool {
        let is_by_step = self.search.is_some_and(|search| search.apart().steps);
        !is_by_step && !self.session.config.is_native()
    }

    /// Repeats a passing run in its other orders. Records the run, or a repetition, as missed if the search does not
    /// have its outcome.
    pub(super) fn check_outcome(
        &mut self,
        (run, loads): Loads<'_>,
        seen: &SampledClass,
        mut again: Again<'_, '_>,
    ) {
        let expected = Expected { run, class: None };
        if seen.known == Some(false) {
            self.misses(run);
        }
        for Other { order, .. } in &seen.others {
            if expected.is_made_by(order) {
                continue;
            }
            let (failure, _) = again.make(&expected.tasks(order), |_| ());
            if failure.is_some() {
                self.sampled.fails(again.extract(), again.seed);
                return;
            }
            let outcome = outcome(self.session, again.worker);
            let known = self.search.and_then(|search| search.has_class(outcome));
            let (other, other_loads) = (again.outline(), again.worker.false_rounds());
            let has_acted_otherwise = acts_otherwise((run, loads), (&other, &other_loads));
            if known == Some(false) && self.sampled.audit.missed.is_none() {
                self.misses(&again.extract());
            }
            self.sampled.audit.unseen |= has_acted_otherwise;
            if known != seen.known || has_acted_otherwise {
                self.sampled.audit.clash = self.clash(&mut again, &expected, order);
            }
        }
    }

    /// Records that the search has no run with the outcome of this run.
    fn misses(&mut self, run: &Run) {
        self.sampled.audit.missed = Some(format::inline(&self.session.trace(run)));
        self.sampled.audit.unseen |= self.may_share_unseen();
    }

    /// Returns two steps whose order decides, although they share no object of this library. They are found on the way
    /// to the order `target`. `None` if the steps may only have changed the choice of a store.
    fn clash(
        &self,
        again: &mut Again<'_, '_>,
        expected: &Expected<'_>,
        target: &[u32],
    ) -> Option<Clash> {
        let made = |again: &mut Again<'_, '_>, order: &[u32]| {
            again.make(&expected.tasks(order), |_| ());
            (again.outline(), again.worker.false_rounds())
        };
        let own = made(again, &after_swaps(target, 0).0);
        let swaps = first_that_differs(swaps_to(target), |swaps| {
            let other = made(again, &after_swaps(target, swaps).0);
            !acts_otherwise((&own.0, &own.1), (&other.0, &other.1))
        })?;
        let (order, at) = after_swaps(target, swaps - 1);
        let (run, loads) = made(again, &order);
        let (other, other_loads) = made(again, &after_swaps(target, swaps).0);
        if !acts_otherwise((&run, &loads), (&other, &other_loads)) {
            return None;
        }
        let steps = [at as u32, at as u32 + 1].map(|step| StepText::of(&run, step));
        let shows = difference(&sight(&run, &[]), &sight(&other, &[]));
        Some(Clash { steps, shows, is_death: false })
    }
}

/// Returns `true` if a task did something else in the second run, although all tasks had read and drawn the same. Both
/// runs have the same steps, in orders that must make no difference.
fn acts_otherwise((run, loads): Loads<'_>, (other, other_loads): Loads<'_>) -> bool {
    if !draws_alike(run, other) {
        return false;
    }
    let (own, others) = (acts(run, loads), acts(other, other_loads));
    let mut acts_otherwise = false;
    for (task, acts) in &own {
        let others = others.get(task).map_or(&[][..], Vec::as_slice);
        let first = acts.iter().zip(others).find(|(act, other)| act != other);
        let Some((act, other)) = first else { continue };
        if act.place == other.place && act.read != other.read {
            return false;
        }
        acts_otherwise = true;
    }
    acts_otherwise
}

/// An operation of a task.
#[derive(PartialEq, Eq)]
struct Act {
    /// The name, line and column.
    place: (&'static str, u32, u32),
    /// The value that the operation has read.
    read: Values,
    /// The values as text.
    shown: String,
}

/// Returns the operations of each task. Loads of a false condition that see the same value again are left out, because
/// the number of them depends on the order of steps.
fn acts(run: &Run, false_rounds: &[FalseRound]) -> Map<TaskPath, Vec<Act>> {
    let mut acts: Map<TaskPath, Vec<Act>> = Map::new();
    for (at, event) in run.events.iter().enumerate() {
        let Some(operation) = operation(run, event).filter(|_| *event.op != Op::SPIN_UNTIL) else {
            continue;
        };
        let (name, line, column, shown): Operation = operation;
        let read = match event.values {
            Values::Changed(old, _) | Values::Refused(old, _) => Values::Read(old),
            Values::Wrote(_) | Values::Task(_) => Values::None,
            values => values,
        };
        let act = Act { place: (name, line, column), read, shown };
        let own = acts.entry(run.tasks[event.task.index()].path.clone()).or_default();
        let is_false_load = false_rounds.contains(&(at, 1));
        if !is_false_load || own.last() != Some(&act) {
            own.push(act);
        }
    }
    acts
}

/// Returns `true` if the tasks of both runs drew the same values, as far as both drew values. Choices of stores do not
/// count: the same choice has another number in another order of steps.
fn draws_alike(run: &Run, other: &Run) -> bool {
    let (own, others) = (drawn(run), drawn(other));
    let is_alike = |(task, own): (&TaskPath, &Vec<&DrawRecord>)| {
        let others = others.get(task).into_iter().flatten();
        own.iter().zip(others).all(|(one, other)| (one.why, one.value) == (other.why, other.value))
    };
    own.iter().all(is_alike) && !other.draws.iter().any(DrawRecord::is_turn_of_branches)
}

/// Returns the values that each task drew, without choices of stores.
fn drawn(run: &Run) -> Map<TaskPath, Vec<&DrawRecord>> {
    let mut drawn: Map<TaskPath, Vec<&DrawRecord>> = Map::new();
    for draw in run.draws.iter().filter(|draw| !is_store_choice(draw.why)) {
        if let Some(step) = run.steps.get(draw.step as usize) {
            drawn.entry(run.tasks[step.task.index()].path.clone()).or_default().push(draw);
        }
    }
    drawn
}
