//! Certificates of searches. A certificate contains one run of each class, for a checker that shares no code with the
//! search.
//!
//! A search that proves a test writes the decisions of its runs ([`keep`]). A finished share of a divided search does
//! the same, and the certificates of all shares together are the certificate of the search. `cargo unpause verify` then
//! lets the test execute runs ([`observe`]): all runs of the certificate, and other runs that must belong to the same
//! classes. `unpause-verify` judges the observations.

mod decisions;
mod observer;
mod possible;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(test)]
pub(super) use self::decisions::read;
pub(super) use self::decisions::write;
pub(super) use self::observer::RunObserver;

use super::job::WorkerJob;
use super::reorder;
use super::session::Session;
use crate::engine::assignment::Account;
use crate::engine::config::Shard;
use crate::engine::persistence;
use crate::engine::results::{Json, Subject, list, quoted, subject};
use crate::engine::seeds::Explored;
use crate::report::{Bound, Finding, Origin, Searched, one_line};
use crate::rt::Worker;
use crate::run::clock_mode::ClockMode;
use crate::run::ids::Seed;
use crate::run::memory_model::MemoryModel;
use crate::run::untried::Untried;
use crate::run::{Failure, Run};
use crate::strategy::exhaustive::ClosureVerdict;
use crate::strategy::search::Apart;

/// The version of the certificate format.
const VERSION: u64 = 1;

/// The file extension of certificates.
const ENDING: &str = "certificate";

/// The maximum number of call orders of a history that are checked for one run.
const ORDERS_MAX: u32 = 100_000;

/// Writes the certificate of a search, if one is requested. Adds a note about the certificate.
pub(super) fn keep(session: &Session<'_>, explored: &mut Explored) {
    let Some(path) = &session.config.certify else { return };
    let test = &session.site.test;
    let note = match certificate(session, explored) {
        Ok(text) => {
            let (folder, name) = persistence::requested(path, session.site, ENDING);
            let name = name_of_share(name, session.config.shard);
            match persistence::write_in(&text, &folder, &name) {
                Ok(_) => {
                    let file = persistence::shorter(folder.join(name), session.site);
                    format!("{test}: certificate in {} (cargo unpause verify {0})", file.display())
                }
                Err(error) => format!("{test}: the certificate could not be written: {error}"),
            }
        }
        Err(why) => format!("{test}: no certificate was written, because {why}"),
    };
    explored.notes.push(note);
}

/// Returns the text of the certificate of a search.
///
/// # Errors
/// The reason, if the search has no certificate.
fn certificate(session: &Session<'_>, explored: &Explored) -> Result<String, String> {
    let Some(searched) = &explored.searched else {
        return Err("this test samples runs (SIM_STRATEGY=exhaustive searches)".to_owned());
    };
    if let Some(why) = shortfall(explored, searched) {
        return Err(why);
    }
    let decided = &explored.decided;
    // If the order of all steps counts, equal decisions draw the same stores.
    if decided.apart.stores && !decided.apart.steps {
        let why = match session.config.memory {
            MemoryModel::C11 => {
                "the certificate of an exhaustive search contains no choices of stores (memory = \"c11\"). With \
                 strategy = \"preemptions\" or \"delays\", or with memory = \"sc\", the test has one"
            }
            MemoryModel::Sc => {
                "a certificate does not count each store of a test that detects data races"
            }
        };
        return Err(why.to_owned());
    }
    if decided.lines.len() as u64 != explored.tally.runs {
        return Err("an earlier process made a part of the search (SIM_RESULTS)".to_owned());
    }
    let mut text = header(session, decided.apart, decided.lines.len())?;
    for line in &decided.lines {
        text += line;
        text.push('\n');
    }
    Ok(text)
}

/// Returns the reason why the runs of a search are no certificate, if any. A finished share of a proof has a
/// certificate.
fn shortfall(explored: &Explored, searched: &Searched) -> Option<String> {
    if explored.found.is_some() {
        return Some("a run failed".to_owned());
    }
    if searched.fallback.is_some() {
        return Some("the search was given up, and another search continued".to_owned());
    }
    // The checker knows the bound of a strategy, and does not know the bound of early time moves.
    let is_early = |bound: &Bound| bound.what == ClockMode::EARLY_MOVE;
    let leaves_out_early =
        searched.early_moves.is_some() || searched.bound.as_ref().is_some_and(is_early);
    let why = if leaves_out_early { searched.shortfall() } else { searched.fell_short() };
    why.map(|why| format!("the search is no proof: {why}"))
}

/// Returns the file name for the certificate of a share, so that shares may write to the same folder.
fn name_of_share(name: String, shard: Shard) -> String {
    let Shard { number, of } = shard;
    match name.rsplit_once('.') {
        Some((name, ending)) if of > 1 => format!("{name}-{number}-of-{of}.{ending}"),
        _ => name,
    }
}

/// Returns the first line of a certificate.
///
/// # Errors
/// If the identity of this program cannot be determined.
fn header(session: &Session<'_>, apart: Apart, runs: usize) -> Result<String, String> {
    let own = subject(session.config, session.site)?;
    // The header contains the complete command for this test.
    let own = Subject { command: session.site.search_command(), ..own };
    let apart = list(apart.names().into_iter().map(quoted));
    let Shard { number, of } = session.config.shard;
    let share = if of > 1 { format!(",\"share\":[{number},{of}]") } else { String::new() };
    Ok(format!(
        "{{\"certificate\":{VERSION},{},\"apart\":{apart}{share},\"runs\":{runs}}}\n",
        own.entries()
    ))
}

