//! The possible sources of a call: clusters that take part in a plan, and writers that do not take part yet.

use super::plan::{NONE, SourceCluster, SourcePlan};
use super::pool::Pool;
use super::solve::{AttemptsExhausted, Source, SourceSearch};
use super::{Needs, SourceCall};
use crate::model::{Key, Model};

impl<M: Model> SourceSearch<'_, M> {
    /// Returns at most `most` possible sources of a call, likely sources first. `others` is the number of remaining
    /// calls. Equal optional writers are represented by the first of them, if they were invoked before all calls that
    /// need a source.
    pub(super) fn candidates(
        &mut self,
        plan: &SourcePlan,
        call: u32,
        others: usize,
        most: usize,
    ) -> Result<Vec<Source>, AttemptsExhausted> {
        let it = &self.calls[call];
        let cluster = |_| self.cluster(plan, call).expect("a swap that takes part");
        let own = it.writes.map(cluster);
        let seeker = Seeker { search: self, plan, call: it, own };
        let mut found = Candidates { most, sources: Vec::new(), tried: 1 };
        seeker.add_clusters(&mut found);
        // The pool of spent writers, if any, is the last, so spent writers are tried last.
        for pool in self.pools {
            match it.needs {
                Needs::Nothing => {}
                Needs::Value(value) => seeker.add_writers(pool, value, &mut found),
                Needs::Other(_) if found.is_full() => {}
                Needs::Other(_) => seeker.add_writers_of_others(pool, others, &mut found),
            }
        }
        // The budget counts candidates, because each of them costs time linear in the number of clusters.
        self.left = self.left.checked_sub(found.tried).ok_or(AttemptsExhausted)?;
        Ok(found.sources)
    }
}

/// The candidates found so far.
struct Candidates {
    most: usize,
    sources: Vec<Source>,
    /// The number of clusters and writers tried.
    tried: u64,
}

impl Candidates {
    fn is_full(&self) -> bool {
        self.sources.len() >= self.most
    }

    /// Counts a tried source, and adds it if it fits.
    fn add(&mut self, source: Source, fits: bool) {
        self.tried += 1;
        if fits {
            self.sources.push(source);
        }
    }
}

/// A call that needs candidates for its source.
struct Seeker<'a, 's, M: Model> {
    search: &'a SourceSearch<'s, M>,
    plan: &'a SourcePlan,
    call: &'a SourceCall<M>,
    /// The cluster of the call, if it is a swap.
    own: Option<u32>,
}

impl<M: Model> Seeker<'_, '_, M> {
    /// Adds the clusters that take part. These clusters come first, because they require no new writer in the plan.
    fn add_clusters(&self, found: &mut Candidates) {
        let (plan, span) = (self.plan, self.call.span());
        for (at, cluster) in plan.active() {
            if found.is_full() {
                break;
            }
            if self.call.needs.allows(cluster.value) {
                let fits = match self.own {
                    Some(own) => plan.fits_link(at, own),
                    None => plan.fits(at, span),
                };
                found.add(Source::Cluster(at), fits);
            }
        }
    }

    /// Adds the writers of the value that the call needs.
    fn add_writers(&self, pool: &Pool, value: Key, found: &mut Candidates) {
        let plain = self.usable(pool.plain(value)).into_iter();
        let from = pool.sources(value).filter(|from| self.is_there(*from));
        let swaps = from.flat_map(|from| self.usable(pool.swaps(from, value)));
        self.add_all(plain.chain(swaps), found);
    }

    /// Adds writers of values that a failed swap can see. `others` is the number of other remaining calls.
    fn add_writers_of_others(&self, pool: &Pool, others: usize, found: &mut Candidates) {
        let from = self.replaceable(pool);
        let needs = self.call.needs;
        // Each other remaining call needs one value, and swaps also need the values that they replace. So among this
        // many values, at least one is not needed by any other call, and it can represent the remaining values.
        let plain = self.representatives(pool, others + 2 + from.len());
        let swaps = from.into_iter().flat_map(|from| pool.replacing(from));
        let swaps = swaps.filter(|(value, _)| needs.allows(*value));
        let swaps = swaps.flat_map(|(_, equal)| self.usable(equal));
        self.add_all(plain.into_iter().chain(swaps), found);
    }

