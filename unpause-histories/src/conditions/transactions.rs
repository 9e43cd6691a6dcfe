//! Transactions: serializability and related levels.
//!
//! A transaction is a list of micro-operations: `[:append key value]` and `[:r key nil]` on lists, or `[:w key value]`
//! and `[:r key nil]` on registers. `:read` and `:write` are also accepted. JSON has strings instead of keywords. `f`
//! is usually `txn`, and is ignored. The reply `ok` contains the same list with the results of reads filled in. A read
//! without a value is `nil`, or `[]` for a list. `fail` means aborted, and `info` means unknown.

use unpause_check::datum::Datum;
use unpause_check::history::Operation;
use unpause_check::models::NilRead;
use unpause_check::transactions::{
    Level, ListCall, RegisterCall, TransactionOutcome, Unusable, UnusableKind, list_append,
    rw_register,
};

use super::{Question, refuse};
use crate::finding::{HistoryFinding, Naming};
use crate::history::Keys;
use crate::problem::{FilePlace, Problem, ProblemKind, shown};
use crate::recording::{Answer, Call, Recording};

/// The workloads of transactions.
pub(super) const WORKLOADS: &[(&str, &str)] = &[
    ("list-append", "[:append key value], [:r key [values]]: lists that grow"),
    ("rw-register", "[:w key value], [:r key value]: registers, each value written once"),
];

/// One micro-operation that borrows its values.
#[derive(Clone, Copy, PartialEq)]
enum MicroOp<'a> {
    Append(&'a Datum, &'a Datum),
    Write(&'a Datum, &'a Datum),
    /// A read, with its result if the transaction returned.
    Read(&'a Datum, &'a Datum),
}

pub(super) fn check(
    recording: &Recording,
    question: &Question<'_>,
    level: Level,
) -> Result<HistoryFinding, Problem> {
    refuse(
        question.keys == Keys::Yes,
        "to check by key (--keys yes)",
        "a transaction is about several keys at once, and levels of isolation are not kept key by key",
    )?;
    refuse(
        question.initial.is_some(),
        "an initial state (--init)",
        "every key of a transaction starts with nothing",
    )?;
    refuse(
        question.nil == Some(NilRead::Anything),
        "to leave reads of nil open (--nil anything)",
        "nil is nothing in a transaction, and a transaction whose reads are not known is no evidence",
    )?;
    match workload(recording, question.model)? {
        "list-append" => on_lists(recording, question, level),
        _ => on_registers(recording, question, level),
    }
}

/// Returns `true` if all calls are transactions, and some have effects.
pub(super) fn looks_like(recording: &Recording) -> bool {
    let calls = &recording.calls;
    let does = |call: &Call| call.value.as_list().is_some_and(|micros| !micros.is_empty());
    calls.iter().any(does) && calls.iter().all(|call| micros(call.place, &call.value).is_ok())
}

/// Returns the entry of [`WORKLOADS`] for the transactions.
fn workload(recording: &Recording, asked: Option<&str>) -> Result<&'static str, Problem> {
    let mut known = asked.and_then(|asked| WORKLOADS.iter().find(|(name, _)| *name == asked));
    let mut lists = false;
    for call in &recording.calls {
        for micro in micros(call.place, &call.value)? {
            let (is, other) = match micro {
                MicroOp::Append(..) => (&WORKLOADS[0], &WORKLOADS[1]),
                MicroOp::Write(..) => (&WORKLOADS[1], &WORKLOADS[0]),
                MicroOp::Read(..) => continue,
            };
            if known == Some(other) {
                let message = match asked {
                    Some(asked) => format!("{micro}: {asked} has {}", other.1),
                    None => format!(
                        "{micro}: so far the transactions were {}. Both in one history are not \
                         understood",
                        other.0
                    ),
                };
                return Err(Problem::at(call.place, ProblemKind::Model, message));
            }
            known = Some(is);
        }
        if let Some(Answer::Ok(value)) = call.end.as_ref().map(|end| &end.answer) {
            let saw_list = |micro: &MicroOp<'_>| matches!(micro, MicroOp::Read(_, saw) if saw.as_list().is_some());
            lists |= known.is_none()
                && micros(call.place, value).is_ok_and(|micros| micros.iter().any(saw_list));
        }
    }
    Ok(known.map_or(if lists { "list-append" } else { "rw-register" }, |(name, _)| name))
}