/// Executes the runs listed in a file, and writes the effects of their steps to a file beside it.
pub(super) fn observe(session: &Session<'_>, path: &Path) -> Account {
    match observed(session, path) {
        Ok(runs) => Account { runs, ..Account::default() },
        Err(why) => {
            let message = format!("{}: {why}", path.display());
            let run = Run::empty(Seed(0), Failure::Unreadable { message });
            let finding = Finding::of(run, Origin::File(path.display().to_string()));
            Account { finding: Some(finding), ..Account::default() }
        }
    }
}

/// Executes the runs. Returns their number.
fn observed(session: &Session<'_>, path: &Path) -> Result<u64, String> {
    let path: PathBuf = persistence::where_user_is(path, session.site);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let apart = of_this_program(session, first)?;
    session.show(apart);
    let mut observer = RunObserver::new(apart, session.config.strategy.bound().is_some());
    let mut worker = Worker::new(observer.strategy(Arc::default()));
    let job = WorkerJob::Follow(Arc::default());
    let watched = session.watch.follow(worker.progress(), job, Seed(0));
    let mut runs = 0;
    for (line, number) in lines.zip(2..) {
        let wrong = |why: String| format!("line {number}: {why}");
        let line = Json::parse(line.as_bytes()).map_err(wrong)?;
        let schedule = Arc::new(decisions::read(&line).map_err(wrong)?);
        worker.set_strategy(observer.strategy(schedule.clone()));
        watched.watched.begin_job(WorkerJob::Follow(schedule));
        watched.watched.begin(runs);
        session.quietly(|| {
            let failure = session.once(&mut worker, Seed(0), &session.limits());
            let run = worker.outline(Seed(0), "observed");
            let memory = session.config.memory;
            let unfit = unfit(&observer, &worker, failure.as_ref(), &run, memory);
            observer.write(&run, failure.as_ref(), unfit);
        });
        worker.forget_histories();
        runs += 1;
    }
    let beside = path.with_extension("observed");
    fs::write(&beside, observer.lines).map_err(|error| format!("{}: {error}", beside.display()))?;
    Ok(runs)
}

/// Checks that a certificate belongs to this program and these settings. Returns the criteria that the search used for
/// distinguishing runs.
///
/// # Errors
/// If the certificate belongs to another program or to other settings.
fn of_this_program(session: &Session<'_>, first: &str) -> Result<Apart, String> {
    let first = Json::parse(first.as_bytes()).map_err(|why| format!("line 1: {why}"))?;
    if first.number("certificate")? != VERSION {
        return Err(format!("it is of another version of unpause, and this one reads {VERSION}"));
    }
    let (own, its) = (subject(session.config, session.site)?, Subject::read(&first)?);
    let rows = [
        ("package", &its.package, &own.package),
        ("target", &its.target, &own.target),
        ("test", &its.test, &own.test),
        ("build", &its.build, &own.build),
        ("binary", &its.binary, &own.binary),
    ];
    if let Some((name, its, own)) = rows.into_iter().find(|(_, its, own)| its != own) {
        let changed = ": the program has changed since the search, so search again";
        let remedy = if name == "binary" { changed } else { "" };
        return Err(format!("its {name} is {its:?}, and not {own:?}{remedy}"));
    }
    if its.settings != own.settings {
        return Err(format!("its settings are {:?}, and not {:?}", its.settings, own.settings));
    }
    let named = first.list("apart")?.iter().map(|name| match name {
        Json::Text(name) => Apart::named(name),
        _ => None,
    });
    let all = named.collect::<Option<Vec<Apart>>>().ok_or("`apart` is unknown")?;
    Ok(all.into_iter().fold(Apart::NOTHING, Apart::and))
}

/// Returns the reason why the last run cannot be a part of a proof, if any.
fn unfit(
    observer: &RunObserver,
    worker: &Worker,
    failure: Option<&Failure>,
    run: &Run,
    memory: MemoryModel,
) -> Option<String> {
    if let Some(failure) = failure {
        return Some(format!("it fails: {}", one_line(failure, run)));
    }
    let witness = observer.witness();
    let mut untried = Default::default();
    worker.add_untried(&mut untried);
    // With the memory `sc`, weaker orders act as `SeqCst`, which is an assumption.
    let is_weak = memory == MemoryModel::C11;
    let is_left_out =
        |untried: &&Untried| !untried.is_assumption() || is_weak && **untried == Untried::Orders;
    if let Some(untried) = untried.iter().find(is_left_out) {
        return Some(format!("no search tries all that it may do: {untried:?}"));
    }
    let mut holds = |history, times: &_| reorder::holds(worker, history, times);
    match witness.look_at_orders(ORDERS_MAX, &mut holds) {
        ClosureVerdict::Consistent if witness.is_blind() => {
            Some("tasks share something that is not of this library".to_owned())
        }
        ClosureVerdict::Consistent => None,
        ClosureVerdict::Violated(_) => Some("it fails with its calls in another order".to_owned()),
        ClosureVerdict::Unknown => Some("its calls have too many orders".to_owned()),
    }
}
