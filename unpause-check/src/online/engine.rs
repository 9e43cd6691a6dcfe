//! The engine of one part of an object: the one for registers while it applies, the search after that.
//!
//! A [`Register`] takes constant time per event but only handles unique values. When it meets a call that is not
//! its own, the calls that still matter are fed to a [`Part`], which handles every model.

use super::part::{Left, Means, Part};
use super::register::{Refusal, Register, Replayed};
use crate::model::Model;

pub(super) enum Engine<M: Model> {
    Register(Box<Register<M>>),
    Search(Part<M>),
}

impl<M: Model> Engine<M> {
    pub(super) fn new(initial: &M) -> Self {
        match Register::new(initial) {
            Some(register) => Engine::Register(Box::new(register)),
            None => Engine::Search(Part::new(initial)),
        }
    }

    /// Begins a call. Returns its slot.
    pub(super) fn invoke(&mut self, op: M::Op, number: u64, means: &mut Means<M>) -> (usize, Left) {
        let op = match self {
            Engine::Search(part) => return (part.invoke(op, number), Left::Something),
            Engine::Register(register) => match register.invoke(op, number) {
                Ok(slot) => return (slot, Left::Something),
                Err(op) => op,
            },
        };
        match self.search(means) {
            (part, Left::Something) => (part.invoke(op, number), Left::Something),
            (_, left) => (0, left),
        }
    }

    /// Ends the call in `slot` with the result `ret`.
    #[must_use]
    pub(super) fn returned(&mut self, slot: usize, ret: &M::Ret, means: &mut Means<M>) -> Left {
        if let Engine::Register(register) = self {
            means.visited += 1;
            match register.returned(slot, ret) {
                Ok(()) => return Left::Something,
                Err(Refusal::Violated) => return Left::Nothing(register.misfit(slot)),
                Err(Refusal::NotMine) => {}
            }
        }
        match self.search(means) {
            (part, Left::Something) => part.returned(slot, ret, means),
            (_, left) => left,
        }
    }

    /// Ends the call in `slot`, which did not happen.
    #[must_use]
    pub(super) fn failed(&mut self, slot: usize, means: &mut Means<M>) -> Left {
        match self {
            Engine::Search(part) => part.failed(slot, means),
            Engine::Register(register) => match register.failed(slot) {
                Ok(()) => Left::Something,
                Err(evidence) => Left::Nothing(evidence),
            },
        }
    }

    /// Ends the call in `slot`, whose result nobody will know.
    #[must_use]
    pub(super) fn lost(&mut self, slot: usize, means: &mut Means<M>) -> Left {
        match self {
            Engine::Search(part) => part.lost(slot, means),
            Engine::Register(register) => {
                register.lost(slot);
                Left::Something
            }
        }
    }

    /// The number of possibilities.
    pub(super) fn possibilities(&self) -> usize {
        match self {
            Engine::Search(part) => part.possibilities(),
            Engine::Register(_) => 1,
        }
    }

    /// The numbers of open calls, of lost calls that may take effect, of slots, and of entries kept for evidence.
    pub(super) fn sizes(&self) -> [usize; 4] {
        match self {
            Engine::Search(part) => part.sizes(),
            Engine::Register(register) => register.sizes(),
        }
    }

    /// The search, which takes over from the engine for registers if that is still in place.
    fn search(&mut self, means: &mut Means<M>) -> (&mut Part<M>, Left) {
        let mut left = Left::Something;
        if let Engine::Register(register) = self {
            let (part, outcome) = taken_over(register, means);
            *self = Engine::Search(part);
            left = outcome;
        }
        match self {
            Engine::Search(part) => (part, left),
            Engine::Register(_) => unreachable!("the search has just taken over"),
        }
    }
}

/// A search fed with the calls that still matter to `register`. Open calls keep their slots.
fn taken_over<M: Model>(register: &Register<M>, means: &mut Means<M>) -> (Part<M>, Left) {
    let mut part = Part::resumed(register.start(), register.slots(), register.forgotten());
    let mut slots = crate::hash::Table::default();
    for event in register.replay() {
        let left = match event {
            Replayed::Invoke { op, number, slot: Some(slot) } => {
                part.invoke_in(slot, op.clone(), number);
                Left::Something
            }
            Replayed::Invoke { op, number, slot: None } => {
                slots.insert(number, part.invoke(op.clone(), number));
                Left::Something
            }
            Replayed::Return { number, ret } => match slots.remove(&number) {
                Some(slot) => part.returned(slot, ret, means),
                None => Left::Something,
            },
            Replayed::Lost { number } => match slots.remove(&number) {
                Some(slot) => part.lost(slot, means),
                None => Left::Something,
            },
        };
        if !matches!(left, Left::Something) {
            return (part, left);
        }
    }
    part.release_slots();
    (part, Left::Something)
}
