//! Linearizability (Herlihy and Wing 1990): some order of all operations respects real time and is accepted by the
//! model.
//!
//! This file splits a history by key, decides each part, and merges the results. The search in `search.rs` accepts any
//! [`Model`]. The search is exponential in the number of operations that overlap, not in the length of the history.

mod furthest;
mod ground;
mod mask;
pub(super) mod memo;
mod parts;
mod probe;
mod quick;
mod search;
mod states;
mod sweep;
mod timeline;

use self::parts::{Parts, by_time, merge};
use self::quick::quick;
use self::search::{Found, Searcher, Stuck};
use self::timeline::Moment;
use super::limits::{Budget, Malformed, Meter};
use super::model::Model;
use super::parallel;
use crate::history::Operation;
use crate::verdict::{Evidence, Exhausted, Limit, Verdict, Witness};

/// Checks that `operations` are linearizable: some order of them starts in `initial` and gives the results that the
/// clients received. In this order, each operation must come after all operations that returned before its invocation.
/// An operation without a return may take effect at any time after its invocation, or never.
///
/// The operations may be listed in any order. The client numbers do not matter: a client may continue after an
/// operation that never returned, and its calls may even overlap.
///
/// Consistent: [`Witness::order`] is an order that explains the history. Violated: [`Evidence`] shows the earliest
/// return that cannot be explained, and the orders up to that return; operations invoked later play no part in it.
/// Unknown: `budget` ran out.
///
/// # Errors
/// [`Malformed`] if an operation does not return after its invocation, or if two events have the same time.
///
/// # Panics
/// If the check notices that [`Model::observes`] is wrong, or if there are more than 2^31 operations.
///
/// # Cost
/// O(n) to prepare n operations, or O(n log n) if times are sparse. The search then takes, in the worst case,
/// O(n·2^w·s) configurations for w overlapping operations and s states, each with up to w model steps; usually O(n).
/// With [`Model::partition`], w and s count within one key only. Memory is a small multiple of the history, plus the
/// configurations under search at one position, which [`Budget::memory`] bounds.
///
/// ```
/// use unpause_check::{linearizable, models::{Register, RegisterOp::*, RegisterRet::*}, Budget};
/// use unpause_check::history::Operation;
/// // client 0: |--- Write(1) -------------|
/// // client 1:     |- Read: 1 -| |- Read: 0 -|
/// let history = [
///     Operation { client: 0, op: Write(1), invoked: 1, returned: Some((Done, 5)) },
///     Operation { client: 1, op: Read, invoked: 2, returned: Some((Value(1), 3)) },
///     Operation { client: 1, op: Read, invoked: 4, returned: Some((Value(0), 6)) },
/// ];
/// let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
/// let unpause_check::verdict::Verdict::Violated(evidence) = verdict else { panic!() };
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

/// Checks like [`linearizable`] and also returns the number of configurations visited, which is the cost in the unit of
/// [`Budget`].
///
/// # Errors
/// The errors of [`linearizable`].
///
/// ```
/// use unpause_check::{linearizable_counted, models::Register, Budget};
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
    let moments = by_time(operations)?;
    let mut meter = Meter::new(budget);
    let mut decider = Decider::new(initial, operations);
    let mut answer = DecidedParts::new(operations);
    if let Some(ruling) = decider.quick(&moments, &mut meter) {
        let settled = answer.add(ruling, meter.nodes);
        return Ok((settled.unwrap_or_else(|| answer.consistent()), meter.nodes));
    }
    let parts = Parts::new::<M>(operations, moments);
    decider.whole = parts.len() == 1;
    for part in 0..parts.len() {
        let before = meter.nodes;
        let ruling = decider.decide(parts.get(part), &mut meter);
        if let Some(verdict) = answer.add(ruling, meter.nodes - before) {
            return Ok((verdict, meter.nodes));
        }
    }
    Ok((answer.consistent(), meter.nodes))
}

