//! The choice of sources: a small extension of the plan if possible, otherwise a new search.

use super::plan::{NONE, SourcePlan};
use super::pool::Pool;
use super::solve::{Source, SourceSearch};
use super::{Needs, Resources, SourceCall, Sources, SourcesRefusal};
use crate::model::Model;
use crate::online::closure::moves_max;

impl<M: Model> Sources<M> {
    /// Chooses the source of a swap that has just returned.
    pub(super) fn replaced(
        &mut self,
        call: u32,
        resources: &mut Resources<M>,
    ) -> Result<(), SourcesRefusal> {
        let node = self.calls[call].node;
        if self.chosen.clusters[node as usize].before != NONE {
            return Ok(());
        }
        match self.choice(call, resources)? {
            Some(source) => {
                self.take(call, source);
                Ok(())
            }
            None => self.choose(Vec::new(), resources),
        }
    }

    /// Chooses the source of an observer that returns.
    pub(super) fn observed(
        &mut self,
        call: u32,
        ret: &M::Ret,
        needs: Needs,
        resources: &mut Resources<M>,
    ) -> Result<(), SourcesRefusal> {
        // A certain swap took effect in every choice, so it cannot have failed.
        if self.calls[call].certain {
            return Err(SourcesRefusal::Violated);
        }
        // A swap that failed wrote nothing, so observers of its value need another source.
        let was_source = self.withdraw(call);
        let writes = self.calls[call].writes.take();
        let node = std::mem::replace(&mut self.calls[call].node, NONE);
        let own_needs = std::mem::replace(&mut self.calls[call].needs, needs);
        self.end(call, ret);
        self.observers.push(call);
        let found =
            if was_source { Err(SourcesRefusal::Violated) } else { self.extend(call, resources) };
        let found = match found {
            Err(SourcesRefusal::Violated) => self.choose(vec![call], resources),
            other => other,
        };
        // Restore the call, so that the evidence describes the history without this return.
        if matches!(found, Err(SourcesRefusal::Violated)) {
            self.observers.pop();
            let it = &mut self.calls[call];
            (it.writes, it.node, it.needs, it.ret) = (writes, node, own_needs, None);
            it.returned = u64::MAX;
        }
        found
    }

    /// Extends the chosen plan with an observer that returns. `Violated` means that this plan cannot be extended.
    fn extend(&mut self, call: u32, resources: &mut Resources<M>) -> Result<(), SourcesRefusal> {
        let pools = [&self.pool];
        let search = self.search(&pools, resources);
        let free = search.free(&self.certain, call);
        if let Some(at) = free {
            // The zones of the chosen plan include the zones of the certain plan.
            self.calls[call].at = at;
            return Ok(());
        }
        let found = match search.free(&self.chosen, call) {
            Some(at) => Some(Source::Cluster(at)),
            None => self.choice(call, resources)?,
        };
        let source = found.ok_or(SourcesRefusal::Violated)?;
        self.take(call, source);
        self.open_ended.push(call);
        Ok(())
    }

    /// Returns a source that keeps the chosen plan consistent. The source itself must not need a source. `None` if
    /// there is no such source.
    fn choice(
        &mut self,
        call: u32,
        resources: &mut Resources<M>,
    ) -> Result<Option<Source>, SourcesRefusal> {
        let pools = [&self.pool];
        let mut search = self.search(&pools, resources);
        search.since = self.calls[call].invoked;
        let choices = search.candidates(&self.chosen, call, 1, usize::MAX)?;
        let is_simple = |source: &Source| match source {
            Source::Cluster(_) => true,
            Source::Optional(writer) => matches!(self.calls[*writer].needs, Needs::Nothing),
        };
        Ok(choices.into_iter().find(is_simple))
    }

    /// Assigns a source to a call in the chosen plan.
    fn take(&mut self, call: u32, source: Source) {
        let at = match source {
            Source::Cluster(at) => at,
            Source::Optional(writer) => {
                let it = &mut self.calls[writer];
                if it.node == NONE {
                    let value = it.writes.expect("it is a writer");
                    it.node = self.certain.add(writer, value, it.invoked);
                    self.chosen.add(writer, value, it.invoked);
                }
                self.chosen.begin(it.node);
                it.node
            }
        };
        let it = &mut self.calls[call];
        match it.writes {
            Some(_) => self.chosen.link(at, it.node),
            None => {
                it.at = at;
                self.chosen.join(at, it.span());
            }
        }
    }

