//! A run as JSON: its tasks, objects, steps and events, and all other facts about it.

use std::ops::Range;

use super::super::names::DisplayNames;
use super::failure::{conditions, index, waits};
use super::writer::Writer;
use super::{fault_counts, history};
use crate::run::event::{Event, ValueKind, Values, show_time};
use crate::run::memory_model::OrderMark;
use crate::run::panics::TaskPanic;
use crate::run::threads::{HoldRecord, SpawnRecord, ThreadFacts};
use crate::run::{
    CallRecord, DrawRecord, ObjectRecord, Outcome, Run, Spin, StepRecord, TaskRecord, TimeMove,
};

/// The maximum number of steps that are written. For a longer run, only the first half and the last half of this number
/// are written, because the file would be too large to open. The trace contains all steps.
const STEPS_MAX: usize = 50_000;

/// Writes a run, in time linear in the run.
pub(super) fn write(w: &mut Writer, run: &Run, names: &DisplayNames<'_>) {
    let Run {
        seed,
        strategy,
        // The caller writes the failure.
        outcome,
        tasks,
        objects,
        steps,
        draws,
        events,
        calls,
        threads,
        histories,
        programs,
        leaked,
        stuck,
        circle,
        foreign,
        time_moves,
        orders,
        output,
        panics: _,
        conditions,
        faults,
    } = run;
    let omitted = omitted_steps(steps.len());
    w.open_field("run", '{');
    w.word("seed", seed.0);
    w.text("strategy", strategy);
    w.flag("passed", *outcome == Outcome::Passed);
    w.open_field("tasks", '[');
    for (task, id) in tasks.iter().zip(0..) {
        self::task(w, task, &names.task(crate::run::ids::TaskId(id)));
    }
    w.close(']');
    w.open_field("objects", '[');
    for (object, id) in objects.iter().zip(0..) {
        self::object(w, object, &names.object(crate::run::ids::ObjectId::new(id)));
    }
    w.close(']');
    w.number("step_count", steps.len() as u64);
    match &omitted {
        Some(omitted) => {
            w.open_field("omitted_steps", '{');
            w.number("from", omitted.start as u64);
            w.number("to", omitted.end as u64);
            w.close('}');
        }
        None => w.null("omitted_steps"),
    }
    let is_written = |step: usize| omitted.as_ref().is_none_or(|omitted| !omitted.contains(&step));
    w.open_field("steps", '[');
    for (step, record) in steps.iter().enumerate().filter(|(step, _)| is_written(*step)) {
        let StepRecord { task, candidates, preempts } = record;
        w.open('{');
        w.number("step", step as u64);
        w.number("task", u64::from(task.0));
        w.number("candidates", u64::from(*candidates));
        w.flag("preempts", *preempts);
        w.close('}');
    }
    w.close(']');
    self::draws(w, &mut draws.iter().filter(|draw| is_written(draw.step as usize)));
    self::events(w, run, events, orders, names, &is_written);
    self::calls(w, calls);
    self::threads(w, threads);
    history::histories(w, histories);
    history::programs(w, programs);
    w.numbers("leaked", &mut leaked.iter().map(|task| u64::from(task.0)));
    w.open_field("stuck", '[');
    for (task, text) in stuck {
        w.open('{');
        w.number("task", u64::from(task.0));
        w.text("text", text);
        w.close('}');
    }
    w.close(']');
    waits(w, "circle", circle, names);
    w.open_field("spins", '[');
    for Spin { task, looks, times } in run.spins() {
        w.open('{');
        w.number("task", u64::from(task.0));
        w.numbers("looks", &mut looks.iter().map(|event| *event as u64));
        w.number("times", times as u64);
        w.close('}');
    }
    w.close(']');
    w.flag("foreign", *foreign);
    w.open_field("time_moves", '[');
    for TimeMove { step, to } in time_moves.iter().filter(|moved| is_written(moved.step as usize)) {
        w.open('{');
        w.number("step", u64::from(*step));
        w.word("nanoseconds", u64::try_from(to.as_nanos()).unwrap_or(u64::MAX));
        w.text("text", &show_time(*to));
        w.close('}');
    }
    w.close(']');
    w.text("output", output);
    w.open_field("panics", '[');
    for TaskPanic { task, message, place } in run.other_panics() {
        w.open('{');
        w.number("task", u64::from(task.0));
        w.text("message", message);
        w.text("place", place);
        w.close('}');
    }
    w.close(']');
    self::conditions(w, conditions);
    fault_counts(w, faults);
    w.close('}');
}

/// Returns the range of steps in the middle of a long run that are not written.
fn omitted_steps(steps: usize) -> Option<Range<usize>> {
    (steps > STEPS_MAX).then(|| STEPS_MAX / 2..steps - STEPS_MAX / 2)
}

/// Writes drawn values.
pub(super) fn draws(w: &mut Writer, draws: &mut dyn Iterator<Item = &DrawRecord>) {
    w.open_field("draws", '[');
    for DrawRecord { step, value, bound, given, why } in draws {
        w.open('{');
        w.number("step", u64::from(*step));
        w.word("value", *value);
        w.word("bound", *bound);
        w.flag("given", *given);
        w.text("why", why);
        w.close('}');
    }
    w.close(']');
}

