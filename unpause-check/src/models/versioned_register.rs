//! A register with named versions. Each update names the version that it replaces.

use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, unexpected};
use crate::Model;
use crate::datum::Datum;

/// One key of a versioned store. A read returns the id of the current version. An update replaces the version that it
/// names by a version with a new id.
///
/// An update may fail for any reason, even if it could have succeeded, so a failure gives no information about the
/// version. [`chain`](crate::chain) checks histories of this model in linear time.
///
/// ```
/// use unpause_check::models::{VersionedRegister, VersionedRegisterOp::*, VersionedRegisterRet::*};
/// use unpause_check::Model;
/// let mut register = VersionedRegister::new(0);
/// assert_eq!(register.step(&Update { from: 0, to: 7 }), Updated(true));
/// assert_eq!(register.step(&Update { from: 0, to: 8 }), Updated(false));
/// assert_eq!(register.step(&Read), Version(7));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct VersionedRegister<I = u64>(I);

impl<I> VersionedRegister<I> {
    /// Creates a register with the first version `id`.
    pub fn new(id: I) -> Self {
        VersionedRegister(id)
    }

    /// Returns the id of the current version.
    pub(crate) fn id(&self) -> &I {
        &self.0
    }
}

/// An operation on a [`VersionedRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VersionedRegisterOp<I = u64> {
    /// Returns the id of the current version.
    Read,
    /// Replaces the version `from` by `to`, if `from` is the current version.
    Update {
        /// The id of the version to replace.
        from: I,
        /// The id of the new version.
        to: I,
    },
}

/// The result of an operation on a [`VersionedRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum VersionedRegisterRet<I = u64> {
    /// The id of the version read.
    Version(I),
    /// True if the update took effect.
    Updated(bool),
}

impl<I: Value> Model for VersionedRegister<I> {
    type Op = VersionedRegisterOp<I>;
    type Ret = VersionedRegisterRet<I>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            VersionedRegisterOp::Read => VersionedRegisterRet::Version(self.0.clone()),
            VersionedRegisterOp::Update { from, to } => {
                let updated = self.0 == *from;
                if updated {
                    self.0 = to.clone();
                }
                VersionedRegisterRet::Updated(updated)
            }
        }
    }

    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        let mut next = self.clone();
        let expected = next.step(op);
        if ret.is_none_or(|ret| *ret == expected) {
            out.push(next);
        }
        // An update that could succeed may still fail.
        let may_fail = expected == VersionedRegisterRet::Updated(true);
        if may_fail && ret.is_none_or(|ret| *ret == VersionedRegisterRet::Updated(false)) {
            out.push(self.clone());
        }
    }

    fn returns(&self, op: &Self::Op) -> Vec<Self::Ret> {
        let mut rets = vec![self.clone().step(op)];
        if rets[0] == VersionedRegisterRet::Updated(true) {
            rets.push(VersionedRegisterRet::Updated(false));
        }
        rets
    }

    fn observes(op: &Self::Op, ret: &Self::Ret) -> bool {
        match op {
            VersionedRegisterOp::Read => true,
            // An update of a version to itself leaves the state unchanged, for every result.
            VersionedRegisterOp::Update { from, to } => {
                from == to || *ret == VersionedRegisterRet::Updated(false)
            }
        }
    }

    fn name() -> &'static str {
        VersionedRegister::NAME
    }

    fn op_text(op: &Self::Op) -> String {
        match op {
            VersionedRegisterOp::Read => "Read".to_owned(),
            VersionedRegisterOp::Update { from, to } => format!("Update({from:?} to {to:?})"),
        }
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            VersionedRegisterRet::Version(id) => format!("{id:?}"),
            VersionedRegisterRet::Updated(updated) => format!("{updated}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for VersionedRegister {
    const NAME: &'static str = "versioned-register";
    const SUMMARY: &'static str = "read, update(from, to), each version with an id of its own";

    fn initial() -> Self {
        VersionedRegister::new(0)
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use VersionedRegisterRet::{Updated, Version};
        vec![
            (VersionedRegisterOp::Update { from: 0, to: 1 }, vec![Updated(true), Updated(false)]),
            (VersionedRegisterOp::Read, vec![Version(1), Version(0), Version(2)]),
            (VersionedRegisterOp::Update { from: 1, to: 2 }, vec![Updated(true)]),
            (VersionedRegisterOp::Update { from: 0, to: 3 }, vec![Updated(true)]),
        ]
    }

    type Recorded = VersionedRegister<Datum>;
    const CALLS: &'static [&'static str] = &["read", "update"];
    const SAMPLES: &'static [FileSample] = &[FileSample {
        initial: Some(":a"),
        calls: &[("update", "[:a :b]", "[:a :b]")],
        allowed: ("read", "nil", ":b"),
        rejected: ("read", "nil", ":a"),
    }];

    fn recorded(initial: Option<&Datum>) -> Result<VersionedRegister<Datum>, String> {
        Ok(VersionedRegister(initial.cloned().unwrap_or_default()))
    }

    fn call(f: &str, value: &Datum) -> Result<VersionedRegisterOp<Datum>, String> {
        match f {
            "read" => Ok(VersionedRegisterOp::Read),
            "update" => match value.as_pair() {
                Some((from, to)) => {
                    Ok(VersionedRegisterOp::Update { from: from.clone(), to: to.clone() })
                }
                None => unexpected("[from to], the ids of two versions", value),
            },
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &VersionedRegisterOp<Datum>) -> bool {
        matches!(op, VersionedRegisterOp::Update { .. })
    }

    fn outcome(
        op: &VersionedRegisterOp<Datum>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<VersionedRegisterRet<Datum>>, String> {
        Ok(match op {
            VersionedRegisterOp::Read if value.is_nil() && nil == NilRead::Anything => None,
            VersionedRegisterOp::Read => Some(VersionedRegisterRet::Version(value.clone())),
            VersionedRegisterOp::Update { .. } => Some(VersionedRegisterRet::Updated(true)),
        })
    }
}
