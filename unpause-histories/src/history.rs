//! Conversion of a recording into the operations of a model.

use unpause_check::datum::Datum;
use unpause_check::history::Operation;
use unpause_check::models::{NilRead, RecordedOp, RecordedRet, RegisteredModel, Visitor, registry};
use unpause_check::picture::screen::cut;

use crate::by_key::Keyed;
use crate::problem::{FilePlace, Problem, ProblemKind, not_among};
use crate::recording::{Answer, Call, Callers, Recording};

/// Operations of a model, with the calls from which they were converted.
#[derive(Clone, Debug)]
pub struct Operations<O, R> {
    /// The operations, by time of invocation.
    pub operations: Vec<Operation<O, R>>,
    /// For each operation, the index of its call in [`Recording::calls`]. Failed calls and calls without information
    /// have no operation.
    pub calls: Vec<u32>,
    /// The failed calls as operations, without returns. All conditions ignore these operations.
    pub failed: Vec<Operation<O, R>>,
    /// For each failed call, its index in `Recording::calls`.
    pub failed_calls: Vec<u32>,
    /// The number of calls that read `nil` and are not checked, because the value was not recorded: see
    /// [`NilRead::Anything`].
    pub unchecked: usize,
}

impl<O, R> Operations<O, R> {
    /// Converts each operation with `form`.
    pub(crate) fn map<P>(self, form: impl Fn(O) -> P) -> Operations<P, R> {
        let changed = |Operation { client, op, invoked, returned }| {
            let op = form(op);
            Operation { client, op, invoked, returned }
        };
        let Operations { operations, calls, failed, failed_calls, unchecked } = self;
        let operations = operations.into_iter().map(&changed).collect();
        let failed = failed.into_iter().map(&changed).collect();
        Operations { operations, calls, failed, failed_calls, unchecked }
    }
}

/// Selects one object, or one object per key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keys {
    /// One object per key, in two cases. Either every call has a key in a separate field. Or every call has a value
    /// `[key value]`, some of them `[key nil]` or tagged as tuples, and every answer is a pair with the same key.
    #[default]
    Auto,
    /// Each key is a separate object.
    Yes,
    /// A single object.
    No,
}

/// Converts a recording into operations on one object of model `M`.
///
/// # Errors
/// At the first call that does not exist in the model, has a value of the wrong kind, or has an answer that belongs to
/// another call.
///
/// ```
/// use unpause_check::models::Register;
/// use unpause_histories::{format_named, operations, read};
/// let text = "{:process 0 :type :invoke :f :write :value 1}{:process 0 :type :ok :f :write :value 1}";
/// let recording = read(text.as_bytes(), format_named("edn").unwrap()).unwrap();
/// assert_eq!(operations::<Register>(&recording, recording.nil).unwrap().operations.len(), 1);
/// ```
pub fn operations<M: RegisteredModel>(
    recording: &Recording,
    nil: NilRead,
) -> Result<Operations<RecordedOp<M>, RecordedRet<M>>, Problem> {
    convert::<M, _, _>(recording, nil, |call| {
        if !M::KEYED {
            return Ok((std::convert::identity, call.value.clone(), Pairs::No));
        }
        let (value, pairs) = match (&call.key, call.value.as_pair()) {
            (Some(key), _) => (pair(key, &call.value), Pairs::No),
            (None, Some((key, value))) => (pair(key, value), Pairs::Yes(key.clone())),
            (None, None) if call.value.is_nil() => (Datum::Nil, Pairs::No),
            (None, None) => (pair(&call.value, &Datum::Nil), Pairs::No),
        };
        Ok((std::convert::identity, value, pairs))
    })
}

/// Converts a recording into operations on one object of model `M` per key.
///
/// # Errors
/// The same as for [`operations`]. Also if a call has no key.
pub fn operations_by_key<M: RegisteredModel>(
    recording: &Recording,
    nil: NilRead,
) -> Result<Operations<Keyed<RecordedOp<M>>, RecordedRet<M>>, Problem> {
    convert::<M, _, _>(recording, nil, |call| {
        let (key, value, pairs) = match (&call.key, call.value.as_pair()) {
            (Some(key), _) => (key.clone(), call.value.clone(), Pairs::No),
            (None, Some((key, value))) => (key.clone(), value.clone(), Pairs::Yes(key.clone())),
            (None, None) => {
                let message = format!("{} has no key: its value is not [key value]", call.f);
                return Err(Problem::at(call.place, ProblemKind::Event, message));
            }
        };
        Ok((move |op| Keyed { key, op }, value, pairs))
    })
}

/// The form of results: pairs `[key value]`, or plain values.
enum Pairs {
    Yes(Datum),
    No,
}

fn pair(key: &Datum, value: &Datum) -> Datum {
    Datum::list([key.clone(), value.clone()])
}