/// Checks like [`linearizable_counted`] on up to `threads` threads, including the calling thread. The parts of the
/// history that [`Model::partition`] separates are decided in parallel.
///
/// Verdict, evidence and count equal the results of [`linearizable_counted`] for any number of threads. For this
/// purpose each part is decided separately, and the first violation in single-threaded order counts. If the budget runs
/// out in a part, the part is decided again with the budget that the earlier parts left. [`Budget::stop`] is called on
/// the calling thread only.
///
/// # Errors
/// The errors of [`linearizable`].
///
/// # Panics
/// The panics of [`linearizable`].
///
/// ```
/// use unpause_check::{linearizable_counted, linearizable_parallel, Budget};
/// use unpause_check::models::{Map, MapOp::*, MapRet::*};
/// use unpause_check::history::Operation;
/// let history: Vec<_> = (0..100)
///     .map(|i| Operation {
///         client: 0,
///         op: Put(i % 10, i),
///         invoked: 2 * i,
///         returned: Some((Value(i.checked_sub(10)), 2 * i + 1)),
///     })
///     .collect();
/// let budget = Budget::default();
/// assert_eq!(
///     linearizable_parallel(&Map::new(), &history, &budget, 4),
///     linearizable_counted(&Map::new(), &history, &budget),
/// );
/// ```
pub fn linearizable_parallel<M>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    budget: &Budget<'_>,
    threads: usize,
) -> Result<(Verdict, u64), Malformed>
where
    M: Model<Op: Sync, Ret: Sync> + Sync,
{
    if threads <= 1 {
        return linearizable_counted(initial, operations, budget);
    }
    let moments = by_time(operations)?;
    let mut meter = Meter::new(budget);
    let mut answer = DecidedParts::new(operations);
    if let Some(ruling) = Decider::new(initial, operations).quick(&moments, &mut meter) {
        let settled = answer.add(ruling, meter.nodes);
        return Ok((settled.unwrap_or_else(|| answer.consistent()), meter.nodes));
    }
    let parts = Parts::new::<M>(operations, moments);
    let (whole, nodes_max) = (parts.len() == 1, budget.nodes);
    // Each thread has its share of the memory. A part that needs more memory is decided after the other parts.
    let share = budget.memory / threads.min(parts.len()).max(1);
    let decider = || Decider { whole, ..Decider::new(initial, operations) };
    let rulings = parallel::until_first(parts.len(), threads, budget.stop, || {
        let mut decider = decider();
        let parts = &parts;
        move |part, stop: &dyn Fn() -> bool| {
            let mut meter =
                Meter::new(&Budget { nodes: nodes_max, memory: share, stop: Some(stop) });
            let ruling = decider.decide(parts.get(part), &mut meter);
            let is_last = !matches!(ruling, PartRuling::Linearizable(..));
            ((ruling, meter.nodes), is_last)
        }
    });
    let mut nodes = 0;
    let mut rulings = rulings.into_iter();
    for part in 0..parts.len() {
        let is_short = |(ruling, visited): &(PartRuling, u64)| {
            nodes + visited > budget.nodes
                || matches!(ruling, PartRuling::OutOfBudget { limit: Limit::Memory, .. })
        };
        let (ruling, visited) = match rulings.next().filter(|known| !is_short(known)) {
            Some(known) => known,
            None => {
                let left = Budget { nodes: budget.nodes - nodes, ..*budget };
                let mut meter = Meter::new(&left);
                (decider().decide(parts.get(part), &mut meter), meter.nodes)
            }
        };
        nodes += visited;
        if let Some(verdict) = answer.add(ruling, visited) {
            return Ok((verdict, nodes));
        }
    }
    Ok((answer.consistent(), nodes))
}

/// Returns the events of a history by time: the index of each operation, and `true` if the event is its return.
pub(super) fn events<O, R>(
    operations: &[Operation<O, R>],
) -> Result<impl Iterator<Item = (usize, bool)>, Malformed> {
    let moments = by_time(operations)?;
    Ok(moments.into_iter().map(|moment| (moment.index(), moment.is_return())))
}

/// The results of the parts decided so far.
struct DecidedParts<'a, O, R> {
    operations: &'a [Operation<O, R>],
    engines: Vec<&'static str>,
    nodes: u64,
    /// The orders of the parts, one after another; `None` if an engine constructed no order. `ends` has the end of each
    /// part in `order`.
    order: Option<Vec<usize>>,
    ends: Vec<usize>,
}

impl<'a, O, R> DecidedParts<'a, O, R> {
    fn new(operations: &'a [Operation<O, R>]) -> Self {
        DecidedParts {
            operations,
            engines: Vec::new(),
            nodes: 0,
            order: Some(Vec::new()),
            ends: Vec::new(),
        }
    }

