//! The meaning of a search: if it is a proof, which assumptions the proof has, and why the search is not a proof.

use unpause_check::picture::screen::{clean, plural};

use super::searched::{because, left_out, share};
use super::{Audit, Bound, OrdersTaken, Searched};

/// The effects of memory orders that no search tries.
#[doc(hidden)]
pub const ORDERS_UNTRIED: &str = "older stores are tried within limits only: a thread reads the same one at most three \
    times, and a word keeps 16. Timers, and objects other than mutexes and cells, hide further stores";

/// Returns the statement that a search has explored all effects of memory orders. `is_sampled` is true if sampled runs
/// check the search.
#[doc(hidden)]
pub fn orders_explored(is_sampled: bool) -> String {
    let unsampled = if is_sampled { "" } else { ". No sampled runs check this search" };
    format!(
        "(memory orders act as in C11: each store that an operation may choose was a run of its own{unsampled})"
    )
}

impl Searched {
    /// Returns `true` if the search proves that no run fails, provided that it found no failure.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().strategy("exhaustive");
    /// let report = runner.run(async || sim::task::yield_now().await);
    /// assert!(report.searched.unwrap().is_proof());
    /// ```
    pub fn is_proof(&self) -> bool {
        let agrees = self.audit.as_ref().is_none_or(Audit::agrees);
        let own = self.complete && !self.blind && self.bound.is_none() && self.share.is_none();
        let agrees = agrees && self.tries_all();
        let fallback = || self.fallback.as_ref().is_some_and(|own| own.searched.is_proof());
        agrees && (own || fallback())
    }

