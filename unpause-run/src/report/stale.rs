//! Operations on old stores, with the memory model `c11`: the newer store that each operation missed, and the number of
//! such operations that a failure needs. Also the reasons of data races on cells.

use std::ptr;

use unpause_check::picture::screen::plural;

use super::unordered::{self, Unordered};
use super::{Finding, Report};
use crate::run::event::{Event, Values};
use crate::run::memory_model::{MISSED, MemoryModel, PRECEDED};
use crate::run::{MemoryError, Outcome, Run};

/// The result of runs with the memory model `sc`, for a failing run in which some operations did not choose the newest
/// store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithSc {
    /// True if one of the runs had the same failure.
    pub fails: bool,
    /// True if the runs were all interleavings, and passed.
    pub complete: bool,
    /// The number of runs.
    pub runs: u64,
}

impl WithSc {
    /// Returns the result as text, behind the number of old stores.
    fn text(with_sc: Option<WithSc>) -> String {
        match with_sc {
            None => " (not tried with memory = \"sc\")".to_owned(),
            Some(WithSc { fails: true, .. }) => {
                " in this run, but it fails with memory = \"sc\", too".to_owned()
            }
            Some(WithSc { complete: true, runs: 1, .. }) => {
                " (with memory = \"sc\", the only interleaving passes)".to_owned()
            }
            Some(WithSc { complete: true, runs, .. }) => {
                format!(" (with memory = \"sc\", all {runs} interleavings pass)")
            }
            Some(WithSc { runs, .. }) => {
                format!(" (not found in {} with memory = \"sc\")", plural(runs, "run"))
            }
        }
    }
}

/// Returns a text about the operations that did not choose the newest store. `None` if the run was not shrunk, or if
/// its memory model is not `c11`.
pub(super) fn needed(report: &Report, finding: &Finding) -> Option<String> {
    let weak = |(name, value): &(String, String)| {
        name == "memory" && MemoryModel::parse(value) == Some(MemoryModel::C11)
    };
    let is_weak = report.settings.iter().any(weak) && finding.run.outcome != Outcome::Passed;
    if !is_weak || finding.shrunk.is_none() {
        return None;
    }
    let count =
        |name: &str| finding.run.events.iter().filter(|event| event.op.name == name).count() as u64;
    let kinds = [(count(MISSED.name), "stale read"), (count(PRECEDED.name), "early store")];
    let words = kinds.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words.map(|(count, kind)| plural(*count, kind)).collect();
    Some(match &words[..] {
        [] => "no stale read: it fails with memory = \"sc\", too".to_owned(),
        words => words.join(" and ") + &WithSc::text(finding.with_sc),
    })
}

/// Returns the store of the newest value, which the operation before `event` has missed or precedes.
pub(super) fn newest<'run>(run: &'run Run, event: &Event) -> Option<&'run Event> {
    run.events.get(places(run, event)?.0)
}

/// Returns the reason why nothing orders the store of the newest value before the load described by `event`.
pub(super) fn unordered(run: &Run, event: &Event) -> Option<Unordered> {
    if event.op.name != MISSED.name {
        return None;
    }
    let (store, load) = places(run, event)?;
    unordered::reason(run, store, load)
}

/// Returns the reason why nothing orders the two accesses of a data race on a `RaceCell`.
pub(super) fn race(run: &Run, error: &MemoryError) -> Option<Unordered> {
    let [earlier, later] = *error.unordered.as_deref()?;
    let [second, first, ..] = &error.steps[..] else { return None };
    unordered::between(run, (first.task, earlier), (second.task, later))
}

/// Returns the reason of `unordered` as text.
pub(super) fn reason(run: &Run, event: &Event) -> Option<String> {
    text_of(run, unordered(run, event)?)
}

/// Returns the reason of `race` as text.
pub(super) fn reason_of_race(run: &Run, error: &MemoryError) -> Option<String> {
    text_of(run, race(run, error)?)
}

fn text_of(run: &Run, reason: Unordered) -> Option<String> {
    let of = |at: usize, does: &str| {
        let mark = run.orders.iter().find(|mark| mark.event == at)?;
        Some(format!("step {} is {:?} and does not {does}", run.events[at].step, mark.order))
    };
    match reason {
        Unordered::Unconnected => Some("no operation orders the two".to_owned()),
        Unordered::NoRelease(at) => of(at, "release it"),
        Unordered::NoAcquire(at) => of(at, "acquire it"),
    }
}

/// Returns the positions of the store of the newest value, and of the operation that missed or precedes this store.
pub(super) fn places(run: &Run, event: &Event) -> Option<(usize, usize)> {
    let Values::Read(value) = event.values else { return None };
    if ![MISSED.name, PRECEDED.name].contains(&event.op.name) {
        return None;
    }
    let at = run.events.iter().position(|other| ptr::eq(other, event))?;
    let left = |event: &Event| match event.values {
        Values::Wrote(left) | Values::Changed(_, left) => Some(left),
        _ => None,
    };
    let operation = at.checked_sub(1)?;
    let earlier = run.events[..operation].iter().enumerate().rev();
    let mut of_object = earlier.filter(|(_, other)| other.object == event.object);
    while let Some((place, other)) = of_object.next() {
        if other.op.name == PRECEDED.name {
            // The store before this operation is not the newest store either.
            of_object.next();
        } else if left(other) == Some(value) {
            return Some((place, operation));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::sample::{LOAD, STORE, Sample};
    use super::*;
    use crate::run::event::ValueKind;

    #[test]
    fn the_newest_store_is_the_last_one_that_precedes_none() {
        let mut sample = Sample::of(&["a", "b"]);
        let word = sample.object("AtomicU32", ValueKind::Unsigned);
        let other = sample.object("AtomicU32", ValueKind::Unsigned);
        sample.step(1).did(&STORE, Some(word), Values::Wrote(1));
        sample.step(1).did(&STORE, Some(other), Values::Wrote(1));
        sample.step(2).did(&STORE, Some(word), Values::Wrote(1));
        sample.did(&PRECEDED, Some(word), Values::Read(1));
        sample.step(0).did(&LOAD, Some(word), Values::Read(0));
        sample.did(&MISSED, Some(word), Values::Read(1));
        let run = sample.run;
        let of = |at: usize| newest(&run, &run.events[at]).map(|event| event.step);
        assert_eq!((of(3), of(5)), (Some(0), Some(0)));
        assert_eq!((of(0), of(4)), (None, None));
    }
}
