//! The search for sources: the cluster that each observer saw, and the value that each swap replaced.
//!
//! The search is depth-first and starts from the certain plan. First it places every observer with one cluster left,
//! and every observer that some cluster holds without any change of zones, because such a cluster restricts nothing.
//! Then the solver tries the clusters of one remaining call, starting with the cluster in the last plan. Failed swaps
//! come last, when it is known for each optional writer if its value is needed. Writers of unneeded values are
//! interchangeable, so a failed swap needs to try only a few.

use super::plan::{NONE, SourcePlan, Zone};
use super::pool::Pool;
use super::{Needs, SourceCall};
use crate::model::{Key, Model};
use crate::online::slab::Slab;

/// The maximum number of nested choices.
const DEPTH: usize = 400;

pub(super) struct SourceSearch<'a, M: Model> {
    pub(super) calls: &'a Slab<SourceCall<M>>,
    /// The writers that may take effect.
    pub(super) pools: &'a [&'a Pool],
    /// The earliest invocation of a call that needs a source.
    pub(super) since: u64,
    /// The remaining number of attempts to place a call.
    pub(super) left: u64,
    /// The number of plans tried.
    pub(super) visited: u64,
}

/// A plan in which every observer has its source.
pub(super) struct Solution {
    pub(super) plan: SourcePlan,
    /// The calls other than swaps, each with the cluster that it observes.
    pub(super) sources: Vec<(u32, u32)>,
}

/// The error of a search that used up its attempts.
pub(super) struct AttemptsExhausted;

/// The source of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Cluster(u32),
    /// A writer that does not take part yet.
    Optional(u32),
}

enum SourceStep {
    Failed,
    Free(u32),
    Only(Source),
    Several,
}

impl<M: Model> SourceSearch<'_, M> {
    pub(super) fn solve(
        &mut self,
        mut plan: SourcePlan,
        mut todo: Vec<u32>,
        mut sources: Vec<(u32, u32)>,
        depth: usize,
    ) -> Result<Option<Solution>, AttemptsExhausted> {
        self.visited += 1;
        loop {
            // Each forced placement may force another placement, so the pass repeats until nothing changes.
            let others = todo.len();
            let (mut changed, mut rest) = (false, Vec::with_capacity(others));
            for call in std::mem::take(&mut todo) {
                match self.step(&plan, call, others)? {
                    SourceStep::Failed => return Ok(None),
                    SourceStep::Free(at) => sources.push((call, at)),
                    SourceStep::Only(source) => {
                        self.place(&mut plan, call, source, &mut rest, &mut sources);
                        changed = true;
                    }
                    SourceStep::Several => rest.push(call),
                }
            }
            todo = rest;
            if !changed {
                break;
            }
        }
        // No remaining call is forced. Failed swaps are tried last, because it is then known which writers are needed.
        let is_last = |call: &u32| matches!(self.calls[*call].needs, Needs::Other(_));
        let next = todo.iter().position(|call| !is_last(call)).unwrap_or(0);
        if todo.is_empty() {
            return Ok(Some(Solution { plan, sources }));
        }
        // The stack must be bounded, because each level has a copy of the plan.
        if depth == DEPTH {
            return Err(AttemptsExhausted);
        }
        let call = todo.remove(next);
        let mut choices = self.candidates(&plan, call, todo.len(), usize::MAX)?;
        // The source in the last plan comes first, because most of that plan is usually still valid.
        let known = Source::Cluster(self.calls[call].at);
        if let Some(place) = choices.iter().position(|source| *source == known) {
            choices[..=place].rotate_right(1);
        }
        for source in choices {
            let (mut plan, mut todo, mut sources) = (plan.clone(), todo.clone(), sources.clone());
            self.place(&mut plan, call, source, &mut todo, &mut sources);
            if let Some(solution) = self.solve(plan, todo, sources, depth + 1)? {
                return Ok(Some(solution));
            }
        }
        Ok(None)
    }

    fn step(
        &mut self,
        plan: &SourcePlan,
        call: u32,
        others: usize,
    ) -> Result<SourceStep, AttemptsExhausted> {
        if let Some(at) = self.free(plan, call) {
            return Ok(SourceStep::Free(at));
        }
        // Two candidates are enough to show that the call is not forced.
        Ok(match self.candidates(plan, call, others, 2)?[..] {
            [] => SourceStep::Failed,
            [only] => SourceStep::Only(only),
            _ => SourceStep::Several,
        })
    }

    /// Returns a cluster that the call can observe without restricting other choices.
    pub(super) fn free(&self, plan: &SourcePlan, call: u32) -> Option<u32> {
        let it = &self.calls[call];
        if it.writes.is_some() {
            return None;
        }
        let known = it.at;
        let fits = |at: u32| {
            it.needs.allows(plan.clusters[at as usize].value) && plan.is_free(at, it.span())
        };
        // The source in the last plan usually still fits, and needs no scan.
        if plan.takes_part(known) && fits(known) {
            return Some(known);
        }
        plan.active().map(|(at, _)| at).find(|at| fits(*at))
    }

    /// Returns the cluster of a writer that takes part.
    pub(super) fn cluster(&self, plan: &SourcePlan, call: u32) -> Option<u32> {
        match self.calls[call].node {
            NONE => plan.of(call),
            at => plan.takes_part(at).then_some(at),
        }
    }

    /// Assigns a source to a call.
    pub(super) fn place(
        &self,
        plan: &mut SourcePlan,
        call: u32,
        source: Source,
        todo: &mut Vec<u32>,
        sources: &mut Vec<(u32, u32)>,
    ) {
        let at = match source {
            Source::Cluster(at) => at,
            Source::Optional(writer) => {
                let it = &self.calls[writer];
                let value = it.writes.expect("it is a writer");
                // A writer without a cluster has the node `NONE`, which is out of range.
                let at = match plan.clusters.get(it.node as usize) {
                    Some(_) => it.node,
                    None => plan.add(writer, value, it.invoked),
                };
                plan.begin(at);
                if matches!(it.needs, Needs::Value(_)) {
                    todo.push(writer);
                }
                at
            }
        };
        if self.calls[call].writes.is_some() {
            // A swap needs a source only after it was added to the plan.
            let own = self.cluster(plan, call).expect("a swap that takes part");
            plan.link(at, own);
        } else {
            plan.join(at, self.calls[call].span());
            sources.push((call, at));
        }
    }
}

impl<M: Model> SourceCall<M> {
    /// Returns the zone that the call adds to the cluster that it observes.
    pub(super) fn span(&self) -> Zone {
        Zone { first: self.returned, last: self.invoked }
    }
}

impl Needs {
    /// Returns `true` if a call can observe this value.
    pub(super) fn allows(self, value: Key) -> bool {
        match self {
            Needs::Nothing => false,
            Needs::Value(needed) => needed == value,
            Needs::Other(other) => other != value,
        }
    }
}
