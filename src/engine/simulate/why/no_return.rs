//! The step after which no schedule passes.
//!
//! If every continuation of a prefix fails, so does every continuation of a longer prefix of the run. Therefore
//! bisection finds the shortest such prefix. Each probe is an exhaustive search below the prefix, which stops at the
//! first passing run.

use super::lab::{Counts, End, Lab, Searched};
use crate::report::NoReturn;
use crate::strategy::after::Then;

/// The maximum number of runs of one search.
const RUNS: u64 = 300;
/// The fraction of the remaining runs for these searches: one part in `SHARE`.
const SHARE: u64 = 3;
/// The number of sampled runs that must not contradict the proof. The samples check its assumption that tasks share
/// only objects of this library.
const SAMPLES: u64 = 20;

/// Returns the shortest prefix after which all runs fail, if this is proved.
pub(super) fn find(lab: &mut Lab<'_, '_>) -> Option<NoReturn> {
    // A step without a choice changes nothing, so no prefix needs to end with it.
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
            Searched::Stopped | Searched::Open | Searched::Blind => low = middle + 1,
        }
    }
    let proved = proved.filter(|proved| proved.interleavings > 0)?;
    let sampled = lab.sample(proved.after as usize, SAMPLES, Then::Any, 0);
    (sampled.failed == sampled.ended).then_some(proved)
}
