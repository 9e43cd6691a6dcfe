//! Replays: the requested trace, and the traces that the user keeps.

use std::path::PathBuf;

use super::session::Session;
use super::{confirm, hook};
use crate::engine::assignment::Account;
use crate::engine::persistence::{self, Unreadable};
use crate::report::{Finding, Origin};
use crate::run::ids::Seed;
use crate::run::trace::{Trace, format};
use crate::run::{Failure, Outcome, Run};

/// Replays one trace, strictly.
pub(super) fn replay(session: &Session<'_>, source: &str) -> Account {
    let from = persistence::origin(source, session.site);
    match persistence::read_source(source, session.site) {
        Ok(trace) => replayed(session, session.loudly(|| session.replay(&trace)), from, &trace),
        Err(unreadable) => {
            let named = match &from {
                Origin::File(file) => unreadable.of(file.into()),
                _ => unreadable,
            };
            cannot_read(from, &named)
        }
    }
}

/// Replays the traces that the user keeps. Returns the first that fails.
pub(super) fn kept(session: &Session<'_>, warnings: &mut Vec<String>) -> Option<Account> {
    let paths = match persistence::regressions(session.site, warnings) {
        Ok(paths) => paths,
        Err(unreadable) => {
            let folder = match &unreadable {
                Unreadable::Io(path, _) => persistence::shorter(path.clone(), session.site),
                _ => PathBuf::new(),
            };
            let from = Origin::File(folder.display().to_string());
            return Some(cannot_read(from, &unreadable.of(folder)));
        }
    };
    paths.into_iter().find_map(|path| replay_kept(session, path, warnings))
}

/// Replays a trace that the user keeps. Returns an account if it fails.
fn replay_kept(
    session: &Session<'_>,
    path: PathBuf,
    warnings: &mut Vec<String>,
) -> Option<Account> {
    let short = persistence::shorter(path.clone(), session.site);
    let name = short.display().to_string();
    let from = Origin::File(name.clone());
    let trace = match persistence::read(&path) {
        Ok(trace) => trace,
        Err(unreadable) => return Some(cannot_read(from, &unreadable.of(short))),
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
            (run.outcome != Outcome::Passed).then(|| confirm::confirm(session, run, from, 1))
        }
        Outcome::Failed(_) => {
            let run = session.loudly(|| session.replay(&trace));
            Some(replayed(session, run, from, &trace))
        }
    }
}

/// The account of a replayed trace.
fn replayed(session: &Session<'_>, run: Run, from: Origin, trace: &Trace) -> Account {
    let (runs, steps, replayed) = (1, run.steps.len() as u64, Some(from.clone()));
    let account = Account { runs, steps, replayed, ..Account::default() };
    let Outcome::Failed(failure) = &run.outcome else { return account };
    let mut warnings = Vec::from_iter(surplus(trace, &run));
    let diverged = matches!(failure, Failure::Diverged { .. });
    let of = &trace.header.test;
    // Older traces do not name the target.
    let own = [String::new(), session.site.title(), session.site.test.clone()].contains(of);
    if diverged && !own {
        warnings.push(format!("the trace is of another test, {of}"));
    }
    let source = match &from {
        Origin::File(file) => file.clone(),
        _ => format::inline(trace),
    };
    let finding = Finding {
        called_from: hook::called_from(),
        replay: Some(session.site.replay_command(&source)),
        record: diverged.then(|| session.site.command()),
        ..Finding::of(run, from)
    };
    Account { finding: Some(finding), warnings, ..account }
}

/// Returns a warning if the run failed before it took all decisions of its trace.
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
fn cannot_read(from: Origin, why: &Unreadable) -> Account {
    let run = Run::empty(Seed(0), Failure::Unreadable { message: why.to_string() });
    let replayed = Some(from.clone());
    Account { replayed, finding: Some(Finding::of(run, from)), ..Account::default() }
}
