//! The interface of a recorder to its run: the history as text, and checks of other orders of its
//! calls.

use std::sync::atomic::Ordering;

use super::records::{RecorderCall, Records};
use super::{NODES, Recorder, time_limit};
use crate::run::ids::Place;
use crate::run::panics::{caught, text_of};
use crate::run::recording::{HistorySource, Timed};
use unpause_check::history::{HistoryRecord, Operation, json_lines};
use unpause_check::verdict::Verdict;
use unpause_check::{Budget, Model, explained_by_failed, linearizable};

impl<M: Model> Recorder<M> {
    /// Returns a remark about a failed call, if this call would explain the violation in the
    /// history.
    fn explained_by_failed(&self, records: &Records<M>) -> Option<String> {
        let Some(Verdict::Violated(evidence)) = &records.verdict else { return None };
        if !records.calls.iter().any(|call| call.failed) {
            return None;
        }
        let asked = |call: &RecorderCall<M>| (call.op.clone(), call.made);
        let ranked =
            |failed: bool| records.ranked_among(|call| call.failed == failed, asked, M::Ret::clone);
        // All times are one later, so that a failed call can precede all others.
        let plain = |call: &Operation<(M::Op, u64), M::Ret>| {
            let Operation { client, op: (op, _), invoked, returned } = call.clone();
            let returned = returned.map(|(ret, time)| (ret, time + 1));
            Operation { client, op, invoked: invoked + 1, returned }
        };
        let others = ranked(false);
        // The times of failed calls are often unknown, but the order in which calls were made is
        // known.
        let last = others.get(evidence.misfit)?.op.1;
        let failed = ranked(true).into_iter().filter(|call| call.op.1 <= last);
        let failed = failed.map(|call| Operation { invoked: 0, returned: None, ..plain(&call) });
        let (failed, others): (Vec<_>, Vec<_>) =
            (failed.collect(), others.iter().map(plain).collect());
        let explains = || explained_by_failed(&self.initial, &others, &failed, evidence);
        let call = &failed[caught(explains)??];
        let (op, by) =
            (text_of(|| M::op_text(&call.op)), &records.lanes[call.client as usize].name);
        Some(format!(
            "These are explained if `{op}` by {by} took effect. It is recorded as failed, with `Invoked::fail`, which says \
             that it did not. A call without an answer ends with `Invoked::info`.",
        ))
    }
}

/// Returns a remark about the order of the calls, if a violation depends on it.
fn ordered_by<M: Model>(records: &Records<M>) -> Option<String> {
    let Some(Verdict::Violated(_)) = records.verdict else { return None };
    records.by_knowledge.then(|| {
        "With memory = \"c11\", a call precedes another one if it happens before it, not if it returned earlier."
            .to_owned()
    })
}

impl<M> HistorySource for Recorder<M>
where
    M: Model + Send + Sync,
    M::Op: Send + Sync,
    M::Ret: Send + Sync,
{
    fn record(&self) -> HistoryRecord {
        let records = self.lock();
        let write = |call: &RecorderCall<M>| {
            caught(|| M::written(&call.op, call.returned.as_ref().map(|(ret, _)| ret)))?
        };
        let asked = |call: &RecorderCall<M>| text_of(|| M::op_text(&call.op));
        let clients = records.lanes.len() as u32;
        let lines = |before| json_lines(before, records.ranked(write, |_| ()), clients);
        HistoryRecord {
            model: M::name().to_owned(),
            clients: records.lanes.iter().map(|lane| lane.name.clone()).collect(),
            operations: records.ranked(asked, |ret| text_of(|| M::ret_text(ret))),
            verdict: records.verdict.clone(),
            lines: self.initial.written_before().as_deref().and_then(lines),
            remark: self.explained_by_failed(&records).or_else(|| ordered_by(&records)),
        }
    }

    fn unchecked(&self) -> Option<Place> {
        let is_used = self.is_used.load(Ordering::Relaxed) || self.feed.get().is_some();
        (!is_used && !self.lock().calls.is_empty()).then_some(self.place)
    }

    fn holds_at(&self, times: &[Timed]) -> bool {
        let records = self.lock();
        if records.by_knowledge {
            // The happens-before order is the same in all orders of the steps, so the check of this run covers all of
            // them.
            return true;
        }
        let calls = times.iter().map(|timed| (&records.calls[timed.call], timed));
        let operation = |(call, timed): (&RecorderCall<M>, &Timed)| Operation {
            client: call.lane,
            op: call.op.clone(),
            invoked: timed.invoked,
            returned: call.returned.as_ref().map(|(ret, _)| ret.clone()).zip(timed.returned),
        };
        let operations: Vec<_> = calls.filter(|(call, _)| !call.failed).map(operation).collect();
        drop(records);
        let check = |budget: &Budget<'_>| linearizable(&self.initial, &operations, budget);
        let verdict = time_limit::within(&Budget::nodes(NODES), true, check);
        verdict.is_ok_and(|verdict| verdict.is_consistent())
    }
}
