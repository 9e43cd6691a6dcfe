//! The nearest passing run as JSON.

use super::super::{PassingOperation, PassingRun, PassingStep};
use super::run::draws;
use super::writer::Writer;

/// Writes the nearest passing run, or `null`.
pub(super) fn write(w: &mut Writer, passing: Option<&PassingRun>) {
    let Some(PassingRun { common, step_count, steps, replay }) = passing else {
        return w.null("passing");
    };
    w.open_field("passing", '{');
    w.number("common", u64::from(*common));
    w.number("step_count", u64::from(*step_count));
    w.open_field("steps", '[');
    for (step, number) in steps.iter().zip(u64::from(*common)..) {
        let PassingStep { task, path, preempts, operations, more, draws } = step;
        w.open('{');
        w.number("step", number);
        w.text("task", task);
        w.text("path", &path.to_string());
        w.flag("preempts", *preempts);
        w.open_field("operations", '[');
        for PassingOperation { op, text, place } in operations {
            w.open('{');
            w.text("op", op);
            w.text("text", text);
            w.place("place", &place.to_string());
            w.close('}');
        }
        w.close(']');
        w.number("more", u64::from(*more));
        self::draws(w, &mut draws.iter());
        w.close('}');
    }
    w.close(']');
    w.text_if("replay", replay.as_deref());
    w.close('}');
}
