//! What tasks do to objects in the rehearsals: for which objects they compete, and how often each
//! accesses them.

use std::collections::BTreeMap;

use super::rehearsal::{REHEARSALS, Rehearsal};
use super::tally::Tally;
use crate::choice::View;
use crate::ids::ObjectId;
use crate::op::Access;

/// A number of accesses for each rehearsal.
pub(super) type Counts = [u64; REHEARSALS as usize];

/// The accesses of the rehearsals.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    /// By object and task of the rehearsals: the accesses, and whether one was not to read.
    seen: BTreeMap<(ObjectId, u32), (Counts, bool)>,
}

impl Accesses {
    /// A rehearsal has ended.
    pub(super) fn learn(&mut self, view: &View<'_>, tally: &mut Tally, rehearsal: &Rehearsal) {
        for event in view.events() {
            // What is done without a point holds nobody up.
            let access = event.op.access;
            let (Some(object), false) = (event.object, access == Access::Unlock) else { continue };
            let Some(task) = tally.known(view, event.task, true) else { continue };
            let (counts, writes) = self.seen.entry((object, task as u32)).or_default();
            counts[rehearsal.left() as usize] += 1;
            *writes |= access != Access::Read;
        }
    }

    /// The objects that several tasks access, not all of them to read, each with the number of these
    /// tasks.
    pub(super) fn contested(&self) -> Vec<(ObjectId, u64)> {
        let mut tasks: BTreeMap<ObjectId, (u64, bool)> = BTreeMap::new();
        for ((object, _), (_, writes)) in &self.seen {
            let (count, any) = tasks.entry(*object).or_default();
            *count += 1;
            *any |= writes;
        }
        let contested = tasks.into_iter().filter(|(_, (count, writes))| *count > 1 && *writes);
        contested.map(|(object, (count, _))| (object, count)).collect()
    }

    /// The tasks that access an object, and how often.
    pub(super) fn of(&self, object: ObjectId) -> impl Iterator<Item = (usize, &Counts)> {
        let those = self.seen.range((object, 0)..=(object, u32::MAX));
        those.map(|((_, task), (counts, _))| (*task as usize, counts))
    }
}
