//! The report as terminal text: the screen of a failed test.
//!
//! All failures have the same frame: verdict and seed, message and place, the result of shrinking, the explanation (see
//! [`failure`](super::failure)), the schedule and notes. The last part is the commands to continue with.

use super::coverage;
use super::failure::{details, facts, field, headline, other_panics, output};
use super::names::DisplayNames;
use super::program;
use super::quoted;
use super::schedule;
use super::searched::{at_most, explored, limits};
use super::stale;
use super::statistics;
use super::strengthened;
use super::why;
use super::{Closure, Finding, Origin, Proof, Report, Searched, Shrinking, Size};
use crate::run::ids::TaskId;
use crate::run::{Failure, FaultCount, Outcome};
use unpause_check::picture::Style;
use unpause_check::picture::screen::{Line, Paint, Screen, clean, cut, plural};

/// The maximum number of leaked tasks that are named.
const LEAKED_MAX: usize = 5;

/// Returns the report as lines of text, each with a line feed at its end. The text has colors only if the style has
/// colors.
///
/// No line exceeds the width of the style, except lines that begin with `trace:`, `source:`, `history:`, `page:`,
/// `replay:` or `record:`, because users copy them. Control characters in names and messages are escaped. The time is
/// linear in the length of the run. If a run is long, only its beginning and its end are shown.
///
/// ```
/// use sim::report::{Report, Style, text};
/// let report = Report { test: "queue::is_fifo".into(), runs: 10, steps: 70, ..Report::default() };
/// assert_eq!(text(&report, &Style::default()), "passed  queue::is_fifo: 10 runs, 70 steps\n");
/// ```
pub fn text(report: &Report, style: &Style) -> String {
    let mut screen = Screen::new(style);
    match &report.finding {
        Some(finding) => failed(&mut screen, report, finding),
        None => passed(&mut screen, report),
    }
    screen.finish()
}

fn passed(screen: &mut Screen, report: &Report) {
    let real = if report.real { " on real threads" } else { "" };
    if let Some(from) = &report.replayed {
        let what = match from {
            Origin::Seed(seed) | Origin::Reordered(seed) | Origin::Sampled(seed) => {
                format!("the replay of seed {seed}")
            }
            Origin::File(path) => format!("the replay of {}", clean(path)),
            Origin::Inline => "the replay of a given trace".to_owned(),
        };
        let name = clean(&report.test);
        screen.paragraph(0, (Paint::Good, "passed  "), (Paint::Plain, &name));
        screen.paragraph(
            8,
            (Paint::Plain, ""),
            (Paint::Plain, &format!("{what}{}", steps(report))),
        );
        return warnings(screen, report);
    }
    let runs = match &report.searched {
        Some(searched) if searched.complete => explored(report.runs, searched),
        Some(Searched { fallback: Some(fallback), .. }) if fallback.searched.is_proof() => {
            explored(fallback.runs, &fallback.searched)
        }
        _ => plural(report.runs, "run") + &rehearsals(report),
    };
    let counts = format!(": {runs}{real}{}", steps(report));
    // The counts are the important information, so a long name is cut to leave room for them.
    let name = cut(&clean(&report.test), screen.width() - 8 - counts.len().min(32));
    let line = Line::of(Paint::Good, "passed").with(Paint::Plain, &format!("  {name}{counts}"));
    screen.line(line);
    if let Some(coverage) = &report.coverage {
        screen.paragraph(0, (Paint::Faint, "seen    "), (Paint::Plain, &coverage::line(coverage)));
    }
    if let Some(closure) = &report.closure {
        screen.paragraph(8, (Paint::Faint, "orders  "), (Paint::Plain, &closed(closure)));
    }
    if let Some(searched) = &report.searched {
        limits(screen, report.runs, searched);
    }
    if !report.faults.is_empty() {
        let faults: Vec<String> = report.faults.iter().map(FaultCount::text).collect();
        screen.paragraph(8, (Paint::Faint, "faults  "), (Paint::Plain, &faults.join("; ")));
    }
    if let Some(statistics) = &report.statistics {
        statistics::draw(screen, statistics, report.runs);
        screen.blank();
    }
    warnings(screen, report);
}

/// Returns the result of checking other orders of calls.
fn closed(closure: &Closure) -> String {
    let Closure { runs, orders, open, unconfirmed } = closure;
    let mut text =
        format!("the calls of {} checked in {}", plural(*runs, "run"), plural(*orders, "order"));
    if *open > 0 {
        text += &format!("; {} had more orders than were checked", plural(*open, "run"));
    }
    if *unconfirmed > 0 {
        text += &format!(
            "; {} predicted to fail in another order did not: steps that share no object of sim did not commute",
            plural(*unconfirmed, "run")
        );
    }
    text
}

