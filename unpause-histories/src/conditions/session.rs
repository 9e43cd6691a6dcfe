//! Session guarantees: reads and writes of replicated registers.
//!
//! A history contains the calls of the model `register`: `read` and `write`, on one key or on many keys. With many
//! keys, calls have a field `key` or values `[key value]`. A process is a session. Each value is
//! written to a key only once, and no written value equals the initial value of the key (`--init`, else `nil`).

use std::collections::HashMap;
use std::fmt;

use unpause_check::datum::Datum;
use unpause_check::history::Operation;
use unpause_check::models::{Register, RegisterOp, RegisterRet};
use unpause_check::session::{
    BadSession, Guarantee, SessionCall, SessionOperation, SessionRet, session,
};

use super::Question;
use crate::by_key::Keyed;
use crate::finding::{HistoryFinding, Naming};
use crate::history::{Operations, is_by_key, operations, operations_by_key};
use crate::problem::{FilePlace, Problem, ProblemKind};
use crate::recording::Recording;

/// The key of a register; `None` if there is only one register.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RegisterKey(Option<Datum>);

impl fmt::Debug for RegisterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(key) => write!(f, "{key}"),
            None => f.write_str("the register"),
        }
    }
}

pub(super) fn check(
    recording: &Recording,
    question: &Question<'_>,
    guarantees: &[Guarantee],
) -> Result<HistoryFinding, Problem> {
    let nil = question.nil.unwrap_or(recording.nil);
    let by_key = is_by_key::<Register>(recording, question.keys);
    let (operations, calls, unchecked) = if by_key {
        let Operations { operations, calls, unchecked, .. } =
            operations_by_key::<Register>(recording, nil)?;
        (operations, calls, unchecked)
    } else {
        let Operations { operations, calls, unchecked, .. } =
            operations::<Register>(recording, nil)?;
        let keyed = |o: Operation<RegisterOp<Datum>, _>| {
            let Operation { client, op, invoked, returned } = o;
            Operation { client, op: Keyed { key: Datum::Nil, op }, invoked, returned }
        };
        (operations.into_iter().map(keyed).collect(), calls, unchecked)
    };
    let place = |operation: usize| recording.calls[calls[operation] as usize].place;
    let initial = question.initial.clone().unwrap_or_default();
    let clients = recording.client_numbers();
    let mut written: HashMap<(&Datum, &Datum), FilePlace> = HashMap::new();
    let mut history: Vec<SessionOperation<RegisterKey, Datum>> =
        Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let Keyed { key, op } = &operation.op;
        let wrong = |message| Err(Problem::at(place(index), ProblemKind::Model, message));
        let name = RegisterKey(by_key.then(|| key.clone()));
        let op = match op {
            RegisterOp::Read => SessionCall::Read(name),
            // A read of this value could be a read of the initial state, so the read would not identify its write.
            RegisterOp::Write(value) if *value == initial => {
                return wrong(format!(
                    "{value} is what the register starts with: who reads it could have read \
                     nothing. Write another value, or say what it starts with (--init)"
                ));
            }
            RegisterOp::Write(value) => {
                if let Some(other) = written.insert((key, value), place(index)) {
                    return wrong(format!(
                        "{value} was written by the call of line {} already: each value must be \
                         written to a key once, or a read does not say whose write it saw",
                        other.line
                    ));
                }
                SessionCall::Write(name, value.clone())
            }
        };
        let returned = operation.returned.as_ref().map(|(ret, time)| match ret {
            RegisterRet::Done => (SessionRet::Written, *time),
            RegisterRet::Value(value) => {
                (SessionRet::Value(Some(value).filter(|v| **v != initial).cloned()), *time)
            }
        });
        let client = clients[operation.client as usize];
        history.push(Operation { client, op, invoked: operation.invoked, returned });
    }
    let unfit = |bad: BadSession| match bad.operation {
        Some(operation) => Problem::at(place(operation), ProblemKind::Model, bad.to_string()),
        None => Problem::whole(ProblemKind::Model, bad.to_string()),
    };
    let verdict = session(&history, guarantees, &[]).map_err(unfit)?;
    let what = if by_key { "register for each key" } else { "register" };
    let naming = Naming {
        model: "register",
        what: what.to_owned(),
        unit: "operation",
        numbered: Some("operation "),
        round: "a version would have to be later than itself",
        all_texts: question.all_texts,
        ..Naming::default()
    };
    let finding =
        HistoryFinding::new(recording, &history, &calls, verdict, naming, |_, operation| {
            let on = |key: &RegisterKey| {
                key.0.as_ref().map_or_else(String::new, |key| format!("{key} "))
            };
            let op = match &operation.op {
                SessionCall::Read(key) => format!("{}read", on(key)),
                SessionCall::Write(key, value) => format!("{}write {value}", on(key)),
            };
            let told = operation.returned.as_ref().map(|(ret, _)| match ret {
                SessionRet::Written => "ok".to_owned(),
                SessionRet::Value(None) => "nothing".to_owned(),
                SessionRet::Value(Some(value)) => value.to_string(),
            });
            (op, told)
        });
    Ok(HistoryFinding { by_key, unchecked, ..finding })
}
