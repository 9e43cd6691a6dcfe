//! The step after which no schedule passes.
//!
//! If every continuation of a prefix fails, so does every continuation of a longer one. So the shortest such prefix is
//! found by bisection: each probe is an exhaustive search below the prefix, which stops at the first run that passes.

use super::lab::{Counts, End, Lab, Searched};
use crate::report::NoReturn;
use crate::strategy::after::Then;

/// Runs of one search.
const RUNS: u64 = 300;
/// The part of all runs that the searches may take: one in so many.
const SHARE: u64 = 3;
/// Sampled runs that must not contradict the proof. It assumes that tasks share nothing but objects of this library.
const SAMPLES: u64 = 20;

/// Returns the shortest prefix below which all runs fail, if it is proved.
pub(super) fn find(lab: &mut Lab<'_, '_>) -> Option<NoReturn> {
    // A step without a choice changes nothing, so it is none to end a prefix with.
    let choices = lab.run.steps.iter().enumerate().filter(|(_, step)| step.candidates > 1);
    let mut prefixes = vec![0];
    prefixes.extend(choices.map(|(step, _)| step + 1));
    let most = lab.runs() + lab.runs_left() / SHARE;
    let (mut low, mut high) = (0, prefixes.len());
    let mut proved: Option<NoReturn> = None;
    while low < high {
        let runs = RUNS.min(most.saturating_sub(lab.runs()));
        if runs == 0 {
            break;
        }
        let middle = low + (high - low) / 2;
        match lab.search(prefixes[middle], runs, Some(End::Passed)) {
            Searched::Through(Counts { all: interleavings, .. }) => {
                let after = u32::try_from(prefixes[middle]).unwrap_or(u32::MAX);
                proved = Some(NoReturn { after, interleavings });
                high = middle;
            }
            Searched::Stopped | Searched::Open => low = middle + 1,
        }
    }
    let proved = proved.filter(|proved| proved.interleavings > 0)?;
    let sampled = lab.sample(proved.after as usize, SAMPLES, Then::Any, 0);
    (sampled.failed == sampled.ended).then_some(proved)
}
