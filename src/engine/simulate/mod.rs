//! The engine of the simulating build: explore, confirm, shrink, report.
//!
//! Seeds are run until one fails. The failing run is replayed strictly, to see that it is a
//! function of its decisions; it is shrunk; what is left is replayed twice more and written to a
//! file. Everything a run does is quiet until the last replay.

mod confirm;
mod exhaust;
mod explore;
mod hook;
mod passed;
mod prove;
mod recount;
mod reorder;
mod seek;
mod session;
mod watchdog;

use std::path::PathBuf;

use crate::engine::config::Config;
use crate::engine::persistence::{self, Unreadable};
use crate::engine::results::{Results, Tally};
use crate::engine::runner::{Site, TestBody};
use crate::engine::underway::Mark;
use crate::report::{Finding, Origin, Report, Searched};
use crate::rt::in_run;
use crate::run::ids::Seed;
use crate::run::trace::Trace;
use crate::run::{Condition, Failure, Outcome, Run};

use self::exhaust::audit::{Sampled, audit};
use self::exhaust::{RunVisitor, exhaust};
use self::explore::Explored;
use self::passed::Passed;
use self::recount::recount;
use self::session::Session;

/// Runs `body` as `config` says and reports.
pub(crate) fn run(config: &Config, site: &Site, results: &Results, body: &dyn TestBody) -> Report {
    refuse_nesting();
    hook::install();
    let mark = Mark::begin(config, site);
    let notes = mark.as_ref().and_then(Mark::notes);
    let session = Session::new(config, site, results, body).noted_in(notes);
    std::thread::scope(|scope| {
        let _ended = watched(&session, scope);
        match &config.replay {
            Some(source) => replay(&session, source),
            None => search(&session, scope),
        }
    })
}

/// The run of one seed, as it comes: not confirmed, not shrunk, not written down.
pub(crate) fn run_seed(config: &Config, site: &Site, body: &dyn TestBody, seed: Seed) -> Run {
    unrecorded(config, site, body, |session| {
        if let Some(search) = config.strategy.search() {
            // The runs of a search are made from one another.
            let found = exhaust(session, &search, RunVisitor::One(seed.0)).found;
            return found.map_or_else(|| Run::empty(seed, no_such_run(seed)), |(_, run)| run);
        }
        let mut uncounted = Passed::default();
        let (run, reordered) =
            session.loudly(|| explore::run_seed(session, 0, seed, &mut uncounted));
        reordered.unwrap_or(run)
    })
}

/// All runs of a search, those that fail too, each shown to `visit`.
pub(crate) fn each_run(
    config: &Config,
    site: &Site,
    body: &dyn TestBody,
    visit: &mut dyn FnMut(Run),
) -> Report {
    unrecorded(config, site, body, |session| {
        let search = config.strategy.search().unwrap_or_else(|| {
            panic!(
                "the strategy {:?} samples runs and never explores them all: use \
                 a search, such as \"exhaustive\"",
                config.strategy.name()
            )
        });
        let explored = exhaust(session, &search, RunVisitor::Each(visit));
        let mut report = session.report(explored.runs, explored.steps);
        report.warnings.extend(explored.warnings);
        report.searched = explored.searched;
        if let Some((_, run)) = explored.found {
            let from = explored.origin.unwrap_or(Origin::Seed(run.seed));
            report.finding = Some(Box::new(Finding::of(run, from)));
        }
        report
    })
}

/// Does `act` with a watched session that leaves no results.
fn unrecorded<T>(
    config: &Config,
    site: &Site,
    body: &dyn TestBody,
    act: impl FnOnce(&Session<'_>) -> T,
) -> T {
    refuse_nesting();
    hook::install();
    let results = Results::nowhere();
    let session = Session::new(config, site, &results, body);
    std::thread::scope(|scope| {
        let _ended = watched(&session, scope);
        act(&session)
    })
}

/// The search was through before it came to the run with this number.
fn no_such_run(seed: Seed) -> Failure {
    Failure::Misuse {
        message: format!("the search has no run number {seed}: it was complete before that"),
        place: String::new(),
    }
}

fn refuse_nesting() {
    assert!(!in_run(), "a Runner was started inside a run: start it outside of the body");
}

/// Starts the watchdog, unless it is disabled. It ends with what is returned, even in a panic.
fn watched<'scope, 'env>(
    session: &'env Session<'env>,
    scope: &'scope std::thread::Scope<'scope, 'env>,
) -> watchdog::EndWatchdogOnDrop<'env> {
    if let Some(patience) = session.config.hang {
        scope.spawn(move || watchdog::watch(session, patience));
    }
    session.watch.end_on_drop()
}

