//! The evidence of a register: the order of the blocks before the event that contradicts it.

use super::{Register, Replayed, open};
use crate::model::Model;
use crate::online::orders::WINDOW;
use crate::online::{ENGINE, aborted_read};
use crate::verdict::Evidence;

impl<M: Model> Register<M> {
    /// Returns the evidence that the call in `slot` cannot have its result. The return of the call may already have
    /// changed the blocks, but not the kept calls.
    pub(in crate::online) fn misfit(&self, slot: usize) -> Box<Evidence> {
        // The refused return may have added to the blocks, so the order comes from a new engine without this return.
        let before = self.replayed();
        let call = open(&self.slots, slot);
        let mut evidence = self.evidence(&before, call.number);
        evidence.expected = before.end().returns(&call.op).iter().map(M::ret_text).collect();
        evidence
    }

    /// Ends the call in `slot`, which did not take effect.
    ///
    /// # Errors
    /// The evidence that the call did take effect.
    pub(in crate::online) fn failed(&mut self, slot: usize) -> Result<(), Box<Evidence>> {
        let call = open(&self.slots, slot);
        if call.cluster != super::NONE && self.blocks.withdraw(call.cluster) {
            // A returned read or swap proves the effect, which the failure denies.
            let mut evidence = self.evidence(self, call.number);
            evidence.anomaly = Some(aborted_read(&M::op_text(&call.op)));
            return Err(evidence);
        }
        self.close(slot);
        Ok(())
    }

    /// Returns the evidence against the operation `misfit`, which is missing in the order of `before` or contradicts
    /// it.
    fn evidence(&self, before: &Register<M>, misfit: u64) -> Box<Evidence> {
        let order = before.order();
        let open = self.slots.iter().flatten();
        let mut part: Vec<usize> = open.map(|call| call.number as usize).collect();
        part.extend(&order);
        // A pending writer can also be in the order, because its value may have been read.
        part.sort_unstable();
        part.dedup();
        Box::new(Evidence {
            engine: ENGINE.to_owned(),
            partial: vec![order],
            misfit: misfit as usize,
            state: before.end().state_text(),
            part,
            ..Evidence::default()
        })
    }

    /// Returns the last operations of a linearization.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<u64> = self.forgotten().collect();
        for cluster in self.blocks.in_order() {
            if cluster.has_gap {
                // Some reads of this cluster are missing, so the operations before the gap are not adjacent to the
                // later operations.
                order.clear();
            } else {
                order.extend(cluster.writer.iter().map(|call| call.number));
            }
            let reads = cluster.reads.iter().skip(usize::from(cluster.has_gap));
            order.extend(reads.map(|call| call.number));
        }
        let more = order.len().saturating_sub(WINDOW);
        order.drain(..more);
        order.into_iter().map(|number| number as usize).collect()
    }

    /// Returns the state after this linearization.
    fn end(&self) -> &M {
        let last = self.blocks.in_order().pop();
        last.and_then(|cluster| cluster.state.as_ref()).unwrap_or(self.start())
    }

    /// Returns an engine that was fed with all kept calls.
    fn replayed(&self) -> Register<M> {
        let mut again = Register::of(self.blocks.before_replay());
        let mut slots = crate::hash::Table::default();
        for event in self.replay() {
            match event {
                Replayed::Invoke { op, number, .. } => {
                    let slot = again.invoke(op.clone(), number).or_else(|op| {
                        // This engine accepted the write of a value that was over. The read that proved this may have
                        // been dropped since, so the new engine could not accept the write.
                        again.forget_value_of(&op);
                        again.invoke(op, number)
                    });
                    slots.insert(
                        number,
                        slot.unwrap_or_else(|_| panic!("it was taken the first time")),
                    );
                }
                Replayed::Return { number, ret } => {
                    let taken = again.returned(slots[&number], ret);
                    taken.expect("it was taken the first time");
                }
                Replayed::Lost { number } => again.lost(slots[&number]),
            }
        }
        again
    }
}
