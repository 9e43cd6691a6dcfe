//! The engine of one part of an object: two special engines for registers as long as they apply, then the search.
//!
//! A [`Register`] takes constant time per event, but it handles only unique values and no failed swaps. At the first
//! other call, the calls that still matter are fed to [`Sources`], which handles every register in time linear in the
//! overlap. An [`OnlinePart`] handles every model.

use super::part::{OnlinePart, PartResult, Resources};
use super::register::{Register, RegisterRefusal, Replayed};
use super::sources::{Sources, Taken};
use crate::model::Model;
use crate::verdict::Limit;

pub(super) enum Engine<M: Model> {
    Register(Box<Register<M>>),
    Sources(Box<Sources<M>>),
    Search(OnlinePart<M>),
}

impl<M: Model> Engine<M> {
    pub(super) fn new(initial: &M) -> Self {
        match Register::new(initial) {
            Some(register) => Engine::Register(Box::new(register)),
            None => Engine::Search(OnlinePart::new(initial)),
        }
    }

    /// Begins a call. Returns its slot.
    pub(super) fn invoke(
        &mut self,
        op: M::Op,
        number: u64,
        resources: &mut Resources<M>,
    ) -> (usize, PartResult) {
        let mut op = op;
        // At most two rounds hand over, because the search accepts every call.
        loop {
            let refused = match self {
                Engine::Search(part) => return (part.invoke(op, number), PartResult::Something),
                Engine::Sources(sources) => sources.invoke(op, number, None),
                Engine::Register(register) => register.invoke(op, number),
            };
            match refused {
                Ok(slot) => return (slot, PartResult::Something),
                Err(refused) => op = refused,
            }
            let left = self.hand_over(resources);
            if !matches!(left, PartResult::Something) {
                // The status of the checker is final now, so no later event uses this slot.
                return (0, left);
            }
        }
    }

    /// Ends the call in `slot` with the result `ret`.
    #[must_use]
    pub(super) fn returned(
        &mut self,
        slot: usize,
        ret: &M::Ret,
        resources: &mut Resources<M>,
    ) -> PartResult {
        loop {
            match self {
                Engine::Search(part) => return part.returned(slot, ret, resources),
                Engine::Sources(sources) => {
                    resources.visited += 1;
                    if let Taken::Left(left) = sources.returned(slot, ret, resources) {
                        return left;
                    }
                }
                Engine::Register(register) => {
                    resources.visited += 1;
                    match register.returned(slot, ret) {
                        Ok(()) => return PartResult::Something,
                        Err(RegisterRefusal::Violated) => {
                            return PartResult::Nothing(register.misfit(slot));
                        }
                        // The refused return left the kept calls unchanged. The next engine replays these calls, and
                        // then receives this return.
                        Err(RegisterRefusal::NotMine) => {}
                    }
                }
            }
            let left = self.hand_over(resources);
            if !matches!(left, PartResult::Something) {
                return left;
            }
        }
    }

    /// Ends the call in `slot`, which did not take effect.
    #[must_use]
    pub(super) fn failed(&mut self, slot: usize, resources: &mut Resources<M>) -> PartResult {
        match self {
            Engine::Search(part) => part.failed(slot, resources),
            Engine::Sources(sources) => sources.failed(slot, resources),
            Engine::Register(register) => match register.failed(slot) {
                Ok(()) => PartResult::Something,
                Err(evidence) => PartResult::Nothing(evidence),
            },
        }
    }

    /// Ends the call in `slot`, whose result will never be known.
    #[must_use]
    pub(super) fn lost(&mut self, slot: usize, resources: &mut Resources<M>) -> PartResult {
        match self {
            Engine::Search(part) => part.lost(slot, resources),
            Engine::Sources(sources) => {
                sources.lost(slot);
                PartResult::Something
            }
            Engine::Register(register) => {
                register.lost(slot);
                PartResult::Something
            }
        }
    }

    /// Returns the number of possibilities.
    pub(super) fn possibilities(&self) -> usize {
        match self {
            Engine::Search(part) => part.possibilities(),
            Engine::Register(_) | Engine::Sources(_) => 1,
        }
    }

    /// Returns the numbers of pending calls, of lost calls that may take effect, of slots, and of entries kept for
    /// evidence.
    pub(super) fn sizes(&self) -> [usize; 4] {
        match self {
            Engine::Search(part) => part.sizes(),
            Engine::Register(register) => register.sizes(),
            Engine::Sources(sources) => sources.sizes(),
        }
    }

    /// Replaces this engine with the next engine.
    fn hand_over(&mut self, resources: &mut Resources<M>) -> PartResult {
        let (next, left) = match self {
            Engine::Register(register) => {
                // The effects of the forgotten operations are already in the start state. The numbers of these
                // operations are used only for evidence.
                let placed = register.forgotten();
                let sources = Sources::resumed(register.start(), register.slots(), placed);
                fed(Engine::Sources(Box::new(sources)), register.replay(), resources)
            }
            Engine::Sources(sources) => {
                // While a forgotten writer may still be exchanged, no start state is certain, so the search cannot take
                // over.
                let Some(events) = sources.replay() else {
                    return PartResult::TooMany(Limit::Nodes);
                };
                let part =
                    OnlinePart::resumed(sources.start(), sources.slots(), sources.forgotten());
                fed(Engine::Search(part), events, resources)
            }
            Engine::Search(_) => unreachable!("the search takes every event"),
        };
        *self = next;
        left
    }

    /// Begins a call in `slot`, which `resumed` reserved, or in a new slot.
    fn invoke_in(&mut self, slot: Option<usize>, op: M::Op, number: u64) -> Option<usize> {
        match self {
            Engine::Sources(sources) => sources.invoke(op, number, slot).ok(),
            Engine::Search(part) => Some(match slot {
                Some(slot) => {
                    part.invoke_in(slot, op, number);
                    slot
                }
                None => part.invoke(op, number),
            }),
            Engine::Register(_) => None,
        }
    }
}

/// Feeds an engine with the previous engine's calls that still matter. Pending calls keep their slots.
fn fed<M: Model>(
    mut engine: Engine<M>,
    events: Vec<Replayed<'_, M>>,
    resources: &mut Resources<M>,
) -> (Engine<M>, PartResult) {
    let mut slots = crate::hash::Table::default();
    for event in events {
        let left = match event {
            Replayed::Invoke { op, number, slot } => {
                let own = engine.invoke_in(slot, op.clone(), number);
                let own = own.expect("it was taken the first time");
                if slot.is_none() {
                    slots.insert(number, own);
                }
                PartResult::Something
            }
            Replayed::Return { number, ret } => match slots.remove(&number) {
                Some(slot) => engine.returned(slot, ret, resources),
                None => PartResult::Something,
            },
            Replayed::Lost { number } => match slots.remove(&number) {
                Some(slot) => engine.lost(slot, resources),
                None => PartResult::Something,
            },
        };
        if !matches!(left, PartResult::Something) {
            return (engine, left);
        }
    }
    // The reserved slots are released last: an ended call of the replay must not occupy the slot of a pending call.
    match &mut engine {
        Engine::Sources(sources) => sources.release_slots(),
        Engine::Search(part) => part.release_slots(),
        Engine::Register(_) => {}
    }
    (engine, PartResult::Something)
}
