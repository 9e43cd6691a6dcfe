//! The audit of a body that has captured values, in a copy of this process.
//!
//! The runs of an audit must not change captured values. So each run would have a process of its own, and a fork takes
//! the longer, the more memory the process uses. A single copy executes all runs instead. In the copy, captured values
//! keep the changes of earlier runs. So only an agreement is trusted. After any other result, this process repeats the
//! audit with a process for each run.

use super::Sampled;
use crate::engine::simulate::helper::{self, GoesOn};
use crate::engine::simulate::session::Session;
use crate::native::{self, Helper};
use crate::report::Audit;

/// The request to the copy, and the first words of its replies.
const REQUEST: &str = "audit\n";
const AGREES: &str = "agrees";
const DIFFERS: &str = "differs";

/// Executes an audit in a copy of this process. Returns `None` if the runs need no copy, or if the copy does not agree
/// with the search.
pub(super) fn agreeing(
    session: &Session<'_>,
    audit: impl FnOnce(GoesOn<'_>) -> Sampled,
) -> Option<Sampled> {
    if !session.has_captured() || !helper::is_able(session) || native::has_own_processes() {
        return None;
    }
    // No other thread may hold a lock of the watchdog during the fork, because the copy has no other thread.
    let unlocked = session.watch.hold();
    let mut audit = Some(audit);
    let mut copy = Helper::begin(move |line| {
        drop(unlocked);
        native::change_captured();
        helper::serve(line, &mut |_, goes_on| Some(written(&audit.take()?(goes_on))));
    })?;
    read(&helper::ask(session, &mut copy, REQUEST, &|| true)?)
}

/// Returns the reply of the copy, as a line.
fn written(sampled: &Sampled) -> String {
    let Sampled { audit, classes, failing, blind } = sampled;
    if !audit.agrees() || audit.clash.is_some() || failing.is_some() || *blind {
        return format!("{DIFFERS}\n");
    }
    let classes: String = classes.iter().map(|class| format!(" {class:x}")).collect();
    format!("{AGREES} {}{classes}\n", audit.runs)
}

/// Returns the result in a reply. `None` if the copy does not agree.
fn read(reply: &str) -> Option<Sampled> {
    let mut words = reply.strip_prefix(AGREES)?.split_whitespace();
    let runs = words.next()?.parse().ok()?;
    let classes = words.map(|class| u64::from_str_radix(class, 16).ok()).collect::<Option<_>>()?;
    let audit = Audit { runs, captured: true, ..Audit::default() };
    Some(Sampled { audit, classes, ..Sampled::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agreement_is_read_as_it_was_written_and_other_results_are_not() {
        let classes = [0, 7, u64::MAX].into_iter().collect();
        let audit = Audit { runs: 100, captured: true, ..Audit::default() };
        let agrees = || Sampled { audit: audit.clone(), ..Sampled::default() };
        let sampled = Sampled { classes, ..agrees() };
        let found = read(&written(&sampled)).unwrap();
        assert_eq!((found.audit, found.classes), (sampled.audit, sampled.classes));
        let unseen = Audit { unseen: true, ..audit.clone() };
        assert!(read(&written(&Sampled { audit: unseen, ..agrees() })).is_none());
        assert!(read(&written(&Sampled { blind: true, ..agrees() })).is_none());
        assert!(read("").is_none() && read("agrees\n").is_none() && read("agrees 1 x\n").is_none());
    }
}
