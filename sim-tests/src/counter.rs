//! A counter: the model in tests of generated programs.

use sim::check::Model;
use sim::{CommandId, Gen, Program};

/// A counter.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counter(u64);

/// An operation of a [`Counter`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Adds one. The id identifies the command if it is sent again.
    Increment(CommandId),
    /// Returns the count.
    Get,
}

impl Model for Counter {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        match op {
            Op::Increment(_) => {
                self.0 += 1;
                None
            }
            Op::Get => Some(self.0),
        }
    }
}

impl Program for Counter {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        if g.bool() { Op::Get } else { Op::Increment(g.id()) }
    }
}
