//! The failure that is being explained.
//!
//! A run of an explanation may hang, or end the process. The watchdog then reports the failure without its explanation,
//! and not the run of the explanation.

use std::sync::{Mutex, PoisonError};

use super::session::Session;
use crate::engine::assignment::Account;
use crate::engine::runner::end_process;
use crate::report::{Style, one_line, text};
use crate::run::{Outcome, Run};

/// The account of the test, with the failure that is being explained; `None` if no failure is being explained.
#[derive(Default)]
pub(super) struct KeptFinding(Mutex<Option<Box<Account>>>);

impl KeptFinding {
    /// Keeps an account with its failure until the guard is dropped.
    pub(super) fn keep(&self, account: Account) -> Keeping<'_> {
        self.set(Some(Box::new(account)));
        Keeping(self)
    }

    /// Reports the failure that is being explained, if any, and ends the process. `run` is the run that cannot
    /// continue. Returns if no failure is being explained.
    pub(super) fn end(&self, session: &Session<'_>, run: &Run) {
        let Some(mut account) = self.set(None) else { return };
        let ended = match &run.outcome {
            Outcome::Failed(failure) => one_line(failure, run),
            Outcome::Passed => "it ended the process".to_owned(),
        };
        account.warnings.push(format!(
            "the failure has no explanation, because another run of the test failed: {ended}"
        ));
        end_process(&text(&session.report(*account), &Style::default()))
    }

    /// Replaces the account. Returns the previous account.
    fn set(&self, account: Option<Box<Account>>) -> Option<Box<Account>> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), account)
    }
}

/// A guard that ends the explanation of a failure on drop.
pub(super) struct Keeping<'a>(&'a KeptFinding);

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
