//! Linearizability (Herlihy and Wing 1990): is there one order of all operations that respects real
//! time and that the sequential object accepts?
//!
//! This file splits a history by key, has each part searched, and puts the answers together. The
//! search is in `search.rs`; it is general, takes any [`Model`], and is exponential in
//! how many operations overlap, not in how many there are.

mod furthest;
mod mask;
mod memo;
mod search;
mod timeline;

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;

use self::search::{Found, Stuck, search};
use self::timeline::Timeline;
use super::hash::Table;
use super::limits::{Budget, Malformed, MalformedKind, Meter};
use super::model::Model;
use super::unique;
use crate::history::Operation;
use crate::verdict::{Evidence, Exhausted, Verdict, Witness};

/// Checks that `operations` are linearizable: that some order of them, in which whoever returned
/// before another was invoked stands before it, takes the model from `initial` through the results
/// that the clients got. An operation without a return may take effect at any time after its
/// invocation, or never.
///
/// Operations may come in any order. The clients they belong to do not matter: a client may go on
/// after an operation that never returned, and even overlap itself.
///
/// Consistent: [`Witness::order`] is such an order. Violated: [`Evidence`] shows the earliest
/// return that cannot be explained and what was possible up to there; operations invoked later
/// play no part in it. Unknown: `budget` ran out.
///
/// # Errors
/// [`Malformed`] if an operation does not return after its invocation, or if two events share a time.
///
/// # Panics
/// If [`Model::observes`] is wrong in a way that shows, and on more than 2^32 operations.
///
/// # Cost
/// O(n log n) for n operations to prepare. Then at worst O(n·2^w·s) configurations for w
/// overlapping operations and s states, each with up to w steps of the model; mostly O(n). With
/// [`Model::partition`] each key pays for itself.
///
/// ```
/// use sim::check::{linearizable, models::{Register, RegisterOp::*, RegisterRet::*}, Budget};
/// use sim::history::Operation;
/// // client 0: |--- Write(1) -------------|
/// // client 1:     |- Read: 1 -| |- Read: 0 -|
/// let history = [
///     Operation { client: 0, op: Write(1), invoked: 1, returned: Some((Done, 5)) },
///     Operation { client: 1, op: Read, invoked: 2, returned: Some((Value(1), 3)) },
///     Operation { client: 1, op: Read, invoked: 4, returned: Some((Value(0), 6)) },
/// ];
/// let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
/// let sim::verdict::Verdict::Violated(evidence) = verdict else { panic!() };
/// assert_eq!(evidence.partial, [[0, 1]]);
/// assert_eq!(evidence.misfit, 2);
/// assert_eq!(evidence.expected, ["1"]);
/// ```
pub fn linearizable<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    budget: &Budget<'_>,
) -> Result<Verdict, Malformed> {
    linearizable_counted(initial, operations, budget).map(|(verdict, _)| verdict)
}

