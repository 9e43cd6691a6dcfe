//! Registers with values that are unique as long as they matter, in constant time per event.
//!
//! This is the online form of the engine in `unique/register.rs` (Gibbons and Korach 1997, theorem 4.2). All calls on
//! one value form a *cluster*: the writer and the readers of the value. A swap that took effect joins the clusters of
//! its two values into a *block*: the register holds these values one after another, without a break. A block must come
//! before another block if its first return is earlier than the last invocation in the other. Two blocks contradict
//! each other if each must come before the other; there is no other contradiction between blocks.
//!
//! A block can begin to contradict another block only if its last invocation becomes later. So each return compares its
//! block with the few blocks that had their first return in between. A lost write costs one entry in a table, until its
//! value is read.
//!
//! A value is *over* if another block came after its block and returned before all pending calls were invoked. No call
//! can read such a value any more, so it is forgotten and may be written again. This engine does not handle failed
//! swaps, nor writes of a value that still matters. At the first such call, [`replay`](Register::replay) feeds the
//! calls that still matter to the next engine.

use unpause_ordered::sort_by_key;
mod blocks;
mod evidence;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::blocks::{Blocks, NONE, ValueCluster};
use crate::model::Model;
use crate::unique::Action;

pub(super) struct Register<M: Model> {
    blocks: Blocks<M>,
    /// The time of the last event. Events of this engine have the times 1, 2, and so on.
    now: u64,
    /// The pending calls, by slot.
    slots: Vec<Option<OpenRegisterCall<M>>>,
    free: Vec<usize>,
    /// The invocations in the order of their times, with their slots. The entry of a call that has ended remains until
    /// it is the first entry.
    invoked: VecDeque<(u64, usize)>,
}

/// A pending call.
struct OpenRegisterCall<M: Model> {
    op: M::Op,
    number: u64,
    invoked: u64,
    /// The cluster that the call writes, or [`NONE`].
    cluster: u32,
}

/// A call kept for a replay.
struct KeptCall<M: Model> {
    op: M::Op,
    ret: Option<M::Ret>,
    number: u64,
    invoked: u64,
    /// The time of the return; `u64::MAX` while the call is pending, and forever if it is lost.
    returned: u64,
}

/// The reason why the engine refuses an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RegisterRefusal {
    /// No explanation of the events is possible.
    Violated,
    /// This engine does not handle the event.
    NotMine,
}

/// An event of a call that still matters, for a replay.
pub(super) enum Replayed<'a, M: Model> {
    /// `slot` is the slot of a pending call; `None` if the call has ended.
    Invoke {
        op: &'a M::Op,
        number: u64,
        slot: Option<usize>,
    },
    Return {
        number: u64,
        ret: &'a M::Ret,
    },
    Lost {
        number: u64,
    },
}

impl<M: Model> Register<M> {
    /// Creates an engine for an object that begins in state `initial`, if it is a register.
    pub(super) fn new(initial: &M) -> Option<Self> {
        let value = initial.register_value()?;
        Some(Register::of(Blocks::new(initial.clone(), value)))
    }

    fn of(blocks: Blocks<M>) -> Self {
        Register { blocks, now: 0, slots: Vec::new(), free: Vec::new(), invoked: VecDeque::new() }
    }

    /// Begins a call. Returns its slot.
    ///
    /// # Errors
    /// The operation, if this engine does not handle it.
    pub(super) fn invoke(&mut self, op: M::Op, number: u64) -> Result<usize, M::Op> {
        let (value, from) = match M::register_action(&op, None) {
            Some(Action::Add(value)) => (Some(value), None),
            Some(Action::Swap(from, value)) => (Some(value), Some(from)),
            Some(Action::Nothing | Action::Peek(_) | Action::Absent(_)) => (None, None),
            _ => return Err(op),
        };
        if value.is_some_and(|value| self.blocks.has(value)) {
            // The value may be over already: values are forgotten only from time to time, so try that before the
            // refusal.
            self.forget();
            if value.is_some_and(|value| self.blocks.has(value)) {
                return Err(op);
            }
        }
        self.now += 1;
        let invoked = self.now;
        let cluster = value.map_or(NONE, |value| {
            let call = KeptCall { op: op.clone(), ret: None, number, invoked, returned: u64::MAX };
            self.blocks.add(ValueCluster::written(value, from, call))
        });
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(OpenRegisterCall { op, number, invoked, cluster });
        self.invoked.push_back((invoked, slot));
        Ok(slot)
    }

    /// Forgets the value that a write writes or a swap swaps in, although it may not be over.
    fn forget_value_of(&mut self, op: &M::Op) {
        if let Some(Action::Add(value) | Action::Swap(_, value)) = M::register_action(op, None) {
            self.blocks.forget_mapping(value);
        }
    }

