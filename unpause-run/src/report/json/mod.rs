//! The report as JSON, for programs: the page, the command line, and other tools. docs/json.md describes the format,
//! and docs/failure.schema.json is its schema.
//!
//! Each struct of a report is destructured field by field, so that a new field cannot be forgotten here. The library
//! itself never reads such a file.

mod failure;
mod history;
mod passing;
mod run;
mod screen;
mod search;
mod why;
mod writer;

use self::writer::Writer;
use super::names::DisplayNames;
use super::{
    Finding, Origin, Pattern, Proof, QuotedLine, Report, Shrinking, Size, Strengthened,
    Strengthening, WithSc, text,
};
use crate::run::{FaultCount, Outcome};
use unpause_check::picture::Style;

/// The version of the format. The version changes if a reader of the old format would misread the new format.
const VERSION: u64 = 1;

/// Returns the report as one JSON document. The document includes the screen in the width of the style.
///
/// ```
/// use sim::report::{Report, Style, json};
/// let report = Report { test: "queue::is_fifo".into(), runs: 10, ..Report::default() };
/// let document = json(&report, &Style::default());
/// assert!(document.starts_with(r#"{"format":"unpause pass","version":1,"#));
/// assert!(document.contains(r#""test":"queue::is_fifo","#));
/// ```
pub fn json(report: &Report, style: &Style) -> String {
    json_with_sources(report, style, &mut |_, _| None)
}

/// The same as `json`, but with source lines. `line_of` returns a line of a file, counted from 1; `None` if it cannot
/// be read. The file name is the name that the compiler uses.
#[doc(hidden)]
pub fn json_with_sources(
    report: &Report,
    style: &Style,
    line_of: &mut dyn FnMut(&str, u32) -> Option<String>,
) -> String {
    let Report {
        test,
        package,
        runs,
        rehearsals,
        seeds,
        steps,
        settings,
        finding,
        replayed,
        warnings,
        notes,
        searched,
        real,
        coverage,
        closure,
        statistics,
        faults,
    } = report;
    let mut w = Writer::default();
    w.open('{');
    w.text("format", if finding.is_some() { "unpause failure" } else { "unpause pass" });
    w.number("version", VERSION);
    w.text("by", env!("CARGO_PKG_VERSION"));
    w.text("test", test);
    w.text("package", package);
    w.number("runs", *runs);
    w.number("rehearsals", u64::from(*rehearsals));
    match seeds {
        Some((first, last)) => {
            w.open_field("seeds", '{');
            w.word("first", *first);
            w.word("last", *last);
            w.close('}');
        }
        None => w.null("seeds"),
    }
    w.number("steps", *steps);
    w.open_field("settings", '[');
    for (name, value) in settings {
        w.open('{');
        w.text("name", name);
        w.text("value", value);
        w.close('}');
    }
    w.close(']');
    w.flag("real_threads", *real);
    match replayed {
        Some(from) => origin(&mut w, "replayed", from),
        None => w.null("replayed"),
    }
    w.texts("warnings", &mut warnings.iter().map(String::as_str));
    w.texts("notes", &mut notes.iter().map(String::as_str));
    match searched {
        Some(searched) => search::searched(&mut w, "searched", searched),
        None => w.null("searched"),
    }
    search::coverage(&mut w, coverage.as_ref());
    search::closure(&mut w, closure.as_ref());
    search::statistics(&mut w, statistics.as_ref());
    fault_counts(&mut w, faults);
    match finding {
        Some(finding) => self::finding(&mut w, finding),
        None => w.null("finding"),
    }
    screen::write(&mut w, &text(report, &Style { color: true, ..*style }), style);
    w.table_of_places(line_of);
    w.close('}');
    w.finish() + "\n"
}