/// Replays one trace, strictly, and reports how it ended.
fn replay(session: &Session<'_>, source: &str) -> Report {
    let from = persistence::origin(source, session.site);
    let trace = match persistence::read_source(source, session.site) {
        Ok(trace) => trace,
        Err(unreadable) => {
            let named = match &from {
                Origin::File(file) => unreadable.of(file.into()),
                _ => unreadable,
            };
            return cannot_read(session, from, &named);
        }
    };
    let run = session.loudly(|| session.replay(&trace));
    report_replay(session, run, from, trace)
}

fn report_replay(session: &Session<'_>, run: Run, from: Origin, trace: Trace) -> Report {
    let mut report = session.report(1, run.steps.len() as u64);
    report.seeds = None;
    report.replayed = Some(from.clone());
    let Outcome::Failed(failure) = &run.outcome else { return report };
    report.warnings.extend(surplus(&trace, &run));
    let diverged = matches!(failure, Failure::Diverged { .. });
    let of = &trace.header.test;
    // Older traces do not name the target.
    let own = [String::new(), session.site.title(), session.site.test.clone()].contains(of);
    if diverged && !own {
        report.warnings.push(format!("the trace is of another test, {of}"));
    }
    let source = match &from {
        Origin::File(file) => file.clone(),
        _ => crate::run::trace::format::inline(&trace),
    };
    report.finding = Some(Box::new(Finding {
        called_from: hook::called_from(),
        replay: Some(session.site.replay_command(&source)),
        record: diverged.then(|| session.site.command()),
        ..Finding::of(run, from)
    }));
    report
}

/// That the run failed before it took all decisions of its trace.
fn surplus(trace: &Trace, run: &Run) -> Option<String> {
    if let Outcome::Failed(Failure::Diverged { .. }) = run.outcome {
        return None;
    }
    let draws = trace.steps.iter().map(|step| step.draws.len());
    let (steps, draws) = (trace.steps.len(), draws.sum::<usize>());
    let left = |all: usize, taken: usize, what: &str| {
        let left = all.checked_sub(taken).filter(|left| *left > 0)?;
        let s = if left == 1 { "" } else { "s" };
        Some(format!("{left} more {what}{s}"))
    };
    let left = [left(steps, run.steps.len(), "turn"), left(draws, run.draws.len(), "drawn value")];
    let left: Vec<String> = left.into_iter().flatten().collect();
    (!left.is_empty()).then(|| {
        format!(
            "the trace has {} than this run took before it failed: this is another failure than the one it \
             was written for",
            left.join(" and ")
        )
    })
}

/// A trace that cannot be read fails the test: otherwise a user could believe it was replayed.
fn cannot_read(session: &Session<'_>, from: Origin, why: &Unreadable) -> Report {
    let run = Run::empty(Seed(0), Failure::Unreadable { message: why.to_string() });
    let mut report = session.report(0, 0);
    report.seeds = None;
    report.replayed = Some(from.clone());
    report.finding = Some(Box::new(Finding::of(run, from)));
    report
}

/// Replays the traces the user keeps, then runs the seeds.
fn search<'scope>(
    session: &'scope Session<'_>,
    scope: &'scope std::thread::Scope<'scope, '_>,
) -> Report {
    let mut warnings = Vec::new();
    let kept_traces = match persistence::regressions(session.site, &mut warnings) {
        Ok(paths) => paths,
        Err(unreadable) => {
            let folder = match &unreadable {
                Unreadable::Io(path, _) => persistence::shorter(path.clone(), session.site),
                _ => PathBuf::new(),
            };
            let from = Origin::File(folder.display().to_string());
            return cannot_read(session, from, &unreadable.of(folder));
        }
    };
    for path in kept_traces {
        if let Some(mut report) = replay_kept(session, path, &mut warnings) {
            report.warnings.splice(0..0, warnings);
            return report;
        }
    }
    let explored = match session.config.strategy.search() {
        Some(search) => exhaust(session, &search, RunVisitor::UntilFailure),
        None => explore::explore(session, scope),
    };
    let mut explored = explored;
    look_for_unseen(session, &mut explored);
    let mut report = match explored.found {
        Some((n, run)) => {
            let from = explored.origin.unwrap_or(Origin::Seed(run.seed));
            confirm::report(session, run, from, n + 1)
        }
        None => {
            let Tally { conditions, census, statistics, closure, .. } = explored.passed.tally;
            let (runs, steps) = (explored.runs, explored.steps);
            let finding = too_seldom(session, conditions, runs);
            let missed = finding.as_deref().is_some_and(asks_for_a_part);
            let statistics = statistics.or_else(|| missed.then(|| recount(session, runs))?);
            let coverage = census.map(|census| census.coverage());
            let mut report = session.report(runs, steps);
            let (config, before) = (session.config, session.results.begin() > 0);
            let lacks = |wanted: bool, there: bool| before && wanted && !there;
            if lacks(config.coverage, coverage.is_some())
                || lacks(config.statistics, statistics.is_some())
            {
                report.warnings.push(UNCOUNTED.to_owned());
            }
            Report { finding, statistics, coverage, closure, ..report }
        }
    };
    report.searched = explored.searched;
    if session.config.must_prove && report.finding.is_none() {
        report.finding = unproven(report.searched.as_ref());
    }
    warnings.extend(explored.warnings);
    if report.finding.is_none() {
        warnings.extend(explored.passed.stuck.map(|(_, text)| text));
    }
    report.warnings.extend(warnings);
    report
}