fn task(w: &mut Writer, task: &TaskRecord, shown: &str) {
    let TaskRecord { path, name, place, node, from, message } = task;
    w.open('{');
    w.text("shown", shown);
    w.text("path", &path.to_string());
    w.text_if("name", name.as_deref());
    w.place("place", &place.to_string());
    w.text_if("node", node.as_deref());
    w.text_if("from", from.as_deref());
    w.text_if("message", message.as_deref());
    w.close('}');
}

fn object(w: &mut Writer, object: &ObjectRecord, shown: &str) {
    let ObjectRecord { kind, name, values, place, creator, node, ordinal } = object;
    w.open('{');
    w.text("shown", shown);
    w.text("kind", kind);
    w.text_if("name", *name);
    let values = match values {
        ValueKind::Opaque => "opaque",
        ValueKind::Unsigned => "unsigned",
        ValueKind::Signed => "signed",
        ValueKind::Bool => "bool",
        ValueKind::Pointer => "pointer",
        ValueKind::Time => "time",
        ValueKind::Word => "word",
    };
    w.text("values", values);
    w.place("place", &place.to_string());
    match creator {
        Some((task, nth)) => {
            w.open_field("creator", '{');
            w.number("task", u64::from(task.0));
            w.number("nth", u64::from(*nth));
            w.close('}');
        }
        None => w.null("creator"),
    }
    w.text_if("node", *node);
    w.number("ordinal", u64::from(*ordinal));
    w.close('}');
}

fn events(
    w: &mut Writer,
    run: &Run,
    events: &[Event],
    orders: &[OrderMark],
    names: &DisplayNames<'_>,
    is_written: &dyn Fn(usize) -> bool,
) {
    // The marks are in event order.
    let mut marks = orders.iter().peekable();
    w.open_field("events", '[');
    for (at, event) in events.iter().enumerate() {
        while marks.next_if(|mark| mark.event < at).is_some() {}
        let Event { step, task, object, op, place, values } = event;
        if !is_written(*step as usize) {
            continue;
        }
        w.open('{');
        w.number("event", at as u64);
        w.number("step", u64::from(*step));
        w.number("task", u64::from(task.0));
        w.number_if("object", object.map(index));
        w.text("op", op.name);
        w.text("access", &format!("{:?}", op.access));
        w.text("text", &names.unordered(event));
        let order = marks.peek().filter(|mark| mark.event == at);
        w.text_if("order", order.map(|mark| format!("{:?}", mark.order)).as_deref());
        w.flag("quiet", op.quiet);
        w.flag("fault", op.is_fault());
        w.flag("changes", !event.is_look());
        w.place("place", &place.to_string());
        let kind = object.and_then(|object| run.objects.get(object.index()));
        self::values(w, *values, kind.map_or(ValueKind::Opaque, |object| object.values));
        w.close('}');
    }
    w.close(']');
}

/// Writes the values of an event, each as bits and as the text that the screen shows.
fn values(w: &mut Writer, values: Values, kind: ValueKind) {
    let value = |w: &mut Writer, name: &str, bits: u64| {
        w.open_field(name, '{');
        w.word("bits", bits);
        w.text("text", &kind.show(bits));
        w.close('}');
    };
    if values == Values::None {
        return w.null("values");
    }
    w.open_field("values", '{');
    match values {
        Values::None => {}
        Values::Read(saw) => {
            w.text("kind", "read");
            value(w, "saw", saw);
        }
        Values::Wrote(left) => {
            w.text("kind", "wrote");
            value(w, "left", left);
        }
        Values::Changed(saw, left) => {
            w.text("kind", "changed");
            value(w, "saw", saw);
            value(w, "left", left);
        }
        Values::Refused(saw, wanted) => {
            w.text("kind", "refused");
            value(w, "saw", saw);
            value(w, "wanted", wanted);
        }
        Values::Failed => w.text("kind", "failed"),
        Values::Task(task) => {
            w.text("kind", "task");
            w.number("task", u64::from(task.0));
        }
        Values::Messages { from, to, saw } => {
            w.text("kind", "messages");
            w.number("first", u64::from(from));
            w.number("after", u64::from(to));
            w.number_if("number", saw.map(u64::from));
        }
    }
    w.close('}');
}

fn calls(w: &mut Writer, calls: &[CallRecord]) {
    w.open_field("calls", '[');
    for CallRecord { task, function, place, events, through, is_last } in calls {
        w.open('{');
        w.number("task", u64::from(task.0));
        w.text("function", function);
        w.place("place", place);
        w.numbers("events", &mut events.iter().map(|event| *event as u64));
        w.texts("through", &mut through.iter().map(String::as_str));
        w.flag("is_last", *is_last);
        w.close('}');
    }
    w.close(']');
}

fn threads(w: &mut Writer, threads: &ThreadFacts) {
    let ThreadFacts { spawns, holds, own, panicked_from } = threads;
    w.open_field("threads", '{');
    w.open_field("spawns", '[');
    for SpawnRecord { state, place } in spawns {
        w.open('{');
        w.number("state", index(*state));
        w.place("place", place);
        w.close('}');
    }
    w.close(']');
    w.open_field("holds", '[');
    for HoldRecord { lock, event, shared } in holds {
        w.open('{');
        w.number("lock", index(*lock));
        w.number("event", *event as u64);
        w.flag("shared", *shared);
        w.close('}');
    }
    w.close(']');
    w.numbers("own", &mut own.iter().map(|event| *event as u64));
    w.place("panicked_from", panicked_from.as_deref().unwrap_or_default());
    w.close('}');
}
