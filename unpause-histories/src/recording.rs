//! A recorded history: calls with their returns, independent of any model.

use std::collections::HashMap;
use std::sync::Arc;

use unpause_check::datum::Datum;
use unpause_check::models::NilRead;

use crate::event::{EventKind, FileEvent};
use crate::problem::{FilePlace, Problem, ProblemKind};

/// The calls of a file, each with its return.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// The name of the file format.
    pub format: &'static str,
    /// The calls, by time of invocation.
    pub calls: Vec<Call>,
    /// The processes, in the order of their first calls; a call's `client` is an index into this list.
    pub processes: Vec<i64>,
    /// The model named by the file itself, if any.
    pub model: Option<&'static str>,
    /// The meaning of a read of `nil` in this recording.
    pub nil: NilRead,
    /// `true` if a failure is an answer: see
    /// [`RegisteredModel::refused`](unpause_check::models::RegisteredModel::refused).
    pub failures_are_answers: bool,
    /// The number of events that belong to no client and were left out.
    pub notes: u64,
    /// The information about processes in the file.
    pub callers: Callers,
}

/// The information about processes in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callers {
    /// Each call has a process.
    Named,
    /// The file has no processes, so each call gets its own process. The order of the calls of a process is unknown, so
    /// conditions on that order cannot be checked.
    Unnamed {
        /// The first answer that could belong to two open calls. The answer was matched with the earlier call, so times
        /// are not reliable, and no condition on real time can be checked.
        ambiguous: Option<FilePlace>,
    },
}

/// One call of a client.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The index of the call's process in [`Recording::processes`].
    pub client: u32,
    /// The name of the operation.
    pub f: Arc<str>,
    /// The key of the object, if a separate field contains it.
    pub key: Option<Datum>,
    /// The argument of the call.
    pub value: Datum,
    /// The place of the invocation in the file.
    pub place: FilePlace,
    /// The time of the invocation, in the order of all events.
    pub invoked: u64,
    /// The end of the call; `None` if the file contains no end.
    pub end: Option<End>,
}

/// The end of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// The place in the file.
    pub place: FilePlace,
    /// The time, in the order of all events.
    pub time: u64,
    /// The answer.
    pub answer: Answer,
}

/// The answer to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The operation took effect, with this result.
    Ok(Datum),
    /// The operation did not take effect.
    Fail,
    /// Unknown: the operation may have taken effect, may do so later, or never.
    Info,
}

impl Recording {
    pub(crate) fn new(format: &'static str) -> Recording {
        Recording {
            format,
            calls: Vec::new(),
            processes: Vec::new(),
            model: None,
            nil: NilRead::Nothing,
            failures_are_answers: false,
            notes: 0,
            callers: Callers::Named,
        }
    }

    /// Returns the client numbers for evidence: the process numbers from the file, or indices if a process number is
    /// not a `u32`.
    pub(crate) fn client_numbers(&self) -> Vec<u32> {
        let numbers: Option<Vec<u32>> =
            self.processes.iter().map(|process| u32::try_from(*process).ok()).collect();
        numbers.unwrap_or_else(|| (0..self.processes.len() as u32).collect())
    }

    /// Returns the number of calls with a wanted end. `wanted` receives `None` for calls without an end.
    pub(crate) fn count(&self, wanted: impl Fn(Option<&Answer>) -> bool) -> usize {
        self.calls.iter().filter(|call| wanted(call.end.as_ref().map(|end| &end.answer))).count()
    }
}

/// Pairs incoming events into calls.
pub(crate) struct Pairing {
    recording: Recording,
    clients: HashMap<i64, u32>,
    /// The open call of each client.
    open: Vec<Option<usize>>,
    /// The open calls without a process, earliest first.
    unnamed: Vec<usize>,
    time: u64,
    /// `true` if there were notes that did not come from the nemesis.
    strangers: bool,
}

impl Pairing {
    pub(crate) fn new(recording: Recording) -> Pairing {
        Pairing {
            recording,
            clients: HashMap::new(),
            open: Vec::new(),
            unnamed: Vec::new(),
            time: 0,
            strangers: false,
        }
    }

    /// Counts an event that belongs to no client. `is_nemesis` is `true` for Jepsen's nemesis.
    pub(crate) fn note(&mut self, is_nemesis: bool) {
        self.recording.notes += 1;
        self.strangers |= !is_nemesis;
    }