fn convert<M: RegisteredModel, O, F: FnOnce(RecordedOp<M>) -> O>(
    recording: &Recording,
    nil: NilRead,
    mut split: impl FnMut(&Call) -> Result<(F, Datum, Pairs), Problem>,
) -> Result<Operations<O, RecordedRet<M>>, Problem> {
    let mut converted = Operations {
        operations: Vec::new(),
        calls: Vec::new(),
        failed: Vec::new(),
        failed_calls: Vec::new(),
        unchecked: 0,
    };
    for (index, call) in recording.calls.iter().enumerate() {
        let answer = call.end.as_ref().map(|end| &end.answer);
        check_name::<M>(call)?;
        if answer == Some(&Answer::Fail) && !recording.failures_are_answers {
            // A failed call that does not exist in the model had no effect, so it is not an error.
            if let Ok((wrap, asked, _)) = split(call) {
                if let Ok(op) = M::call(&call.f, &asked) {
                    let (client, invoked) = (call.client, call.invoked);
                    let operation = Operation { client, op: wrap(op), invoked, returned: None };
                    converted.failed.push(operation);
                    converted.failed_calls.push(index as u32);
                }
            }
            continue;
        }
        let (wrap, asked, pairs) = split(call)?;
        let wrong = |place, message: String| {
            Problem::at(place, ProblemKind::Model, format!("{}: {message}", call.f))
        };
        let op = M::call(&call.f, &asked).map_err(|message| wrong(call.place, message))?;
        let returned = match &call.end {
            None => None,
            Some(end) => match &end.answer {
                Answer::Info => None,
                Answer::Fail => match M::refused(&op) {
                    Some(ret) => Some((ret, end.time)),
                    None => continue,
                },
                Answer::Ok(value) => {
                    let value = match (&pairs, value.as_pair()) {
                        (Pairs::Yes(key), Some((told, value))) if told == key => value,
                        _ => value,
                    };
                    if M::repeats(&op) && !repeated::<M>(call, &op, &asked, value) {
                        return Err(answered_for_another(recording, call, end.place, value));
                    }
                    let ret = M::outcome(&op, value, nil);
                    let ret = ret.map_err(|message| wrong(end.place, message))?;
                    // A strict interpretation shows if the lenient interpretation dropped a check, which the finding
                    // must count.
                    if nil == NilRead::Anything && has_nil(value) {
                        let strictly = M::outcome(&op, value, NilRead::Nothing);
                        converted.unchecked += usize::from(strictly.as_ref() != Ok(&ret));
                    }
                    match ret {
                        Some(ret) => Some((ret, end.time)),
                        None => continue,
                    }
                }
            },
        };
        let (client, invoked) = (call.client, call.invoked);
        converted.operations.push(Operation { client, op: wrap(op), invoked, returned });
        converted.calls.push(index as u32);
    }
    Ok(converted)
}

/// Returns `true` if an answer means that the call with this value is done: nil, `true` or `ok`. The answer does not
/// mean this if the value is of the same kind, because the answer may then be the value of another call.
pub(crate) fn is_done(told: &Datum, value: &Datum) -> bool {
    match told {
        Datum::Nil => true,
        Datum::Bool(done) => *done && !matches!(value, Datum::Bool(_)),
        told => {
            told.as_name().is_some_and(|name| name.eq_ignore_ascii_case("ok"))
                && value.as_name().is_none()
        }
    }
}

/// Returns `true` if an answer only repeats or confirms its call.
fn repeated<M: RegisteredModel>(
    call: &Call,
    op: &RecordedOp<M>,
    asked: &Datum,
    told: &Datum,
) -> bool {
    let (key, value) = match asked.as_pair() {
        Some((key, value)) if M::KEYED => (Some(key), value),
        _ => (None, asked),
    };
    if is_done(told, value) || told == value || told == asked {
        return true;
    }
    let told = key.map_or_else(|| told.clone(), |key| pair(key, told));
    // A value that does not form such a call is other data that the harness recorded.
    M::call(&call.f, &told).map_or(true, |told| told == *op)
}

/// Returns the problem of an answer with a different value than its call.
pub(crate) fn answered_for_another(
    recording: &Recording,
    call: &Call,
    place: FilePlace,
    told: &Datum,
) -> Problem {
    let shown = |value: &Datum| cut(&value.to_string(), 60);
    let (f, asked) = (&call.f, shown(&call.value));
    let by = match recording.callers {
        Callers::Named => format!("process {}", recording.processes[call.client as usize]),
        Callers::Unnamed { .. } => "somebody".to_owned(),
    };
    let message = format!(
        "{by} called {f} {asked} at line {} and is answered for {f} {}: if the answers of two processes are \
         not mixed up, write the value of the call, or nil",
        call.place.line,
        shown(told),
    );
    Problem::at(place, ProblemKind::Order, message)
}

