//! Replays: the requested trace, and the traces that the user keeps.

use std::fmt::Display;
use std::path::PathBuf;

use unpause_check::picture::screen::plural;

use super::session::Session;
use super::{confirm, hook, watched, why};
use crate::engine::assignment::{Account, Assignment};
use crate::engine::config::InvalidSetting;
use crate::engine::persistence::{self, Unreadable};
use crate::engine::runner::Site;
use crate::report::{Finding, Origin};
use crate::run::ids::Seed;
use crate::run::trace::{Trace, format};
use crate::run::{Failure, Outcome, Run};

/// Messages about kept traces.
#[derive(Clone, Default)]
pub(super) struct Told {
    pub(super) warnings: Vec<String>,
    /// Notes that are shown even if the harness hides the output of a test.
    pub(super) notes: Vec<String>,
}

impl Told {
    /// Returns the account with these messages before its own messages.
    pub(super) fn before(&self, account: Account) -> Account {
        let warnings = [&self.warnings[..], &account.warnings].concat();
        let notes = [&self.notes[..], &account.notes].concat();
        Account { warnings, notes, ..account }
    }
}

/// Replays one trace, strictly.
pub(super) fn replay(session: &Session<'_>, source: &str) -> Account {
    let from = persistence::origin(source, session.site);
    let trace = match persistence::read_source(source, session.site) {
        Ok(trace) => trace,
        Err(unreadable) => {
            let named = match &from {
                Origin::File(file) => unreadable.of(file.into()),
                _ => unreadable,
            };
            return cannot_read(from, &named);
        }
    };
    let strictly = |session: &Session<'_>, warnings| {
        let known = Account { warnings, ..Account::default() };
        let run = session.loudly(|| session.replay_requested(&trace));
        replayed(session, run, from.clone(), &trace, known)
    };
    let account = with_settings_of(session, &trace, false, strictly);
    account.unwrap_or_else(|invalid| cannot_read(from, &invalid))
}

/// Calls `act` with a session that has the settings of a trace, which override the test and the
/// environment. Also passes a sentence for each variable that has no effect, and with `of_test`
/// for each such setting of the test. A trace without settings is replayed with the settings of the
/// test.
fn with_settings_of<T>(
    session: &Session<'_>,
    trace: &Trace,
    of_test: bool,
    act: impl FnOnce(&Session<'_>, Vec<String>) -> T,
) -> Result<T, InvalidSetting> {
    let settings = trace.header.settings.as_ref();
    let Some(settings) = settings.filter(|own| **own != session.config.in_traces()) else {
        return Ok(act(session, Vec::new()));
    };
    let config = session.config.replaying(settings)?;
    let contradictions = session.config.contradictions(&config, of_test);
    let site = session.site.clone().with_variables_of(&config);
    let Assignment { results, notes, .. } = session.assignment;
    let notes = notes.clone();
    let assignment = Assignment { notes, ..Assignment::new(&config, &site, results) };
    let own = Session::new(&assignment, session.body).noted_in(session.watch.notes());
    own.tell(session.told());
    config.prepare_native();
    let result = watched(&own, || act(&own, contradictions));
    session.config.prepare_native();
    Ok(result)
}

/// Replays the traces that the user keeps. Returns the account of the first trace that fails. It begins with the
/// messages of `told`.
///
/// A trace that no longer fits is followed as far as possible, and a note is added.
pub(super) fn kept(session: &Session<'_>, told: &mut Told) -> Option<Account> {
    let paths = match persistence::regressions(session.site, &mut told.warnings) {
        Ok(paths) => paths,
        Err(unreadable) => {
            let folder = match &unreadable {
                Unreadable::Io(path, _) => persistence::shorter(path.clone(), session.site),
                _ => PathBuf::new(),
            };
            let from = Origin::File(folder.display().to_string());
            return Some(told.before(cannot_read(from, &unreadable.of(folder))));
        }
    };
    session.tell(told.clone());
    paths.into_iter().find_map(|path| replay_kept(session, path, told))
}

/// Replays a trace that the user keeps. Returns an account if the replay fails.
fn replay_kept(session: &Session<'_>, path: PathBuf, told: &mut Told) -> Option<Account> {
    let short = persistence::shorter(path.clone(), session.site);
    let name = short.display().to_string();
    let from = Origin::File(name.clone());
    let trace = match persistence::read(&path) {
        Ok(trace) => trace,
        Err(unreadable) => return Some(told.before(cannot_read(from, &unreadable.of(short)))),
    };
    let again = |session: &Session<'_>, warnings| {
        let known = told.before(Account { runs: 1, warnings, ..Account::default() });
        let run = session.quietly(|| session.replay(&trace));
        match &run.outcome {
            Outcome::Passed => (None, None),
            Outcome::Failed(failure) if session.ends_at_limit(failure) => (None, None),
            Outcome::Failed(Failure::Diverged { step, expected, found }) => {
                // The code has changed since the trace was written, but its decisions may still
                // lead to the failure.
                let run = session.quietly(|| session.follow_trace(&trace));
                let test = &session.site.test;
                let stale = format!(
                    "{test}: {name} is stale from step {step} on (expected {expected}; found {found}) and was \
                     followed as far as it fits, "
                );
                if !session.fails(&run) {
                    return (None, Some(stale + &remedy(&name, None)));
                }
                let before = known.notes.len();
                let unexplained = Account {
                    notes: [&known.notes[..], &[format!("{stale}to a failure")]].concat(),
                    ..known
                };
                // A run for shrinking or for the explanation may end the process.
                let (warnings, notes) = (told.warnings.clone(), unexplained.notes.clone());
                session.tell(Told { warnings, notes });
                let mut account = confirm::confirm(session, run, from.clone(), unexplained);
                let new = account.finding.as_ref().and_then(|own| own.trace_file.as_deref());
                account.notes[before] = stale + &remedy(&name, Some(new));
                (Some(account), None)
            }
            Outcome::Failed(_) => {
                let run = session.loudly(|| session.replay(&trace));
                (Some(replayed(session, run, from.clone(), &trace, known)), None)
            }
        }
    };
    match with_settings_of(session, &trace, true, again) {
        Ok((account, stale)) => {
            told.notes.extend(stale);
            session.tell(told.clone());
            account
        }
        Err(invalid) => Some(told.before(cannot_read(from, &invalid))),
    }
}