/// [`linearizable`], and how many configurations were visited: the cost in the unit of [`Budget`].
///
/// # Errors
/// As [`linearizable`].
///
/// ```
/// use sim::check::{linearizable_counted, models::Register, Budget};
/// let (verdict, nodes) =
///     linearizable_counted(&Register::new(0u64), &[], &Budget::default()).unwrap();
/// assert!(verdict.is_consistent());
/// assert_eq!(nodes, 0);
/// ```
pub fn linearizable_counted<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    budget: &Budget<'_>,
) -> Result<(Verdict, u64), Malformed> {
    let events = by_time(operations)?;
    let mut meter = Meter::new(budget);
    let mut parts = split::<M>(operations, &events);
    let whole = parts.len() == 1;
    // Small parts first: the budget then goes to the hard ones when all else is known.
    parts.sort_by_key(Vec::len);
    let mut order = Some(Vec::with_capacity(operations.len()));
    let mut engines = Vec::new();
    for events in parts {
        match quick(initial, operations, &events, &mut meter) {
            Some(Quick::Linearizable(engine, part)) => {
                note(&mut engines, engine);
                order = order.zip(part).map(|(mut order, part)| {
                    order.extend(placed(&part, operations));
                    order
                });
                continue;
            }
            Some(Quick::Violated(evidence)) => {
                return Ok((Verdict::Violated(evidence), meter.nodes));
            }
            None => note(&mut engines, ENGINE),
        }
        let timeline = Timeline::new(
            &events,
            |index| operations[index].returned.is_some(),
            |a, b| operations[a].op == operations[b].op,
        );
        let name = |ops: &[u32]| -> Vec<usize> {
            ops.iter().map(|op| timeline.index[*op as usize]).collect()
        };
        match search(initial, operations, &timeline, &mut meter) {
            Found::Order(part) => {
                if let Some(order) = &mut order {
                    order.extend(placed(&name(&part), operations));
                }
            }
            Found::Stuck(stuck) => {
                let part = if whole { Vec::new() } else { timeline.index.clone() };
                let evidence = evidence(stuck, operations, part, name);
                return Ok((Verdict::Violated(Box::new(evidence)), meter.nodes));
            }
            Found::OutOfBudget { longest } => {
                let exhausted = Exhausted {
                    nodes: meter.nodes,
                    longest: order.map_or(0, |order| order.len()) + longest,
                    operations: operations.len(),
                };
                return Ok((Verdict::Unknown(exhausted), meter.nodes));
            }
        }
    }
    // Stable, so that the order within a part stays.
    let order = order.map(|mut order| {
        order.sort_by_key(|(point, _)| *point);
        order.into_iter().map(|(_, index)| index).collect()
    });
    let witness = Witness { engine: engines.join(" + "), order };
    Ok((Verdict::Consistent(witness), meter.nodes))
}

fn note(engines: &mut Vec<&'static str>, engine: &'static str) {
    if !engines.contains(&engine) {
        engines.push(engine);
    }
}

/// What an engine for unique values says of a part.
enum Quick {
    Linearizable(&'static str, Option<Vec<usize>>),
    Violated(Box<Evidence>),
}

/// Asks the engine for unique values, if the object has one and values are unique.
fn quick<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    events: &[(usize, bool)],
    meter: &mut Meter<'_>,
) -> Option<Quick> {
    let part: Vec<usize> =
        events.iter().filter(|(_, back)| !back).map(|(index, _)| *index).collect();
    let calls = part.iter().map(|index| &operations[*index]);
    let plain = initial.plain(
        &mut calls.clone().map(|call| (&call.op, call.returned.as_ref().map(|(ret, _)| ret))),
    )?;
    let spans: Vec<unique::Span> =
        calls.map(|call| unique::Span { invoked: call.invoked, returned: call.end() }).collect();
    let engine = unique::name(plain.object);
    let own = |list: Vec<u32>| list.into_iter().map(|n| part[n as usize]).collect::<Vec<usize>>();
    match unique::decide(&plain, &spans) {
        unique::Ruling::NotMine => None,
        unique::Ruling::Linearizable(order) => Some(Quick::Linearizable(engine, order.map(own))),
        unique::Ruling::Violated(unique::Core { operations: core, mut anomaly }) => {
            for edge in &mut anomaly.edges {
                (edge.from, edge.to) = (part[edge.from], part[edge.to]);
            }
            let core = own(core);
            let few: Vec<(usize, bool)> =
                events.iter().filter(|(index, _)| core.contains(index)).copied().collect();
            let timeline = Timeline::new(
                &few,
                |index| operations[index].returned.is_some(),
                |a, b| operations[a].op == operations[b].op,
            );
            let name = |ops: &[u32]| -> Vec<usize> {
                ops.iter().map(|op| timeline.index[*op as usize]).collect()
            };
            // The core alone is not linearizable, so a search over it says where it gets stuck.
            let Found::Stuck(stuck) = search(initial, operations, &timeline, meter) else {
                return None;
            };
            let mut evidence = evidence(stuck, operations, core, name);
            evidence.engine = engine.to_owned();
            evidence.anomaly = Some(anomaly);
            Some(Quick::Violated(Box::new(evidence)))
        }
    }
}

