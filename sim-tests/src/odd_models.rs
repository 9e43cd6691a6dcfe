//! Artificial models with properties that no registered model has: a nondeterministic model, a loose model, and a
//! register whose results show its previous value. The file also contains wrappers that hide the optional functions of
//! a model.

use std::hash::Hash;

use sim::check::datum::Datum;
use sim::check::models::{NilRead, RegisteredModel};
use sim::check::unique::Action;
use sim::check::{Key, Model};

/// A model without its optional functions: it has no keys, no observers, and no special engine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bare<M>(pub M);

impl<M: Model> Model for Bare<M> {
    type Op = M::Op;
    type Ret = M::Ret;

    fn step(&mut self, op: &M::Op) -> M::Ret {
        self.0.step(op)
    }

    fn successors(&self, op: &M::Op, ret: Option<&M::Ret>, out: &mut Vec<Self>) {
        let mut states = Vec::new();
        self.0.successors(op, ret, &mut states);
        out.extend(states.into_iter().map(Bare));
    }

    fn returns(&self, op: &M::Op) -> Vec<M::Ret> {
        self.0.returns(op)
    }
}

/// A model that hides only its engine for unique values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Searched<M>(pub M);

impl<M: Model> Model for Searched<M> {
    type Op = M::Op;
    type Ret = M::Ret;

    fn step(&mut self, op: &M::Op) -> M::Ret {
        self.0.step(op)
    }

    fn observes(op: &M::Op, ret: &M::Ret) -> bool {
        M::observes(op, ret)
    }

    fn partition(op: &M::Op) -> Option<Key> {
        M::partition(op)
    }

    fn successors(&self, op: &M::Op, ret: Option<&M::Ret>, out: &mut Vec<Self>) {
        let mut states = Vec::new();
        self.0.successors(op, ret, &mut states);
        out.extend(states.into_iter().map(Searched));
    }

    fn returns(&self, op: &M::Op) -> Vec<M::Ret> {
        self.0.returns(op)
    }

    fn ret_text(ret: &M::Ret) -> String {
        M::ret_text(ret)
    }
}

/// A nondeterministic model: a bag from which any item may be removed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bag(Vec<u8>);

/// An operation of a [`Bag`].
#[derive(Clone, PartialEq, Debug)]
pub enum BagOp {
    /// Adds the item.
    Put(u8),
    /// Removes any item, if the bag is not empty.
    Take,
}

impl Model for Bag {
    type Op = BagOp;
    type Ret = Option<u8>;

    fn step(&mut self, op: &BagOp) -> Option<u8> {
        match op {
            BagOp::Put(item) => {
                self.0.push(*item);
                self.0.sort_unstable();
                None
            }
            BagOp::Take => self.0.pop(),
        }
    }

    fn observes(op: &BagOp, ret: &Option<u8>) -> bool {
        *op == BagOp::Take && ret.is_none()
    }

    fn successors(&self, op: &BagOp, ret: Option<&Option<u8>>, out: &mut Vec<Self>) {
        let mut next = self.clone();
        if *op != BagOp::Take || self.0.is_empty() {
            let expected = next.step(op);
            if ret.is_none_or(|ret| *ret == expected) {
                out.push(next);
            }
            return;
        }
        for (place, item) in self.0.iter().enumerate() {
            if ret.is_none_or(|ret| *ret == Some(*item)) {
                let mut next = self.clone();
                next.0.remove(place);
                out.push(next);
            }
        }
    }

    fn returns(&self, op: &BagOp) -> Vec<Option<u8>> {
        match op {
            BagOp::Take if !self.0.is_empty() => self.0.iter().copied().map(Some).collect(),
            _ => vec![None],
        }
    }
}

impl RegisteredModel for Bag {
    const NAME: &'static str = "bag";
    const SUMMARY: &'static str = "nondeterministic";

    fn initial() -> Self {
        Bag(Vec::new())
    }

    fn alphabet() -> Vec<(BagOp, Vec<Option<u8>>)> {
        vec![
            (BagOp::Put(1), vec![None]),
            (BagOp::Put(2), vec![None]),
            (BagOp::Take, vec![None, Some(1), Some(2)]),
        ]
    }

    type Recorded = Self;
    const CALLS: &'static [&'static str] = &[];
    const SAMPLES: &'static [sim::check::models::FileSample] = &[];

    fn recorded(_: Option<&Datum>) -> Result<Self, String> {
        Ok(Self::initial())
    }

    fn call(f: &str, _: &Datum) -> Result<BagOp, String> {
        Err(format!("{f}: not in files"))
    }

    fn outcome(op: &BagOp, _: &Datum, _: NilRead) -> Result<Option<Option<u8>>, String> {
        Err(format!("{op:?}: not in files"))
    }
}

/// A loose model with keys that share a [`Key`]: two numbers, which are read with an error of at most one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Approximate([i32; 4]);

/// An operation of an [`Approximate`].
#[derive(Clone, PartialEq, Debug)]
pub enum ApproximateOp {
    /// Adds to the number with this index.
    Add(usize, i32),
    /// Reads the number with this index.
    Read(usize),
}

impl Model for Approximate {
    type Op = ApproximateOp;
    type Ret = i32;

    fn step(&mut self, op: &ApproximateOp) -> i32 {
        match op {
            ApproximateOp::Add(number, amount) => {
                self.0[*number] += amount;
                0
            }
            ApproximateOp::Read(number) => self.0[*number],
        }
    }