const UNCOUNTED: &str = "coverage and statistics are not shown: some of the seeds were run before without \
    them. Name another folder for the results to have them of all seeds";

/// Returns the failure of a test that must prove something, passed and proved nothing.
fn unproven(searched: Option<&Searched>) -> Option<Box<Finding>> {
    let why = match searched {
        Some(searched) => searched.shortfall()?,
        None => "there was no search".to_owned(),
    };
    Some(Box::new(Finding::without_replay(Run::empty(Seed(0), Failure::Unproven { why }))))
}

/// The number of runs sampled to check that coverage sees everything that tasks share.
const COVERAGE_SAMPLES: u64 = 20;

/// Checks, for coverage of runs that passed, that tasks share nothing that it does not see.
fn look_for_unseen(session: &Session<'_>, explored: &mut Explored) {
    let Some(census) = explored.passed.tally.census.as_mut().filter(|_| explored.found.is_none())
    else {
        return;
    };
    let sample = || audit(session, None, COVERAGE_SAMPLES, false);
    let Sampled { audit, found, blind } = session.quietly(sample);
    if audit.unseen || blind {
        census.shares_unseen();
    }
    if let Some((run, origin)) = found {
        explored.found = Some((explored.runs, run));
        explored.origin = Some(origin);
    }
}

/// Returns the failure if conditions held in too few runs. A single seed is exempt: it is run to inspect one run.
fn too_seldom(
    session: &Session<'_>,
    conditions: Vec<Condition>,
    runs: u64,
) -> Option<Box<Finding>> {
    let seed = Seed(session.config.seed(0)?);
    session.config.seed(1)?;
    let failure = Failure::too_seldom(conditions, runs)?;
    Some(Box::new(Finding::without_replay(Run::empty(seed, failure))))
}

/// Returns `true` if a missed condition had to hold in a share of the runs, so that statistics of the programs
/// explain it.
fn asks_for_a_part(finding: &Finding) -> bool {
    match &finding.run.outcome {
        Outcome::Failed(Failure::TooSeldom { conditions, .. }) => {
            conditions.iter().any(|condition| condition.percent > 0)
        }
        _ => false,
    }
}

/// Replays a trace that the user keeps. Gives a report if it fails.
fn replay_kept(session: &Session<'_>, path: PathBuf, warnings: &mut Vec<String>) -> Option<Report> {
    let short = persistence::shorter(path.clone(), session.site);
    let name = short.display().to_string();
    let from = Origin::File(name.clone());
    let trace = match persistence::read(&path) {
        Ok(trace) => trace,
        Err(unreadable) => return Some(cannot_read(session, from, &unreadable.of(short))),
    };
    let run = session.quietly(|| session.replay(&trace));
    match &run.outcome {
        Outcome::Passed => None,
        Outcome::Failed(Failure::Diverged { step, expected, found }) => {
            // The code has changed since. The decisions are still a good guess.
            warnings.push(format!(
                "{name} is stale from step {step} on (expected {expected}; found {found}): it was \
                 followed as far as it fits. Delete it, or replace it by a new trace of that failure"
            ));
            let run = session.quietly(|| session.follow_trace(&trace));
            (run.outcome != Outcome::Passed).then(|| confirm::report(session, run, from, 1))
        }
        Outcome::Failed(_) => {
            let run = session.loudly(|| session.replay(&trace));
            Some(report_replay(session, run, from, trace))
        }
    }
}
