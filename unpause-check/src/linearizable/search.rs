//! The search for an order of one part of a history: two searches that alternate.
//!
//! The [`Probe`] is depth-first. The probe finds an existing order soon if operations overlap little, but to prove that
//! no order exists it must return to the very beginning. The [`Sweep`] visits all configurations of one position before
//! the configurations of the next position. The sweep never returns to an earlier position, so it forgets finished
//! positions, and proves in bounded memory that no order exists. But it visits every configuration: ten to thirty times
//! as many as a lucky probe. The probe alone decides almost all histories. If it makes no progress for long, the sweep
//! starts from the common origin of all orders. When the sweep has passed the position of the probe, the probe restarts
//! from the position of the sweep, with no earlier alternatives left. The two searches get proportional turns, so the
//! cost is within a constant factor of the cheaper search.
//!
//! O(n·2^w·s) configurations in the worst case, for the widest overlap w and s reachable states. If no order exists,
//! the furthest position reached is the evidence: the operation that returns at this position fits after none of the
//! orders. Operations invoked later play no part.

use super::furthest::Furthest;
use super::ground::{Facts, Ground, Layout};
use super::mask::Mask;
use super::memo::OrderTree;
use super::probe::{Probe, Probed};
use super::states::StatesOf;
use super::sweep::{Sweep, Swept};
use super::timeline::{Moment, TimelineCursor, TimelineEvent};
use crate::history::Operation;
use crate::limits::Meter;
use crate::model::Model;

/// The result of a search. States have the type `M`, or are numbers. Operations are indices in the history.
pub(super) enum Found<M> {
    /// This order explains the part.
    Order(Vec<usize>),
    /// No order explains the part.
    Stuck(Stuck<M>),
    /// The budget ran out after this many operations had been ordered.
    OutOfBudget { longest: usize },
}

/// The furthest position that any order reached.
pub(super) struct Stuck<M> {
    /// The operation that must be next, but does not fit.
    pub(super) misfit: usize,
    /// The orders up to this position and the state after each, longest first.
    pub(super) partial: Vec<(Vec<usize>, M)>,
}

/// Searches the parts of a history, one after another. All parts share its tables, so a part of three operations
/// allocates no memory.
pub(super) struct Searcher<'a, M: Model> {
    states: StatesOf<'a, M>,
    layout: Layout,
    walk: TimelineCursor,
    probe: Probe<u64>,
}

impl<'a, M: Model> Searcher<'a, M> {
    pub(super) fn new(operations: &'a [Operation<M::Op, M::Ret>]) -> Self {
        let (layout, walk) = (Layout::default(), TimelineCursor::default());
        Searcher { states: StatesOf::new(operations), layout, walk, probe: Probe::default() }
    }

    /// Searches with the narrowest masks that fit the part.
    pub(super) fn search(
        &mut self,
        initial: &M,
        moments: &[Moment],
        meter: &mut Meter<'_>,
    ) -> Found<M> {
        self.search_in_turns(initial, moments, meter, TURNS, WORD)
    }

    /// Searches with one-word masks if the part has at most `word` operations in flight and at most `word` pending
    /// operations.
    fn search_in_turns(
        &mut self,
        initial: &M,
        moments: &[Moment],
        meter: &mut Meter<'_>,
        turns: Turns,
        word: usize,
    ) -> Found<M> {
        let Searcher { states, layout, walk, probe } = self;
        let operations = states.operations;
        let facts = Facts {
            returns: &|index| operations[index].returned.is_some(),
            equal: &|a, b| operations[a].op == operations[b].op,
            observes: &|index| {
                let Operation { op, returned, .. } = &operations[index];
                returned.as_ref().is_some_and(|(ret, _)| M::observes(op, ret))
            },
        };
        layout.lay_out(moments, &facts, walk, meter);
        if meter.is_over() {
            return Found::OutOfBudget { longest: 0 };
        }
        // All parts share the table, but a number means a state of the current part only.
        states.table.clear();
        let start = states.table.number_of(initial.clone());
        let found = search_from(start, &mut layout.ground(states), walk, probe, meter, turns, word);
        found.with_states(|number| states.table.get(number).clone())
    }
}

