//! The engine of the simulating build: explores, confirms, shrinks.
//!
//! The engine runs seeds until one fails. The engine replays the failing run strictly, to check that the run is a
//! function of its decisions. Then the engine shrinks the run, replays the result twice more, and writes it to a file.
//! Only the last replay shows the output of the run.

mod blocked_call;
mod certify;
mod confirm;
mod ends;
mod exhaust;
mod explore;
mod helper;
mod hook;
mod job;
mod kept;
mod left_threads;
mod passed;
mod prove;
mod recount;
mod reorder;
mod replays;
mod runs;
mod seek;
mod session;
mod smallest;
mod standstill;
mod strengthen;
mod times;
mod watchdog;
mod why;
mod with_sc;

use std::time::{Duration, Instant};

use crate::engine::assignment::{Account, Assignment};
use crate::engine::config::Config;
use crate::engine::results::Results;
use crate::engine::runner::{Site, TestBody};
use crate::engine::seeds::{Explored, Found};
use crate::engine::underway::Mark;
use crate::native;
use crate::report::{Finding, Report};
use crate::rt::in_run;
use crate::run::ids::Seed;
use crate::run::{Failure, Outcome, Run};
use crate::seam::budget;

use self::exhaust::audit::{Sampled, audit};
use self::exhaust::{RunVisitor, exhaust};
use self::recount::recount;
use self::session::Session;

/// Runs `body` according to the assignment and reports.
#[track_caller]
pub(crate) fn run(assignment: &Assignment<'_>, body: &dyn TestBody) -> Report {
    refuse_nesting();
    hook::install();
    let mut mark = Mark::first(assignment.config, assignment.site);
    if mark.is_none() {
        if let Some(report) = ends::earlier(assignment) {
            return report;
        }
        mark = Mark::begin(assignment.config, assignment.site);
    }
    let notes = mark.as_ref().and_then(Mark::notes);
    let session = Session::new(assignment, body).noted_in(notes);
    let account = watched(&session, || match (&session.config.observe, &session.config.replay) {
        (Some(file), _) => certify::observe(&session, file),
        (None, Some(source)) => replays::replay(&session, source),
        (None, None) => search(&session),
    });
    session.report(account)
}

/// Returns the run of one seed unchanged: not confirmed, not shrunk, not written to a file.
#[track_caller]
pub(crate) fn run_seed(config: &Config, site: &Site, body: &dyn TestBody, seed: Seed) -> Run {
    unrecorded(config, site, body, |session| {
        if let Some(search) = config.strategy.search() {
            // Each run of a search depends on the previous runs.
            let found = exhaust(session, &search, RunVisitor::One(seed.0)).found;
            return found.map_or_else(|| Run::empty(seed, no_such_run(seed)), |found| found.run);
        }
        session.loudly(|| explore::run_seed(session, seed))
    })
}

/// Executes all runs of a search, including failing runs, and passes each to `visit`.
#[track_caller]
pub(crate) fn each_run(
    config: &Config,
    site: &Site,
    body: &dyn TestBody,
    visit: &mut dyn FnMut(Run),
) -> Report {
    let Some(search) = config.strategy.search() else {
        panic!(
            "the strategy {:?} samples runs and never explores them all: use a search, such as \
             \"exhaustive\"",
            config.strategy.name()
        )
    };
    unrecorded(config, site, body, |session| {
        let mut explored = exhaust(session, &search, RunVisitor::Each(visit));
        let finding = explored.found.take().map(|found| Finding::of(found.run, found.origin));
        // The visitor has received every run, so no failure is reported.
        session.report(Account { finding, tally: None, stuck: None, ..Account::passed(explored) })
    })
}

