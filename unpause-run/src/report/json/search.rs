//! Results about all runs of a test as JSON: searches, coverage, statistics.

use super::super::{
    Audit, Bound, Cause, Clash, Closure, Excess, Fallback, FittingBound, OrdersTaken,
    ProgressPoint, RunsEstimate, Searched, Share, StepText,
};
use super::failure::conditions;
use super::history::omitted;
use super::writer::Writer;
use crate::run::coverage::{Blind, BlindDraw, BlindObject, Coverage};
use crate::run::statistics::Statistics;

/// Writes the progress of a search.
pub(super) fn searched(w: &mut Writer, name: &str, searched: &Searched) {
    let Searched {
        blocked,
        repeated,
        complete,
        part,
        blind,
        by_step,
        cause,
        assumes,
        beyond,
        ignored,
        unseen,
        orders,
        bound,
        early_moves,
        waits_for_time,
        share,
        estimate,
        excess,
        series,
        audit,
        fallback,
    } = searched;
    w.open_field(name, '{');
    w.flag("is_proof", searched.is_proof());
    w.text_if("assumption", searched.assumption());
    w.number("blocked", *blocked);
    w.number("repeated", *repeated);
    w.flag("complete", *complete);
    self::part(w, *part);
    w.flag("blind", *blind);
    w.flag("by_step", *by_step);
    match cause {
        Some(Cause::Clash(clash)) => {
            w.open_field("cause", '{');
            self::clash(w, Some(clash));
            w.null("contact");
            w.close('}');
        }
        Some(Cause::Contact(text)) => {
            w.open_field("cause", '{');
            w.null("clash");
            w.text("contact", text);
            w.close('}');
        }
        None => w.null("cause"),
    }
    w.flag("assumes", *assumes);
    for (name, texts) in [("beyond", beyond), ("ignored", ignored), ("unseen", unseen)] {
        w.texts(name, &mut texts.iter().map(String::as_str));
    }
    let orders = match orders {
        OrdersTaken::AsAsked => "as asked",
        OrdersTaken::AsSeqCst => "as SeqCst",
        OrdersTaken::AsInC11 => "as in C11",
        OrdersTaken::InPart => "in part",
    };
    w.text("orders", orders);
    match bound {
        Some(Bound { what, through }) => {
            w.open_field("bound", '{');
            w.text("what", what);
            w.number_if("through", through.map(u64::from));
            w.close('}');
        }
        None => w.null("bound"),
    }
    w.number_if("early_moves", early_moves.map(u64::from));
    w.flag("waits_for_time", *waits_for_time);
    match share {
        Some(Share { number, of }) => {
            w.open_field("share", '{');
            w.number("number", *number);
            w.number("of", *of);
            w.close('}');
        }
        None => w.null("share"),
    }
    match estimate {
        Some(RunsEstimate { runs, low, high }) => {
            w.open_field("estimate", '{');
            w.word("runs", *runs);
            w.word("low", *low);
            w.word("high", *high);
            w.close('}');
        }
        None => w.null("estimate"),
    }
    match excess {
        Some(Excess { limit, fits }) => {
            w.open_field("excess", '{');
            w.word("limit", *limit);
            match fits {
                Some(FittingBound { preemptions, runs }) => {
                    w.open_field("fits", '{');
                    w.number("preemptions", u64::from(*preemptions));
                    w.word("runs", *runs);
                    w.close('}');
                }
                None => w.null("fits"),
            }
            w.close('}');
        }
        None => w.null("excess"),
    }
    self::series(w, series);
    match audit {
        Some(Audit { runs, missed, failed, unseen, clash, captured }) => {
            w.open_field("audit", '{');
            w.number("runs", *runs);
            w.text_if("missed", missed.as_deref());
            w.flag("failed", *failed);
            w.flag("unseen", *unseen);
            self::clash(w, clash.as_ref());
            w.flag("captured", *captured);
            w.close('}');
        }
        None => w.null("audit"),
    }
    match fallback.as_deref() {
        Some(Fallback { runs, searched }) => {
            w.open_field("fallback", '{');
            w.number("runs", *runs);
            self::searched(w, "searched", searched);
            w.close('}');
        }
        None => w.null("fallback"),
    }
    w.close('}');
}

