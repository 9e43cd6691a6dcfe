//! Runs that end their process, reported as failures of their seeds.
//!
//! A process cannot report its own end by `abort()`, by a stack overflow or by a failed allocation. If an earlier
//! process ended during a test, its last runs are first executed alone, each in a new process. If these runs are not
//! known, the whole test is executed in a new process, but only for a limited time. If the new process ends, too, it
//! has recorded which run was active.

use std::time::Duration;
use unpause_ordered::Set;

use crate::engine::assignment::{Account, Assignment};
use crate::engine::config::Config;
use crate::engine::runner::{self, ProcessEnd, Repeated};
use crate::engine::underway::{LeftMark, Mark, Note, write_note};
use crate::report::{Finding, Origin, Report};
use crate::run::ids::{Seed, TaskId};
use crate::run::signals::signal_name;
use crate::run::{Failure, Run};

/// The maximum time limit for a whole test in a new process. The user waits for this time if the test was only killed.
const WHOLE: Duration = Duration::from_secs(10);

/// Returns the report of a test with a run that ends the process. `None` if no earlier process ended during the test,
/// or if no new process ends.
pub(super) fn earlier(assignment: &Assignment<'_>) -> Option<Report> {
    let Assignment { config, site, .. } = *assignment;
    // In a new process, the runs are only repeated.
    if runner::is_repetition() {
        return None;
    }
    let left = Mark::left(config, site)?;
    let parts = parts(&left, config);
    let Some(test) = site.filter.as_deref() else {
        left.tell(site, &left.advice(site));
        return None;
    };
    let first = match parts[..] {
        [] => return None,
        [Repeated::All(limit)] => format!(
            "First, the test is run in a new process, for at most {} s, because it may end that process, too.",
            limit.as_secs_f64()
        ),
        [Repeated::One(_)] => "First, it is run alone, in a new process.".to_owned(),
        _ => "First, each of them is run alone, in a new process.".to_owned(),
    };
    left.tell(site, &first);
    let mut is_known = true;
    for part in parts {
        // A process notes its runs only if there is a mark of a dead process.
        left.restore();
        match runner::end(test, part) {
            ProcessEnd::Signal(signal) => match report(assignment, signal, part) {
                Some(report) => return Some(report),
                None => is_known = false,
            },
            ProcessEnd::Regular => {}
            ProcessEnd::Unknown => is_known = false,
        }
    }
    if is_known {
        write_note(&format!(
            "{}: the process did not end again, so no seed is reported",
            site.test
        ));
    } else {
        // The new process was killed, so its notes say nothing.
        left.restore();
        let advice = left.advice(site);
        write_note(&format!("{}: the new process did not show the reason. {advice}", site.test));
    }
    None
}

/// Returns the parts of a test that must be repeated, because a run in them may have ended the process of the mark.
fn parts(left: &LeftMark, config: &Config) -> Vec<Repeated> {
    // The runs of a search depend on earlier runs, so the whole search is repeated.
    if left.notes.is_empty() || config.strategy.is_search() {
        // A run with a longer step is a hang.
        return vec![Repeated::All(config.hang.unwrap_or(WHOLE).min(WHOLE))];
    }
    let seed = |note: &Note| match *note {
        Note::Seed(seed) | Note::From(seed) => is_requested(seed, config).then_some(seed),
        // The rehearsals come before the first seed.
        Note::Rehearsal(_) => config.seed(0).map(Seed),
    };
    let seeds: Set<Seed> = left.notes.iter().filter_map(seed).collect();
    seeds.into_iter().map(Repeated::One).collect()
}

/// Returns `true` if this process is to run the seed.
fn is_requested(seed: Seed, config: &Config) -> bool {
    let (first, count) = config.seeds();
    let offset = seed.0.checked_sub(first).filter(|offset| *offset < count);
    offset.is_some_and(|offset| offset % config.shard.of == config.shard.number - 1)
}

/// Returns the report of a test whose repeated part has ended its process by a signal. `None` if the run is not known.
fn report(assignment: &Assignment<'_>, signal: i32, part: Repeated) -> Option<Report> {
    let Assignment { config, site, .. } = *assignment;
    let noted = Mark::left(config, site).and_then(|left| left.notes.first().copied());
    let noted = noted.or(match part {
        Repeated::All(_) => None,
        Repeated::One(seed) => Some(Note::Seed(seed)),
    });
    let (seed, replay, which) = match noted? {
        Note::Seed(seed) => (seed, site.seed_command(seed.0), "the run of this seed"),
        Note::From(seed) => (
            seed,
            site.search_command(),
            "a run derived from this seed, while it was replayed or shrunk",
        ),
        Note::Rehearsal(n) => {
            (Seed(n.into()), site.search_command(), "a run that the strategy learns from")
        }
    };
    let name = signal_name(signal);
    let message = format!(
        "The process of the test ended by {name} in {which}. An earlier process had ended in this test, so it was run in a new \
         process, and other tests can continue. The steps of the run are not known: no process could report them. {}",
        causes(signal)
    );
    let failure = Failure::Crash {
        task: TaskId::MAIN,
        cause: format!("process ended by {name}"),
        message,
        place: String::new(),
    };
    let finding = Finding::of(Run::empty(seed, failure), Origin::Seed(seed));
    let finding = Finding { replay: Some(replay), ..finding };
    Some(assignment.report(Account { runs: 1, finding: Some(finding), ..Account::default() }))
}

/// Returns the usual causes of a signal.
fn causes(signal: i32) -> &'static str {
    match signal {
        6 => "Usual causes are `abort()`, a full stack and a failed allocation.",
        9 => "Usual causes are a lack of memory and a kill from outside.",
        _ => "Usual causes are unsafe code and code of C.",
    }
}