    /// Ends the call in `slot` with the result `ret`. A refused event does not affect the replay.
    ///
    /// # Errors
    /// The reason why the event is refused.
    pub(super) fn returned(&mut self, slot: usize, ret: &M::Ret) -> Result<(), RegisterRefusal> {
        let OpenRegisterCall { op, number, invoked, cluster } = open(&self.slots, slot);
        let action = M::register_action(op, Some(ret)).ok_or(RegisterRefusal::NotMine)?;
        // The time advances only when the event is accepted. After a refusal, the replay describes the moment before
        // the event.
        let returned = self.now + 1;
        // A result can show that a writer wrote nothing, or that its write was a swap. The cluster of the writer is
        // then wrong, so another engine takes over.
        let is_as_invoked = match action {
            Action::Add(value) => self.blocks.is_written(*cluster, None, value),
            Action::Swap(from, value) => self.blocks.is_written(*cluster, Some(from), value),
            _ => *cluster == NONE,
        };
        match action {
            Action::Add(_) | Action::Swap(..) if is_as_invoked => {
                // The writer took effect, even if no call observed its value. The swaps that lead to the writer took
                // effect, too.
                self.blocks.settle(*cluster)?;
                self.blocks.wrote(*cluster, ret, returned)?;
            }
            Action::Peek(value) if is_as_invoked => {
                // The value has no cluster. Either it was never written, or it is over, or only failed calls wrote it.
                let cluster = self.blocks.find(value).ok_or(RegisterRefusal::Violated)?;
                self.blocks.settle(cluster)?;
                let (op, ret) = (op.clone(), Some(ret.clone()));
                let call = KeptCall { op, ret, number: *number, invoked: *invoked, returned };
                self.blocks.read(cluster, call)?;
            }
            Action::Nothing if is_as_invoked => {}
            // Usually a failed swap: which other value it saw is unknown.
            _ => return Err(RegisterRefusal::NotMine),
        }
        self.now = returned;
        self.close(slot);
        if self.blocks.is_full() {
            self.forget();
        }
        Ok(())
    }

    /// Ends the call in `slot`, whose result will never be known.
    pub(super) fn lost(&mut self, slot: usize) {
        let OpenRegisterCall { cluster, .. } = self.close(slot);
        if cluster != NONE {
            self.blocks.lost(cluster);
        }
    }

    /// Returns the numbers of pending calls, of lost calls that may take effect, of slots, and of calls kept.
    pub(super) fn sizes(&self) -> [usize; 4] {
        let slots = self.slots.len();
        let (lost, kept) = self.blocks.sizes();
        [slots - self.free.len(), lost, slots, kept]
    }

    /// Returns the number of slots.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Returns the initial state of a replay.
    pub(super) fn start(&self) -> &M {
        self.blocks.start()
    }

    /// Returns the last operations before a replay, in the order of a linearization.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = u64> {
        self.blocks.forgotten()
    }

    /// Returns the events of the calls that still matter, in order. An object that starts in state
    /// [`start`](Self::start) and processes these events allows the same later events as this object.
    pub(super) fn replay(&self) -> Vec<Replayed<'_, M>> {
        let open = self.slots.iter().enumerate();
        let open: Vec<(usize, &OpenRegisterCall<M>)> =
            open.filter_map(|(slot, open)| Some((slot, open.as_ref()?))).collect();
        // The times are doubled, so that the loss of a call fits between its invocation and the next event.
        let mut events: Vec<(u64, Replayed<'_, M>)> = Vec::new();
        for (slot, OpenRegisterCall { op, number, invoked, .. }) in &open {
            let slot = Some(*slot);
            events.push((2 * invoked, Replayed::Invoke { op, number: *number, slot }));
        }
        for call in self.blocks.kept() {
            let KeptCall { op, ret, number, invoked, returned } = call;
            if open.iter().any(|(_, open)| open.number == *number) {
                continue;
            }
            let number = *number;
            events.push((2 * invoked, Replayed::Invoke { op, number, slot: None }));
            events.push(match ret {
                Some(ret) => (2 * returned, Replayed::Return { number, ret }),
                // A loss may be replayed at once, because it does not determine the time of the effect.
                None => (2 * invoked + 1, Replayed::Lost { number }),
            });
        }
        sort_by_key(&mut events, |(time, _)| *time);
        events.into_iter().map(|(_, event)| event).collect()
    }

    fn close(&mut self, slot: usize) -> OpenRegisterCall<M> {
        self.free.push(slot);
        let open = self.slots[slot].take().expect("a call in flight has its slot until it ends");
        while let Some((invoked, slot)) = self.invoked.front() {
            // The slot may have been reused, so the time must match too.
            if self.slots[*slot].as_ref().is_some_and(|open| open.invoked == *invoked) {
                break;
            }
            self.invoked.pop_front();
        }
        open
    }

    /// Forgets the values that are over.
    fn forget(&mut self) {
        // If no call is pending, every later call is invoked after the last event.
        let oldest = self.invoked.front().map_or(self.now + 1, |(invoked, _)| *invoked);
        self.blocks.forget(oldest);
    }
}

/// Returns the call in an occupied slot.
fn open<M: Model>(slots: &[Option<OpenRegisterCall<M>>], slot: usize) -> &OpenRegisterCall<M> {
    slots[slot].as_ref().expect("a call in flight has its slot until it ends")
}