fn on_lists(
    recording: &Recording,
    question: &Question<'_>,
    level: Level,
) -> Result<HistoryFinding, Problem> {
    let call = |micro: MicroOp<'_>| match micro {
        MicroOp::Append(key, value) | MicroOp::Write(key, value) => {
            ListCall::Append(key.clone(), value.clone())
        }
        MicroOp::Read(key, _) => ListCall::Read(key.clone()),
    };
    let saw = |value: &Datum| match value {
        Datum::Nil => Ok(Vec::new()),
        Datum::List(items) => Ok(items.to_vec()),
        other => Err(format!("a list was read as {}", shown(&other.to_string()))),
    };
    let history = transactions(recording, call, saw)?;
    let verdict = list_append(&history, level, &question.budget)
        .map_err(|unusable| misplaced(unusable, recording))?;
    Ok(told(recording, &history, verdict, WORKLOADS[0].0, question.all_texts))
}

fn on_registers(
    recording: &Recording,
    question: &Question<'_>,
    level: Level,
) -> Result<HistoryFinding, Problem> {
    let call = |micro: MicroOp<'_>| match micro {
        MicroOp::Append(key, value) | MicroOp::Write(key, value) => {
            RegisterCall::Write(key.clone(), value.clone())
        }
        MicroOp::Read(key, _) => RegisterCall::Read(key.clone()),
    };
    let saw = |value: &Datum| Ok(Some(value).filter(|value| !value.is_nil()).cloned());
    let history = transactions(recording, call, saw)?;
    let verdict = rw_register(&history, level, &question.budget)
        .map_err(|unusable| misplaced(unusable, recording))?;
    Ok(told(recording, &history, verdict, WORKLOADS[1].0, question.all_texts))
}

type Transaction<C, S> = Operation<Vec<C>, TransactionOutcome<S>>;

/// Returns one transaction per call, in the same order.
fn transactions<C, S>(
    recording: &Recording,
    make: impl Fn(MicroOp<'_>) -> C,
    saw: impl Fn(&Datum) -> Result<S, String>,
) -> Result<Vec<Transaction<C, S>>, Problem> {
    let clients = recording.client_numbers();
    let transaction = |call: &Call| {
        let asked = micros(call.place, &call.value)?;
        let returned = match call.end.as_ref().map(|end| (end, &end.answer)) {
            None | Some((_, Answer::Info)) => None,
            Some((end, Answer::Fail)) => Some((TransactionOutcome::Aborted, end.time)),
            Some((end, Answer::Ok(value))) => {
                // An answer repeats the accesses of its call. If the accesses differ, the answer belongs to another
                // transaction, and its reads must not count as reads of this transaction.
                let wrong = |message| Problem::at(end.place, ProblemKind::Model, message);
                let answered = micros(end.place, value)?;
                let differs = (0..asked.len().max(answered.len()))
                    .find(|n| !same(asked.get(*n), answered.get(*n)));
                if let Some(n) = differs {
                    let text = |micro: Option<&MicroOp<'_>>| {
                        micro.map_or_else(|| "nothing".to_owned(), MicroOp::to_string)
                    };
                    return Err(wrong(format!(
                        "the answer is not that of the transaction called at line {}: number {} was \
                         {} and is {}",
                        call.place.line,
                        n + 1,
                        text(asked.get(n)),
                        text(answered.get(n))
                    )));
                }
                let mut results = Vec::new();
                for micro in &answered {
                    if let MicroOp::Read(_, value) = micro {
                        results.push(saw(value).map_err(|m| wrong(format!("{micro}: {m}")))?);
                    }
                }
                Some((TransactionOutcome::Committed(results), end.time))
            }
        };
        let client = clients[call.client as usize];
        let op = asked.into_iter().map(&make).collect();
        Ok(Operation { client, op, invoked: call.invoked, returned })
    };
    recording.calls.iter().map(transaction).collect()
}

/// Returns `true` if an answer matches its call, except for the results of reads.
fn same(asked: Option<&MicroOp<'_>>, answered: Option<&MicroOp<'_>>) -> bool {
    match (asked, answered) {
        (Some(MicroOp::Read(key, _)), Some(MicroOp::Read(other, _))) => key == other,
        (asked, answered) => asked == answered,
    }
}

fn micros(place: FilePlace, value: &Datum) -> Result<Vec<MicroOp<'_>>, Problem> {
    let wrong = |found: &Datum| {
        let message = format!(
            "expected a transaction such as [[:append :x 1] [:r :y nil]] or [[:w :x 1] [:r :y nil]], \
             found {}",
            shown(&found.to_string())
        );
        Problem::at(place, ProblemKind::Model, message)
    };
    let micro = |micro| micro_of(micro).ok_or_else(|| wrong(micro));
    let list = value.as_list().ok_or_else(|| wrong(value))?;
    list.iter().map(micro).collect()
}

