//! The explanation of a failing run as JSON.

use super::super::{Chance, Change, Interruption, NoReturn, Order, Region, Remedy, Tested, Why};
use super::passing;
use super::writer::Writer;

/// Writes the explanation, or `null`.
pub(super) fn write(w: &mut Writer, why: Option<&Why>) {
    let Some(Why { runs, cause, remedy, chances, marks, no_return, passing, newest_stores }) = why
    else {
        return w.null("why");
    };
    w.open_field("why", '{');
    w.number("runs", *runs);
    match cause {
        Some(Interruption { task, region, is_reached, between, decisive }) => {
            w.open_field("cause", '{');
            w.number("task", u64::from(task.0));
            w.open_field("region", '{');
            self::region(w, region);
            w.close('}');
            w.flag("is_reached", *is_reached);
            w.numbers("between", &mut between.iter().map(|event| *event as u64));
            w.numbers("decisive", &mut decisive.iter().map(|event| *event as u64));
            w.close('}');
        }
        None => w.null("cause"),
    }
    match remedy {
        Some(remedy) => self::remedy(w, remedy),
        None => w.null("remedy"),
    }
    w.open_field("chances", '[');
    for Chance { after, share, runs } in chances {
        w.open('{');
        w.number("after", u64::from(*after));
        w.share("share", *share);
        w.number("runs", *runs);
        w.close('}');
    }
    w.close(']');
    w.numbers("marks", &mut marks.iter().map(|step| u64::from(*step)));
    match no_return {
        Some(NoReturn { after, interleavings }) => {
            w.open_field("no_return", '{');
            w.number("after", u64::from(*after));
            w.number("interleavings", *interleavings);
            w.close('}');
        }
        None => w.null("no_return"),
    }
    passing::write(w, passing.as_ref());
    w.flag("newest_stores", *newest_stores);
    w.close('}');
}

fn region(w: &mut Writer, region: &Region) {
    let Region { from, to } = region;
    w.text("from_op", from.op);
    w.place("from", &from.place.to_string());
    w.text("to_op", to.op);
    w.place("to", &to.place.to_string());
}

fn remedy(w: &mut Writer, remedy: &Remedy) {
    let Remedy { change, tested } = remedy;
    let (regions, waits, order) = match change {
        Change::Regions { regions, waits } => (&regions[..], *waits, None),
        Change::Order(order) => (&[][..], false, Some(order)),
    };
    w.open_field("remedy", '{');
    w.open_field("regions", '[');
    for region in regions {
        w.open('{');
        self::region(w, region);
        w.close('}');
    }
    w.close(']');
    w.flag("waits", waits);
    match order {
        Some(Order { early, late, times }) => {
            w.open_field("order", '{');
            w.text("early_op", early.op);
            w.place("early", &early.place.to_string());
            w.text("late_op", late.op);
            w.place("late", &late.place.to_string());
            w.number("times", u64::from(*times));
            w.close('}');
        }
        None => w.null("order"),
    }
    // A field that does not apply to the kind is null.
    let (kind, numbers) = match *tested {
        Tested::All { interleavings, of, left_out } => {
            ("all", [Some(interleavings), of, Some(left_out), None, None, None])
        }
        Tested::Within { preemptions, runs } => {
            ("within", [None, None, None, Some(u64::from(preemptions)), Some(runs), None])
        }
        Tested::Counted { runs, failed, of } => {
            ("counted", [None, Some(of), None, None, Some(runs), Some(failed)])
        }
    };
    w.text("kind", kind);
    let names = ["interleavings", "of", "left_out", "preemptions", "runs", "failed"];
    for (name, number) in names.iter().zip(numbers) {
        w.number_if(name, number);
    }
    w.close('}');
}