/// Writes the completed part of a search, or `null` if it is unknown.
fn part(w: &mut Writer, part: Option<f64>) {
    match part {
        Some(part) => w.share("part", part),
        None => w.null("part"),
    }
}

/// Writes the progress of a search over time.
fn series(w: &mut Writer, series: &[ProgressPoint]) {
    w.open_field("series", '[');
    for ProgressPoint { runs, part, total, interval, milliseconds } in series {
        w.open('{');
        w.number("runs", *runs);
        self::part(w, *part);
        for (name, number) in [
            ("total", *total),
            ("low", interval.map(|(low, _)| low)),
            ("high", interval.map(|(_, high)| high)),
        ] {
            match number {
                Some(number) => w.word(name, number),
                None => w.null(name),
            }
        }
        w.number("milliseconds", *milliseconds);
        w.close('}');
    }
    w.close(']');
}

fn clash(w: &mut Writer, clash: Option<&Clash>) {
    let Some(Clash { steps, shows, is_death }) = clash else { return w.null("clash") };
    w.open_field("clash", '{');
    w.open_field("steps", '[');
    for StepText { task, operations, place } in steps {
        w.open('{');
        w.text("task", task);
        w.text("operations", operations);
        w.place("place", place);
        w.close('}');
    }
    w.close(']');
    w.text("shows", shows);
    w.flag("is_death", *is_death);
    w.close('}');
}

/// Writes coverage, or `null`.
pub(super) fn coverage(w: &mut Writer, coverage: Option<&Coverage>) {
    let Some(coverage) = coverage else { return w.null("coverage") };
    let Coverage { runs, classes, new_per_hundred, once, twice, blind, foreign } = coverage;
    let Blind { objects, tasks, draws } = blind;
    w.open_field("coverage", '{');
    w.number("runs", *runs);
    w.number("classes", *classes);
    w.numbers("new_per_hundred", &mut new_per_hundred.iter().copied());
    w.number("once", *once);
    w.number("twice", *twice);
    w.share("unseen", coverage.unseen());
    let (low, high) = coverage.unseen_interval();
    w.share("unseen_low", low);
    w.share("unseen_high", high);
    w.flag("foreign", *foreign);
    w.open_field("blind_objects", '[');
    for BlindObject { kind, place, ordinal } in objects {
        w.open('{');
        w.text("kind", kind);
        w.place("place", &place.to_string());
        w.number("ordinal", u64::from(*ordinal));
        w.close('}');
    }
    w.close(']');
    w.open_field("blind_tasks", '[');
    tasks.iter().for_each(|path| w.item(&path.to_string()));
    w.close(']');
    w.open_field("blind_draws", '[');
    for BlindDraw { task, nth, bound, never } in draws {
        w.open('{');
        w.text("task", &task.to_string());
        w.number("nth", u64::from(*nth));
        w.number("bound", *bound);
        w.numbers("never", &mut never.iter().copied());
        w.close('}');
    }
    w.close(']');
    w.close('}');
}

/// Writes the result of checking other orders of calls, or `null`.
pub(super) fn closure(w: &mut Writer, closure: Option<&Closure>) {
    let Some(Closure { runs, orders, open, unconfirmed }) = closure else {
        return w.null("closure");
    };
    w.open_field("closure", '{');
    w.number("runs", *runs);
    w.number("orders", *orders);
    w.number("open", *open);
    w.number("unconfirmed", *unconfirmed);
    w.close('}');
}

/// Writes the statistics of generated programs, or `null`.
pub(super) fn statistics(w: &mut Writer, statistics: Option<&Statistics>) {
    let Some(statistics) = statistics else { return w.null("statistics") };
    let Statistics {
        runs,
        labels,
        omitted,
        operations,
        overlapped,
        at_once,
        conditions,
        histories: _,
    } = statistics;
    w.open_field("statistics", '{');
    w.number("runs", *runs);
    w.open_field("labels", '[');
    for (label, count) in labels {
        w.open('{');
        w.text("label", label);
        w.number("all", count.all);
        w.number("beside", count.beside);
        w.close('}');
    }
    w.close(']');
    self::omitted(w, omitted);
    w.number("operations", *operations);
    w.number("overlapped", *overlapped);
    w.numbers("at_once", &mut at_once.iter().copied());
    self::conditions(w, conditions);
    w.number("distinct_histories", statistics.distinct_histories() as u64);
    w.close('}');
}
