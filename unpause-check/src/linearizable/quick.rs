//! Runs an engine for unique values, and creates evidence of the contradiction that it returns.

use super::search::{Found, Searcher};
use super::timeline::Moment;
use super::{PartRuling, evidence};
use crate::history::Operation;
use crate::limits::Meter;
use crate::model::Model;
use crate::unique;
use crate::verdict::Evidence;

/// The maximum number of configurations to spend on the evidence of a contradiction; a core needs fewer.
const CORE_NODES_MAX: u64 = 10_000;

/// Runs the engine for unique values, if the object has one and its values are unique. `numbers` is scratch space.
pub(super) fn quick<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    events: &[Moment],
    searcher: &mut Searcher<'_, M>,
    numbers: &mut Vec<u32>,
    meter: &mut Meter<'_>,
) -> Option<PartRuling> {
    let mut part = Vec::with_capacity(events.len() / 2 + 1);
    part.extend(events.iter().filter(|event| !event.is_return()).map(|event| event.index()));
    let calls = part.iter().map(|index| &operations[*index]);
    let mut calls = calls.map(|call| (&call.op, call.returned.as_ref().map(|(ret, _)| ret)));
    let plain = initial.plain(&mut calls)?;
    let spans = spans(events, &part, numbers);
    let engine = unique::name(plain.object);
    let own = |list: Vec<u32>| list.into_iter().map(|n| part[n as usize]).collect::<Vec<usize>>();
    match unique::decide(&plain, &spans) {
        unique::Ruling::NotMine => None,
        unique::Ruling::Linearizable(order) => {
            Some(PartRuling::Linearizable(engine, order.map(own)))
        }
        unique::Ruling::Violated(unique::Core { operations: core, mut anomaly }) => {
            for edge in &mut anomaly.edges {
                (edge.from, edge.to) = (part[edge.from], part[edge.to]);
            }
            let core = own(core);
            // The text refers to the operations in this order, which `core_evidence` changes.
            anomaly.text = with_operations::<M>(&anomaly.text, &core, operations);
            let evidence = core_evidence(initial, operations, events, core, searcher, meter);
            let (engine, anomaly) = (engine.to_owned(), Some(anomaly));
            Some(PartRuling::Violated(Box::new(Evidence { engine, anomaly, ..evidence })))
        }
    }
}

/// Returns the span of each operation, in positions of `events`, so that engines can use a counting sort. `part[n]` is
/// the n-th operation by invocation.
fn spans(events: &[Moment], part: &[usize], numbers: &mut Vec<u32>) -> Vec<unique::Span> {
    // Entries at positions of other parts remain from earlier checks, and are not used.
    let room = part.iter().max().map_or(0, |index| index + 1);
    if numbers.len() < room {
        numbers.resize(room, 0);
    }
    let mut spans: Vec<unique::Span> = Vec::with_capacity(part.len());
    for (position, event) in (0..).zip(events) {
        if event.is_return() {
            spans[numbers[event.index()] as usize].returned = position;
        } else {
            numbers[event.index()] = spans.len() as u32;
            spans.push(unique::Span { invoked: position, returned: u64::MAX });
        }
    }
    spans
}

/// Returns the evidence of a search over the few operations of a contradiction. These operations are not linearizable,
/// so the search gets stuck. If there are too many operations, the search gives up, and the evidence has no orders.
fn core_evidence<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    events: &[Moment],
    mut core: Vec<usize>,
    searcher: &mut Searcher<'_, M>,
    meter: &mut Meter<'_>,
) -> Evidence {
    core.sort_unstable();
    let of_core = |event: &&Moment| core.binary_search(&event.index()).is_ok();
    let few: Vec<Moment> = events.iter().filter(of_core).copied().collect();
    let invoked = few.iter().filter(|event| !event.is_return());
    let part: Vec<usize> = invoked.map(|event| event.index()).collect();
    // The verdict is already final, so this search has its own limit instead of the caller's budget.
    let mut own = meter.beside(CORE_NODES_MAX);
    let found = searcher.search(initial, &few, &mut own);
    meter.nodes += own.nodes;
    match found {
        Found::Stuck(stuck) => evidence(stuck, operations, part),
        found => {
            let order = matches!(found, Found::Order(_));
            debug_assert!(!order, "the operations of a contradiction can be ordered: {part:?}");
            let last = few.iter().rev().find(|event| event.is_return());
            let misfit = last.expect("some of them returned").index();
            Evidence { misfit, part, ..Evidence::default() }
        }
    }
}

/// Returns the text of an anomaly, with each `{n}` replaced by the n-th operation of its core, from 0.
fn with_operations<M: Model>(
    text: &str,
    core: &[usize],
    operations: &[Operation<M::Op, M::Ret>],
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let number = after.split_once('}').and_then(|(n, after)| Some((n.parse().ok()?, after)));
        let place: Option<(&usize, &str)> =
            number.and_then(|(n, after): (usize, &str)| Some((core.get(n)?, after)));
        let Some((index, after)) = place else {
            // A brace without a number of the core is ordinary text.
            out.push('{');
            rest = after;
            continue;
        };
        let Operation { op, returned, .. } = &operations[*index];
        let ret = match returned {
            Some((ret, _)) => format!(" -> {}", M::ret_text(ret)),
            None => " (never returned)".to_owned(),
        };
        out.push_str(&format!("`{}{ret}`", M::op_text(op)));
        rest = after;
    }
    out + rest
}
