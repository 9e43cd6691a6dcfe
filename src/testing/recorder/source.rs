//! A recorder as its run sees it: the history in text, and other orders of its calls.

use super::records::RecorderCall;
use super::{NODES, Recorder, patience};
use crate::run::panics::{caught, text_of};
use crate::run::recording::{HistorySource, Timed};
use unpause_check::history::{HistoryRecord, Operation, json_lines};
use unpause_check::{Budget, Model, linearizable};

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
        }
    }

    fn holds_at(&self, times: &[Timed]) -> bool {
        let records = self.lock();
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
        let verdict = patience::within(&Budget::nodes(NODES), true, check);
        verdict.is_ok_and(|verdict| verdict.is_consistent())
    }
}