fn failed(screen: &mut Screen, report: &Report, finding: &Finding) {
    let names = DisplayNames::new(&finding.run);
    verdict(screen, report, finding, &headline(report, finding, &names));
    if report.real {
        let line = Line::of(Paint::Notice, "        REAL THREADS: not replayable");
        screen.line(line);
    }
    screen.blank();
    facts(screen, report, finding, &names);
    other_panics(screen, finding, &names);
    field(screen, "tested", &tested(report, finding));
    let setting = |(name, value): &(String, String)| format!("{} = {}", clean(name), clean(value));
    field(screen, "settings", &report.settings.iter().map(setting).collect::<Vec<_>>().join(", "));
    if let (Some(searched), Outcome::Failed(Failure::Unproven { .. })) =
        (&report.searched, &finding.run.outcome)
    {
        limits(screen, report.runs, searched);
    }
    if let Some(shrinking) = &finding.shrunk {
        field(screen, "shrunk", &shrunk(&finding.original, shrinking));
    }
    field(screen, "needs", &stale::needed(report, finding).unwrap_or_default());
    if let Some(strengthening) = &finding.strengthening {
        field(screen, "hint", &strengthened::hint(strengthening, report.runs));
    }
    if let Some(proof) = &finding.proof {
        field(screen, "proof", &proven(finding, proof));
    }
    for (label, text) in why::lines(finding) {
        field(screen, label, &text);
        quoted::draw(screen, finding, label, &names);
    }
    program::draw(screen, &finding.run);
    details(screen, report, finding, &names);
    schedule::draw(screen, finding, &names);
    output(screen, &finding.run.output);
    screen.blank();
    leaked(screen, finding, &names);
    warnings(screen, report);
    screen.blank();
    let end = [
        ("trace:", &finding.trace_file, Paint::Plain),
        ("trace:", &not_written(finding), Paint::Notice),
        ("source:", &finding.source_file, Paint::Plain),
        ("history:", &finding.history_file, Paint::Plain),
        ("page:", &finding.page_file, Paint::Plain),
        ("replay:", &finding.replay, Paint::Strong),
        ("record:", &finding.record, Paint::Strong),
    ];
    for (label, text, paint) in end {
        if let Some(text) = text {
            screen.uncut(Line::of(Paint::Faint, &format!("{label:<9}")).with(paint, text));
        }
    }
}

/// Writes the first line of the report, on two lines if it is too long.
fn verdict(screen: &mut Screen, report: &Report, finding: &Finding, headline: &str) {
    let origin = match &finding.from {
        Origin::Seed(seed) => format!("seed {seed}"),
        Origin::Reordered(seed) => format!("seed {seed}, its calls in another order"),
        Origin::Sampled(seed) => format!("seed {seed} of the sampled runs after the search"),
        Origin::File(path) => format!("replay of {}", clean(path)),
        Origin::Inline => "replay of a given trace".to_owned(),
    };
    let name = clean(&report.test);
    let failed = Line::of(Paint::Bad, "FAILED").with(Paint::Plain, "  ");
    let line = failed.clone().with(Paint::Strong, &name);
    let origin = match &finding.run.outcome {
        // These failures concern all runs.
        Outcome::Failed(Failure::TooSeldom { .. } | Failure::Unproven { .. }) => String::new(),
        _ => format!("{origin}: "),
    };
    let line = line.with(Paint::Plain, &format!("  {origin}")).with(Paint::Bad, headline);
    if line.width() <= screen.width() {
        return screen.line(line);
    }
    screen.paragraph(0, (Paint::Bad, "FAILED  "), (Paint::Strong, &name));
    screen.paragraph(8, (Paint::Plain, ""), (Paint::Bad, &format!("{origin}{headline}")));
}

fn tested(report: &Report, finding: &Finding) -> String {
    let reordered = matches!(finding.from, Origin::Reordered(_));
    if report.runs == 0 || !(reordered || matches!(finding.from, Origin::Seed(_))) {
        return String::new();
    }
    let seeds = match report.seeds {
        Some((first, last)) if first == last => format!(" of seed {first}"),
        Some((first, last)) => format!(" of seeds {first} to {last}"),
        None => String::new(),
    };
    let strategy = &finding.run.strategy;
    let strategy = if strategy.is_empty() { String::new() } else { format!(", {strategy}") };
    let bound = report.searched.as_ref().and_then(|searched| match &searched.fallback {
        Some(fallback) => fallback.searched.bound.as_ref(),
        None => searched.bound.as_ref(),
    });
    let passed = match bound {
        Some(bound) if bound.through.is_some() => format!("; none with {} fails", at_most(bound)),
        _ => String::new(),
    };
    let (runs, rehearsals) = (plural(report.runs, "run"), rehearsals(report));
    format!("{runs}{seeds}{rehearsals}{}{strategy}{passed}", steps(report))
}

