//! Eventual consistency of a replicated set: after the last addition, all replicas hold the same elements.
//!
//! The calls of a history are:
//!
//! - `add` with the element: `ok` is acknowledged, `fail` is refused, and after `info` the element may be present or
//!   absent;
//! - `final-read`, which returns the list or set of all elements of a replica. In a history without `final-read`, such
//!   as Jepsen's, a `read` is final if it was called after all calls of `add` had ended. Other reads are not checked,
//!   because they may return any subset.
//!
//! The field `key`, an integer, names a replica. Without this field, each process reads its own replica.

use unpause_check::datum::Datum;
use unpause_check::eventual::{EventualCall, EventualOperation, EventualRet, eventual};
use unpause_check::history::Operation;
use unpause_check::models::NilRead;

use super::{Question, refuse};
use crate::finding::{HistoryFinding, Naming};
use crate::history::{Keys, answered_for_another, is_done};
use crate::problem::{Problem, ProblemKind, not_among, shown};
use crate::recording::{Answer, Call, Recording};

pub(super) fn check(
    recording: &Recording,
    question: &Question<'_>,
) -> Result<HistoryFinding, Problem> {
    refuse(
        question.keys == Keys::Yes,
        "to check by key (--keys yes)",
        "a key names a replica, and replicas are compared with one another",
    )?;
    refuse(
        question.initial.is_some(),
        "an initial state (--init)",
        "the set is empty before anything was added",
    )?;
    refuse(
        question.nil == Some(NilRead::Anything),
        "to leave reads of nil open (--nil anything)",
        "a final read says what the replica holds",
    )?;
    let clients = recording.client_numbers();
    let is = |call: &Call, name: &str| &*call.f == name;
    let says_final = recording.calls.iter().any(|call| is(call, "final-read"));
    // The end of the last completed addition.
    let adds = recording.calls.iter().filter(|call| is(call, "add"));
    let quiet = adds.map(|call| call.end.as_ref().map_or(call.invoked, |end| end.time)).max();
    let mut history: Vec<EventualOperation<Datum>> = Vec::new();
    let mut calls: Vec<u32> = Vec::new();
    for (index, call) in recording.calls.iter().enumerate() {
        let wrong = |place, message| Err(Problem::at(place, ProblemKind::Model, message));
        let is_read = is(call, "read") || is(call, "final-read");
        if !is_read && !is(call, "add") {
            let names = not_among(&call.f, "there are", &["add", "read", "final-read"]);
            return wrong(call.place, format!("a replicated set has no {names}"));
        }
        let is_final = match says_final {
            true => is(call, "final-read"),
            false => quiet.is_none_or(|quiet| call.invoked > quiet),
        };
        if is_read && !is_final {
            continue;
        }
        let op = match (is_read, &call.key) {
            (false, _) => EventualCall::Update(call.value.clone()),
            (true, None) => EventualCall::FinalRead { replica: clients[call.client as usize] },
            (true, Some(key)) => match key.as_integer().and_then(|n| u32::try_from(n).ok()) {
                Some(replica) => EventualCall::FinalRead { replica },
                None => {
                    let key = shown(&key.to_string());
                    let message =
                        format!("the key of a read is the number of a replica, not {key}");
                    return wrong(call.place, message);
                }
            },
        };
        let returned = match call.end.as_ref().map(|end| (end, &end.answer)) {
            None | Some((_, Answer::Info)) => None,
            Some((_, Answer::Fail)) if is_read => continue,
            Some((end, Answer::Fail)) => Some((EventualRet::Refused, end.time)),
            Some((end, Answer::Ok(told))) if !is_read => {
                if !is_done(told, &call.value) && *told != call.value {
                    return Err(answered_for_another(recording, call, end.place, told));
                }
                Some((EventualRet::Acknowledged, end.time))
            }
            Some((end, Answer::Ok(value))) => match value {
                Datum::List(items) | Datum::Set(items) => {
                    Some((EventualRet::Contents(items.to_vec()), end.time))
                }
                other => {
                    let other = shown(&other.to_string());
                    let message = format!(
                        "expected the list or set of all that the replica holds, found {other}"
                    );
                    return wrong(end.place, message);
                }
            },
        };
        let client = clients[call.client as usize];
        history.push(Operation { client, op, invoked: call.invoked, returned });
        calls.push(index as u32);
    }
    if !history.iter().any(|call| matches!(call.op, EventualCall::FinalRead { .. })) {
        let message = "there is no final read in this history, so nothing is shown of how it ended: read \
                       every replica once all calls of add have ended, with f read or final-read";
        return Err(Problem::whole(ProblemKind::Event, message));
    }
    let verdict = eventual(&history);
    let naming = Naming {
        model: "grow-set",
        what: "replicated set".to_owned(),
        unit: "operation",
        numbered: Some("operation "),
        all_texts: question.all_texts,
        ..Naming::default()
    };
    Ok(HistoryFinding::new(recording, &history, &calls, verdict, naming, |_, operation| {
        let told = operation.returned.as_ref().map(|(ret, _)| match ret {
            EventualRet::Acknowledged => "ok".to_owned(),
            EventualRet::Refused => "refused".to_owned(),
            EventualRet::Contents(items) => Datum::list(items.iter().cloned()).to_string(),
        });
        let op = match &operation.op {
            EventualCall::Update(value) => format!("add {value}"),
            EventualCall::FinalRead { replica } => format!("read replica {replica}"),
        };
        (op, told)
    }))
}
