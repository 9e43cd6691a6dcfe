//! One event of a history, independent of the format of the file.

use std::sync::Arc;

use unpause_check::datum::Datum;

use crate::problem::{FilePlace, Problem, ProblemKind, not_among, shown};

/// The kind of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    /// A process invoked an operation.
    Invoke,
    /// The operation took effect.
    Ok,
    /// The operation did not take effect.
    Fail,
    /// The outcome is unknown.
    Info,
}

/// One line of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileEvent {
    pub(crate) place: FilePlace,
    /// The process; `None` if the file names no processes.
    pub(crate) process: Option<i64>,
    pub(crate) kind: EventKind,
    /// The name of the operation.
    pub(crate) f: Arc<str>,
    pub(crate) key: Option<Datum>,
    pub(crate) value: Datum,
}

/// The name of a call without `f`, for example in Elle's transactions.
const UNNAMED: &str = "txn";

/// The content of a value in a file.
pub(crate) enum FileItem {
    /// An event of a client.
    Event(FileEvent),
    /// An event of another process, such as Jepsen's nemesis.
    Note { is_nemesis: bool },
}

/// Returns the event or note in a value. A process that is not an integer is not a client.
pub(crate) fn event(place: FilePlace, value: &Datum) -> Result<FileItem, Problem> {
    let bad = |message: String| Problem::at(place, ProblemKind::Event, message);
    let fields = match value {
        Datum::Tagged(_, record) => record,
        value => value,
    };
    if !matches!(fields, Datum::Map(_)) {
        let found = shown(&value.to_string());
        return Err(bad(format!(
            "expected an event, such as {{:process 0, :type :invoke, :f :read, :value nil}}, found {found}"
        )));
    }
    let process = match fields.get("process") {
        Some(Datum::Integer(process)) => Some(*process),
        Some(other) => {
            return Ok(FileItem::Note { is_nemesis: other.as_name() == Some("nemesis") });
        }
        // A value without a process and without `f` is other data, not an incomplete event.
        None if fields.get("f").is_none() => {
            return Err(bad("this event has no process".to_owned()));
        }
        None => None,
    };
    let kind = match fields.get("type") {
        Some(kind) => kind,
        None => return Err(bad("this event has no type: invoke, ok, fail or info".to_owned())),
    };
    let kind = match kind.as_name().map(local) {
        Some("invoke") => EventKind::Invoke,
        Some("ok") => EventKind::Ok,
        Some("fail") => EventKind::Fail,
        Some("info") => EventKind::Info,
        _ => {
            let kinds = ["invoke", "ok", "fail", "info"];
            let text = kind.as_name().map_or_else(|| kind.to_string(), str::to_owned);
            return Err(bad(format!("there is no type {}", not_among(&text, "there are", &kinds))));
        }
    };
    let f = match fields.get("f") {
        None | Some(Datum::Nil) => UNNAMED.into(),
        Some(Datum::Text(name) | Datum::Keyword(name)) => match local(name) {
            whole if whole.len() == name.len() => name.clone(),
            local => local.into(),
        },
        Some(other) => {
            let other = shown(&other.to_string());
            return Err(bad(format!("f is {other}, and should be the name of an operation")));
        }
    };
    let key = fields.get("key").cloned();
    let value = fields.get("value").cloned().unwrap_or_default();
    Ok(FileItem::Event(FileEvent { place, process, kind, f, key, value }))
}

/// Returns a name without its namespace.
fn local(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, local)| if local.is_empty() { name } else { local })
}
