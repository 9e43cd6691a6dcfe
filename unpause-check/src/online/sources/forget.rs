//! Decides which facts become certain, and which calls can be forgotten.
//!
//! *Certain.* Zones only grow, and a returned call gets no new possible sources. So the source of an observer is
//! certain in two cases. Either only one possible source is left, or the observer fits a source in the certain plan
//! without any change of zones.
//!
//! *Forgotten.* The chosen plan is cut in two, in the order of its linearization. The old part can be forgotten if no
//! call of the new part, and no pending or later call, can observe an old value, whatever is chosen. The condition: for
//! each old cluster D, the certain plan has a block that must come after D and that returned before the earliest
//! invocation among these calls. Under this condition, any choice for the whole remains valid if the old calls take
//! their sources from the chosen plan. New blocks only lose calls, and by the order of the cut no new block must come
//! before an old block. If the cut falls within a block, this block must certainly come before all other new blocks.
//!
//! Only lost writers can move from the new part to the old part. As long as few calls are kept, a part with an
//! uncertain writer is not forgotten. After that the writer is *spent*: no other call may have it as its source, unless
//! another lost writer can replace it in the old part. If only choices with irreplaceable spent writers are left,
//! linearizability is unknown. If no choice is left even with spent writers, the history is not linearizable.

use super::plan::{NONE, SourceCluster, SourcePlan, Zone};
use super::solve::Source;
use super::{Debt, Needs, Resources, Sources, SourcesRefusal};
use crate::model::Model;
use crate::online::orders::WINDOW;

/// The number of kept entries before the first search for entries to forget.
pub(super) const FEW: usize = 32;

/// The number of kept entries above which writers may be spent.
const MANY: usize = 96;

impl<M: Model> Sources<M> {
    /// Decides which sources are certain, and forgets calls that no longer matter.
    pub(super) fn tidy(&mut self, resources: &mut Resources<M>) -> Result<(), SourcesRefusal> {
        self.decide(resources)?;
        let order = self.chosen.in_order();
        let size = self.observers.len() + order.len();
        if let Some(old) = self.cut(&order, false) {
            self.forget(&order, old)?;
        }
        // Spending a writer may make a later answer unknown, so it happens only if many calls are kept.
        if size > MANY && self.observers.len() + self.chosen.clusters.len() > MANY / 2 {
            let order = self.chosen.in_order();
            if let Some(old) = self.cut(&order, true) {
                self.forget(&order, old)?;
            }
        }
        self.drop_observers();
        let left = self.observers.len() + self.chosen.clusters.len();
        self.full = left + FEW.max(left / 4);
        Ok(())
    }

    /// Makes the source of an observer certain if only one source is left.
    fn decide(&mut self, resources: &mut Resources<M>) -> Result<(), SourcesRefusal> {
        loop {
            let before = self.open_ended.len();
            for call in std::mem::take(&mut self.open_ended) {
                if !self.is_decided(call, before, resources)? {
                    self.open_ended.push(call);
                }
            }
            // A certain source may leave another call only one source, so the pass repeats.
            if self.open_ended.len() >= before {
                return Ok(());
            }
        }
    }

