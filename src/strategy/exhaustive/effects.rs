//! What a step might have done if other tasks had come first.
//!
//! One poll of a task is one step, but what follows its operation may hang on what that saw: a lock is given
//! up, a task ends or aborts another one if a value is odd. A search that turns two steps round takes both for
//! what they were, and could take one for a step that commutes with others though in the other order it did
//! something else. So what the steps at a place of a task did in one run is held to be possible in all.
//!
//! Three things are followed: to give up a lock, to end, and to abort tasks. What nobody can see makes no
//! difference: where no lock is tried it does not matter in which step one is given up, and where nobody looks
//! whether a task has ended, not in which it ends.

use std::collections::{BTreeMap, BTreeSet};

use crate::choice::TaskRow;
use crate::ids::Place;
use crate::op::Access;
use crate::strategy::footprint::{Effect, Item};
use crate::strategy::happens_before::mix;

/// A place in a task: its name, how many segments it has had, and where in the source it is.
type Spot = (u64, usize, Place);

/// What steps did besides the operation that they had announced, from run to run.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Where in the source the task was; none if it had announced nothing, or was aborted.
    at: Option<Place>,
    seen: Seen,
    known: BTreeMap<Spot, Known>,
    /// Whether anybody acts on whether a lock is free.
    tries: bool,
    /// The tasks of which somebody acts on whether they have ended, by name.
    looked_at: BTreeSet<u64>,
}

/// What a step did besides its operation.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    releases: bool,
    ends: bool,
    /// A number for the tasks that it aborted.
    aborts: u64,
}

/// What the steps at a place did in several runs.
#[derive(Clone, Copy, Debug)]
struct Known {
    first: Seen,
    /// Whether some did and some did not.
    releases: bool,
    ends: bool,
    aborts: bool,
}

impl Effects {
    /// The task in this row is about to step.
    pub(super) fn begin(&mut self, row: &TaskRow) {
        let first = row.announced.iter().find(|announced| announced.enabled);
        let first = first.filter(|_| !row.aborted);
        self.at = first.map(|announced| announced.place);
    }

    /// The step did this, and aborted the tasks of these names.
    pub(super) fn end(&mut self, items: &[Item], aborted: impl Iterator<Item = u64>) {
        let releases = |item: &Item| matches!(item, Item::Object { access: Access::Unlock, .. });
        self.seen = Seen {
            releases: items.iter().any(releases),
            ends: items.contains(&Item::Ended),
            aborts: aborted.fold(0, |all, name| all.wrapping_add(mix(name, 0))),
        };
    }

    /// Notes the step, which is the one after so many segments of the task with this name. Whether more is
    /// possible, there or elsewhere, than was known.
    pub(super) fn learn(
        &mut self,
        (task, segments): (u64, usize),
        items: &[Item],
        names: &[u64],
    ) -> bool {
        let mut news = false;
        for item in items {
            match item {
                Item::Object { access: Access::TryLock, .. } if !self.tries => {
                    self.tries = true;
                    news |= self.known.values().any(|known| known.releases);
                }
                Item::Looked(target) => {
                    let target = names.get(target.index()).copied().unwrap_or_default();
                    if self.looked_at.insert(target) {
                        let mut known = self.known.iter();
                        news |= known.any(|(spot, known)| spot.0 == target && known.ends);
                    }
                }
                _ => {}
            }
        }
        let Some(at) = self.at else { return news };
        let before = self.maybe(task, segments).count();
        let seen = self.seen;
        let fresh = Known { first: seen, releases: false, ends: false, aborts: false };
        let known = self.known.entry((task, segments, at)).or_insert(fresh);
        known.releases |= known.first.releases != seen.releases;
        known.ends |= known.first.ends != seen.ends;
        known.aborts |= known.first.aborts != seen.aborts;
        news || self.maybe(task, segments).count() > before
    }

    /// What the step does that was noted last, or might have done.
    pub(super) fn maybe(&self, task: u64, segments: usize) -> impl Iterator<Item = Effect> + use<> {
        let known = self.at.and_then(|at| self.known.get(&(task, segments, at)));
        let is = |holds: fn(&Known) -> bool| known.is_some_and(holds);
        let releases = (self.tries && is(|known| known.releases)).then_some(Effect::Releases);
        let ends = is(|known| known.ends) && self.looked_at.contains(&task);
        let ends = ends.then_some(Effect::Ends);
        let aborts = is(|known| known.aborts).then_some(Effect::Aborts);
        releases.into_iter().chain(ends).chain(aborts)
    }
}
