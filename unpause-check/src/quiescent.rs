//! Quiescent consistency (Aspnes, Herlihy and Shavit 1994): operations that a moment of rest
//! separates keep their order, and nothing else does.

use super::limits::{Budget, Malformed};
use super::linearizable::events;
use super::lines::{Line, decide, implied};
use super::model::Model;
use crate::history::Operation;
use crate::verdict::Verdict;

/// Checks that `operations` are quiescently consistent: some order of them takes the model from
/// `initial` through the results of the clients, and has `a` before `b` if there is a moment of
/// rest between the return of `a` and the invocation of `b`. At a moment of rest every earlier
/// invocation has returned (Herlihy and Shavit, *The Art of Multiprocessor Programming*, 3.3;
/// Derrick et al. 2014). Between two such moments any order is allowed, even the reversed order of
/// a client's operations: the clients do not matter.
///
/// An operation that never returned is open for ever: there is no rest after its invocation. It may
/// take effect anywhere after the last moment of rest before it, or never.
///
/// Weaker than [`linearizable`](super::linearizable()), and neither weaker nor stronger than
/// [`sequential`](super::sequential()). Counters, pools and relaxed queues often promise it.
/// [`Model::partition`] is not used: a moment of rest is one of the whole object.
///
/// # Errors
/// [`Malformed`] as for [`linearizable`](super::linearizable()).
///
/// # Panics
/// If [`Model::observes`] is wrong in a way that shows, and on more than 2^31 operations.
///
/// # Cost
/// The cost of [`linearizable`](super::linearizable()) if the history is linearizable, which is checked first
/// with half of the budget. Otherwise, between two moments of rest, at worst O(s·Π(mᵢ+1)) configurations for s
/// states and mᵢ equal calls with equal results of the i-th kind: up to 2^m for m different ones.
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
            // If the meter is over, the caller concludes nothing from the result.
            if meter.work(stage.len().min(KINDS_MAX) as u32 / 8) {
                add(operation, stage, operations);
            } else {
                stage.push(vec![operation]);
            }
        }
    }
    Ok(decide("quiescent", initial, operations, &stages, meter))
}

/// The number of kinds of calls that are distinguished.
const KINDS_MAX: usize = 1000;

/// Calls that are equal in all but time are interchangeable, so they may take effect in the order of their
/// invocations: a line. After a thousand kinds the rest are not distinguished, which costs time but does not
/// change the verdict.
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
