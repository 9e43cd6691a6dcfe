//! A register with reads and writes of its whole value.

use super::written::{datum, done, each};
use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call};
use crate::datum::Datum;
use crate::history::Written;
use crate::unique::{Action, Plain, PlainObject, Values};
use crate::{Key, Model};

/// A register: a read returns the last value written.
///
/// ```
/// use unpause_check::{models::{Register, RegisterOp, RegisterRet}, Model};
/// let mut register = Register::new("old");
/// assert_eq!(register.step(&RegisterOp::Write("new")), RegisterRet::Done);
/// assert_eq!(register.step(&RegisterOp::Read), RegisterRet::Value("new"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Register<T = u64>(T);

impl<T> Register<T> {
    /// Creates a register that holds `value`.
    pub fn new(value: T) -> Self {
        Register(value)
    }
}

/// An operation on a [`Register`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterOp<T = u64> {
    /// Returns the value.
    Read,
    /// Sets the value.
    Write(T),
}

/// The result of an operation on a [`Register`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterRet<T = u64> {
    /// The write is done.
    Done,
    /// The value read.
    Value(T),
}

impl<T: Value> Model for Register<T> {
    type Op = RegisterOp<T>;
    type Ret = RegisterRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            RegisterOp::Read => RegisterRet::Value(self.0.clone()),
            RegisterOp::Write(value) => {
                self.0 = value.clone();
                RegisterRet::Done
            }
        }
    }

    fn observes(op: &Self::Op, _ret: &Self::Ret) -> bool {
        matches!(op, RegisterOp::Read)
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

    fn written(op: &RegisterOp<T>, ret: Option<&RegisterRet<T>>) -> Option<Written> {
        let call = match op {
            RegisterOp::Read => done("read", Datum::Nil),
            RegisterOp::Write(value) => done("write", datum(value)?),
        };
        match (op, ret) {
            (RegisterOp::Read, Some(RegisterRet::Value(value))) => {
                Some(Written { answer: datum(value)?, ..call })
            }
            (RegisterOp::Write(_), Some(RegisterRet::Done)) | (_, None) => Some(call),
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        each("write", [&self.0])
    }

    fn name() -> &'static str {
        Register::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            RegisterRet::Done => "ok".to_owned(),
            RegisterRet::Value(value) => format!("{value:?}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// Returns the effect of a call, with values converted by `name`; `None` if the operation cannot
/// have this result.
fn action<'a, T, V>(
    op: &'a RegisterOp<T>,
    ret: Option<&'a RegisterRet<T>>,
    mut name: impl FnMut(&'a T) -> V,
) -> Option<Action<V>> {
    Some(match (op, ret) {
        (RegisterOp::Write(value), None | Some(RegisterRet::Done)) => Action::Add(name(value)),
        (RegisterOp::Read, Some(RegisterRet::Value(value))) => Action::Peek(name(value)),
        (RegisterOp::Read, None) => Action::Nothing,
        _ => return None,
    })
}

impl RegisteredModel for Register {
    const NAME: &'static str = "register";
    const SUMMARY: &'static str = "read, write";

    fn initial() -> Self {
        Register::new(0)
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use RegisterRet::{Done, Value};
        vec![
            (RegisterOp::Read, vec![Value(1), Value(0), Value(2)]),
            (RegisterOp::Write(1), vec![Done]),
            (RegisterOp::Write(2), vec![Done]),
        ]
    }

    type Recorded = Register<Datum>;
    const CALLS: &'static [&'static str] = &["read", "write"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("write", "3", "3")],
            allowed: ("read", "nil", "3"),
            rejected: ("read", "nil", "4"),
        },
        FileSample {
            initial: Some(":a"),
            calls: &[],
            allowed: ("read", "nil", ":a"),
            rejected: ("read", "nil", ":b"),
        },
        FileSample {
            initial: None,
            calls: &[("write", "3", "3")],
            allowed: ("read", "nil", "nil"),
            rejected: ("read", "nil", "2"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Register<Datum>, String> {
        Ok(Register(initial.cloned().unwrap_or_default()))
    }

    fn call(f: &str, value: &Datum) -> Result<RegisterOp<Datum>, String> {
        match f {
            "read" => Ok(RegisterOp::Read),
            "write" => Ok(RegisterOp::Write(value.clone())),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &RegisterOp<Datum>) -> bool {
        matches!(op, RegisterOp::Write(_))
    }

    fn outcome(
        op: &RegisterOp<Datum>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<RegisterRet<Datum>>, String> {
        Ok(match op {
            RegisterOp::Read if value.is_nil() && nil == NilRead::Anything => None,
            RegisterOp::Read => Some(RegisterRet::Value(value.clone())),
            RegisterOp::Write(_) => Some(RegisterRet::Done),
        })
    }
}
