//! One event of a history: what its fields are, whichever format they come in.

use std::sync::Arc;

use unpause_check::datum::Datum;

use crate::problem::{FilePlace, Problem, ProblemKind, not_among, shown};

/// What happened to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    /// A process asks for something.
    Invoke,
    /// It was done.
    Ok,
    /// It was not done.
    Fail,
    /// Nobody knows.
    Info,
}

/// One line of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileEvent {
    pub(crate) place: FilePlace,
    /// Who acts; none if the file does not say.
    pub(crate) process: Option<i64>,
    pub(crate) kind: EventKind,
    /// What is asked for.
    pub(crate) f: Arc<str>,
    pub(crate) key: Option<Datum>,
    pub(crate) value: Datum,
}

/// What a call is named that has no `f`: transactions of Elle have none.
const UNNAMED: &str = "txn";

/// What a value says.
pub(crate) enum FileItem {
    /// That a client did something.
    Event(FileEvent),
    /// That somebody else did, Jepsen's nemesis if so it says.
    Note { is_nemesis: bool },
}

/// The event that a value is, or the note: a process that is no whole number is no client.
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
        // Without either it is some other data, and no event that lacks a word.
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

/// A name without its namespace.
fn local(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, local)| if local.is_empty() { name } else { local })
}