    /// # Errors
    /// If the event does not fit the previous events.
    pub(crate) fn event(&mut self, event: FileEvent) -> Result<(), Problem> {
        let Some(process) = event.process else {
            return self.unnamed(event);
        };
        let FileEvent { place, kind, f, key, value, .. } = event;
        if self.recording.callers != Callers::Named {
            let message = "this event has a process, and those before have none: say it for all of \
                           them or for none";
            return Err(Problem::at(place, ProblemKind::Event, message));
        }
        self.time += 1;
        let time = self.time;
        let known = self.clients.get(&process).copied();
        let open = known.and_then(|client| self.open[client as usize]);
        let out_of_order = |message| Err(Problem::at(place, ProblemKind::Order, message));
        let answer = match (kind, open) {
            (EventKind::Invoke, Some(open)) => {
                let (since, f) =
                    (self.recording.calls[open].place.line, &self.recording.calls[open].f);
                return out_of_order(format!(
                    "process {process} calls while its {f} of line {since} is open; a client that \
                     goes on after a call without an answer needs a new number, or an info before"
                ));
            }
            (EventKind::Invoke, None) => {
                let client = match known {
                    Some(client) => client,
                    None => self.client(process, place)?,
                };
                self.open[client as usize] = Some(self.recording.calls.len());
                let end = None;
                self.recording.calls.push(Call {
                    client,
                    f,
                    key,
                    value,
                    place,
                    invoked: time,
                    end,
                });
                return Ok(());
            }
            // An info without a call is a note, for example from a nemesis with a process number.
            (EventKind::Info, None) => {
                self.note(true);
                return Ok(());
            }
            (EventKind::Ok | EventKind::Fail, None) => {
                return out_of_order(format!(
                    "process {process} is answered without having called; an invoke is missing"
                ));
            }
            (EventKind::Ok, Some(_)) => Answer::Ok(value),
            (EventKind::Fail, Some(_)) => Answer::Fail,
            (EventKind::Info, Some(_)) => Answer::Info,
        };
        let call = open.expect("the other cases returned");
        let called = &mut self.recording.calls[call];
        if called.f != f {
            let message = format!(
                "process {process} called {} at line {} and is answered for {f}",
                called.f, called.place.line
            );
            return out_of_order(message);
        }
        if key.is_some() && called.key != key {
            let message = format!(
                "process {process} called {f} for another key at line {}",
                called.place.line
            );
            return out_of_order(message);
        }
        called.end = Some(End { place, time, answer });
        self.open[called.client as usize] = None;
        Ok(())
    }

    /// Handles an event without a process, as in the files that test Jepsen's checkers: an answer belongs to
    /// the earliest open call that it fits.
    fn unnamed(&mut self, event: FileEvent) -> Result<(), Problem> {
        let FileEvent { place, kind, f, key, value, .. } = event;
        let bad = |kind, message: &str| Err(Problem::at(place, kind, message));
        if !self.clients.is_empty() {
            let message = "this event has no process, and those before have one: without it an answer \
                           cannot be given to its call";
            return bad(ProblemKind::Event, message);
        }
        self.time += 1;
        let time = self.time;
        if let Callers::Named = self.recording.callers {
            self.recording.callers = Callers::Unnamed { ambiguous: None };
        }
        if kind == EventKind::Invoke {
            let Ok(client) = u32::try_from(self.recording.calls.len()) else {
                return bad(ProblemKind::Limit, "more than 2^32 calls");
            };
            self.unnamed.push(self.recording.calls.len());
            self.recording.processes.push(client.into());
            let (invoked, end) = (time, None);
            self.recording.calls.push(Call { client, f, key, value, place, invoked, end });
            return Ok(());
        }
        let calls = &self.recording.calls;
        let fits = |open: &usize| {
            let call = &calls[*open];
            call.f == f && (key.is_none() || call.key == key) && is_answer(&call.value, &value)
        };
        let mut fitting = (0..self.unnamed.len()).filter(|n| fits(&self.unnamed[*n]));
        // Two candidates make the answer ambiguous, so the conditions on real time must be refused.
        let (first, second) = (fitting.next(), fitting.next());
        let Some(first) = first else {
            if kind == EventKind::Info {
                self.note(true);
                return Ok(());
            }
            let message = format!(
                "no open call of {f} asks for this, and without a process the answer cannot be given to \
                 another one: add the field process, or the invoke that is missing"
            );
            return bad(ProblemKind::Order, &message);
        };
        if let (Some(_), Callers::Unnamed { ambiguous: ambiguous @ None }) =
            (second, &mut self.recording.callers)
        {
            *ambiguous = Some(place);
        }
        let call = self.unnamed.remove(first);
        let answer = match kind {
            EventKind::Ok => Answer::Ok(value),
            EventKind::Fail => Answer::Fail,
            EventKind::Invoke | EventKind::Info => Answer::Info,
        };
        self.recording.calls[call].end = Some(End { place, time, answer });
        Ok(())
    }

    fn client(&mut self, process: i64, place: FilePlace) -> Result<u32, Problem> {
        let Ok(client) = u32::try_from(self.recording.processes.len()) else {
            return Err(Problem::at(place, ProblemKind::Limit, "more than 2^32 processes"));
        };
        self.recording.processes.push(process);
        self.open.push(None);
        self.clients.insert(process, client);
        Ok(client)
    }

    /// # Errors
    /// If the file is empty or has no client call, because then nothing was tested, which is not a pass.
    pub(crate) fn finish(self) -> Result<Recording, Problem> {
        let Recording { calls, notes, .. } = &self.recording;
        let events = || if *notes == 1 { "its one event is" } else { "all of its events are" };
        let message = match (calls.is_empty(), *notes) {
            (false, _) => return Ok(self.recording),
            (true, 0) => "there is no event in this file".to_owned(),
            (true, _) if !self.strangers => format!(
                "there is no call in this history, so nothing was tested: {} by the nemesis or a note of \
                 the log",
                events()
            ),
            (true, _) => format!(
                "there is no call in this history: {} by processes that are no whole numbers, and so by \
                 no client",
                events()
            ),
        };
        Err(Problem::whole(ProblemKind::Event, message))
    }
}

/// Returns `true` if the value can be the answer to this call. A nil in the call may be filled in.
fn is_answer(asked: &Datum, told: &Datum) -> bool {
    match (asked, told) {
        (Datum::Nil, _) => true,
        (Datum::List(asked), Datum::List(told)) => {
            asked.len() == told.len()
                && asked.iter().zip(told.iter()).all(|(asked, told)| is_answer(asked, told))
        }
        (Datum::Tagged(tag, asked), Datum::Tagged(other, told)) => {
            tag == other && is_answer(asked, told)
        }
        (asked, told) => asked == told,
    }
}