    /// Chooses all uncertain sources again, including the sources of the `more` calls.
    pub(super) fn choose(
        &mut self,
        more: Vec<u32>,
        resources: &mut Resources<M>,
    ) -> Result<(), SourcesRefusal> {
        // A choice without spent writers remains valid. A choice with spent writers is valid only if other writers can
        // replace them.
        for with_spent in [false, true] {
            if with_spent && self.debts.is_empty() {
                break;
            }
            let mut todo = more.clone();
            todo.extend(self.open_ended.iter().rev());
            let pools = [&self.pool, &self.spent];
            let pools = if with_spent { &pools[..] } else { &pools[..1] };
            let mut search = self.search(pools, resources);
            let since = todo.iter().map(|call| self.calls[*call].invoked).min();
            search.since = since.unwrap_or(u64::MAX);
            let outcome = search.solve(self.certain.clone(), todo, Vec::new(), 0);
            resources.visited += search.visited;
            let Some(solution) = outcome? else { continue };
            if with_spent && !self.exchange(&solution.plan) {
                return Err(SourcesRefusal::TooMany);
            }
            // Both plans number the clusters in the same way, even clusters that take part in only one plan.
            for at in self.certain.clusters.len()..solution.plan.clusters.len() {
                let it = &solution.plan.clusters[at];
                self.calls[it.call].node = self.certain.add(it.call, it.value, it.invoked);
            }
            self.chosen = solution.plan;
            for (call, at) in solution.sources {
                self.calls[call].at = at;
            }
            self.open_ended.extend(more);
            return Ok(());
        }
        Err(SourcesRefusal::Violated)
    }

    /// Replaces the spent writers that a plan uses by other writers for their purposes. Returns `true` if that is
    /// possible.
    fn exchange(&mut self, plan: &SourcePlan) -> bool {
        for debt in &mut self.debts {
            if plan.of(debt.call).is_none() {
                continue;
            }
            let is_fit = |invoked: u64, call: u32| {
                invoked < debt.before && self.calls[call].lost && plan.of(call).is_none()
            };
            let it = &self.calls[debt.call];
            let value = it.writes.expect("it is a writer");
            let other = match (&debt.others, it.needs.value()) {
                (Some(values), _) => {
                    let mut all = self.pool.by_time();
                    all.find(|(time, call, value)| is_fit(*time, *call) && !values.contains(value))
                        .map(|(_, call, _)| call)
                }
                (None, from) => {
                    let equal =
                        from.map_or(self.pool.plain(value), |from| self.pool.swaps(from, value));
                    equal.iter().find(|(time, call)| is_fit(*time, *call)).map(|(_, call)| *call)
                }
            };
            // The earlier exchanges are not undone, because the check then gives up.
            let Some(other) = other else { return false };
            let own = std::mem::replace(&mut debt.call, other);
            let Sources { calls, pool, spent, .. } = self;
            calls[own].moves(own, spent, pool);
            calls[other].moves(other, pool, spent);
            let (own, other) = (self.calls[own].number, self.calls[other].number);
            self.forgotten
                .iter_mut()
                .filter(|number| **number == own)
                .for_each(|number| *number = other);
        }
        true
    }

    pub(super) fn search<'a>(
        &'a self,
        pools: &'a [&'a Pool],
        resources: &Resources<M>,
    ) -> SourceSearch<'a, M> {
        SourceSearch {
            calls: &self.calls,
            pools,
            since: u64::MAX,
            left: moves_max(resources.limit),
            visited: 0,
        }
    }
}

impl<M: Model> SourceCall<M> {
    /// Moves the writer with the index `own` from one pool to the other.
    pub(super) fn moves(&self, own: u32, from: &mut Pool, to: &mut Pool) {
        let value = self.writes.expect("it is a writer");
        from.remove(own, self.invoked, value, self.needs.value());
        to.add(own, self.invoked, value, self.needs.value());
    }
}