    /// Adds the result of the next part. Returns the verdict if this result decides the history.
    fn add(&mut self, ruling: PartRuling, nodes: u64) -> Option<Verdict> {
        self.nodes += nodes;
        match ruling {
            PartRuling::Linearizable(engine, part) => {
                if !self.engines.contains(&engine) {
                    self.engines.push(engine);
                }
                self.order = match (self.order.take(), part) {
                    (Some(order), Some(part)) if order.is_empty() => Some(part),
                    (Some(mut order), Some(part)) => {
                        order.extend(part);
                        Some(order)
                    }
                    _ => None,
                };
                self.ends.push(self.order.as_ref().map_or(0, Vec::len));
                None
            }
            PartRuling::Violated(evidence) => Some(Verdict::Violated(evidence)),
            PartRuling::OutOfBudget { longest, limit } => Some(Verdict::Unknown(Exhausted {
                nodes: self.nodes,
                longest: self.order.as_ref().map_or(0, Vec::len) + longest,
                operations: self.operations.len(),
                limit,
            })),
        }
    }

    fn consistent(self) -> Verdict {
        let order = self.order.map(|order| match self.ends.len() {
            1 => order,
            _ => merge(&order, &self.ends, self.operations),
        });
        Verdict::Consistent(Witness { engine: self.engines.join(" + "), order })
    }
}

/// The result of one part, with the name of its engine.
enum PartRuling {
    Linearizable(&'static str, Option<Vec<usize>>),
    Violated(Box<Evidence>),
    OutOfBudget { longest: usize, limit: Limit },
}

/// Decides the parts, one after another.
struct Decider<'a, M: Model> {
    initial: &'a M,
    operations: &'a [Operation<M::Op, M::Ret>],
    /// True if there is only one part. The engine for unique values has then already run on the whole history.
    whole: bool,
    searcher: Searcher<'a, M>,
    numbers: Vec<u32>,
}

impl<'a, M: Model> Decider<'a, M> {
    fn new(initial: &'a M, operations: &'a [Operation<M::Op, M::Ret>]) -> Self {
        let (searcher, numbers) = (Searcher::new(operations), Vec::new());
        Decider { initial, operations, whole: false, searcher, numbers }
    }

    /// Runs the engine for unique values. This engine runs on the whole history first, because it needs no split: a set
    /// has as many parts as elements.
    fn quick(&mut self, events: &[Moment], meter: &mut Meter<'_>) -> Option<PartRuling> {
        let Decider { initial, operations, searcher, numbers, .. } = self;
        quick(*initial, operations, events, searcher, numbers, meter)
    }

    /// Runs the engine for unique values, unless it has already run, then the search.
    fn decide(&mut self, events: &[Moment], meter: &mut Meter<'_>) -> PartRuling {
        let quick = if self.whole { None } else { self.quick(events, meter) };
        if let Some(ruling) = quick {
            return ruling;
        }
        let Decider { initial, operations, whole, searcher, .. } = self;
        match searcher.search(initial, events, meter) {
            Found::Order(part) => PartRuling::Linearizable(ENGINE, Some(part)),
            Found::OutOfBudget { longest } => {
                PartRuling::OutOfBudget { longest, limit: meter.limit() }
            }
            Found::Stuck(stuck) => {
                let invoked = events.iter().filter(|moment| !moment.is_return());
                let part = if *whole {
                    Vec::new()
                } else {
                    invoked.map(|moment| moment.index()).collect()
                };
                PartRuling::Violated(Box::new(evidence(stuck, operations, part)))
            }
        }
    }
}

/// The name of the general search in verdicts.
const ENGINE: &str = "search";

/// The maximum number of orders in the evidence: more would not fit on a screen.
const PARTIAL_MAX: usize = 4;

fn evidence<M: Model>(
    stuck: Stuck<M>,
    operations: &[Operation<M::Op, M::Ret>],
    part: Vec<usize>,
) -> Evidence {
    let misfit = stuck.misfit;
    let state = stuck.partial.first().map_or_else(String::new, |(_, state)| state.state_text());
    let (mut partial, mut expected): (Vec<Vec<usize>>, Vec<String>) = (Vec::new(), Vec::new());
    for (order, state) in stuck.partial {
        // A nondeterministic model may have several states after the same order.
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