/// Returns the number of rehearsals, unless it is small in comparison with the number of runs.
fn rehearsals(report: &Report) -> String {
    match report.rehearsals {
        few if u64::from(few) * 10 <= report.runs => String::new(),
        some => format!(" after {}", plural(some, "rehearsal")),
    }
}

/// Returns the number of steps, if counted. Runs on real threads have no steps.
fn steps(report: &Report) -> String {
    if report.real || report.steps == 0 {
        String::new()
    } else {
        format!(", {}", plural(report.steps, "step"))
    }
}

/// Returns the sizes before and after shrinking, with the most important measures and all measures that changed.
fn shrunk(original: &Size, shrinking: &Shrinking) -> String {
    let measures = |size: &Size| {
        let steps = [plural(size.steps, "step"), plural(size.preemptions, "preemption")];
        let commands = (size.commands > 0).then(|| plural(size.commands, "command"));
        let tasks = (original.tasks != shrinking.size.tasks).then(|| plural(size.tasks, "task"));
        let draws = (original.draws != shrinking.size.draws).then(|| plural(size.draws, "draw"));
        let parts = commands.into_iter().chain(steps).chain(tasks).chain(draws);
        Vec::from_iter(parts).join(", ")
    };
    let (from, to) = (measures(original), measures(&shrinking.size));
    let replays = plural(shrinking.replays, "replay");
    let budget = if shrinking.complete { "" } else { ", then the budget was used up" };
    if original == &shrinking.size {
        format!("nothing could be removed from {to} ({replays}{budget})")
    } else {
        format!("from {from} to {to} ({replays}{budget})")
    }
}

/// Returns a statement about the proof that no failing run has fewer preemptions, or about its progress.
fn proven(finding: &Finding, proof: &Proof) -> String {
    let Size { preemptions, draws, .. } = Size::of(&finding.run);
    let runs = plural(proof.runs, "run");
    let drawn = match (draws > 0, proof.same_stores) {
        (false, false) => "",
        (true, false) => " with the same values drawn",
        (false, true) => " with the same choices of stores",
        (true, true) => " with the same values drawn and the same choices of stores",
    };
    if !proof.complete {
        let so_far = match proof.fewest {
            0 => format!("{runs} were not all of those without one"),
            fewest => format!("{runs} show that none has fewer than {fewest}"),
        };
        return format!(
            "NOT PROVED that no failing run{drawn} has fewer than {}: {so_far}; allow more with \
             prove = N, Runner::prove or SIM_PROVE=N",
            plural(preemptions, "preemption"),
        );
    }
    if let Some(steps) = proof.longer {
        return format!(
            "a failing run{drawn} has {}, and none has fewer, but takes {}: more than the run that was found, \
             so a shorter one is shown ({runs})",
            plural(proof.fewest, "preemption"),
            plural(steps, "step"),
        );
    }
    let saved = match proof.saved {
        0 => String::new(),
        saved => format!("; shrinking had come to {}", preemptions.saturating_add(saved)),
    };
    match proof.fewest {
        0 => format!("it fails without a preemption{saved}"),
        fewest => {
            let fewest = plural(fewest, "preemption");
            format!("no failing run{drawn} has fewer than {fewest} (proved by {runs}{saved})")
        }
    }
}

fn not_written(finding: &Finding) -> Option<String> {
    finding.trace_error.as_ref().map(|error| format!("could not be written: {error}"))
}

fn leaked(screen: &mut Screen, finding: &Finding, names: &DisplayNames<'_>) {
    let leaked = &finding.run.leaked;
    let name = |task: &TaskId| names.task(*task);
    let mut list = Vec::from_iter(leaked.iter().take(LEAKED_MAX).map(name)).join(", ");
    if leaked.len() > LEAKED_MAX {
        list += &format!(" and {} more", leaked.len() - LEAKED_MAX);
    }
    let text = match leaked.len() {
        0 => return,
        1 => format!("a task was still running when the test ended: {list}"),
        n => format!("{n} tasks were still running when the test ended: {list}"),
    };
    screen.paragraph(0, (Paint::Notice, "note:    "), (Paint::Plain, &text));
}

fn warnings(screen: &mut Screen, report: &Report) {
    for warning in &report.warnings {
        screen.paragraph(0, (Paint::Notice, "warning: "), (Paint::Plain, warning));
    }
    for note in &report.notes {
        screen.paragraph(0, (Paint::Notice, "note:    "), (Paint::Plain, note));
    }
}
