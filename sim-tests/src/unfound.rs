//! The results that an exhaustive search misses.

use std::collections::BTreeSet;
use std::sync::Mutex;

use sim::Runner;
use sim::census::class_of;
use sim::run::Outcome;

/// The maximum number of runs of a search.
const RUNS_MAX: u64 = 20_000;

/// Returns the results of `body` that occur in some of `seeds` random runs, but in no run of an
/// exhaustive search. With `classes`, also includes the results of random runs in a class that the
/// search has not visited. Empty if the search does not finish.
///
/// # Panics
/// If a run fails.
pub fn unfound<S: Ord + Clone + Send>(
    seeds: u64,
    classes: bool,
    body: impl AsyncFn() -> S + Sync,
) -> BTreeSet<S> {
    let last = Mutex::new(None);
    let keep = async || {
        let seen = body().await;
        *last.lock().unwrap() = Some(seen);
    };
    let seen = || last.lock().unwrap().clone().expect("the body has returned");
    let (mut all, mut all_classes) = (BTreeSet::new(), BTreeSet::new());
    // `each_run` does not show the rehearsals.
    let search = Runner::new().hermetic().strategy("exhaustive").seeds(0..RUNS_MAX);
    let report = search.each_run(keep, |run| {
        assert_eq!(run.outcome, Outcome::Passed);
        all.insert(seen());
        all_classes.insert(class_of(&run));
    });
    assert!(report.passed(), "{:?}", report.finding);
    if !report.searched.is_some_and(|searched| searched.is_proof()) {
        return BTreeSet::new();
    }
    let random = Runner::new().hermetic().strategy("random");
    let is_new = |seed: u64| {
        let run = random.run_seed(seed, keep);
        assert_eq!(run.outcome, Outcome::Passed);
        let (seen, class) = (seen(), class_of(&run));
        let known = all.contains(&seen) && (!classes || all_classes.contains(&class));
        (!known).then_some(seen)
    };
    (0..seeds).filter_map(is_new).collect()
}
