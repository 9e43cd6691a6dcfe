//! The failure that is being explained.
//!
//! A run of an explanation may hang, or end the process. The watchdog then reports the failure without its explanation,
//! and not the run of the explanation.

use std::sync::{Mutex, PoisonError};

use super::session::Session;
use crate::engine::assignment::Account;
use crate::engine::runner::end_process;
use crate::report::{Finding, Style, one_line, text};
use crate::run::{Outcome, Run};

/// The failure that is being explained, if any, and the number of runs that were needed to find it.
#[derive(Default)]
pub(super) struct KeptFinding(Mutex<Option<(Box<Finding>, u64)>>);

impl KeptFinding {
    /// Keeps a failure until the guard is dropped.
    pub(super) fn keep(&self, finding: &Finding, runs: u64) -> Keeping<'_> {
        self.set(Some((Box::new(finding.clone()), runs)));
        Keeping(self)
    }

    /// Reports the failure that is being explained, if any, and ends the process. `run` is the run that cannot
    /// continue. Returns if no failure is being explained.
    pub(super) fn end(&self, session: &Session<'_>, run: &Run) {
        let Some((finding, runs)) = self.set(None) else { return };
        let ended = match &run.outcome {
            Outcome::Failed(failure) => one_line(failure, run),
            Outcome::Passed => "it ended the process".to_owned(),
        };
        let warning = format!(
            "the failure has no explanation, because another run of the test failed: {ended}"
        );
        let replayed = session.config.replay.is_some().then(|| finding.from.clone());
        let (finding, warnings) = (Some(*finding), vec![warning]);
        let account = Account { runs, finding, warnings, replayed, ..Account::default() };
        end_process(&text(&session.report(account), &Style::default()))
    }

    /// Replaces the failure. Returns the previous one.
    fn set(&self, finding: Option<(Box<Finding>, u64)>) -> Option<(Box<Finding>, u64)> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), finding)
    }
}

/// A guard that ends the explanation of a failure on drop.
pub(super) struct Keeping<'a>(&'a KeptFinding);

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
