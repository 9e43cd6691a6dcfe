//! Quiescent consistency (Aspnes, Herlihy and Shavit 1994): operations keep their order if a quiescent moment separates
//! them. All other operations may be reordered.

use super::limits::{Budget, Malformed};
use super::linearizable::events;
use super::lines::{Line, decide, implied};
use super::model::Model;
use crate::history::Operation;
use crate::verdict::Verdict;

/// Checks that `operations` are quiescently consistent. Some order of them must start in `initial` and give the results
/// that the clients received. In this order, `a` must come before `b` if there is a moment of rest between the return
/// of `a` and the invocation of `b`. At a moment of rest every earlier invocation has returned (Herlihy and Shavit,
/// *The Art of Multiprocessor Programming*, 3.3; Derrick et al. 2014). Between two moments of rest any order is
/// allowed, even the reversed order of a client's operations, because the clients do not matter.
///
/// An operation that never returned stays pending forever, so there is no moment of rest after its invocation. The
/// operation may take effect anywhere after the last moment of rest before its invocation, or never.
///
/// Quiescent consistency is weaker than linearizability ([`linearizable`](super::linearizable())), and neither weaker
/// nor stronger than sequential consistency ([`sequential`](super::sequential())). Counters, pools and relaxed queues
/// often promise quiescent consistency. The check does not use [`Model::partition`], because a moment of rest concerns
/// the whole object.
///
/// # Errors
/// [`Malformed`] in the cases of [`linearizable`](super::linearizable()).
///
/// # Panics
/// If the check notices that [`Model::observes`] is wrong, or if there are more than 2^31 operations.
///
/// # Cost
/// If the history is linearizable, the check costs as much as [`linearizable`](super::linearizable()), which runs first
/// with half of the budget. If it is not linearizable, the check takes, between two moments of rest, at worst
/// O(s·Π(mᵢ+1)) configurations for s states. Here mᵢ is the number of calls of the i-th kind (equal calls with equal
/// results), so m different calls take up to 2^m configurations.
///
/// ```
/// use unpause_check::{linearizable, quiescent, models::{Counter, CounterOp::*, CounterRet::*}, Budget};
/// use unpause_check::history::Operation;
/// // client 0: |- Get: 2 -| |- Increment -|
/// // client 1: |------- Increment -----------|
/// // client 2:                                |- Get: 2 -|
/// let call = |client, op, ret, invoked, end| {
///     Operation { client, op, invoked, returned: Some((ret, end)) }
/// };
/// let history = [
///     call(0, Get, Value(2), 1, 3),
///     call(0, Increment, Done, 4, 5),
///     call(1, Increment, Done, 2, 6),
///     call(2, Get, Value(2), 7, 8),
/// ];
/// let (initial, budget) = (Counter::new(0), Budget::default());
/// // The first Get saw an increment that had not begun.
/// assert!(linearizable(&initial, &history, &budget).unwrap().is_violated());
/// assert!(quiescent(&initial, &history, &budget).unwrap().is_consistent());
/// ```
pub fn quiescent<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    budget: &Budget<'_>,
) -> Result<Verdict, Malformed> {
    let (implied, mut meter) = implied(initial, operations, budget)?;
    if let Some(verdict) = implied {
        return Ok(verdict);
    }
    let mut stages: Vec<Vec<Line>> = Vec::new();
    let mut open = 0;
    for (operation, is_return) in events(operations)? {
        if is_return {
            open -= 1;
            continue;
        }
        if open == 0 {
            stages.push(Vec::new());
        }
        open += 1;
        if let Some(stage) = stages.last_mut() {
            // If the meter is over, the caller draws no conclusion from the result.
            if meter.work(stage.len().min(KINDS_MAX) as u32 / 8) {
                add(operation, stage, operations);
            } else {
                stage.push(vec![operation]);
            }
        }
    }
    Ok(decide("quiescent", initial, operations, &stages, meter))
}

/// The maximum number of kinds of calls that are distinguished.
const KINDS_MAX: usize = 1000;

/// Adds an operation to the line of its kind. Calls that differ only in their times are interchangeable, so they may
/// take effect in the order of their invocations: they form a line. Beyond a thousand kinds, each call gets its own
/// line, which costs time but does not change the verdict.
fn add<O: PartialEq, R: PartialEq>(
    operation: usize,
    stage: &mut Vec<Line>,
    operations: &[Operation<O, R>],
) {
    let ret = |index: usize| operations[index].returned.as_ref().map(|(ret, _)| ret);
    let equal = |line: &&mut Line| {
        let other = line[0];
        operations[other].op == operations[operation].op && ret(other) == ret(operation)
    };
    match stage.iter_mut().take(KINDS_MAX).find(equal) {
        Some(line) => line.push(operation),
        None => stage.push(vec![operation]),
    }
}