    fn is_decided(
        &mut self,
        call: u32,
        others: usize,
        resources: &mut Resources<M>,
    ) -> Result<bool, SourcesRefusal> {
        // Certainty must not depend on spent writers.
        let pools = [&self.pool, &self.spent];
        let pools = if self.debts.is_empty() { &pools[..1] } else { &pools[..] };
        let mut search = self.search(pools, resources);
        if let Some(at) = search.free(&self.certain, call) {
            self.calls[call].at = at;
            return Ok(true);
        }
        let choices = search.candidates(&self.certain, call, others, 2)?;
        let [only] = choices[..] else { return Ok(false) };
        let at = match only {
            Source::Cluster(at) => at,
            Source::Optional(writer) => {
                let it = &self.calls[writer];
                let (value, needs) = (it.writes.expect("it is a writer"), it.needs);
                let equal = match needs {
                    Needs::Value(from) => self.pool.swaps(from, value),
                    _ => self.pool.plain(value),
                };
                let has_equals = equal.len() > 1;
                let node = it.node;
                // An equal call may be the chosen source.
                if has_equals || !self.chosen.takes_part(node) {
                    return Ok(false);
                }
                self.make_certain(writer);
                node
            }
        };
        let it = &self.calls[call];
        match it.writes {
            Some(_) if self.chosen.clusters[it.node as usize].before == at => {
                self.certain.link(at, it.node);
                Ok(true)
            }
            None if it.at == at => {
                self.certain.join(at, it.span());
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Returns the length of the longest prefix of the order that can be forgotten.
    fn cut(&self, order: &[u32], may_spend: bool) -> Option<usize> {
        // For each position in the order: the earliest invocation among the calls in flight and the calls at or behind
        // this position whose source may change. Such calls must not observe a value before the cut.
        let in_flight = self.slots.iter().flatten().map(|call| self.calls[*call].invoked).min();
        let mut earliest = vec![in_flight.unwrap_or(u64::MAX); order.len() + 1];
        let mut places = vec![NONE; self.chosen.clusters.len()];
        order.iter().zip(0..).for_each(|(at, place)| places[*at as usize] = place);
        for call in &self.open_ended {
            let it = &self.calls[*call];
            let at = if it.writes.is_some() { it.node } else { it.at };
            let place = places[at as usize] as usize;
            earliest[place] = earliest[place].min(it.invoked);
        }
        // A cut at a position affects all calls behind it.
        for place in (0..order.len()).rev() {
            earliest[place] = earliest[place].min(earliest[place + 1]);
        }
        let (mut best, mut over) = (None, 0);
        for (place, at) in order.iter().enumerate() {
            let SourceCluster { call, after, .. } = self.chosen.clusters[*at as usize];
            if let Some(writer) =
                Some(call).filter(|call| *call != NONE).map(|call| &self.calls[call])
            {
                let is_lost = writer.lost && may_spend;
                if !(writer.certain || is_lost) {
                    break;
                }
            }
            over = over.max(self.first_return_after(*at));
            let earliest = earliest[place + 1];
            if over < earliest
                && (after == NONE || self.is_first(*at, after, &order[place + 1..], earliest))
            {
                best = Some(place + 1);
            }
        }
        best
    }

    /// Returns the earliest first return among the blocks that must come after a cluster.
    fn first_return_after(&self, at: u32) -> u64 {
        if !self.certain.takes_part(at) {
            return 0;
        }
        let own = &self.certain.clusters[at as usize];
        let zone = self.certain.zone_of_block(at);
        let mut over = u64::MAX;
        for (other, later) in self.certain.zones.iter().enumerate() {
            if other as u32 != own.block && zone.first < later.last {
                over = over.min(later.first);
            }
        }
        let mut place = own.after;
        while let Some(later) = self.certain.clusters.get(place as usize) {
            over = over.min(later.zone.first);
            place = later.after;
        }
        over
    }

    /// Returns `true` if a block, cut after the cluster `at`, must come before all other new blocks.
    fn is_first(&self, at: u32, after: u32, new: &[u32], earliest: u64) -> bool {
        let own = self.certain.zone_of_block(at).first;
        let block = self.certain.clusters[at as usize].block;
        let is_later = |other: &u32| {
            let cluster = &self.certain.clusters[*other as usize];
            cluster.block == block
                || !self.certain.takes_part(*other)
                || self.certain.zone_of_block(*other).last > own
        };
        self.certain.clusters[at as usize].after == after
            && own < earliest
            && new.iter().all(is_later)
    }

    /// Forgets the first `old` clusters of the order.
    fn forget(&mut self, order: &[u32], old: usize) -> Result<(), SourcesRefusal> {
        // The old calls are executed again, because the remaining calls start from the resulting state.
        let (calls, has_gap) = self.linearization(&order[..old]);
        let mut state = self.start.clone();
        let mut next = Vec::new();
        for call in calls.iter().map(|call| &self.calls[*call]) {
            state.successors(&call.op, call.ret.as_ref(), &mut next);
            let value = call.writes.or(state.register_value());
            let place = next.iter().position(|next| next.register_value() == value);
            state = next.swap_remove(place.ok_or(SourcesRefusal::NotMine)?);
            next.clear();
        }
        self.start = state;
        // Calls before these calls are missing, so earlier operations must not be shown next to them.
        if has_gap {
            self.forgotten.clear();
        }
        self.forgotten.extend(calls.iter().map(|call| self.calls[*call].number));
        let more = self.forgotten.len().saturating_sub(WINDOW);
        self.forgotten.drain(..more);
        if let Some(after) =
            order.get(old).filter(|at| self.certain.clusters[**at as usize].before != NONE)
        {
            self.certain.cut_before(*after);
            self.chosen.cut_before(*after);
        }
        // Assign names from 0 to the clusters that remain, in their old order.
        let mut names = vec![NONE; self.chosen.clusters.len()];
        order[old..].iter().for_each(|at| names[*at as usize] = 0);
        let mut count = 0;
        for (at, name) in names.iter_mut().enumerate() {
            if *name == 0 {
                (*name, count) = (count, count + 1);
            }
            let call = self.chosen.clusters[at].call;
            if let Some(it) = self.calls.get_mut(call).filter(|it| it.node == at as u32) {
                it.node = *name;
            }
        }
        for at in &order[..old] {
            let SourceCluster { call, zone, after, .. } = self.chosen.clusters[*at as usize];
            if call == NONE {
                continue;
            }
            let it = &self.calls[call];
            if it.certain {
                self.calls.remove(call);
                continue;
            }
            // The writer takes effect in the old part although it is not certain, so it is spent from now on.
            it.moves(call, &mut self.pool, &mut self.spent);
            let is_plain = matches!(it.needs, Needs::Nothing) && after == NONE;
            let observers = self.observers.iter().map(|call| &self.calls[*call]);
            let mut others = is_plain.then(Vec::new);
            for observer in observers.filter(|it| it.at == *at) {
                match observer.needs {
                    Needs::Other(value) => others.iter_mut().for_each(|list| list.push(value)),
                    _ => others = None,
                }
            }
            self.debts.push(Debt { call, before: zone.first.min(zone.last), others });
        }
        let Sources { calls, open_ended, observers, .. } = self;
        observers.retain(|call| {
            let name = names[calls[*call].at as usize];
            match name {
                NONE => drop(calls.remove(*call)),
                _ => calls[*call].at = name,
            }
            name != NONE
        });
        open_ended.retain(|call| calls.get(*call).is_some());
        self.certain.keep(&names);
        self.chosen.keep(&names);
        Ok(())
    }

    /// Drops observers of clusters with many observers. Keeps the observers with the first return and with the last
    /// invocation.
    fn drop_observers(&mut self) {
        if self.observers.len() < 4 * WINDOW {
            return;
        }
        let mut counts = vec![0; self.chosen.clusters.len()];
        self.observers.iter().for_each(|call| counts[self.calls[*call].at as usize] += 1);
        let is_open = |call: &u32| self.open_ended.contains(call);
        let (mut dropped, mut gaps) = (Vec::new(), Vec::new());
        // The observers are in the order of their returns.
        for call in &self.observers {
            let it = &self.calls[*call];
            let at = it.at as usize;
            if counts[at] <= WINDOW || is_open(call) {
                continue;
            }
            let zone = self.certain.clusters[at].zone;
            counts[at] -= 1;
            gaps.push((at, it.returned));
            if it.returned > zone.first && it.invoked < zone.last {
                dropped.push(*call);
            }
        }
        for (at, gap) in gaps {
            self.certain.clusters[at].gap = gap;
            self.chosen.clusters[at].gap = gap;
        }
        for call in &dropped {
            self.calls.remove(*call);
        }
        let calls = &self.calls;
        self.observers.retain(|call| calls.get(*call).is_some());
    }

    /// Returns the calls of some clusters, each writer before its observers, and `true` if some calls before them are
    /// missing.
    pub(super) fn linearization(&self, order: &[u32]) -> (Vec<u32>, bool) {
        let mut by_cluster: Vec<(u32, u64, u32)> = Vec::with_capacity(self.observers.len());
        for call in &self.observers {
            let it = &self.calls[*call];
            by_cluster.push((it.at, it.returned, *call));
        }
        by_cluster.sort_unstable();
        let (mut calls, mut has_gap) = (Vec::new(), false);
        for at in order {
            let SourceCluster { call, gap, .. } = self.chosen.clusters[*at as usize];
            calls.extend(Some(call).filter(|call| *call != NONE));
            has_gap |= gap > 0;
            let begin = by_cluster.partition_point(|(other, ..)| other < at);
            let own = by_cluster[begin..].iter().take_while(|(other, ..)| other == at);
            calls.extend(own.map(|(.., call)| *call));
        }
        (calls, has_gap)
    }
}

impl SourcePlan {
    /// Cuts a block before a cluster. The cluster then comes before all others.
    fn cut_before(&mut self, at: u32) {
        self.clusters[at as usize].before = NONE;
        self.clusters[at as usize].zone.first = 0;
        let mut zone: Option<Zone> = None;
        let mut place = at;
        while let Some(cluster) = self.clusters.get_mut(place as usize) {
            cluster.block = at;
            zone = Some(zone.map_or(cluster.zone, |zone| zone.with(cluster.zone)));
            place = cluster.after;
        }
        self.zones[at as usize] = zone.expect("the block has this cluster");
    }
}