fn micro_of(micro: &Datum) -> Option<MicroOp<'_>> {
    let (kind, key, value) = match micro.as_list()? {
        [kind, key, value] => (kind, key, value),
        [kind, key] => (kind, key, &Datum::Nil),
        _ => return None,
    };
    match kind.as_name()? {
        "append" if !value.is_nil() => Some(MicroOp::Append(key, value)),
        "w" | "write" if !value.is_nil() => Some(MicroOp::Write(key, value)),
        "r" | "read" => Some(MicroOp::Read(key, value)),
        _ => None,
    }
}

impl std::fmt::Display for MicroOp<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MicroOp::Append(key, value) => write!(f, "append {key} {value}"),
            MicroOp::Write(key, value) => write!(f, "w {key} {value}"),
            MicroOp::Read(key, value) => match value {
                Datum::List(items) if items.len() > ITEMS_MAX => {
                    write!(f, "r {key} [{} before", items.len() - ITEMS_MAX)?;
                    items[items.len() - ITEMS_MAX..].iter().try_for_each(|v| write!(f, " {v}"))?;
                    f.write_str("]")
                }
                value => write!(f, "r {key} {value}"),
            },
        }
    }
}

/// The maximum number of items shown at the end of a list that was read.
const ITEMS_MAX: usize = 8;

/// Returns the error in a transaction, with its place in the file.
fn misplaced(unusable: Unusable, recording: &Recording) -> Problem {
    let call = &recording.calls[unusable.transaction];
    let message = match &unusable.kind {
        UnusableKind::WrittenTwice { other, key, value } => {
            let whose = match recording.calls[*other].place.line {
                _ if *other == unusable.transaction => "twice".to_owned(),
                line => format!("as that of line {line} does"),
            };
            format!(
                "this transaction writes {value} to {key} {whose}: each value must be written to a \
                 key once, or a read does not say whose write it saw"
            )
        }
        _ => unusable.to_string(),
    };
    Problem::at(call.place, ProblemKind::Model, message)
}

/// Returns the meaning of an anomaly name, for readers who do not know it.
fn meaning(name: &str) -> Option<&'static str> {
    Some(match name {
        _ if name.ends_with("-realtime") => {
            "old state, although what is newer had ended before it began"
        }
        _ if name.ends_with("-process") => "old state, although its own process was further",
        "G0" => "dirty write, two transactions wrote over each other",
        "G1a" => "aborted read",
        "G1b" => "intermediate read",
        "G1c" => "circular information flow",
        "G-single" => "read skew, one transaction saw another only in part",
        "G-nonadjacent" => "long fork, writes were seen in different orders",
        "G2-item" => "write skew, each read before another wrote",
        "dirty update" => "built on what was aborted",
        "internal" => "a transaction does not see its own doing",
        _ => return None,
    })
}

fn told<C, S>(
    recording: &Recording,
    history: &[Transaction<C, S>],
    verdict: unpause_check::verdict::Verdict,
    workload: &'static str,
    all_texts: bool,
) -> HistoryFinding {
    let calls: Vec<u32> = (0..recording.calls.len() as u32).collect();
    let naming = Naming {
        model: workload,
        what: format!("{workload} transactions"),
        unit: "transaction",
        numbered: Some("T"),
        round: "Each of these has to come before the next, and the last before the first",
        meaning,
        all_texts,
        ..Naming::default()
    };
    HistoryFinding::new(recording, history, &calls, verdict, naming, |index, _| {
        let call = &recording.calls[index];
        let (value, outcome) = match call.end.as_ref().map(|end| &end.answer) {
            // A picture leaves `()` out.
            Some(Answer::Ok(value)) => (value, Some("()")),
            Some(Answer::Fail) => (&call.value, Some("aborted")),
            None | Some(Answer::Info) => (&call.value, None),
        };
        let is_ok = outcome == Some("()");
        let micros = micros(call.place, value).unwrap_or_default();
        let texts = micros.iter().map(|micro| match micro {
            MicroOp::Read(key, _) if !is_ok => format!("r {key}"),
            micro => micro.to_string(),
        });
        let text = texts.collect::<Vec<_>>().join(", ");
        (format!("T{index}: {text}"), outcome.map(str::to_owned))
    })
}