/// The events of a history by time: the index of the operation, and whether it is the return.
fn by_time<O, R>(operations: &[Operation<O, R>]) -> Result<Vec<(usize, bool)>, Malformed> {
    let mut events = Vec::with_capacity(2 * operations.len());
    for (operation, Operation { invoked, returned, .. }) in operations.iter().enumerate() {
        events.push((*invoked, operation, false));
        if let Some((_, returned)) = returned {
            events.push((*returned, operation, true));
            let (invoked, returned) = (*invoked, *returned);
            if returned <= invoked {
                let kind = MalformedKind::ReturnNotAfterInvocation { invoked, returned };
                return Err(Malformed { operation, kind });
            }
        }
    }
    events.sort_unstable();
    for pair in events.windows(2) {
        let ((time, other, _), (next, operation, _)) = (pair[0], pair[1]);
        if time == next {
            return Err(Malformed { operation, kind: MalformedKind::SameTime { other, time } });
        }
    }
    Ok(events.into_iter().map(|(_, index, back)| (index, back)).collect())
}

/// The events of each key, in the order in which the keys first appear; one part if any operation
/// has no key.
fn split<M: Model>(
    operations: &[Operation<M::Op, M::Ret>],
    events: &[(usize, bool)],
) -> Vec<Vec<(usize, bool)>> {
    let keys: Option<Vec<_>> = operations.iter().map(|call| M::partition(&call.op)).collect();
    let Some(keys) = keys else {
        return vec![events.to_vec()];
    };
    let mut numbers = Table::default();
    let mut parts: Vec<Vec<(usize, bool)>> = Vec::new();
    for &(index, back) in events {
        let number = match numbers.entry(keys[index]) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                parts.push(Vec::new());
                *entry.insert(parts.len() - 1)
            }
        };
        parts[number].push((index, back));
    }
    parts
}

/// Gives each operation of an order a moment at which it can take effect: as early as it and those
/// before it allow. Since the order respects real time, that is before it returns; so the orders of
/// all parts can be merged by these moments and the result respects real time too.
fn placed<O, R>(order: &[usize], operations: &[Operation<O, R>]) -> Vec<(u64, usize)> {
    let mut point = 0;
    let place = |&index: &usize| {
        point = operations[index].invoked.max(point);
        (point, index)
    };
    order.iter().map(place).collect()
}

/// What verdicts call the general search.
const ENGINE: &str = "search";

/// More orders than this would not fit on a screen.
const PARTIAL_MAX: usize = 4;

fn evidence<M: Model>(
    stuck: Stuck<M>,
    operations: &[Operation<M::Op, M::Ret>],
    part: Vec<usize>,
    name: impl Fn(&[u32]) -> Vec<usize>,
) -> Evidence {
    let misfit = name(&[stuck.misfit])[0];
    let state = stuck.partial.first().map_or_else(String::new, |(_, state)| state.state_text());
    let (mut partial, mut expected): (Vec<Vec<usize>>, Vec<String>) = (Vec::new(), Vec::new());
    for (order, state) in stuck.partial {
        let order = name(&order);
        // One order can end in several states of a nondeterministic model.
        if !partial.contains(&order) {
            if partial.len() == PARTIAL_MAX {
                continue;
            }
            partial.push(order);
        }
        for ret in state.returns(&operations[misfit].op) {
            let text = M::ret_text(&ret);
            if !expected.contains(&text) {
                expected.push(text);
            }
        }
    }
    Evidence { engine: ENGINE.to_owned(), anomaly: None, partial, misfit, expected, state, part }
}
