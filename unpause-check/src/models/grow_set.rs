//! A set with additions and reads of the whole set.

use std::collections::BTreeSet;

use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, set_of, unexpected};
use crate::Model;
use crate::datum::Datum;

/// A set that only grows. A read returns all its members. Jepsen's `set` workloads test such sets.
///
/// Every state is a whole set, so the check of n additions needs memory on the order of n².
///
/// ```
/// use unpause_check::{models::{GrowSet, GrowSetOp::*, GrowSetRet}, Model};
/// let mut set = GrowSet::new();
/// assert_eq!(set.step(&Add("a")), GrowSetRet::Done);
/// assert_eq!(set.step(&Read), GrowSetRet::Members(["a"].into()));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GrowSet<T = u64>(BTreeSet<T>);

impl<T> GrowSet<T> {
    /// Creates an empty set.
    pub fn new() -> Self {
        GrowSet(BTreeSet::new())
    }
}

impl<T> Default for GrowSet<T> {
    fn default() -> Self {
        GrowSet::new()
    }
}

impl<T: Ord> FromIterator<T> for GrowSet<T> {
    /// Creates a set of these members.
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        GrowSet(set_of(members))
    }
}

/// An operation on a [`GrowSet`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GrowSetOp<T = u64> {
    /// Adds a value; changes nothing if the set already contains it.
    Add(T),
    /// Returns all values.
    Read,
}

/// The result of an operation on a [`GrowSet`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GrowSetRet<T = u64> {
    /// The value was added.
    Done,
    /// All values.
    Members(BTreeSet<T>),
}

impl<T: Value + Ord> Model for GrowSet<T> {
    type Op = GrowSetOp<T>;
    type Ret = GrowSetRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            GrowSetOp::Add(value) => {
                self.0.insert(value.clone());
                GrowSetRet::Done
            }
            GrowSetOp::Read => GrowSetRet::Members(self.0.clone()),
        }
    }

    fn observes(op: &Self::Op, _ret: &Self::Ret) -> bool {
        matches!(op, GrowSetOp::Read)
    }

    /// Computes the same result as the default implementation, but compares before it copies the set.
    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        let returns = match (op, ret) {
            (_, None) | (GrowSetOp::Add(_), Some(GrowSetRet::Done)) => true,
            (GrowSetOp::Read, Some(GrowSetRet::Members(members))) => *members == self.0,
            _ => false,
        };
        if returns {
            let mut next = self.clone();
            if let GrowSetOp::Add(value) = op {
                next.0.insert(value.clone());
            }
            out.push(next);
        }
    }

    fn name() -> &'static str {
        GrowSet::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            GrowSetRet::Done => "ok".to_owned(),
            GrowSetRet::Members(members) => format!("{members:?}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for GrowSet {
    const NAME: &'static str = "grow-set";
    const SUMMARY: &'static str = "add, read; a read returns all members";

    fn initial() -> Self {
        GrowSet::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        let members = |members: &[u64]| GrowSetRet::Members(set_of(members.iter().copied()));
        vec![
            (GrowSetOp::Add(1), vec![GrowSetRet::Done]),
            (GrowSetOp::Read, vec![members(&[1]), members(&[2]), members(&[1, 2]), members(&[])]),
            (GrowSetOp::Add(2), vec![GrowSetRet::Done]),
        ]
    }

    type Recorded = GrowSet<Datum>;
    const CALLS: &'static [&'static str] = &["add", "read"];
    const SAMPLES: &'static [FileSample] = &[FileSample {
        initial: None,
        calls: &[("add", "1", "1"), ("add", "2", "2")],
        allowed: ("read", "nil", "#{2 1}"),
        rejected: ("read", "nil", "[2]"),
    }];

    fn recorded(initial: Option<&Datum>) -> Result<GrowSet<Datum>, String> {
        initial.map_or(Ok(GrowSet::new()), |members| members_of(members).map(GrowSet))
    }

    fn call(f: &str, value: &Datum) -> Result<GrowSetOp<Datum>, String> {
        match f {
            "add" => Ok(GrowSetOp::Add(value.clone())),
            "read" => Ok(GrowSetOp::Read),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &GrowSetOp<Datum>) -> bool {
        matches!(op, GrowSetOp::Add(_))
    }

    fn outcome(
        op: &GrowSetOp<Datum>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<GrowSetRet<Datum>>, String> {
        match op {
            GrowSetOp::Add(_) => Ok(Some(GrowSetRet::Done)),
            GrowSetOp::Read if value.is_nil() && nil == NilRead::Anything => Ok(None),
            GrowSetOp::Read => members_of(value).map(|set| Some(GrowSetRet::Members(set))),
        }
    }
}

/// Returns the members of a set or a list. JSON has no sets, so a list may represent a set.
fn members_of(value: &Datum) -> Result<BTreeSet<Datum>, String> {
    match value {
        Datum::Set(members) | Datum::List(members) => Ok(set_of(members.iter().cloned())),
        other => unexpected("a set or a list of members", other),
    }
}
