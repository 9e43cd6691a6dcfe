//! Failed calls that would explain a contradiction. A client recorded that such a call did not take effect, although it
//! did.
//!
//! A history leaves out failed calls. A client that received no answer must not record a failure, because its call may
//! have taken effect: it must record an operation without a return. Recording a failure is the most frequent mistake of
//! test harnesses. Without a remark, the verdict only says that a value was never written.

use crate::history::Operation;
use crate::verdict::Evidence;
use crate::{Budget, Model, linearizable};
use unpause_ordered::sort_by_key;

/// The maximum number of failed calls to try. The calls that were invoked last before the misfit returned are tried.
const TRIED_MAX: usize = 16;
/// The maximum number of operations in the checked part of the history.
const OPERATIONS_MAX: usize = 64;
/// The maximum number of configurations for each failed call.
const NODES: u64 = 20_000;

/// Returns the index in `failed` of a call that would explain the contradiction if it took effect at some time; `None`
/// if no single failed call explains it.
///
/// Only the operations in the evidence are considered, because the rest of a long history may have other
/// contradictions. The return times of failed calls are ignored.
///
/// ```
/// use unpause_check::models::{Register, RegisterOp::{Read, Write}, RegisterRet::Value};
/// use unpause_check::{Budget, Operation, Verdict, explained_by_failed, linearizable};
///
/// let call = |client, op, invoked, returned| Operation { client, op, invoked, returned };
/// let history = [call(0, Read, 3, Some((Value(7), 4)))];
/// let failed = [call(1, Write(7), 1, None)];
/// let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
/// let Verdict::Violated(evidence) = verdict else { panic!() };
/// assert_eq!(explained_by_failed(&Register::new(0), &history, &failed, &evidence), Some(0));
/// ```
pub fn explained_by_failed<M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    failed: &[Operation<M::Op, M::Ret>],
    evidence: &Evidence,
) -> Option<usize> {
    let misfit = operations.get(evidence.misfit)?;
    let mut core: Vec<usize> = evidence.part.clone();
    core.push(evidence.misfit);
    core.extend(
        evidence.anomaly.iter().flat_map(|a| &a.edges).flat_map(|edge| [edge.from, edge.to]),
    );
    if evidence.part.is_empty() && evidence.anomaly.is_none() {
        core.extend(0..operations.len());
    }
    core.retain(|index| *index < operations.len());
    sort_by_key(&mut core, |index| (operations[*index].invoked, *index));
    core.dedup();
    if core.len() > OPERATIONS_MAX {
        return None;
    }
    let mut history: Vec<_> = core.iter().map(|index| operations[*index].clone()).collect();
    let mut is_consistent = |with: Option<&Operation<M::Op, M::Ret>>| {
        let length = history.len();
        // Use a new client number, because the original client may have made further calls.
        let is_free = |client: &u32| history.iter().all(|other| other.client != *client);
        let client = (0..=u32::MAX).find(is_free).expect("the history is short");
        let open = |o: &Operation<M::Op, M::Ret>| Operation { client, returned: None, ..o.clone() };
        history.extend(with.map(open));
        let verdict = linearizable(initial, &history, &Budget::nodes(NODES));
        history.truncate(length);
        verdict.is_ok_and(|verdict| verdict.is_consistent())
    };
    // If these few operations are consistent by themselves, an additional call proves nothing.
    if is_consistent(None) {
        return None;
    }
    let mut tried: Vec<usize> = (0..failed.len()).collect();
    tried.retain(|index| failed[*index].invoked < misfit.end());
    sort_by_key(&mut tried, |index| std::cmp::Reverse(failed[*index].invoked));
    tried.truncate(TRIED_MAX);
    tried.into_iter().find(|index| is_consistent(Some(&failed[*index])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::models::{Register, RegisterOp, RegisterRet};

    type Call = Operation<RegisterOp<u64>, RegisterRet<u64>>;

    fn write(client: u32, value: u64, invoked: u64, returned: Option<u64>) -> Call {
        let returned = returned.map(|time| (RegisterRet::Done, time));
        Operation { client, op: RegisterOp::Write(value), invoked, returned }
    }

    fn read(client: u32, value: u64, invoked: u64) -> Call {
        let returned = Some((RegisterRet::Value(value), invoked + 1));
        Operation { client, op: RegisterOp::Read, invoked, returned }
    }

    fn explained(history: &[Call], failed: &[Call]) -> Option<usize> {
        let initial = Register::new(0);
        let verdict = linearizable(&initial, history, &Budget::default()).unwrap();
        let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
        explained_by_failed(&initial, history, failed, &evidence)
    }

    #[test]
    fn the_failed_write_of_the_value_is_found() {
        let history = [write(0, 1, 0, Some(1)), read(1, 3, 10)];
        let failed = [write(2, 2, 2, None), write(3, 3, 4, None), write(2, 4, 6, None)];
        assert_eq!(explained(&history, &failed), Some(1));
    }

    #[test]
    fn a_call_that_came_later_or_wrote_something_else_explains_nothing() {
        let history = [write(0, 1, 0, Some(1)), read(1, 3, 10)];
        assert_eq!(explained(&history, &[write(2, 3, 20, None)]), None);
        assert_eq!(explained(&history, &[write(2, 2, 2, None)]), None);
        assert_eq!(explained(&history, &[]), None);
    }

    /// The old value returns because it was written twice, but the second write is recorded as failed.
    #[test]
    fn a_stale_read_is_explained_by_a_failed_write_of_the_same_value() {
        let history = [write(0, 1, 0, Some(1)), write(0, 2, 2, Some(3)), read(1, 1, 10)];
        assert_eq!(explained(&history, &[write(2, 1, 4, None)]), Some(0));
    }
}
