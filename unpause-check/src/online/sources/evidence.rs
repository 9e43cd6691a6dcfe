//! The evidence against a history: the chosen plan before the event that left no choice.

use super::Sources;
use crate::model::Model;
use crate::online::orders::WINDOW;
use crate::online::{ENGINE, aborted_read};
use crate::verdict::Evidence;

impl<M: Model> Sources<M> {
    /// Returns the evidence that `call` cannot have its result.
    pub(super) fn misfit(&self, call: u32) -> Box<Evidence> {
        self.evidence(call, true)
    }

    /// Returns the evidence that `call` took effect.
    pub(super) fn aborted(&self, call: u32) -> Box<Evidence> {
        let mut evidence = self.evidence(call, false);
        evidence.expected.clear();
        evidence.anomaly = Some(aborted_read(&M::op_text(&self.calls[call].op)));
        evidence
    }

    fn evidence(&self, misfit: u32, returned: bool) -> Box<Evidence> {
        let clusters = self.chosen.in_order();
        // A swap that returned but replaced nothing has a cluster but no position.
        let is_placed = |at: &u32| {
            let it = &self.chosen.clusters[*at as usize];
            !(returned && it.call == misfit && it.before == super::NONE)
        };
        let clusters: Vec<u32> = clusters.into_iter().filter(is_placed).collect();
        let (calls, _) = self.linearization(&clusters);
        let calls: Vec<u32> = calls
            .into_iter()
            .filter(|call| *call != misfit || has_misfit(&clusters, self, misfit))
            .collect();
        let mut order: Vec<usize> = self.forgotten.iter().map(|number| *number as usize).collect();
        let (mut state, mut next, mut expected) = (self.start.clone(), Vec::new(), None);
        for call in &calls {
            let it = &self.calls[*call];
            let ret = it.ret.as_ref().filter(|_| *call != misfit);
            state.successors(&it.op, ret, &mut next);
            let value = it.writes.or(state.register_value());
            let place = next.iter().position(|next| next.register_value() == value);
            if *call == misfit {
                expected = Some(state.returns(&it.op));
            }
            if let Some(place) = place {
                state = next.swap_remove(place);
            }
            next.clear();
            order.push(it.number as usize);
        }
        // Only some observers of a large cluster are kept, so the evidence shows no order before such a gap.
        if let Some(gap) =
            clusters.iter().rposition(|at| self.chosen.clusters[*at as usize].gap > 0)
        {
            let gap = &self.chosen.clusters[clusters[gap] as usize];
            let before = calls.iter().rposition(|call| {
                *call == gap.call
                    || self.calls.get(*call).is_some_and(|it| {
                        it.ret.is_some() && it.returned <= gap.gap && it.writes.is_none()
                    })
            });
            order.drain(..order.len() - calls.len() + before.map_or(0, |place| place + 1));
        }
        let more = order.len().saturating_sub(WINDOW);
        order.drain(..more);
        let expected = expected.unwrap_or_else(|| state.returns(&self.calls[misfit].op));
        let open = self.slots.iter().flatten();
        let mut part: Vec<usize> = open.map(|call| self.calls[*call].number as usize).collect();
        part.extend(&order);
        part.push(self.calls[misfit].number as usize);
        part.sort_unstable();
        part.dedup();
        Box::new(Evidence {
            engine: ENGINE.to_owned(),
            partial: vec![order],
            misfit: self.calls[misfit].number as usize,
            state: state.state_text(),
            expected: expected.iter().map(M::ret_text).collect(),
            part,
            ..Evidence::default()
        })
    }
}

/// Returns `true` if the order contains a cluster of the misfit.
fn has_misfit<M: Model>(clusters: &[u32], sources: &Sources<M>, misfit: u32) -> bool {
    clusters.iter().any(|at| sources.chosen.clusters[*at as usize].call == misfit)
}