/// Returns the end of the sentence about a stale trace that was followed. If the trace leads to no failure, the
/// sentence names the command that removes the trace. If the trace still leads to a failure, the sentence names the
/// command that replaces it by the new trace, if a new trace was written.
fn remedy(kept: &str, fails: Option<Option<&str>>) -> String {
    match fails {
        None => format!("without a failure. To remove it: {}", Site::removal(kept)),
        Some(Some(new)) => {
            format!("to a failure. To record it anew: {}", Site::replacement(kept, new))
        }
        Some(None) => "to a failure, whose trace could not be written".to_owned(),
    }
}

/// Returns the account of a replayed trace. The account begins with the messages of `known`.
fn replayed(
    session: &Session<'_>,
    run: Run,
    from: Origin,
    trace: &Trace,
    known: Account,
) -> Account {
    let (runs, steps, replayed) = (1, run.steps.len() as u64, Some(from.clone()));
    let settings = Some(session.config.in_traces());
    let mut account = Account { runs, steps, settings, replayed, ..known };
    let Outcome::Failed(failure) = &run.outcome else { return account };
    if session.ends_at_limit(failure) {
        return account;
    }
    account.warnings.extend(surplus(trace, &run));
    let diverged = matches!(failure, Failure::Diverged { .. });
    let of = &trace.header.test;
    // Older traces do not name the target.
    let own = [String::new(), session.site.title(), session.site.test.clone()].contains(of);
    if diverged && !own {
        account.warnings.push(format!("the trace is of another test, {of}"));
    }
    let source = match &from {
        Origin::File(file) => file.clone(),
        _ => format::inline(trace),
    };
    let callers = hook::callers();
    let finding = Finding {
        called_from: callers.of_std,
        needs_runtime: callers.of_runtime,
        replay: Some(session.site.replay_command(&source, trace.header.settings.is_some())),
        record: diverged.then(|| session.site.search_command()),
        ..Finding::of(run, from)
    };
    let explain = || why::explain(session, &finding, account.without_tally());
    let why = if session.config.shrink { session.quietly(explain) } else { None };
    Account { finding: Some(Finding { why, ..finding }), ..account }
}

/// Returns a warning if the run failed before it used all decisions of its trace.
fn surplus(trace: &Trace, run: &Run) -> Option<String> {
    if let Outcome::Failed(Failure::Diverged { .. }) = run.outcome {
        return None;
    }
    let draws = trace.steps.iter().map(|step| step.draws.len());
    let (steps, draws) = (trace.steps.len(), draws.sum::<usize>());
    let left = |all: usize, taken: usize, what: &str| {
        let left = all.checked_sub(taken).filter(|left| *left > 0)?;
        Some(plural(left as u64, what))
    };
    let left = [
        left(steps, run.steps.len(), "more turn"),
        left(draws, run.draws.len(), "more drawn value"),
    ];
    let left: Vec<String> = left.into_iter().flatten().collect();
    (!left.is_empty()).then(|| {
        format!(
            "the trace has {} than this run took before it failed: this is another failure than the one it \
             was written for",
            left.join(" and ")
        )
    })
}

/// Returns the account for an unreadable trace. The trace fails the test, because the user might
/// otherwise believe that it was replayed.
fn cannot_read(from: Origin, why: &dyn Display) -> Account {
    let run = Run::empty(Seed(0), Failure::Unreadable { message: why.to_string() });
    let replayed = Some(from.clone());
    Account { replayed, finding: Some(Finding::of(run, from)), ..Account::default() }
}
