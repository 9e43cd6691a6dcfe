//! Sequential consistency (Lamport 1979): is there one order of all operations that keeps the order
//! of each client and that the sequential object accepts? Real time between clients does not matter.
//!
//! Deciding it is NP-complete even if no value is written twice (Gibbons and Korach 1997), and a
//! history may break it although the history of each key does not: nothing is split here.

use super::limits::{Budget, Malformed, MalformedKind};
use super::linearizable::events;
use super::lines::{Line, decide, implied};
use super::model::Model;
use crate::history::Operation;
use crate::verdict::Verdict;
use unpause_ordered::Map;

/// Checks that `operations` are sequentially consistent: some order of them takes the model from
/// `initial` through the results of the clients, and keeps each client's operations in the order of
/// their invocations. An operation without a return may take effect at any time after the earlier
/// ones of its client, or never.
///
/// Weaker than [`linearizable`](super::linearizable()): a client may see an old state, as long as the clients'
/// orders do not contradict each other. [`Model::partition`] is not used.
///
/// Consistent: [`Witness::order`](crate::verdict::Witness::order) is such an order, or `None` if an engine only
/// proved that there is one. Violated: the [`Evidence`](crate::verdict::Evidence) has the longest
/// orders, after which no client can continue; the misfit is the next operation of one of the
/// clients after all of them. Unknown: `budget` ran out.
///
/// # Errors
/// [`Malformed`] as for [`linearizable`](super::linearizable()), and if a client invokes an operation before
/// its previous one returned: an operation that never returned must be the last of its client.
///
/// # Panics
/// If [`Model::observes`] is wrong in a way that shows, and on more than 2^31 operations.
///
/// # Cost
/// The cost of [`linearizable`](super::linearizable()) if the history is linearizable, which is checked first
/// with half of the budget. Otherwise at worst O(s·Π(nᵢ+1)) configurations for clients with nᵢ operations and s
/// states, each of a few bits per client; O(n) if clients mostly saw each other's effects soon.
///
/// ```
/// use unpause_check::{linearizable, sequential, models::{Register, RegisterOp::*, RegisterRet::*}, Budget};
/// use unpause_check::history::Operation;
/// // client 0: |- Write(1) -|
/// // client 1:                |- Read: 0 -| |- Read: 1 -|
/// let mut history = [
///     Operation { client: 0, op: Write(1), invoked: 1, returned: Some((Done, 2)) },
///     Operation { client: 1, op: Read, invoked: 3, returned: Some((Value(0), 4)) },
///     Operation { client: 1, op: Read, invoked: 5, returned: Some((Value(1), 6)) },
/// ];
/// let (initial, budget) = (Register::new(0), Budget::default());
/// assert!(linearizable(&initial, &history, &budget).unwrap().is_violated());
/// assert!(sequential(&initial, &history, &budget).unwrap().is_consistent());
/// // No client may see the write and later not see it.
/// history[1].returned = Some((Value(1), 4));
/// history[2].returned = Some((Value(0), 6));
/// assert!(sequential(&initial, &history, &budget).unwrap().is_violated());
/// ```
pub fn sequential<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    budget: &Budget<'_>,
) -> Result<Verdict, Malformed> {
    let mut lines: Vec<Line> = Vec::new();
    let mut line_of = Map::new();
    for (operation, is_return) in events(operations)? {
        if is_return {
            continue;
        }
        let call = &operations[operation];
        let number = *line_of.entry(call.client).or_insert(lines.len());
        if number == lines.len() {
            lines.push(Line::default());
        }
        let line = &mut lines[number];
        if let Some(&other) = line.last().filter(|other| !operations[**other].precedes(call)) {
            let kind = MalformedKind::ClientOverlaps { client: call.client, other };
            return Err(Malformed { operation, kind });
        }
        line.push(operation);
    }
    let (implied, meter) = implied(initial, operations, budget)?;
    Ok(implied.unwrap_or_else(|| decide("sequential", initial, operations, &[lines], meter)))
}
