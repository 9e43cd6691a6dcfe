//! A register with compare-and-swap.

use super::written::{datum, done, each};
use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, unexpected};
use crate::datum::Datum;
use crate::history::Written;
use crate::unique::{Action, Plain, PlainObject, Values};
use crate::{Key, Model};

/// A register with compare-and-swap: Jepsen's `cas-register`.
///
/// ```
/// use unpause_check::{models::{CasRegister, CasRegisterOp::*, CasRegisterRet}, Model};
/// let mut register = CasRegister::new(0);
/// assert_eq!(register.step(&Cas(0, 1)), CasRegisterRet::Swapped(true));
/// assert_eq!(register.step(&Cas(0, 2)), CasRegisterRet::Swapped(false));
/// assert_eq!(register.step(&Read), CasRegisterRet::Value(1));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct CasRegister<T = u64>(T);

impl<T> CasRegister<T> {
    /// Creates a register with the value `value`.
    pub fn new(value: T) -> Self {
        CasRegister(value)
    }
}

/// An operation on a [`CasRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CasRegisterOp<T = u64> {
    /// Returns the value.
    Read,
    /// Sets the value.
    Write(T),
    /// Replaces the first value by the second and returns `true`; returns `false` if the register
    /// has another value.
    Cas(T, T),
}

/// The result of an operation on a [`CasRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CasRegisterRet<T = u64> {
    /// The write is done.
    Done,
    /// The value read.
    Value(T),
    /// True if the register held the expected value, so the swap succeeded.
    Swapped(bool),
}