impl Found<u32> {
    /// Returns the result with these numbers replaced by states.
    fn with_states<M>(self, state: impl Fn(u32) -> M) -> Found<M> {
        match self {
            Found::Order(order) => Found::Order(order),
            Found::OutOfBudget { longest } => Found::OutOfBudget { longest },
            Found::Stuck(Stuck { misfit, partial }) => {
                let partial =
                    partial.into_iter().map(|(order, number)| (order, state(number))).collect();
                Found::Stuck(Stuck { misfit, partial })
            }
        }
    }
}

/// The number of bits in a word.
const WORD: usize = 64;

/// The part of the search that does not depend on the model.
fn search_from(
    start: u32,
    ground: &mut Ground<'_>,
    walk: &mut TimelineCursor,
    probe: &mut Probe<u64>,
    meter: &mut Meter<'_>,
    turns: Turns,
    word: usize,
) -> Found<u32> {
    if ground.is_narrow(word) {
        take_turns(start, ground, walk, probe, meter, turns)
    } else {
        // The shared probe has one-word masks, so a wider part gets a separate probe.
        let probe = &mut Probe::<Box<[u64]>>::default();
        take_turns(start, ground, walk, probe, meter, turns)
    }
}

/// The shares of probe and sweep.
#[derive(Clone, Copy)]
struct Turns {
    /// The number of configurations after which a probe without progress is stopped.
    patience: u64,
    /// The part of its visits that the probe may spend without progress: `visits / patience_part`, if this is more than
    /// `patience`.
    patience_part: u64,
    /// The number of configurations that the sweep may visit for each configuration of the probe, before the probe
    /// continues.
    sweep_per_probe: u64,
}

/// Measured on registers and queues with 4 and 16 operations in flight. With less patience, the sweep visits many
/// configurations although the probe would soon progress. With a smaller share for the sweep, the probe visits many
/// configurations in vain if no order exists.
const TURNS: Turns = Turns { patience: 1 << 14, patience_part: 2, sweep_per_probe: 8 };

fn take_turns<B: Mask>(
    start: u32,
    ground: &mut Ground<'_>,
    walk: &mut TimelineCursor,
    probe: &mut Probe<B>,
    meter: &mut Meter<'_>,
    turns: Turns,
) -> Found<u32> {
    let mut sweep: Option<Sweep<B>> = None;
    // The number of visits so far is a measure of how many more visits are worthwhile.
    let patience = |probe: &Probe<B>| turns.patience.max(probe.visits / turns.patience_part);
    let mut probed = probe.start(ground, walk, ground.start(start), meter);
    loop {
        match probed {
            Probed::Complete(order) => return Found::Order(spell(ground, &probe.orders, order)),
            Probed::Nothing => return stuck(ground, &mut probe.furthest, &probe.orders),
            Probed::OutOfBudget => return out_of_budget(probe, sweep.as_ref()),
            Probed::New => {
                // Usually the probe decides here, and no sweep is created.
                probed = probe.run(ground, walk, meter, patience(probe));
                continue;
            }
            Probed::Impatient => {}
        }
        let sweep = sweep.get_or_insert_with(|| {
            let start = ground.start(start);
            Sweep::new(ground, start, meter)
        });
        match sweep.run(ground, meter, probe.deepest, probe.visits * turns.sweep_per_probe) {
            Swept::Complete(order) => return Found::Order(spell(ground, &sweep.orders, order)),
            Swept::Nothing => return stuck(ground, &mut sweep.furthest, &sweep.orders),
            Swept::OutOfBudget => return out_of_budget(probe, Some(sweep)),
            Swept::Past => {
                // The probe copies the orders of the sweep, so the orders that lead nowhere are dropped first.
                sweep.tidy();
                probe.start_from(&sweep.orders, sweep.waiting());
                let deepest = probe.deepest;
                // The sweep has its own cursor, so the cursor of the probe has not moved.
                walk.to(ground.timeline, deepest);
            }
            Swept::Tired => {}
        }
        // The probe gets a new turn even if the sweep has not passed it, because it may progress soon.
        probed = Probed::New;
    }
}

fn out_of_budget<B>(probe: &Probe<B>, sweep: Option<&Sweep<B>>) -> Found<u32> {
    let longest = sweep.map_or(0, |sweep| sweep.longest).max(probe.longest);
    Found::OutOfBudget { longest: longest as usize }
}

fn spell(ground: &Ground<'_>, orders: &OrderTree, order: u32) -> Vec<usize> {
    orders.spell(order).into_iter().map(|op| ground.timeline.index[op as usize]).collect()
}

