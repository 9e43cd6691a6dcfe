//! One object, or one object per key: the form in which all checkers receive a recording.
//!
//! Both cases share one type, because with a second type every checker would be compiled again for each model.

use unpause_check::unique::Plain;
use unpause_check::{Key, Model};

use crate::by_key::{ByKey, Keyed};

/// One object, or one object per key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OneOrMany<M> {
    One(M),
    Many(ByKey<M>),
}

/// An operation on an object. All operations of a history have the same variant as the object.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum ObjectOp<O> {
    Of(O),
    OfKey(Keyed<O>),
}

/// The panic message for an object and an operation of different variants.
const MIXED: &str = "the operations of one object have no key, those of many have one";

impl<M: Model> Model for OneOrMany<M> {
    type Op = ObjectOp<M::Op>;
    type Ret = M::Ret;

    fn step(&mut self, op: &Self::Op) -> M::Ret {
        match (self, op) {
            (OneOrMany::One(object), ObjectOp::Of(op)) => object.step(op),
            (OneOrMany::Many(objects), ObjectOp::OfKey(op)) => objects.step(op),
            _ => unreachable!("{MIXED}"),
        }
    }

    fn accepts(op: &Self::Op, expected: &M::Ret, actual: &M::Ret) -> bool {
        M::accepts(op.plain(), expected, actual)
    }

    fn partition(op: &Self::Op) -> Option<Key> {
        match op {
            ObjectOp::Of(op) => M::partition(op),
            ObjectOp::OfKey(op) => ByKey::<M>::partition(op),
        }
    }

    fn observes(op: &Self::Op, ret: &M::Ret) -> bool {
        M::observes(op.plain(), ret)
    }

    fn successors(&self, op: &Self::Op, ret: Option<&M::Ret>, out: &mut Vec<Self>) {
        match (self, op) {
            (OneOrMany::One(object), ObjectOp::Of(op)) => {
                let mut states = Vec::new();
                object.successors(op, ret, &mut states);
                out.extend(states.into_iter().map(OneOrMany::One));
            }
            (OneOrMany::Many(objects), ObjectOp::OfKey(op)) => {
                let mut states = Vec::new();
                objects.successors(op, ret, &mut states);
                out.extend(states.into_iter().map(OneOrMany::Many));
            }
            _ => unreachable!("{MIXED}"),
        }
    }

    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a M::Ret>)>,
    ) -> Option<Plain> {
        match self {
            OneOrMany::One(object) => {
                object.plain(&mut calls.map(|(call, ret)| (call.plain(), ret)))
            }
            OneOrMany::Many(objects) => objects.plain(&mut calls.map(|(call, ret)| match call {
                ObjectOp::OfKey(call) => (call, ret),
                ObjectOp::Of(_) => unreachable!("{MIXED}"),
            })),
        }
    }

    fn returns(&self, op: &Self::Op) -> Vec<M::Ret> {
        match (self, op) {
            (OneOrMany::One(object), ObjectOp::Of(op)) => object.returns(op),
            (OneOrMany::Many(objects), ObjectOp::OfKey(op)) => objects.returns(op),
            _ => unreachable!("{MIXED}"),
        }
    }

    fn name() -> &'static str {
        M::name()
    }

    fn op_text(op: &Self::Op) -> String {
        match op {
            ObjectOp::Of(op) => M::op_text(op),
            ObjectOp::OfKey(op) => ByKey::<M>::op_text(op),
        }
    }

    fn ret_text(ret: &M::Ret) -> String {
        M::ret_text(ret)
    }

    fn state_text(&self) -> String {
        match self {
            OneOrMany::One(object) => object.state_text(),
            OneOrMany::Many(objects) => objects.state_text(),
        }
    }
}

impl<O> ObjectOp<O> {
    /// Returns the operation without its key.
    fn plain(&self) -> &O {
        match self {
            ObjectOp::Of(op) => op,
            ObjectOp::OfKey(keyed) => &keyed.op,
        }
    }
}