    /// Returns the unproven assumption of the search; `None` if there is no assumption.
    ///
    /// A run represents all interleavings that differ from it only in the order of steps without a common sim object.
    /// So tasks must share memory only through sim. Sampled runs check this assumption, and the search starts again
    /// without it if a sampled run violates it: see the conditions of a proof. A search of plain threads sees the
    /// memory that the threads share, but it treats each memory order in the program as `SeqCst`.
    ///
    /// ```
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().strategy("exhaustive");
    /// let report = runner.run(async || sim::task::yield_now().await);
    /// let assumption = report.searched.unwrap().assumption();
    /// assert_eq!(assumption, Some("tasks share memory through sim only"));
    /// ```
    pub fn assumption(&self) -> Option<&'static str> {
        let agrees = self.audit.as_ref().is_none_or(Audit::agrees);
        if !self.complete || !agrees {
            return None;
        }
        match (self.assumes, self.orders == OrdersTaken::AsSeqCst, self.waits_for_time) {
            (false, false, false) => None,
            (true, false, false) => Some("tasks share memory through sim only"),
            (false, true, false) => Some("orders weaker than SeqCst act as SeqCst"),
            (false, false, true) => Some("time advances only when no task can step"),
            (true, true, false) => Some(
                "tasks share memory through sim only, and orders weaker than SeqCst act as SeqCst",
            ),
            (true, false, true) => Some(
                "tasks share memory through sim only, and time advances only when no task can step",
            ),
            (false, true, true) => Some(
                "orders weaker than SeqCst act as SeqCst, and time advances only when no task can step",
            ),
            (true, true, true) => Some(
                "tasks share memory through sim only, orders weaker than SeqCst act as SeqCst, and time advances only \
                 when no task can step",
            ),
        }
    }

    /// Returns `true` if no run did anything that the search explores only in part.
    #[doc(hidden)]
    pub fn tries_all(&self) -> bool {
        let tries_orders = self.orders != OrdersTaken::InPart;
        self.beyond.is_empty() && self.ignored.is_empty() && self.unseen.is_empty() && tries_orders
    }

    /// Returns the remarks on the search that apply even if it is a proof, without abandoned runs. In this order:
    /// repeated runs, the reason for `by_step`, the assumption, and the memory orders. `is_sampled` is true if sampled
    /// runs have checked the search.
    #[doc(hidden)]
    pub fn remarks(&self, is_sampled: bool) -> [Option<String>; 4] {
        let of_fallback = self.fallback.as_ref().map_or(0, |fallback| fallback.searched.repeated);
        let repeated = self.repeated.saturating_add(of_fallback);
        let repeated = (repeated > 0).then(|| {
            format!("({} repeated to reach those with the same prefix)", plural(repeated, "run"))
        });
        let by_step = || format!("(each order of steps was a run of its own: {})", because(self));
        let assumption = self.assumption().map(|text| format!("(assumes that {text})"));
        let explored = self.complete && self.orders == OrdersTaken::AsInC11;
        let explored = explored.then(|| orders_explored(is_sampled));
        [repeated, self.by_step.then(by_step), assumption, explored]
    }

    /// Returns the parts of the program that the search did not see or try, each as a reason why it is not a proof.
    #[doc(hidden)]
    pub fn untried(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if !self.beyond.is_empty() {
            let rest = if self.complete { ". All runs with fewer were" } else { "" };
            reasons.push(format!("not tried: {}{rest}", listed(&self.beyond)));
        }
        if !self.ignored.is_empty() {
            reasons.push(format!(
                "the search does not see {}, and did not try all orders of the steps around it",
                listed(&self.ignored),
            ));
        }
        if !self.unseen.is_empty() {
            reasons.push(format!(
                "threads entered code that is not instrumented, and not all orders of its operations were tried: {}. \
                 Leave it out of the test, or take the result for a sample",
                listed(&self.unseen),
            ));
        }
        match self.orders {
            OrdersTaken::InPart => reasons.push(ORDERS_UNTRIED.to_owned()),
            OrdersTaken::AsAsked | OrdersTaken::AsSeqCst | OrdersTaken::AsInC11 => {}
        }
        if self.blind {
            let text =
                "waits of threads ended by time limits, and not all orders of these were tried";
            reasons.push(text.to_owned());
        }
        reasons
    }

    /// Returns the reason why the search is not a proof, in a few words; `None` if it is a proof.
    #[doc(hidden)]
    pub fn shortfall(&self) -> Option<String> {
        if self.is_proof() {
            return None;
        }
        let audit = self.audit.as_ref();
        let why = match &self.bound {
            _ if audit.is_some_and(|audit| audit.missed.is_some() && audit.captured) => {
                "a sampled run belongs to a class that the search missed: values that the closure captured changed \
                 between runs, or a bug of unpause"
                    .to_owned()
            }
            _ if audit.is_some_and(|audit| audit.missed.is_some()) => {
                "a sampled run belongs to a class that the search missed, a bug of unpause"
                    .to_owned()
            }
            _ if audit.is_some_and(|audit| audit.unseen) => {
                "the order of steps that share no object of sim made a difference".to_owned()
            }
            _ if audit.is_some_and(|audit| audit.failed) => {
                "a sampled run failed, but no run of the search did".to_owned()
            }
            _ if !self.beyond.is_empty() => format!("not tried: {}", self.beyond.join(", ")),
            _ if !self.ignored.is_empty() => format!("not seen: {}", self.ignored.join(", ")),
            _ if !self.unseen.is_empty() => {
                format!("operations of these are not explored: {}", self.unseen.join(", "))
            }
            _ if self.orders == OrdersTaken::InPart => ORDERS_UNTRIED.to_owned(),
            _ if self.blind => {
                "waits of threads ended by time limits that are not explored".to_owned()
            }
            Some(bound) if self.complete => left_out(bound, self.early_moves),
            Some(Bound { what, through: None }) => {
                format!("{} of the runs without a {what} were made", share(self.part))
            }
            Some(Bound { what, through: Some(through) }) => {
                let next = through.saturating_add(1);
                format!("{} of the runs with {next} {what}s were made", share(self.part))
            }
            None if self.share.is_some() && self.complete => {
                "the other shares of the search are not judged here".to_owned()
            }
            None => format!("{} of the search was done", share(self.part)),
        };
        Some(why)
    }

    /// Returns `true` if the search explored everything requested: all runs, or all runs within its bound.
    #[doc(hidden)]
    pub fn is_as_requested(&self) -> bool {
        self.fell_short().is_none()
    }

    /// Like [`shortfall`](Self::shortfall), but returns a reason only if the search explored less than requested. A
    /// request with a bound excludes the runs beyond the bound, and a share excludes the other shares.
    #[doc(hidden)]
    pub fn fell_short(&self) -> Option<String> {
        let is_part = self.bound.is_some() || self.share.is_some();
        let agrees = self.audit.as_ref().is_none_or(Audit::agrees);
        let as_asked = self.complete && !self.blind && self.tries_all() && is_part && agrees;
        self.shortfall().filter(|_| !as_asked)
    }
}

/// Returns names, separated by commas.
fn listed(names: &[String]) -> String {
    names.iter().map(|name| clean(name)).collect::<Vec<_>>().join(", ")
}
