//! Object accesses in the rehearsals: the contended objects, the number of accesses by each task, and the tasks with
//! the same accesses.

use super::known_objects::{KnownObject, KnownObjects};
use super::rehearsal::{REHEARSALS, Rehearsal};
use super::tally::TaskCounts;
use crate::run::choice::View;
use crate::run::op::Access;
use unpause_ordered::Map;

/// The number of accesses in each rehearsal.
pub(super) type AccessCounts = [u64; REHEARSALS as usize];

/// The accesses of the rehearsals.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    /// For each object and task of the rehearsals, the number of accesses, and a bit for each kind of access.
    seen: Map<(KnownObject, u32), (AccessCounts, u32)>,
}

impl Accesses {
    /// Adds the accesses of a completed rehearsal.
    pub(super) fn learn(
        &mut self,
        view: &View<'_>,
        (tally, objects): (&mut TaskCounts, &mut KnownObjects),
        rehearsal: &Rehearsal,
    ) {
        objects.meet(view, true);
        for event in view.events() {
            // A strategy cannot hold a task before an operation without a point.
            let access = event.op.access;
            let (Some(object), false) = (event.object, access.has_no_point()) else { continue };
            let Some(task) = tally.known(view, event.task, true) else { continue };
            let Some(object) = objects.of(object) else { continue };
            let (counts, kinds) = self.seen.entry((object, task as u32)).or_default();
            counts[rehearsal.remaining() as usize] += 1;
            *kinds |= bit(access);
        }
    }

    /// Returns the objects that several tasks access, each with the number of these tasks. Leaves out objects that all
    /// tasks only read.
    pub(super) fn contested(&self) -> Vec<(KnownObject, u64)> {
        let mut tasks: Map<KnownObject, (u64, bool)> = Map::new();
        for ((object, _), (_, kinds)) in &self.seen {
            let (count, writes) = tasks.entry(*object).or_default();
            *count += 1;
            *writes |= *kinds != bit(Access::Read);
        }
        let contested = tasks.into_iter().filter(|(_, (count, writes))| *count > 1 && *writes);
        contested.map(|(object, (count, _))| (object, count)).collect()
    }

    /// Returns the tasks that access an object, with their numbers of accesses.
    pub(super) fn by_task(
        &self,
        object: KnownObject,
    ) -> impl Iterator<Item = (usize, &AccessCounts)> {
        let those = self.seen.range((object, 0)..=(object, u32::MAX));
        those.map(|((_, task), (counts, _))| (*task as usize, counts))
    }

    /// Returns the part of each task, a number starting at 0. Two tasks have the same part if they access the same
    /// subset of `objects` with the same kinds of access. `None` for a task that accesses none of `objects`.
    pub(super) fn parts(&self, objects: &[KnownObject], tasks: usize) -> Vec<Option<u32>> {
        let mut does: Vec<Vec<(KnownObject, u32)>> = vec![Vec::new(); tasks];
        for ((object, task), (_, kinds)) in &self.seen {
            if objects.binary_search(object).is_ok() {
                does[*task as usize].push((*object, *kinds));
            }
        }
        let mut parts = Map::new();
        let part_of = |does: Vec<_>| {
            let next = parts.len() as u32;
            (!does.is_empty()).then(|| *parts.entry(does).or_insert(next))
        };
        does.into_iter().map(part_of).collect()
    }
}

/// Returns the bit for a kind of access.
fn bit(access: Access) -> u32 {
    1 << access as u32
}