fn stuck(ground: &Ground<'_>, furthest: &mut Furthest, orders: &OrderTree) -> Found<u32> {
    let TimelineEvent::Return(misfit) = ground.timeline.events[furthest.at] else {
        unreachable!("every configuration is at a return");
    };
    furthest.longest_first();
    let ends = furthest.ends.iter();
    let partial = ends.map(|end| (spell(ground, orders, end.order), end.state)).collect();
    Found::Stuck(Stuck { misfit: ground.timeline.index[misfit as usize], partial })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Budget;
    use crate::models::{CasRegister, CasRegisterOp, CasRegisterRet};

    type Call = Operation<CasRegisterOp, CasRegisterRet>;

    /// Tries every order.
    fn explicable(state: &CasRegister, left: &[Call]) -> bool {
        left.iter().all(|call| call.returned.is_none())
            || (0..left.len()).any(|i| {
                let (mut next, mut rest) = (state.clone(), left.to_vec());
                let call = rest.remove(i);
                let ret = next.step(&call.op);
                !left.iter().any(|other| other.precedes(&call))
                    && call.returned.is_none_or(|(actual, _)| actual == ret)
                    && explicable(&next, &rest)
            })
    }

    /// Returns a random history of up to three clients over two values.
    fn history(draw: &mut impl FnMut(u64) -> u64) -> Vec<Call> {
        use {CasRegisterOp::*, CasRegisterRet::*};
        let mut calls: Vec<Call> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for time in 0..14 {
            if calls.len() < 7 && open.len() < 3 && draw(2) == 0 {
                let op = match draw(4) {
                    0 => Read,
                    1 => Write(draw(2)),
                    _ => Cas(draw(2), draw(2)),
                };
                open.push(calls.len());
                calls.push(Operation { client: 0, op, invoked: time, returned: None });
            } else if !open.is_empty() && draw(8) > 0 {
                let call = open.remove(draw(open.len() as u64) as usize);
                let ret = match calls[call].op {
                    Read => Value(draw(2)),
                    Write(_) => Done,
                    Cas(..) => Swapped(draw(2) == 0),
                };
                calls[call].returned = Some((ret, time));
            }
        }
        calls
    }

    /// Searches with one-word masks or with longer masks, depending on `word`.
    fn search_with(calls: &[Call], turns: Turns, word: usize) -> Found<CasRegister> {
        let moments = crate::linearizable::by_time(calls).unwrap();
        let budget = Budget::default();
        let mut meter = Meter::new(&budget);
        Searcher::new(calls).search_in_turns(
            &CasRegister::new(0),
            &moments,
            &mut meter,
            turns,
            word,
        )
    }

    #[test]
    fn searches_that_relieve_each_other_agree_with_brute_force() {
        let mut word = 1u64;
        let mut draw = |bound| {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (word >> 33) % bound
        };
        let mut found = [0, 0];
        for round in 0..20_000 {
            let calls = history(&mut draw);
            let expected = explicable(&CasRegister::new(0), &calls);
            found[usize::from(expected)] += 1;
            let turns = Turns {
                patience: round % 3,
                patience_part: u64::MAX,
                sweep_per_probe: 1 + round % 4,
            };
            let short = search_with(&calls, turns, WORD);
            let long = search_with(&calls, turns, 0);
            match (short, long) {
                (Found::Order(order), Found::Order(other)) if expected => {
                    assert_eq!(order, other, "{calls:?}");
                    let mut register = CasRegister::new(0);
                    for index in &order {
                        let ret = register.step(&calls[*index].op);
                        assert!(calls[*index].returned.as_ref().is_none_or(|(r, _)| *r == ret));
                    }
                }
                (Found::Stuck(stuck), Found::Stuck(_)) if !expected => {
                    // The operations invoked before the return of the misfit must not have an order either.
                    let end = calls[stuck.misfit].end();
                    let early: Vec<_> =
                        calls.iter().filter(|call| call.invoked < end).cloned().collect();
                    assert!(!explicable(&CasRegister::new(0), &early), "{calls:?}");
                    // The operations that returned before the misfit must have an order, so the misfit is the earliest
                    // return without an explanation.
                    let mut open = early;
                    for call in &mut open {
                        call.returned.take_if(|(_, time)| *time >= end);
                    }
                    assert!(explicable(&CasRegister::new(0), &open), "{calls:?}");
                }
                _ => panic!("brute force says {expected}: {calls:?}"),
            }
        }
        assert!(found.iter().all(|count| *count > 2000), "{found:?}");
    }
}