/// Returns `true` if the value of an answer, or the value of an access in its list, is nil.
fn has_nil(value: &Datum) -> bool {
    let ends_in_nil = |access: &Datum| match access.as_list() {
        Some([_, _, value]) => value.is_nil(),
        _ => false,
    };
    value.is_nil() || value.as_list().is_some_and(|accesses| accesses.iter().any(ends_in_nil))
}

fn check_name<M: RegisteredModel>(call: &Call) -> Result<(), Problem> {
    if M::CALLS.contains(&&*call.f) {
        return Ok(());
    }
    let message =
        format!("the model {} has no {}", M::NAME, not_among(&call.f, "it has", M::CALLS));
    Err(Problem::at(call.place, ProblemKind::Model, message))
}

/// Returns `true` if [`Keys::Auto`] finds keys in a recording for a model without built-in keys.
pub(crate) fn has_keys(recording: &Recording) -> bool {
    let calls = &recording.calls;
    if calls.iter().all(|call| call.key.is_some()) {
        return true;
    }
    let tuple = |call: &Call| match &call.value {
        Datum::Tagged(tag, _) => tag.ends_with("tuple"),
        value => value.as_pair().is_some_and(|(_, value)| value.is_nil()),
    };
    // The result must also be a pair, with the same key.
    let keeps = |call: &Call| {
        let key = call.value.as_pair().map(|(key, _)| key);
        let told = match call.end.as_ref().map(|end| &end.answer) {
            Some(Answer::Ok(told)) if !told.is_nil() => told.as_pair().map(|(key, _)| key),
            _ => key,
        };
        key.is_some() && key == told
    };
    calls.iter().all(keeps) && calls.iter().any(tuple)
}

/// Returns the models that match a recording: models with its operations, and with values of the right kind.
pub(crate) fn fitting(recording: &Recording, keys: Keys, nil: NilRead) -> Vec<&'static str> {
    struct Fitting<'a> {
        recording: &'a Recording,
        keys: Keys,
        nil: NilRead,
        names: Vec<&'a str>,
        models: Vec<(&'static str, &'static [&'static str])>,
    }
    impl Visitor for Fitting<'_> {
        fn visit<M: RegisteredModel>(&mut self) {
            let nil = self.nil;
            // Mixed-up answers do not exclude a model, because they are reported only after a model is found.
            let or_order = |problem: Problem| problem.kind == ProblemKind::Order;
            let fits = self.names.iter().all(|name| M::CALLS.contains(name))
                && match is_by_key::<M>(self.recording, self.keys) {
                    true => {
                        operations_by_key::<M>(self.recording, nil).map_or_else(or_order, |_| true)
                    }
                    false => operations::<M>(self.recording, nil).map_or_else(or_order, |_| true),
                };
            if fits {
                self.models.push((M::NAME, M::CALLS));
            }
        }
    }
    let mut names: Vec<&str> = recording.calls.iter().map(|call| &*call.f).collect();
    names.sort_unstable();
    names.dedup();
    let mut fitting = Fitting { recording, keys, nil, names, models: Vec::new() };
    registry(&mut fitting);
    // If a model only adds operations to another matching model, it is dropped, because the recording does not use the
    // added operations.
    let models = fitting.models;
    let extends = |(_, calls): &(&str, &[&str])| {
        let others = models.iter().filter(|(_, others)| others.len() < calls.len());
        others.into_iter().any(|(_, others)| others.iter().all(|other| calls.contains(other)))
    };
    models.iter().filter(|model| !extends(model)).map(|(name, _)| *name).collect()
}

pub(crate) fn is_by_key<M: RegisteredModel>(recording: &Recording, keys: Keys) -> bool {
    match keys {
        Keys::Auto => !M::KEYED && has_keys(recording),
        Keys::Yes => !M::KEYED,
        Keys::No => false,
    }
}

/// Checks that this crate contains a model with this name. The error lists the models.
pub(crate) fn model_named(name: &str) -> Result<(), Problem> {
    let names = models();
    if names.iter().any(|(model, _)| *model == name) {
        return Ok(());
    }
    let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    let message = format!("there is no model {}", not_among(name, "there are", &all));
    Err(Problem::whole(ProblemKind::Question, message))
}

/// Returns the models for recordings: their names and operations.
///
/// ```
/// assert!(unpause_histories::models().iter().any(|(name, _)| *name == "cas-register"));
/// ```
pub fn models() -> Vec<(&'static str, &'static str)> {
    struct Names(Vec<(&'static str, &'static str)>);
    impl Visitor for Names {
        fn visit<M: RegisteredModel>(&mut self) {
            self.0.push((M::NAME, M::SUMMARY));
        }
    }
    let mut names = Names(Vec::new());
    registry(&mut names);
    names.0
}
