//! The states of a model by number: the interface through which searches use a model.
//!
//! The searches are compiled once, not once for each model, because a user's model is compiled with the user's tests,
//! usually without optimization.

use super::memo::StateTable;
use crate::history::Operation;
use crate::model::Model;

/// The states that a search found, and the effects of operations in them. An operation is its index in the history.
pub(super) trait States {
    /// Returns the number of states.
    fn len(&self) -> usize;

    /// Returns the approximate size of all states, in bytes.
    fn bytes(&self) -> usize;

    /// Returns the cost of a step from a state.
    fn work(&self, state: u32) -> u32;

    /// Fills `found` with the states that the model allows after an operation.
    fn successors(&mut self, operation: usize, state: u32, found: &mut Vec<u32>);

    /// Returns `true` if the model allows an operation in a state.
    fn allows(&mut self, operation: usize, state: u32) -> bool;

    /// Returns `true` if the model allows an operation in a state. The model must claim that the operation only
    /// observes.
    ///
    /// # Panics
    /// If the operation changes the state.
    fn shows(&mut self, operation: usize, state: u32) -> bool;
}

/// The states of a model.
pub(super) struct StatesOf<'a, M: Model> {
    pub(super) operations: &'a [Operation<M::Op, M::Ret>],
    pub(super) table: StateTable<M>,
    // Scratch space, reused between calls.
    found: Vec<M>,
}

impl<'a, M: Model> StatesOf<'a, M> {
    pub(super) fn new(operations: &'a [Operation<M::Op, M::Ret>]) -> Self {
        StatesOf { operations, table: StateTable::new(), found: Vec::new() }
    }

    /// Fills `found` with the states that the model allows after an operation.
    fn find(&mut self, operation: usize, state: u32) {
        let Operation { op, returned, .. } = &self.operations[operation];
        // If the operation has not returned, the model may choose any result.
        let ret = returned.as_ref().map(|(ret, _)| ret);
        self.found.clear();
        self.table.get(state).successors(op, ret, &mut self.found);
    }
}

impl<M: Model> States for StatesOf<'_, M> {
    fn len(&self) -> usize {
        self.table.len()
    }

    fn bytes(&self) -> usize {
        self.table.bytes()
    }

    fn work(&self, state: u32) -> u32 {
        self.table.work(state)
    }

    fn successors(&mut self, operation: usize, state: u32, found: &mut Vec<u32>) {
        self.find(operation, state);
        found.clear();
        while let Some(next) = self.found.pop() {
            found.push(self.table.number_of(next));
        }
    }

    fn allows(&mut self, operation: usize, state: u32) -> bool {
        self.find(operation, state);
        !self.found.is_empty()
    }

    fn shows(&mut self, operation: usize, state: u32) -> bool {
        self.find(operation, state);
        let current = self.table.get(state);
        if self.found.iter().any(|next| next != current) {
            let Operation { op, returned, .. } = &self.operations[operation];
            panic!(
                "the model {} says that {op:?} only observes when it returns {:?}, but it changes {current:?}: \
                 correct its `observes`",
                M::name(),
                returned.as_ref().map(|(ret, _)| ret),
            );
        }
        !self.found.is_empty()
    }
}
