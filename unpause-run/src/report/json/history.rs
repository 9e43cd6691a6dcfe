//! Histories, verdicts and generated programs as JSON.

use super::writer::Writer;
use crate::run::program::{
    CommandLayout, CommandRecord, Fate, Faults, Omitted, Pin, ProgramRecord,
};
use unpause_check::history::{HistoryRecord, Operation};
use unpause_check::verdict::{Anomaly, Edge, Evidence, Exhausted, Limit, Verdict, Witness};

/// Writes the histories of a run.
pub(super) fn histories(w: &mut Writer, histories: &[HistoryRecord]) {
    w.open_field("histories", '[');
    for HistoryRecord { model, clients, operations, verdict, lines, remark } in histories {
        w.open('{');
        w.text("model", model);
        w.texts("clients", &mut clients.iter().map(String::as_str));
        w.open_field("operations", '[');
        for Operation { client, op, invoked, returned } in operations {
            w.open('{');
            w.number("client", u64::from(*client));
            w.text("op", op);
            w.number("invoked", *invoked);
            w.text_if("result", returned.as_ref().map(|(result, _)| &result[..]));
            w.number_if("returned", returned.as_ref().map(|(_, time)| *time));
            w.close('}');
        }
        w.close(']');
        self::verdict(w, verdict.as_ref());
        w.text_if("lines", lines.as_deref());
        w.text_if("remark", remark.as_deref());
        w.close('}');
    }
    w.close(']');
}

/// Writes a verdict, or `null`.
pub(super) fn verdict(w: &mut Writer, verdict: Option<&Verdict>) {
    let Some(verdict) = verdict else { return w.null("verdict") };
    w.open_field("verdict", '{');
    match verdict {
        Verdict::Consistent(Witness { engine, order }) => {
            w.text("kind", "consistent");
            w.text("engine", engine);
            match order {
                Some(order) => w.numbers("order", &mut order.iter().map(|at| *at as u64)),
                None => w.null("order"),
            }
        }
        Verdict::Violated(evidence) => {
            let Evidence { engine, anomaly, partial, misfit, expected, state, part } = &**evidence;
            w.text("kind", "violated");
            w.text("engine", engine);
            self::anomaly(w, anomaly.as_ref());
            w.open_field("partial", '[');
            for order in partial {
                w.open('[');
                order.iter().for_each(|at| w.item_number(*at as u64));
                w.close(']');
            }
            w.close(']');
            w.number("misfit", *misfit as u64);
            w.texts("expected", &mut expected.iter().map(String::as_str));
            w.text("state", state);
            w.numbers("part", &mut part.iter().map(|at| *at as u64));
        }
        Verdict::Unknown(exhausted) => {
            let Exhausted { nodes, longest, operations, limit } = exhausted;
            w.text("kind", "unknown");
            w.text("text", &exhausted.to_string());
            w.number("nodes", *nodes);
            w.number("longest", *longest as u64);
            w.number("operations", *operations as u64);
            let limit = match limit {
                Limit::Nodes => "nodes",
                Limit::Memory => "memory",
                Limit::Stop => "stop",
            };
            w.text("limit", limit);
        }
    }
    w.close('}');
}

fn anomaly(w: &mut Writer, anomaly: Option<&Anomaly>) {
    let Some(Anomaly { name, text, edges }) = anomaly else { return w.null("anomaly") };
    w.open_field("anomaly", '{');
    w.text("name", name);
    w.text("text", text);
    w.open_field("edges", '[');
    for Edge { from, to, why } in edges {
        w.open('{');
        w.number("from", *from as u64);
        w.number("to", *to as u64);
        w.text("why", why);
        w.close('}');
    }
    w.close(']');
    w.close('}');
}

/// Writes the generated programs of a run.
pub(super) fn programs(w: &mut Writer, programs: &[ProgramRecord]) {
    w.open_field("programs", '[');
    for program in programs {
        let ProgramRecord {
            model,
            initial,
            op_type,
            interleavings,
            interleavings_max,
            commands,
            draws,
            omitted,
            work,
            unfinished,
            blocks,
            pins,
        } = program;
        w.open('{');
        w.text("model", model);
        w.text("initial", initial);
        w.text("op_type", op_type);
        w.word("interleavings", *interleavings);
        w.word("interleavings_max", *interleavings_max);
        w.open_field("commands", '[');
        commands.iter().for_each(|command| self::command(w, command));
        w.close(']');
        w.numbers("draws", &mut [draws.start as u64, draws.end as u64].into_iter());
        self::omitted(w, omitted);
        w.number("work", *work);
        w.text_if("unfinished", unfinished.as_deref());
        w.flag("blocks", *blocks);
        w.open_field("pins", '[');
        for Pin { draw, value } in pins {
            w.open('{');
            w.number("draw", *draw as u64);
            w.word("value", *value);
            w.close('}');
        }
        w.close(']');
        w.close('}');
    }
    w.close(']');
}

fn command(w: &mut Writer, command: &CommandRecord) {
    let CommandRecord { layout, text, label, source, faults } = command;
    let CommandLayout { part, fate, change, simpler, candidates, ran, drawn } = layout;
    let Faults { again, crash, timeout } = faults;
    w.open('{');
    w.text("text", text);
    w.text("label", label);
    w.text("source", source);
    w.text("part", &part.to_string());
    let (fate, points) = match fate {
        Fate::Runs => ("runs", None),
        Fate::Absent => ("absent", None),
        Fate::Tombstone(points) => ("tombstone", Some(u64::from(*points))),
    };
    w.text("fate", fate);
    w.number_if("points", points);
    w.number("change", *change as u64);
    w.numbers("simpler", &mut [simpler.0 as u64, simpler.1 as u64].into_iter());
    w.word("candidates", *candidates);
    match ran {
        Some((task, first, last)) => {
            w.open_field("ran", '{');
            w.number("task", u64::from(task.0));
            w.number("first_step", u64::from(*first));
            w.number("last_step", u64::from(*last));
            w.close('}');
        }
        None => w.null("ran"),
    }
    w.numbers("drawn", &mut [drawn.0 as u64, drawn.1 as u64].into_iter());
    w.open_field("faults", '{');
    w.flag("again", *again);
    w.number_if("crash", crash.map(u64::from));
    w.flag("timeout", *timeout);
    w.close('}');
    w.close('}');
}

/// Writes the numbers of commands that generation left out of programs.
pub(super) fn omitted(w: &mut Writer, omitted: &Omitted) {
    let Omitted { refused, precondition, reference, waiting, unchecked, faults, trusted } =
        *omitted;
    w.open_field("omitted", '{');
    for (name, number) in [
        ("refused", refused),
        ("precondition", precondition),
        ("reference", reference),
        ("waiting", waiting),
        ("unchecked", unchecked),
        ("faults", faults),
    ] {
        w.number(name, u64::from(number));
    }
    w.flag("trusted", trusted);
    w.close('}');
}
