//! Plans: clusters joined into blocks, with the zones that order the blocks.
//!
//! A cluster is a writer with the calls that observe its value. A block is a chain of clusters joined by swaps. The
//! zone of a block is (`first`, `last`): its earliest return (`u64::MAX` without a return) and its latest invocation.
//! Block P must come before block Q if `P.first < Q.last`. A plan is consistent if no two blocks must each come before
//! the other (Gibbons and Korach 1997, theorem 4.2). Each function takes time linear in the number of clusters. A
//! cluster that does not take part has the zone (`u64::MAX`, 0), which contradicts no other zone.

use crate::model::Key;
use unpause_ordered::sort;

/// The index for "no call" or "no cluster".
pub(super) const NONE: u32 = u32::MAX;

const EMPTY: Zone = Zone { first: u64::MAX, last: 0 };

/// The earliest return and the latest invocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Zone {
    pub(super) fn with(self, other: Zone) -> Zone {
        Zone { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    fn precedes(self, other: Zone) -> bool {
        self.first < other.last
    }
}

#[derive(Clone, Copy)]
pub(super) struct SourceCluster {
    /// The writer.
    pub(super) call: u32,
    pub(super) value: Key,
    /// The time of the writer's invocation.
    pub(super) invoked: u64,
    pub(super) zone: Zone,
    /// The neighbours in the block.
    pub(super) before: u32,
    pub(super) after: u32,
    /// The first cluster of the block.
    pub(super) block: u32,
    /// The latest return of an observer that was dropped; 0 if all observers are kept.
    pub(super) gap: u64,
}

#[derive(Clone, Default)]
pub(super) struct SourcePlan {
    pub(super) clusters: Vec<SourceCluster>,
    /// The zone of each block, at the index of its first cluster. For all other clusters, the zone is empty.
    pub(super) zones: Vec<Zone>,
}

impl SourcePlan {
    /// Adds a cluster that does not take part yet.
    pub(super) fn add(&mut self, call: u32, value: Key, invoked: u64) -> u32 {
        let block = self.clusters.len() as u32;
        let (before, after) = (NONE, NONE);
        self.clusters.push(SourceCluster {
            call,
            value,
            invoked,
            zone: EMPTY,
            before,
            after,
            block,
            gap: 0,
        });
        self.zones.push(EMPTY);
        block
    }

    pub(super) fn takes_part(&self, at: u32) -> bool {
        self.clusters.get(at as usize).is_some_and(|cluster| cluster.zone != EMPTY)
    }

    pub(super) fn zone_of_block(&self, at: u32) -> Zone {
        self.zones[self.clusters[at as usize].block as usize]
    }

    /// Returns the cluster of a writer, if it takes part.
    pub(super) fn of(&self, call: u32) -> Option<u32> {
        let at = self.clusters.iter().position(|it| it.call == call && it.zone != EMPTY)?;
        Some(at as u32)
    }

    /// Returns the clusters that take part, latest first.
    pub(super) fn active(&self) -> impl Iterator<Item = (u32, &SourceCluster)> {
        let all = self.clusters.iter().enumerate().rev();
        all.filter(|(_, it)| it.zone != EMPTY).map(|(at, it)| (at as u32, it))
    }

    /// Returns `true` if a call with this span can observe the cluster without any change of zones. If the call
    /// observes this cluster, nothing else is restricted.
    pub(super) fn is_free(&self, at: u32, span: Zone) -> bool {
        let cluster = &self.clusters[at as usize];
        // A cut sets `first` to 0, so the first condition does not imply the third.
        cluster.zone.first <= span.first
            && cluster.zone.last >= span.last
            && cluster.invoked < span.first
    }

    /// Returns `true` if a call with this span can observe the cluster.
    pub(super) fn fits(&self, at: u32, span: Zone) -> bool {
        let cluster = &self.clusters[at as usize];
        // A call cannot observe a write that was invoked after the call returned.
        if span.first < cluster.invoked {
            return false;
        }
        let zone = cluster.zone.with(span);
        if zone == cluster.zone {
            return true;
        }
        // The order within a block is fixed by its swaps, so no later cluster may be required to come first.
        let mut place = cluster.before;
        while let Some(earlier) = self.clusters.get(place as usize) {
            if span.first < earlier.zone.last {
                return false;
            }
            place = earlier.before;
        }
        place = cluster.after;
        while let Some(later) = self.clusters.get(place as usize) {
            if later.zone.first < zone.last {
                return false;
            }
            place = later.after;
        }
        // Only a zone that has grown can contradict blocks that it did not contradict before.
        let before = self.zones[cluster.block as usize];
        let zone = before.with(zone);
        zone == before || self.is_clear(zone, cluster.block, NONE)
    }

    /// Returns `true` if a call with this span can observe a writer that does not take part yet.
    pub(super) fn fits_new(&self, invoked: u64, span: Zone) -> bool {
        let zone = Zone { first: span.first, last: span.last.max(invoked) };
        invoked < span.first && self.is_clear(zone, NONE, NONE)
    }

    /// Returns `true` if the swap of cluster `swap`, which begins its block, can replace the value of the cluster `at`.
    pub(super) fn fits_link(&self, at: u32, swap: u32) -> bool {
        let (from, to) = (&self.clusters[at as usize], &self.clusters[swap as usize]);
        if from.after != NONE || to.before != NONE || from.block == to.block {
            return false;
        }
        let (own, next) = (self.zones[from.block as usize], self.zones[to.block as usize]);
        // All calls on the replaced values must be invoked before a call on the new values returns.
        own.last < next.first && self.is_clear(own.with(next), from.block, to.block)
    }

    /// Returns `true` if the swap can replace the value of a writer that does not take part yet.
    pub(super) fn fits_link_new(&self, invoked: u64, swap: u32) -> bool {
        let block = self.clusters[swap as usize].block;
        let next = self.zones[block as usize];
        let zone = Zone { first: next.first, last: next.last.max(invoked) };
        invoked < next.first && self.is_clear(zone, block, NONE)
    }

    /// Adds a call with this span to a cluster. The writer of the cluster takes part from then on.
    pub(super) fn join(&mut self, at: u32, span: Zone) {
        let cluster = &mut self.clusters[at as usize];
        let span = Zone { first: span.first, last: span.last.max(cluster.invoked) };
        cluster.zone = cluster.zone.with(span);
        let zone = &mut self.zones[cluster.block as usize];
        *zone = zone.with(span);
    }

    /// Makes a writer take part in the plan.
    pub(super) fn begin(&mut self, at: u32) {
        self.join(at, Zone { first: u64::MAX, last: 0 });
    }

    pub(super) fn link(&mut self, at: u32, swap: u32) {
        let block = self.clusters[at as usize].block;
        self.clusters[at as usize].after = swap;
        self.clusters[swap as usize].before = at;
        // The joined block is identified by its first cluster, so its other clusters have no block zone.
        let joined = std::mem::replace(&mut self.zones[swap as usize], EMPTY);
        self.zones[block as usize] = self.zones[block as usize].with(joined);
        let mut place = swap;
        while let Some(cluster) = self.clusters.get_mut(place as usize) {
            cluster.block = block;
            place = cluster.after;
        }
    }

    /// Returns `true` if a block with this zone contradicts no other block.
    fn is_clear(&self, zone: Zone, own: u32, other: u32) -> bool {
        self.zones.iter().enumerate().all(|(at, it)| {
            // The zone includes the zones of `own` and `other`, so these two zones do not count.
            !(zone.precedes(*it) && it.precedes(zone)) || at as u32 == own || at as u32 == other
        })
    }

    /// Returns the clusters that take part, in the order of a linearization.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let mut blocks: Vec<(u64, u32)> = Vec::new();
        for (at, zone) in self.zones.iter().enumerate().filter(|(_, zone)| **zone != EMPTY) {
            blocks.push((zone.first.min(zone.last), at as u32));
        }
        // Blocks that do not contradict each other can follow each other in this order, see `unique/register.rs`.
        sort(&mut blocks);
        let mut order = Vec::with_capacity(self.clusters.len());
        for (_, mut place) in blocks {
            while let Some(cluster) = self.clusters.get(place as usize) {
                order.push(place);
                place = cluster.after;
            }
        }
        order
    }

    /// Keeps the clusters that have a new name in `names`, and renumbers them.
    pub(super) fn keep(&mut self, names: &[u32]) {
        let name = |old: u32| names.get(old as usize).copied().unwrap_or(NONE);
        let is_kept = |at: usize| names[at] != NONE;
        let mut at = 0;
        self.zones.retain(|_| {
            at += 1;
            is_kept(at - 1)
        });
        at = 0;
        self.clusters.retain(|_| {
            at += 1;
            is_kept(at - 1)
        });
        // A block that lost its beginning was cut before, so the first cluster of each block is kept.
        for cluster in &mut self.clusters {
            (cluster.before, cluster.after) = (name(cluster.before), name(cluster.after));
            cluster.block = name(cluster.block);
        }
    }
}
