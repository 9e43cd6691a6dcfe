//! The meaning of a search: whether it is a proof, the assumptions of the proof, and the reason why it is none.

use super::{Audit, Bound, OrdersTaken, Searched};

/// The effects of memory orders that no search tries.
pub(super) const ORDERS_UNTRIED: &str =
    "orders of SeqCst operations and stores that take effect before older ones are not all tried";

impl Searched {
    /// Returns `true` if the search proves that no run fails, provided that it found none.
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

    /// Returns what the search relied on and did not prove; `None` if it relied on nothing.
    ///
    /// A run represents all interleavings that differ from it in the order of steps without a common object
    /// of sim. So tasks must share memory through sim only. Sampled runs check this assumption, and the
    /// search starts again without it if one of them shows something else: see the conditions of a proof. A search of
    /// plain threads sees what they share. Each memory order that the program asks for is taken as `SeqCst`.
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
        match self.orders {
            OrdersTaken::AsSeqCst if self.assumes => Some(
                "tasks share memory through sim only, and orders weaker than SeqCst act as SeqCst",
            ),
            _ if self.assumes => Some("tasks share memory through sim only"),
            OrdersTaken::AsSeqCst => Some("orders weaker than SeqCst act as SeqCst"),
            OrdersTaken::AsAsked | OrdersTaken::InPart => None,
        }
    }

    /// Returns `true` if no run did anything that the search does not explore completely.
    #[doc(hidden)]
    pub fn tries_all(&self) -> bool {
        let tries_orders = self.orders != OrdersTaken::InPart;
        self.beyond.is_empty() && self.ignored.is_empty() && self.unseen.is_empty() && tries_orders
    }

    /// Returns the reason why this is not a proof, in a few words; `None` if it is one.
    #[doc(hidden)]
    pub fn shortfall(&self) -> Option<String> {
        if self.is_proof() {
            return None;
        }
        // As long as anything is left to do, it is not all.
        let percent = (self.part.clamp(0.0, 1.0) * 10_000.0).floor().min(9_999.0) / 100.0;
        let audit = self.audit.as_ref();
        let why = match &self.bound {
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
            Some(Bound { what, .. }) if self.complete => {
                format!("runs with more {what}s were not tried")
            }
            Some(Bound { what, through: None }) => {
                format!("{percent:.2} % of the runs without a {what} were made")
            }
            Some(Bound { what, through: Some(through) }) => {
                let next = through.saturating_add(1);
                format!("{percent:.2} % of the runs with {next} {what}s were made")
            }
            None if self.share.is_some() && self.complete => {
                "the other shares of the search are not judged here".to_owned()
            }
            None => format!("{percent:.2} % of the search was done"),
        };
        Some(why)
    }

    /// Returns `true` if the search did what was requested: all runs, or all within its bound.
    #[doc(hidden)]
    pub fn is_as_requested(&self) -> bool {
        self.fell_short().is_none()
    }

    /// Like [`shortfall`](Self::shortfall), but only if the search did less than requested: a request for all runs
    /// within a bound does not include those beyond it, and a share does not include the others.
    #[doc(hidden)]
    pub fn fell_short(&self) -> Option<String> {
        let is_part = self.bound.is_some() || self.share.is_some();
        let agrees = self.audit.as_ref().is_none_or(Audit::agrees);
        let as_asked = self.complete && !self.blind && self.tries_all() && is_part && agrees;
        self.shortfall().filter(|_| !as_asked)
    }
}