/// Calls `act` with a session that runs under the watchdog and leaves no results.
#[track_caller]
fn unrecorded<T>(
    config: &Config,
    site: &Site,
    body: &dyn TestBody,
    act: impl FnOnce(&Session<'_>) -> T,
) -> T {
    refuse_nesting();
    hook::install();
    let results = Results::nowhere();
    let assignment = Assignment::new(config, site, &results);
    let session = Session::new(&assignment, body);
    watched(&session, || act(&session))
}

/// Returns the failure that the search was complete before the run with this number.
fn no_such_run(seed: Seed) -> Failure {
    Failure::Misuse {
        message: format!("the search has no run number {seed}: it was complete before that"),
        place: String::new(),
    }
}

#[track_caller]
fn refuse_nesting() {
    assert!(!in_run(), "a Runner was started inside a run: start it outside of the body");
}

/// Calls `act` under the watchdog, unless it is disabled. The watchdog also ends when `act` panics.
fn watched<T>(session: &Session<'_>, act: impl FnOnce() -> T) -> T {
    let (mut act, mut done) = (Some(act), None);
    watch_over(session, &mut || done = act.take().map(|act| act()));
    done.expect("the action was called")
}

/// Does the work of [`watched`]. Compiled once for all types.
fn watch_over(session: &Session<'_>, act: &mut dyn FnMut()) {
    let _engine = native::begin_engine();
    let act = || {
        let _ended = session.watch.end_on_drop();
        let act = || budget::without_tokio(act);
        // Plain threads of the runs are coroutines of OS threads, which are used again by other runs.
        let ((), left) = match session.config.is_native() {
            true => (act(), 0),
            false => left_threads::counted(act),
        };
        session.note_threads_left(left);
    };
    let Some(patience) = session.config.hang else { return act() };
    let watch = || watchdog::watch(session, patience);
    match session.config.is_native() {
        // A test of plain threads may take less time than the creation of a thread.
        true => native::beside(watchdog::FIRST, &watch, act),
        false => std::thread::scope(|scope| {
            scope.spawn(watch);
            act()
        }),
    }
}

/// Replays the traces that the user keeps, then runs the seeds.
fn search(session: &Session<'_>) -> Account {
    let mut told = replays::Told::default();
    if let Some(account) = replays::kept(session, &mut told) {
        return account;
    }
    let replays::Told { mut warnings, notes } = told;
    let begun = Instant::now();
    session.set_deadline(session.config.time.map(|time| begun + time));
    let mut explored = match session.config.strategy.search() {
        Some(search) => exhaust(session, &search, RunVisitor::UntilFailure),
        None => explore::explore(session),
    };
    look_for_unseen(session, &mut explored);
    certify::keep(session, &mut explored);
    session.set_deadline(None);
    let overtime = overtime(session, begun.elapsed());
    warnings.append(&mut explored.warnings);
    match explored.found.take() {
        Some(found) => {
            let Found { position, run, origin } = *found;
            let notes = [notes, explored.notes, Vec::from_iter(overtime)].concat();
            let runs = position + 1;
            let is_long = matches!(run.outcome, Outcome::Failed(Failure::StepLimit { .. }));
            if is_long && session.config.long_is_undecided && session.config.replay.is_none() {
                let finding = Some(Finding::of(run, origin));
                return Account { runs, finding, warnings, notes, ..Account::default() };
            }
            let searched = explored.searched.take();
            let account = Account { runs, searched, warnings, notes, ..Account::default() };
            confirm::confirm(session, run, origin, account)
        }
        None => {
            let mut account = passed(session, explored);
            account.warnings.extend(warnings);
            account.notes.splice(0..0, notes);
            account.notes.extend(overtime);
            account
        }
    }
}

/// Returns a note if the runs took much longer than the time limit of the test. The clock is read only between runs,
/// because a check within a run would make the end of the run depend on real time.
fn overtime(session: &Session<'_>, lasted: Duration) -> Option<String> {
    let time = session.config.time?;
    (lasted > 2 * time + OVERTIME).then(|| {
        let (test, lasted) = (&session.site.test, lasted.as_secs_f64());
        format!(
            "{test}: the runs took {lasted:.1} s instead of {:.1} s, because no run is ended before its step limit \
             (SIM_STEPS={} makes long runs shorter)",
            time.as_secs_f64(),
            (session.config.steps_max / 10).max(1)
        )
    })
}

/// The duration, in addition to twice the time limit, that runs may take without a note.
const OVERTIME: Duration = Duration::from_secs(1);

const UNCOUNTED: &str = "coverage and statistics are not shown: some of the seeds were run before without \
    them. Name another folder for the results to have them of all seeds";

/// Returns the account of runs that passed.
fn passed(session: &Session<'_>, mut explored: Explored) -> Account {
    let (config, tally) = (session.config, &mut explored.tally);
    let missed = session.assignment.missed(tally);
    if tally.statistics.is_none() && missed.is_some_and(|failure| asks_for_a_part(&failure)) {
        tally.statistics = recount(session, tally.runs);
    }
    let lacks = config.coverage && tally.census.is_none()
        || config.statistics && tally.statistics.is_none();
    let before = session.assignment.results.begin() > 0;
    let mut account = Account::passed(explored);
    account.warnings.extend((lacks && before).then(|| UNCOUNTED.to_owned()));
    account
}

/// Returns `true` if a missed condition had to hold in a share of the runs. Statistics of the generated programs then
/// explain the failure.
fn asks_for_a_part(missed: &Failure) -> bool {
    match missed {
        Failure::TooSeldom { conditions, .. } => {
            conditions.iter().any(|condition| condition.percent > 0)
        }
        _ => false,
    }
}

/// The number of runs sampled to check that coverage sees everything that tasks share.
const COVERAGE_SAMPLES: u64 = 20;

/// For coverage of passing runs, checks that tasks share no state that coverage does not see.
fn look_for_unseen(session: &Session<'_>, explored: &mut Explored) {
    let Explored { found, tally, .. } = explored;
    let Some(census) = tally.census.as_mut().filter(|_| found.is_none()) else { return };
    let sample = || audit(session, None, COVERAGE_SAMPLES, false);
    let sampled: Sampled = session.quietly(sample);
    if sampled.audit.unseen || sampled.blind {
        census.shares_unseen();
    }
    *found = sampled.found(tally.runs);
}