    /// Returns the values that swaps of the pool could replace in this plan, sorted and without duplicates.
    fn replaceable(&self, pool: &Pool) -> Vec<Key> {
        let mut from: Vec<Key> = match self.search.pools {
            // With one pool, `inner` lists the values that one writer writes and another replaces. `inner` does not
            // relate two pools.
            [_] => {
                let ends = self.plan.active().filter(|(_, it)| it.after == NONE);
                ends.map(|(_, it)| it.value).chain(pool.inner().iter().copied()).collect()
            }
            _ => pool.replaced().filter(|from| self.is_there(*from)).collect(),
        };
        from.sort_unstable();
        from.dedup();
        from
    }

    /// Returns plain writers that the call could observe, with `enough` different values if possible.
    fn representatives(&self, pool: &Pool, enough: usize) -> Vec<u32> {
        let needs = self.call.needs;
        let mut seen: Vec<(u32, Key)> = Vec::new();
        if pool.number_of_values() > enough {
            // A writer invoked before the call adds nothing to the zone, so such writers differ only in their values.
            let before = pool.by_time().take_while(|(time, ..)| *time < self.call.invoked);
            for (_, optional, value) in before {
                let is_new = seen.iter().all(|(_, other)| *other != value);
                if is_new && needs.allows(value) && self.is_unused(optional) {
                    seen.push((optional, value));
                }
                if seen.len() == enough {
                    break;
                }
            }
        }
        if seen.len() < enough {
            let values = pool.values().filter(|(value, _)| needs.allows(*value));
            return values.flat_map(|(_, equal)| self.usable(equal)).collect();
        }
        seen.into_iter().map(|(optional, _)| optional).collect()
    }

    /// Adds writers that do not take part yet, if they fit.
    fn add_all(&self, writers: impl Iterator<Item = u32>, found: &mut Candidates) {
        for writer in writers {
            if found.is_full() {
                break;
            }
            let (plan, invoked) = (self.plan, self.search.calls[writer].invoked);
            let fits = match self.own {
                Some(own) => plan.fits_link_new(invoked, own),
                None => plan.fits_new(invoked, self.call.span()),
            };
            found.add(Source::Optional(writer), fits);
        }
    }

    fn is_unused(&self, call: u32) -> bool {
        self.search.cluster(self.plan, call).is_none()
    }

    /// Returns the writers to try among equal writers. Equal writers that were invoked before all calls that need a
    /// source are interchangeable. A later writer is more restricted, and leaves an earlier writer to other calls.
    fn usable(&self, equal: &[(u64, u32)]) -> Vec<u32> {
        // A source must have been invoked before the first return of the calls that depend on it.
        let until = match self.own {
            Some(own) => self.plan.zone_of_block(own).first,
            None => self.call.span().first,
        };
        let begin = equal.partition_point(|(invoked, _)| *invoked < self.search.since);
        let mut before = equal[..begin].iter().map(|(_, call)| *call);
        let before = before.find(|call| self.is_unused(*call));
        let during = equal[begin..].iter().take_while(|(invoked, _)| *invoked < until);
        let during = during.map(|(_, call)| *call).filter(|call| self.is_unused(*call));
        before.into_iter().chain(during).collect()
    }

    /// Returns `true` if the value that a swap replaces may be available, in a cluster or from an optional call.
    fn is_there(&self, from: Key) -> bool {
        let has = |(_, it): (u32, &SourceCluster)| it.value == from && it.after == NONE;
        self.search.pools.iter().any(|pool| pool.has(from)) || self.plan.active().any(has)
    }
}
