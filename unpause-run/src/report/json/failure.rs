//! Failures as JSON, one variant for each kind of failure.

use super::super::names::DisplayNames;
use super::super::one_line;
use super::history;
use super::writer::Writer;
use crate::run::ids::ObjectId;
use crate::run::{
    Condition, Failure, Holder, MemoryError, MemoryStep, Run, Signature, StepRecord, Wait,
};

/// Writes the failure of a run.
pub(super) fn write(w: &mut Writer, failure: &Failure, run: &Run, names: &DisplayNames<'_>) {
    w.open_field("failure", '{');
    w.text("kind", failure.kind());
    w.text("text", &one_line(failure, run));
    let Signature { kind, place } = failure.signature();
    w.open_field("signature", '{');
    w.text("kind", kind);
    w.text("place", &place);
    w.close('}');
    let number = |n: &u32| u64::from(*n);
    // Each variant has its own fields, in an object with the variant's name.
    w.open_field(failure.variant(), '{');
    match failure {
        Failure::Panic { task, message, place } => {
            w.number("task", number(&task.0));
            w.text("message", message);
            w.place("place", place);
        }
        Failure::Memory(MemoryError { problem, message, steps, remedy, .. }) => {
            w.text("problem", problem);
            w.text("message", message);
            w.open_field("steps", '[');
            for MemoryStep { label, task, place, called_from } in steps {
                w.open('{');
                w.text("label", label);
                w.number("task", number(&task.0));
                w.place("place", place);
                w.place("called_from", called_from);
                w.close('}');
            }
            w.close(']');
            w.text("remedy", remedy);
        }
        Failure::Error { message } | Failure::Unreadable { message } => w.text("message", message),
        Failure::Deadlock { waits } => self::waits(w, "waits", waits, names),
        Failure::Invariant { name, task, place } => {
            w.text("name", name);
            w.number("task", number(&task.0));
            w.place("place", place);
        }
        Failure::StepLimit { steps, cycle } => {
            w.number("steps", number(steps));
            w.open_field("cycle", '[');
            for StepRecord { task, candidates, preempts } in cycle {
                w.open('{');
                w.number("task", number(&task.0));
                w.number("candidates", number(candidates));
                w.flag("preempts", *preempts);
                w.close('}');
            }
            w.close(']');
        }
        Failure::Starved { task, steps, place } => {
            w.number("task", number(&task.0));
            w.number("steps", number(steps));
            w.place("place", &place.to_string());
        }
        Failure::History { history, condition, verdict, place } => {
            w.number("history", *history as u64);
            w.text("condition", condition);
            history::verdict(w, Some(verdict));
            w.place("place", &place.to_string());
        }
        Failure::Diverged { step, expected, found } => {
            w.number("step", number(step));
            w.text("expected", expected);
            w.text("found", found);
        }
        Failure::NonDeterminism { step, first, second } => {
            w.number("step", number(step));
            w.text("first", first);
            w.text("second", second);
        }
        Failure::Crash { task, cause, message, place } => {
            w.number("task", number(&task.0));
            w.text("cause", cause);
            w.text("message", message);
            w.place("place", place);
        }
        Failure::Hang { task, last, place, seconds, unseen } => {
            w.number("task", number(&task.0));
            w.text("last", last);
            w.place("place", place);
            w.number("seconds", *seconds);
            w.texts("unseen", &mut unseen.iter().map(String::as_str));
        }
        Failure::TimeLimit { running, seconds } => {
            w.text("running", running);
            w.number("seconds", *seconds);
        }
        Failure::TooSeldom { conditions, runs, generated } => {
            self::conditions(w, conditions);
            w.number("runs", *runs);
            w.flag("generated", *generated);
        }
        Failure::Unproven { why } => w.text("why", why),
        Failure::Misuse { message, place } => {
            w.text("message", message);
            w.place("place", place);
        }
    }
    w.close('}');
    w.close('}');
}

/// Writes waiting tasks.
pub(super) fn waits(w: &mut Writer, name: &str, waits: &[Wait], names: &DisplayNames<'_>) {
    w.open_field(name, '[');
    for wait in waits {
        let Wait { task, op, object, target, place, holder, unpolled } = wait;
        w.open('{');
        w.number("task", u64::from(task.0));
        w.text("text", &names.wait(wait));
        w.text_if("op", op.map(|op| op.name));
        w.number_if("object", object.map(index));
        w.number_if("target", target.map(|task| u64::from(task.0)));
        w.place("place", &place.to_string());
        match holder {
            Some(Holder { task, step, place }) => {
                w.open_field("holder", '{');
                w.number("task", u64::from(task.0));
                w.number("step", u64::from(*step));
                w.place("place", &place.to_string());
                w.close('}');
            }
            None => w.null("holder"),
        }
        w.flag("unpolled", *unpolled);
        w.close('}');
    }
    w.close(']');
}

/// Writes conditions of `sometimes!` and `cover!`.
pub(super) fn conditions(w: &mut Writer, conditions: &[Condition]) {
    w.open_field("conditions", '[');
    for Condition { name, place, percent, runs } in conditions {
        w.open('{');
        w.text("name", name);
        w.place("place", &place.to_string());
        w.number("percent", u64::from(*percent));
        w.number("runs", *runs);
        w.close('}');
    }
    w.close(']');
}

/// Returns the position of an object in the table of objects.
pub(super) fn index(object: ObjectId) -> u64 {
    object.index() as u64
}
