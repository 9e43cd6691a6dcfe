//! Sequential consistency (Lamport 1979): some order of all operations keeps the order of each client and is accepted
//! by the model. Real time between clients does not matter.
//!
//! The decision is NP-complete even if no value is written twice (Gibbons and Korach 1997). A history may break the
//! condition although the history of each key satisfies it, so this checker does not split by key.

use super::limits::{Budget, Malformed, MalformedKind};
use super::linearizable::events;
use super::lines::{Line, decide, implied};
use super::model::Model;
use crate::history::Operation;
use crate::verdict::Verdict;
use unpause_ordered::Map;

/// Checks that `operations` are sequentially consistent: some order of them starts in `initial` and gives the results
/// that the clients received. This order must keep each client's operations in the order of their invocations. An
/// operation without a return may take effect at any time after its client's earlier operations, or never.
///
/// Sequential consistency is weaker than linearizability ([`linearizable`](super::linearizable())): a client may read
/// an old state, as long as the clients' orders do not contradict each other. The check does not use
/// [`Model::partition`].
///
/// Consistent: [`Witness::order`](crate::verdict::Witness::order) is an order that explains the history, or `None` if
/// the engine only proved that one exists. Violated: the [`Evidence`](crate::verdict::Evidence) has the longest orders,
/// after which no client can continue; the misfit is a client's next operation after these orders. Unknown: `budget`
/// ran out.
///
/// # Errors
/// [`Malformed`] in the cases of [`linearizable`](super::linearizable()), and if a client invokes an operation before
/// its previous one returned: an operation that never returned must be the last of its client.
///
/// # Panics
/// If the check notices that [`Model::observes`] is wrong, or if there are more than 2^31 operations.
///
/// # Cost
/// If the history is linearizable, the check costs as much as [`linearizable`](super::linearizable()), which runs first
/// with half of the budget. If it is not linearizable, the check takes at worst O(s·Π(nᵢ+1)) configurations for clients
/// with nᵢ operations and s states, each of a few bits per client. The check takes O(n) if the clients usually observed
/// each other's effects soon.
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