    fn accepts(op: &ApproximateOp, expected: &i32, actual: &i32) -> bool {
        match op {
            ApproximateOp::Add(..) => expected == actual,
            ApproximateOp::Read(_) => (expected - actual).abs() <= 1,
        }
    }

    fn partition(op: &ApproximateOp) -> Option<Key> {
        let (ApproximateOp::Add(number, _) | ApproximateOp::Read(number)) = op;
        Some(Key::of(&(number % 2)))
    }

    fn observes(op: &ApproximateOp, _ret: &i32) -> bool {
        matches!(op, ApproximateOp::Read(_))
    }
}

impl RegisteredModel for Approximate {
    const NAME: &'static str = "approximate";
    const SUMMARY: &'static str = "loose, with keys";

    fn initial() -> Self {
        Approximate([0; 4])
    }

    fn alphabet() -> Vec<(ApproximateOp, Vec<i32>)> {
        vec![
            (ApproximateOp::Add(0, 3), vec![0]),
            (ApproximateOp::Add(1, 3), vec![0]),
            (ApproximateOp::Add(2, 3), vec![0]),
            (ApproximateOp::Read(0), vec![1, 4]),
            (ApproximateOp::Read(1), vec![0, 2]),
        ]
    }

    type Recorded = Self;
    const CALLS: &'static [&'static str] = &[];
    const SAMPLES: &'static [sim::check::models::FileSample] = &[];

    fn recorded(_: Option<&Datum>) -> Result<Self, String> {
        Ok(Self::initial())
    }

    fn call(f: &str, _: &Datum) -> Result<ApproximateOp, String> {
        Err(format!("{f}: not in files"))
    }

    fn outcome(op: &ApproximateOp, _: &Datum, _: NilRead) -> Result<Option<i32>, String> {
        Err(format!("{op:?}: not in files"))
    }
}

/// A register with the operations of an atomic. Each result shows the value that the operation found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Exchange(u8);

/// An operation of an [`Exchange`].
#[derive(Clone, PartialEq, Debug)]
pub enum ExchangeOp {
    /// Returns the value.
    Read,
    /// Writes a value, and returns this value.
    Write(u8),
    /// Writes a value, and returns the old value.
    Swap(u8),
    /// Replaces the first value by the second and returns the first, or returns the value that it found instead.
    CompareExchange(u8, u8),
}

impl Model for Exchange {
    type Op = ExchangeOp;
    type Ret = Result<u8, u8>;

    fn step(&mut self, op: &ExchangeOp) -> Result<u8, u8> {
        match op {
            ExchangeOp::Read => Ok(self.0),
            ExchangeOp::Write(value) => {
                self.0 = *value;
                Ok(*value)
            }
            ExchangeOp::Swap(value) => Ok(std::mem::replace(&mut self.0, *value)),
            ExchangeOp::CompareExchange(old, new) if self.0 == *old => {
                self.0 = *new;
                Ok(*old)
            }
            ExchangeOp::CompareExchange(..) => Err(self.0),
        }
    }

    fn observes(op: &ExchangeOp, ret: &Result<u8, u8>) -> bool {
        *op == ExchangeOp::Read || ret.is_err()
    }

    fn register_action(op: &ExchangeOp, ret: Option<&Result<u8, u8>>) -> Option<Action<Key>> {
        use ExchangeOp::{CompareExchange, Read, Swap, Write};
        Some(match (op, ret) {
            (Read, None) => Action::Nothing,
            (Read, Some(Ok(value))) => Action::Peek(Key::of(value)),
            // The checker itself finds a wrong result of a write.
            (Write(value), _) => Action::Add(Key::of(value)),
            // The value that a pending swap replaces is unknown.
            (Swap(value), None) => Action::Add(Key::of(value)),
            (Swap(value), Some(Ok(old))) => Action::Swap(Key::of(old), Key::of(value)),
            (CompareExchange(old, new), None) => Action::Swap(Key::of(old), Key::of(new)),
            (CompareExchange(old, new), Some(Ok(found))) if found == old => {
                Action::Swap(Key::of(old), Key::of(new))
            }
            (CompareExchange(old, _), Some(Err(found))) if found != old => {
                Action::Peek(Key::of(found))
            }
            _ => return None,
        })
    }

    fn register_value(&self) -> Option<Key> {
        Some(Key::of(&self.0))
    }
}

impl RegisteredModel for Exchange {
    const NAME: &'static str = "exchange";
    const SUMMARY: &'static str = "returns what it found";

    fn initial() -> Self {
        Exchange(0)
    }

    fn alphabet() -> Vec<(ExchangeOp, Vec<Result<u8, u8>>)> {
        vec![
            (ExchangeOp::CompareExchange(0, 2), vec![Err(1), Ok(0)]),
            (ExchangeOp::Write(1), vec![Ok(1), Ok(0)]),
            (ExchangeOp::Read, vec![Ok(2), Ok(0), Ok(1)]),
            (ExchangeOp::Swap(3), vec![Ok(0), Ok(1)]),
        ]
    }

    type Recorded = Self;
    const CALLS: &'static [&'static str] = &[];
    const SAMPLES: &'static [sim::check::models::FileSample] = &[];

    fn recorded(_: Option<&Datum>) -> Result<Self, String> {
        Ok(Self::initial())
    }

    fn call(f: &str, _: &Datum) -> Result<ExchangeOp, String> {
        Err(format!("{f}: not in files"))
    }

    fn outcome(op: &ExchangeOp, _: &Datum, _: NilRead) -> Result<Option<Result<u8, u8>>, String> {
        Err(format!("{op:?}: not in files"))
    }
}
