//! A stack: last in, first out.

use super::written::{datum, done, each};
use super::{FileSample, NilRead, RegisteredModel, Value, item, listed, no_such_call, taken};
use crate::Model;
use crate::datum::Datum;
use crate::history::Written;
use crate::unique::{Action, Plain, PlainObject, Values};

/// An unbounded stack, last in, first out.
///
/// ```
/// use unpause_check::{models::{Stack, StackOp::*, StackRet::*}, Model};
/// let mut stack = Stack::from_iter(["a"]);
/// assert_eq!(stack.step(&Push("b")), Done);
/// assert_eq!(stack.step(&Pop), Item(Some("b")));
/// assert_eq!(stack.step(&Pop), Item(Some("a")));
/// assert_eq!(stack.step(&Pop), Item(None));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stack<T = u64>(Vec<T>);

impl<T> Stack<T> {
    /// Creates an empty stack.
    pub fn new() -> Self {
        Stack(Vec::new())
    }
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Stack::new()
    }
}

impl<T> FromIterator<T> for Stack<T> {
    /// Creates a stack of these items, the last item on top.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Stack(items.into_iter().collect())
    }
}

/// An operation on a [`Stack`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StackOp<T = u64> {
    /// Adds an item on top.
    Push(T),
    /// Removes the item on top, if any.
    Pop,
}

/// The result of an operation on a [`Stack`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StackRet<T = u64> {
    /// The item was pushed.
    Done,
    /// The popped item; `None` if the stack was empty.
    Item(Option<T>),
}

impl<T: Value> Model for Stack<T> {
    type Op = StackOp<T>;
    type Ret = StackRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            StackOp::Push(item) => {
                self.0.push(item.clone());
                StackRet::Done
            }
            StackOp::Pop => StackRet::Item(self.0.pop()),
        }
    }

    fn observes(_op: &Self::Op, ret: &Self::Ret) -> bool {
        matches!(ret, StackRet::Item(None))
    }

    /// Computes the same result as the default implementation, but compares before it copies the stack.
    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        let returns = match op {
            StackOp::Push(_) => ret.is_none_or(|ret| *ret == StackRet::Done),
            StackOp::Pop => match ret {
                Some(StackRet::Item(item)) => item.as_ref() == self.0.last(),
                Some(StackRet::Done) => false,
                None => true,
            },
        };
        if returns {
            let mut next = self.clone();
            next.step(op);
            out.push(next);
        }
    }

    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a Self::Ret>)>,
    ) -> Option<Plain> {
        let mut values = Values::with_room(calls.size_hint().0 / 2);
        let initial = self.0.iter().map(|item| values.number(item)).collect();
        let action = |(op, ret): (&'a Self::Op, Option<&'a Self::Ret>)| {
            Some(match (op, ret) {
                (StackOp::Push(item), None | Some(StackRet::Done)) => {
                    Action::Add(values.number(item))
                }
                (StackOp::Pop, Some(StackRet::Item(Some(item)))) => {
                    Action::Take(values.number(item))
                }
                (StackOp::Pop, Some(StackRet::Item(None))) => Action::Empty,
                (StackOp::Pop, None) => Action::TakeUnknown,
                // The operation cannot have this result.
                (StackOp::Push(_), Some(StackRet::Item(_)))
                | (StackOp::Pop, Some(StackRet::Done)) => return None,
            })
        };
        let actions = calls.map(action).collect::<Option<Vec<Action>>>()?;
        Some(Plain { object: PlainObject::Stack, initial, actions })
    }

    fn written(op: &StackOp<T>, ret: Option<&StackRet<T>>) -> Option<Written> {
        let call = match op {
            StackOp::Push(item) => done("push", datum(item)?),
            StackOp::Pop => done("pop", Datum::Nil),
        };
        match (op, ret) {
            (StackOp::Pop, Some(StackRet::Item(Some(item)))) => {
                Some(Written { answer: datum(item)?, ..call })
            }
            (StackOp::Pop, Some(StackRet::Item(None)))
            | (StackOp::Push(_), Some(StackRet::Done))
            | (_, None) => Some(call),
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        each("push", &self.0)
    }

    fn name() -> &'static str {
        Stack::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            StackRet::Done => "ok".to_owned(),
            StackRet::Item(item) => format!("{item:?}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for Stack {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str = "push, pop; last in, first out";

    fn initial() -> Self {
        Stack::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use StackRet::{Done, Item};
        vec![
            (StackOp::Push(1), vec![Done]),
            (StackOp::Push(2), vec![Done]),
            (StackOp::Pop, vec![Item(Some(2)), Item(Some(1)), Item(None)]),
        ]
    }

    type Recorded = Stack<Datum>;
    const CALLS: &'static [&'static str] = &["push", "pop"];
    const SAMPLES: &'static [FileSample] = &[FileSample {
        initial: Some("[1]"),
        calls: &[("push", "2", "2")],
        allowed: ("pop", "nil", "2"),
        rejected: ("pop", "nil", "1"),
    }];

    fn recorded(initial: Option<&Datum>) -> Result<Stack<Datum>, String> {
        listed(initial, "a list of the items, the top last")
    }

    fn call(f: &str, value: &Datum) -> Result<StackOp<Datum>, String> {
        match f {
            "push" => item(value).map(StackOp::Push),
            "pop" => Ok(StackOp::Pop),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &StackOp<Datum>) -> bool {
        matches!(op, StackOp::Push(_))
    }

    /// Reads an item of `nil` as an empty stack.
    fn outcome(
        op: &StackOp<Datum>,
        value: &Datum,
        _nil: NilRead,
    ) -> Result<Option<StackRet<Datum>>, String> {
        Ok(Some(match op {
            StackOp::Push(_) => StackRet::Done,
            StackOp::Pop => StackRet::Item(taken(value)),
        }))
    }
}