impl<T: Value> Model for CasRegister<T> {
    type Op = CasRegisterOp<T>;
    type Ret = CasRegisterRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            CasRegisterOp::Read => CasRegisterRet::Value(self.0.clone()),
            CasRegisterOp::Write(value) => {
                self.0 = value.clone();
                CasRegisterRet::Done
            }
            CasRegisterOp::Cas(expected, value) => {
                let swapped = self.0 == *expected;
                if swapped {
                    self.0 = value.clone();
                }
                CasRegisterRet::Swapped(swapped)
            }
        }
    }

    fn observes(op: &Self::Op, ret: &Self::Ret) -> bool {
        // A swap of a value for itself is an observer, too. Such a swap succeeds only in a state that it leaves
        // unchanged.
        match op {
            CasRegisterOp::Read => true,
            CasRegisterOp::Write(_) => false,
            CasRegisterOp::Cas(expected, value) => {
                *ret == CasRegisterRet::Swapped(false) || expected == value
            }
        }
    }

    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a Self::Ret>)>,
    ) -> Option<Plain> {
        let mut values = Values::with_room(calls.size_hint().0 / 2);
        let initial = vec![values.number(&self.0)];
        let actions = calls.map(|(op, ret)| action(op, ret, |value| values.number(value)));
        let actions = actions.collect::<Option<_>>()?;
        Some(Plain { object: PlainObject::Register, initial, actions })
    }

    fn register_action(op: &Self::Op, ret: Option<&Self::Ret>) -> Option<Action<Key>> {
        action(op, ret, Key::of)
    }

    fn register_value(&self) -> Option<Key> {
        Some(Key::of(&self.0))
    }

    fn written(op: &CasRegisterOp<T>, ret: Option<&CasRegisterRet<T>>) -> Option<Written> {
        let call = match op {
            CasRegisterOp::Read => done("read", Datum::Nil),
            CasRegisterOp::Write(value) => done("write", datum(value)?),
            CasRegisterOp::Cas(from, to) => done("cas", Datum::list([datum(from)?, datum(to)?])),
        };
        match (op, ret) {
            (CasRegisterOp::Read, Some(CasRegisterRet::Value(value))) => {
                Some(Written { answer: datum(value)?, ..call })
            }
            (CasRegisterOp::Write(_), Some(CasRegisterRet::Done))
            | (CasRegisterOp::Cas(..), Some(CasRegisterRet::Swapped(true)))
            | (_, None) => Some(call),
            // A file cannot contain the result of a swap that found another value; it contains a
            // failed call instead.
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        each("write", [&self.0])
    }

    fn name() -> &'static str {
        CasRegister::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            CasRegisterRet::Done => "ok".to_owned(),
            CasRegisterRet::Value(value) => format!("{value:?}"),
            CasRegisterRet::Swapped(swapped) => format!("{swapped}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// Returns the effect of a call, with values converted by `name`; `None` if the operation cannot
/// have this result.
fn action<'a, T: PartialEq, V>(
    op: &'a CasRegisterOp<T>,
    ret: Option<&'a CasRegisterRet<T>>,
    mut name: impl FnMut(&'a T) -> V,
) -> Option<Action<V>> {
    use {CasRegisterOp::*, CasRegisterRet::*};
    Some(match (op, ret) {
        (Write(value), None | Some(Done)) => Action::Add(name(value)),
        (Read, Some(Value(value))) => Action::Peek(name(value)),
        (Read, None) => Action::Nothing,
        // A swap of a value for itself only shows that the register holds this value.
        (Cas(old, new), None) if old == new => Action::Nothing,
        (Cas(old, new), Some(Swapped(true))) if old == new => Action::Peek(name(old)),
        (Cas(old, new), None | Some(Swapped(true))) => Action::Swap(name(old), name(new)),
        (Cas(old, _), Some(Swapped(false))) => Action::Absent(name(old)),
        _ => return None,
    })
}

impl RegisteredModel for CasRegister {
    const NAME: &'static str = "cas-register";
    const SUMMARY: &'static str = "read, write, cas(expected, new)";

    fn initial() -> Self {
        CasRegister::new(0)
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use CasRegisterRet::{Done, Swapped, Value};
        vec![
            (CasRegisterOp::Cas(0, 1), vec![Swapped(true), Swapped(false)]),
            (CasRegisterOp::Read, vec![Value(1), Value(0)]),
            (CasRegisterOp::Write(0), vec![Done]),
            (CasRegisterOp::Cas(1, 1), vec![Swapped(true)]),
        ]
    }

    type Recorded = CasRegister<Datum>;
    const CALLS: &'static [&'static str] = &["read", "write", "cas"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: Some("0"),
            calls: &[("cas", "[0 1]", "[0 1]")],
            allowed: ("cas", "[1 2]", "nil"),
            rejected: ("cas", "[0 2]", "nil"),
        },
        FileSample {
            initial: None,
            calls: &[("write", "1", "1")],
            allowed: ("read", "nil", "1"),
            rejected: ("read", "nil", "2"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<CasRegister<Datum>, String> {
        Ok(CasRegister(initial.cloned().unwrap_or_default()))
    }

    fn call(f: &str, value: &Datum) -> Result<CasRegisterOp<Datum>, String> {
        match f {
            "read" => Ok(CasRegisterOp::Read),
            "write" => Ok(CasRegisterOp::Write(value.clone())),
            "cas" => match value.as_pair() {
                Some((from, to)) => Ok(CasRegisterOp::Cas(from.clone(), to.clone())),
                None => unexpected("[expected new]", value),
            },
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &CasRegisterOp<Datum>) -> bool {
        matches!(op, CasRegisterOp::Write(_) | CasRegisterOp::Cas(..))
    }

    fn outcome(
        op: &CasRegisterOp<Datum>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<CasRegisterRet<Datum>>, String> {
        Ok(match op {
            CasRegisterOp::Read if value.is_nil() && nil == NilRead::Anything => None,
            CasRegisterOp::Read => Some(CasRegisterRet::Value(value.clone())),
            CasRegisterOp::Write(_) => Some(CasRegisterRet::Done),
            CasRegisterOp::Cas(..) => Some(CasRegisterRet::Swapped(true)),
        })
    }

    fn refused(op: &CasRegisterOp<Datum>) -> Option<CasRegisterRet<Datum>> {
        matches!(op, CasRegisterOp::Cas(..)).then_some(CasRegisterRet::Swapped(false))
    }
}