fn finding(w: &mut Writer, finding: &Finding) {
    let Finding {
        run,
        from,
        original,
        shrunk,
        proof,
        strengthening,
        with_sc,
        why,
        quoted,
        called_from,
        needs_runtime,
        trace_file,
        trace_error,
        source_file,
        history_file,
        page_file,
        replay,
        record,
    } = finding;
    let names = DisplayNames::new(run);
    w.open_field("finding", '{');
    match &run.outcome {
        Outcome::Failed(failure) => failure::write(w, failure, run, &names),
        Outcome::Passed => w.null("failure"),
    }
    origin(w, "from", from);
    size(w, "size", &Size::of(run));
    size(w, "original_size", original);
    match shrunk {
        Some(Shrinking { replays, size, complete }) => {
            w.open_field("shrunk", '{');
            w.number("replays", u64::from(*replays));
            self::size(w, "size", size);
            w.flag("complete", *complete);
            w.close('}');
        }
        None => w.null("shrunk"),
    }
    match proof {
        Some(Proof { fewest, complete, runs, saved, longer, same_stores }) => {
            w.open_field("proof", '{');
            w.number("fewest", u64::from(*fewest));
            w.flag("complete", *complete);
            w.number("runs", *runs);
            w.number("saved", u64::from(*saved));
            w.number_if("longer", longer.map(u64::from));
            w.flag("same_stores", *same_stores);
            w.close('}');
        }
        None => w.null("proof"),
    }
    match strengthening {
        Some(Strengthening { operations, runs, interleavings }) => {
            w.open_field("strengthening", '{');
            w.open_field("operations", '[');
            for Strengthened { op, place, order } in operations {
                w.open('{');
                w.text("op", op);
                w.place("place", &place.to_string());
                w.text("order", &format!("{order:?}"));
                w.close('}');
            }
            w.close(']');
            w.number("runs", *runs);
            w.number_if("interleavings", *interleavings);
            w.close('}');
        }
        None => w.null("strengthening"),
    }
    match with_sc {
        Some(WithSc { fails, complete, runs }) => {
            w.open_field("with_sc", '{');
            w.flag("fails", *fails);
            w.flag("complete", *complete);
            w.number("runs", *runs);
            w.close('}');
        }
        None => w.null("with_sc"),
    }
    why::write(w, why.as_ref());
    // A circle of locks has a name without an explanation, so the name is not a part of the explanation.
    if let Some(pattern) = Pattern::of_finding(finding) {
        w.text("pattern", pattern.name());
    }
    w.open_field("quoted", '[');
    for QuotedLine { place, text } in quoted {
        w.open('{');
        w.place("place", place);
        w.text("text", text);
        w.close('}');
    }
    w.close(']');
    for (name, text) in [
        ("called_from", called_from),
        ("needs_runtime", needs_runtime),
        ("trace_file", trace_file),
        ("trace_error", trace_error),
        ("source_file", source_file),
        ("history_file", history_file),
        ("page_file", page_file),
        ("replay", replay),
        ("record", record),
    ] {
        w.text_if(name, text.as_deref());
    }
    run::write(w, run, &names);
    w.close('}');
}

fn origin(w: &mut Writer, name: &str, origin: &Origin) {
    w.open_field(name, '{');
    let (kind, seed, file) = match origin {
        Origin::Seed(seed) => ("seed", Some(seed), None),
        Origin::Reordered(seed) => ("reordered", Some(seed), None),
        Origin::Sampled(seed) => ("sampled", Some(seed), None),
        Origin::File(path) => ("file", None, Some(&path[..])),
        Origin::Inline => ("inline", None, None),
    };
    w.text("kind", kind);
    match seed {
        Some(seed) => w.word("seed", seed.0),
        None => w.null("seed"),
    }
    w.text_if("file", file);
    w.close('}');
}

fn size(w: &mut Writer, name: &str, size: &Size) {
    let Size { tasks, steps, switches, preemptions, draws, commands } = *size;
    w.open_field(name, '{');
    for (name, number) in [
        ("tasks", tasks),
        ("steps", steps),
        ("switches", switches),
        ("preemptions", preemptions),
        ("draws", draws),
        ("commands", commands),
    ] {
        w.number(name, u64::from(number));
    }
    w.close('}');
}

fn fault_counts(w: &mut Writer, faults: &[FaultCount]) {
    w.open_field("faults", '[');
    for fault @ FaultCount { kind, times, met } in faults {
        w.open('{');
        w.text("kind", kind);
        w.number("times", *times);
        w.number("met", *met);
        w.text("text", &fault.text());
        w.close('}');
    }
    w.close(']');
}
