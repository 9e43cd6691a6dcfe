//! A set of values.

use unpause_ordered::Set as Ordered;

use super::written::{datum, each};
use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, unexpected};
use crate::datum::Datum;
use crate::history::Written;
use crate::unique::{Action, Plain, PlainObject, Values};
use crate::{Key, Model};

/// A set. Each operation returns `true` if it changed the set or found its value. Histories are checked element by
/// element.
///
/// ```
/// use unpause_check::{models::{Set, SetOp::*}, Model};
/// let mut set = Set::from_iter(["a"]);
/// assert!(!set.step(&Insert("a")));
/// assert!(set.step(&Insert("b")));
/// assert!(set.step(&Remove("a")));
/// assert!(!set.step(&Contains("a")));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Set<T = u64>(Ordered<T>);

impl<T> Set<T> {
    /// Creates an empty set.
    pub fn new() -> Self {
        Set(Ordered::new())
    }
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Set::new()
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    /// Creates a set of these members.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Set(items.into_iter().collect())
    }
}

/// An operation on a [`Set`]. The result is a `bool`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SetOp<T = u64> {
    /// Adds a value; returns `false` if the set already contained it.
    Insert(T),
    /// Removes a value; returns `false` if the set did not contain it.
    Remove(T),
    /// Returns `true` if the set contains the value.
    Contains(T),
}

impl<T: Value + Ord> Model for Set<T> {
    type Op = SetOp<T>;
    type Ret = bool;

    fn step(&mut self, op: &Self::Op) -> bool {
        match op {
            SetOp::Insert(value) => self.0.insert(value.clone()),
            SetOp::Remove(value) => self.0.remove(value),
            SetOp::Contains(value) => self.0.contains(value),
        }
    }

    fn partition(op: &Self::Op) -> Option<Key> {
        let (SetOp::Insert(value) | SetOp::Remove(value) | SetOp::Contains(value)) = op;
        Some(Key::of(value))
    }

    fn observes(op: &Self::Op, ret: &bool) -> bool {
        matches!(op, SetOp::Contains(_)) || !ret
    }

    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a bool>)>,
    ) -> Option<Plain> {
        let mut values = Values::with_room(calls.size_hint().0 / 2);
        let mut initial = Vec::new();
        let mut known = 0;
        let mut number = |value: &T| {
            let number = values.number(value);
            // Only members that occur in the history matter.
            if number == known {
                known += 1;
                if self.0.contains(value) {
                    initial.push(number);
                }
            }
            number
        };
        let action = |(op, ret): (&Self::Op, Option<&bool>)| match (op, ret) {
            (SetOp::Insert(value), None | Some(true)) => Action::Add(number(value)),
            (SetOp::Remove(value), None | Some(true)) => Action::Take(number(value)),
            (SetOp::Contains(value), Some(true)) => Action::Peek(number(value)),
            // This insert only shows that the set already contained the value, so it is a peek.
            (SetOp::Insert(value), Some(false)) => Action::Peek(number(value)),
            (SetOp::Remove(value) | SetOp::Contains(value), Some(false)) => {
                Action::Absent(number(value))
            }
            (SetOp::Contains(_), None) => Action::Nothing,
        };
        let actions = calls.map(action).collect();
        Some(Plain { object: PlainObject::Set, initial, actions })
    }

    fn written(op: &SetOp<T>, ret: Option<&bool>) -> Option<Written> {
        let (f, item) = match op {
            SetOp::Insert(item) => ("insert", item),
            SetOp::Remove(item) => ("remove", item),
            SetOp::Contains(item) => ("contains", item),
        };
        let answer = Datum::Bool(ret.copied().unwrap_or_default());
        Some(Written { f, value: datum(item)?, answer })
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        let calls = each("insert", &self.0)?;
        Some(calls.into_iter().map(|call| Written { answer: Datum::Bool(true), ..call }).collect())
    }

    fn name() -> &'static str {
        Set::NAME
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for Set {
    const NAME: &'static str = "set";
    const SUMMARY: &'static str = "insert, remove, contains; checked by element";

    type Recorded = Set<Datum>;
    const CALLS: &'static [&'static str] = &["insert", "remove", "contains"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("insert", "1", "true")],
            allowed: ("contains", "1", "true"),
            rejected: ("contains", "1", "false"),
        },
        FileSample {
            initial: Some("[1]"),
            calls: &[],
            allowed: ("remove", "1", "true"),
            rejected: ("remove", "1", "false"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Set<Datum>, String> {
        match initial {
            None => Ok(Set::new()),
            Some(Datum::Set(members) | Datum::List(members)) => {
                Ok(members.iter().cloned().collect())
            }
            Some(other) => unexpected("a set or a list of members", other),
        }
    }

    fn call(f: &str, value: &Datum) -> Result<SetOp<Datum>, String> {
        match f {
            "insert" => Ok(SetOp::Insert(value.clone())),
            "remove" => Ok(SetOp::Remove(value.clone())),
            "contains" => Ok(SetOp::Contains(value.clone())),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn outcome(_op: &SetOp<Datum>, value: &Datum, _nil: NilRead) -> Result<Option<bool>, String> {
        match value {
            Datum::Bool(told) => Ok(Some(*told)),
            other => unexpected("true or false: whether it did, or found, that", other),
        }
    }

    fn initial() -> Self {
        Set::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<bool>)> {
        vec![
            (SetOp::Insert(1), vec![true, false]),
            (SetOp::Remove(1), vec![true, false]),
            (SetOp::Contains(1), vec![false, true]),
            (SetOp::Insert(2), vec![true]),
        ]
    }
}
