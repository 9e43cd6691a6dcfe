//! Kept traces that no longer replay. A kept trace has no report beside it, so its places show only that a line is
//! gone. Its replay shows more: the test is gone, or the run differs from the trace.
//!
//! A trace from which its run differs may still lead to a failure, because a test follows a kept trace as far as it
//! fits. Such a trace is not stale: it is the only record of this failure.

use std::collections::BTreeMap;

use crate::Usage;
use crate::failures::Loaded;
use crate::invocation::Invocation;
use crate::replay::{failure_of, invocation_of};
use crate::rerun::{self, Ended, Stop};

/// The judgement of a replay.
pub(super) enum Replay {
    /// The trace no longer replays, for this reason.
    Stale(String),
    /// The run is still the run of the trace.
    Fits,
    /// It cannot be determined, for this reason.
    Unknown(String),
}

/// Runs the tests of kept traces.
#[derive(Default)]
pub(super) struct Replays {
    /// For each command of a test: the kept trace with which the test fails, if any.
    failing: BTreeMap<String, Option<String>>,
}

impl Replays {
    /// Replays a trace.
    pub(super) fn judge(&mut self, loaded: &Loaded) -> Replay {
        self.try_judge(loaded).unwrap_or_else(|Usage(why)| Replay::Unknown(why))
    }

    fn try_judge(&mut self, loaded: &Loaded) -> Result<Replay, Usage> {
        let invocation = invocation_of(loaded)?;
        let ended = rerun::run(&invocation, &Stop::default())?;
        let Some(report) = ended.reports.first() else {
            return Ok(match ended.code {
                Some(0) => has_no_test(&invocation)?,
                _ => Replay::Unknown(format!("its test did not run: {}", last_line(&ended))),
            });
        };
        let Some(diverged) = failure_of(report).and_then(|failure| failure.diverged.0.as_ref())
        else {
            return Ok(Replay::Fits);
        };
        let (step, expected, found) = (diverged.step, &diverged.expected, &diverged.found);
        let why =
            format!("its replay differs from step {step} on (expected {expected}; found {found})");
        Ok(match self.failing(&invocation)? {
            None => Replay::Stale(why),
            Some(kept) => Replay::Unknown(format!(
                "{why}, but its test fails with the kept trace {kept}. Mend the test, or keep the new trace"
            )),
        })
    }

    /// Returns the kept trace with which a test fails. A test replays all kept traces before its first seed, and
    /// follows the traces that no longer fit.
    fn failing(&mut self, invocation: &Invocation) -> Result<Option<String>, Usage> {
        let mut invocation = invocation.clone();
        invocation.variables.retain(|(name, _)| name != "SIM_REPLAY");
        invocation.set("SIM_SEEDS", "1");
        let key = invocation.text();
        if let Some(known) = self.failing.get(&key) {
            return Ok(known.clone());
        }
        let ended = rerun::run(&invocation, &Stop::default())?;
        let findings = ended.reports.iter().filter_map(|report| report.finding.as_ref());
        let file = findings.filter_map(|finding| finding.from.file.clone()).next();
        // A process that has ended without a report may have ended in the run of a kept trace.
        let file = match ended.reports.is_empty() {
            true => Some("of an unknown name, because the test has ended its process".to_owned()),
            false => file,
        };
        self.failing.insert(key, file.clone());
        Ok(file)
    }
}

/// Judges a trace if cargo was successful, but no test has written a report: the test is gone, or it was not run.
fn has_no_test(invocation: &Invocation) -> Result<Replay, Usage> {
    let Some(test) = invocation.test() else {
        return Ok(Replay::Unknown("its program has written no report".to_owned()));
    };
    let mut listing = invocation.clone();
    listing.variables.clear();
    if !listing.arguments.iter().any(|word| word == "--") {
        listing.arguments.push("--".to_owned());
    }
    listing.arguments.push("--list".to_owned());
    let ended = rerun::run(&listing, &Stop::default())?;
    // The harness lists a test as `path: test`, also if the test is ignored.
    let is_listed = ended
        .output
        .lines()
        .any(|line| line.strip_suffix(": test").is_some_and(|path| path == test));
    Ok(match (ended.code, is_listed) {
        (Some(0), false) => Replay::Stale(format!("there is no test {test} any more")),
        (Some(0), true) => Replay::Unknown(format!("its test {test} was not run")),
        _ => Replay::Unknown(format!("its tests cannot be listed: {}", last_line(&ended))),
    })
}

/// Returns the last line of a command's output, or the first error in it.
fn last_line(ended: &Ended) -> &str {
    let mut lines = ended.output.lines().filter(|line| !line.trim().is_empty());
    let is_error = |line: &&str| line.starts_with("error");
    let error = lines.clone().find(is_error);
    error.or_else(|| lines.next_back()).unwrap_or("no output")
}
