//! The smallest failing run that was found: it is shrunk, has no older stores if possible, and has few preemptions.

use super::confirm::shrunk;
use super::session::Session;
use super::{prove, why, with_sc};
use crate::report::{Proof, Shrinking, Size, WithSc};
use crate::run::Run;

/// The smallest run found that has a failure.
pub(super) struct Smallest {
    pub(super) run: Run,
    pub(super) shrunk: Option<Shrinking>,
    /// A proof about the run, if the settings request one.
    pub(super) proof: Option<Proof>,
    pub(super) with_sc: Option<WithSc>,
}

impl Smallest {
    /// Returns a run that was not shrunk.
    pub(super) fn of(run: Run) -> Smallest {
        Smallest { run, shrunk: None, proof: None, with_sc: None }
    }
}

/// Returns the smallest run found that fails like `run`, which was found in `runs` runs. A run without older stores
/// counts as smaller. The returned run never has more steps than `run`.
pub(super) fn smallest(session: &Session<'_>, run: Run, runs: u64) -> Smallest {
    let original = Size::of(&run);
    // If the minimum number of preemptions will be proven, a shorter run with more preemptions must not replace the
    // original.
    let most = (session.config.prove > 0).then_some(original.preemptions);
    let (mut run, mut shrinking) = shrunk(session, run, most);
    let tried = shrinking.as_ref().and_then(|_| with_sc::find(session, &run, runs));
    let (with_sc, newest) = tried.map_or((None, None), |(with_sc, run)| (Some(with_sc), run));
    if let Some((newest, more)) = newest.and_then(|run| shrunk_newest(session, run, &original)) {
        let before = shrinking.map_or(0, |shrinking| shrinking.replays);
        run = newest;
        shrinking = Some(Shrinking { replays: more.replays.saturating_add(before), ..more });
    }
    let Some(mut shrinking) = shrinking.filter(|_| session.config.prove > 0) else {
        return Smallest { run, shrunk: shrinking, proof: None, with_sc };
    };
    let (mut runs, at_first) = (0, shrinking.size.preemptions);
    loop {
        let left = session.config.prove - runs;
        let (proof, better) = prove::prove(session, &run, left);
        runs += proof.runs;
        let Some(better) = better else {
            let saved = at_first.saturating_sub(Size::of(&run).preemptions);
            let (shrunk, proof) = (Some(shrinking), Some(Proof { runs, saved, ..proof }));
            return Smallest { run, shrunk, proof, with_sc };
        };
        // The run with fewer preemptions may be longer, and may shrink in other ways.
        let fewest = Size::of(&better).preemptions;
        let (smaller, more) = shrunk(session, better, Some(fewest));
        let more_replays = more.map_or(0, |more| more.replays);
        shrinking.replays = shrinking.replays.saturating_add(more_replays);
        let size = Size::of(&smaller);
        if size.steps > original.steps {
            // The search tries runs in ascending order of preemptions, so no failing run has fewer preemptions than
            // this one.
            let longer = Some(size.steps);
            let (fewest, saved) = (size.preemptions, 0);
            let proof = Proof { fewest, complete: true, runs, saved, longer, ..proof };
            return Smallest { run, shrunk: Some(shrinking), proof: Some(proof), with_sc };
        }
        run = smaller;
        shrinking.complete = more.is_some_and(|more| more.complete);
        shrinking.size = size;
    }
}

/// Shrinks a run in which each operation chooses the newest store. `None` if the result has more steps than `original`,
/// or an older store.
fn shrunk_newest(session: &Session<'_>, run: Run, original: &Size) -> Option<(Run, Shrinking)> {
    let most = (session.config.prove > 0).then(|| Size::of(&run).preemptions);
    let (run, shrinking) = shrunk(session, run, most);
    let is_good = run.steps.len() as u64 <= u64::from(original.steps) && why::sees_newest(&run);
    shrinking.filter(|_| is_good).map(|shrinking| (run, shrinking))
}
