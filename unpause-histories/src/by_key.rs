//! Many objects of one kind, distinguished by a key: Jepsen's `independent`.

use unpause_check::datum::Datum;
use unpause_check::unique::Plain;
use unpause_check::{Key, Model};

/// One object per key, all with the same initial state. Checked key by key.
///
/// ```
/// use unpause_check::models::{Register, RegisterOp, RegisterRet};
/// use unpause_check::Model;
/// use unpause_histories::{ByKey, Keyed};
/// let mut registers = ByKey::new(Register::new(0));
/// let write = Keyed { key: "a".into(), op: RegisterOp::Write(1) };
/// assert_eq!(registers.step(&write), RegisterRet::Done);
/// let read = |key: &str| Keyed { key: key.into(), op: RegisterOp::Read };
/// assert_eq!(registers.step(&read("a")), RegisterRet::Value(1));
/// assert_eq!(registers.step(&read("b")), RegisterRet::Value(0));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ByKey<M> {
    initial: M,
    /// The objects that are not in their initial state. Invariant: sorted by key, none equal to `initial`; kept
    /// by `put`.
    changed: Vec<(Datum, M)>,
}

/// An operation on the object of one key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Keyed<O> {
    /// The key of the object.
    pub key: Datum,
    /// The operation.
    pub op: O,
}

impl<M: Model> ByKey<M> {
    /// Creates objects that all start in this state.
    pub fn new(initial: M) -> Self {
        ByKey { initial, changed: Vec::new() }
    }

    fn place(&self, key: &Datum) -> Result<usize, usize> {
        self.changed.binary_search_by(|(other, _)| other.cmp(key))
    }

    fn get(&self, key: &Datum) -> &M {
        self.place(key).map_or(&self.initial, |place| &self.changed[place].1)
    }

    fn put(&mut self, key: &Datum, state: M) {
        let place = self.place(key);
        match place {
            Ok(place) if state == self.initial => {
                self.changed.remove(place);
            }
            Ok(place) => self.changed[place].1 = state,
            Err(_) if state == self.initial => {}
            Err(place) => self.changed.insert(place, (key.clone(), state)),
        }
    }
}

impl<M: Model> Model for ByKey<M> {
    type Op = Keyed<M::Op>;
    type Ret = M::Ret;

    fn step(&mut self, op: &Self::Op) -> M::Ret {
        let mut state = self.get(&op.key).clone();
        let ret = state.step(&op.op);
        self.put(&op.key, state);
        ret
    }

    fn accepts(op: &Self::Op, expected: &M::Ret, actual: &M::Ret) -> bool {
        M::accepts(&op.op, expected, actual)
    }

    fn partition(op: &Self::Op) -> Option<Key> {
        Some(Key::of(&op.key))
    }

    fn observes(op: &Self::Op, ret: &M::Ret) -> bool {
        M::observes(&op.op, ret)
    }

    fn successors(&self, op: &Self::Op, ret: Option<&M::Ret>, out: &mut Vec<Self>) {
        let mut states = Vec::new();
        self.get(&op.key).successors(&op.op, ret, &mut states);
        out.extend(states.into_iter().map(|state| {
            let mut next = self.clone();
            next.put(&op.key, state);
            next
        }));
    }

    /// With a single key, the history is equivalent to a history without keys.
    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a M::Ret>)>,
    ) -> Option<Plain> {
        let calls: Vec<(&Self::Op, Option<&M::Ret>)> = calls.collect();
        let (first, _) = calls.first()?;
        if calls.iter().any(|(call, _)| call.key != first.key) {
            return None;
        }
        self.get(&first.key).plain(&mut calls.iter().map(|(call, ret)| (&call.op, *ret)))
    }

    fn returns(&self, op: &Self::Op) -> Vec<M::Ret> {
        self.get(&op.key).returns(&op.op)
    }

    fn name() -> &'static str {
        M::name()
    }

    fn op_text(op: &Self::Op) -> String {
        format!("{}: {}", op.key, M::op_text(&op.op))
    }

    fn ret_text(ret: &M::Ret) -> String {
        M::ret_text(ret)
    }

    fn state_text(&self) -> String {
        match &self.changed[..] {
            [] => self.initial.state_text(),
            [(_, state)] => state.state_text(),
            several => {
                let texts =
                    several.iter().map(|(key, state)| format!("{key}: {}", state.state_text()));
                texts.collect::<Vec<_>>().join(", ")
            }
        }
    }
}
