//! A lock with at most one holder.

use super::{FileSample, NilRead, RegisteredModel, no_such_call, unexpected};
use crate::Model;
use crate::datum::Datum;

/// A lock without an owner: any client may release it, but not twice.
///
/// ```
/// use unpause_check::{models::{Lock, LockOp::*, LockRet}, Model};
/// let mut lock = Lock::free();
/// assert_eq!(lock.step(&Acquire), LockRet(true));
/// assert_eq!(lock.step(&Acquire), LockRet(false));
/// assert_eq!(lock.step(&Release), LockRet(true));
/// assert_eq!(lock.step(&Release), LockRet(false));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lock {
    held: bool,
}

impl Lock {
    /// Creates a free lock.
    pub fn free() -> Self {
        Lock { held: false }
    }

    /// Creates a held lock.
    pub fn held() -> Self {
        Lock { held: true }
    }
}

/// An operation on a [`Lock`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LockOp {
    /// Acquires the lock if it is free.
    Acquire,
    /// Releases the lock if it is held.
    Release,
}

/// The result of an operation on a [`Lock`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LockRet(
    /// True if the lock was acquired or released; `false` if it is unchanged.
    pub bool,
);

impl Model for Lock {
    type Op = LockOp;
    type Ret = LockRet;

    fn step(&mut self, op: &LockOp) -> LockRet {
        let wanted = *op == LockOp::Acquire;
        LockRet(std::mem::replace(&mut self.held, wanted) != wanted)
    }

    fn observes(_op: &LockOp, ret: &LockRet) -> bool {
        *ret == LockRet(false)
    }

    fn name() -> &'static str {
        Self::NAME
    }

    fn op_text(op: &LockOp) -> String {
        match op {
            LockOp::Acquire => "acquire".to_owned(),
            LockOp::Release => "release".to_owned(),
        }
    }

    fn ret_text(ret: &LockRet) -> String {
        if ret.0 { "ok".to_owned() } else { "refused".to_owned() }
    }

    fn state_text(&self) -> String {
        if self.held { "held".to_owned() } else { "free".to_owned() }
    }
}

impl RegisteredModel for Lock {
    const NAME: &'static str = "lock";
    const SUMMARY: &'static str = "acquire, release";

    fn initial() -> Self {
        Lock::free()
    }

    fn alphabet() -> Vec<(LockOp, Vec<LockRet>)> {
        vec![
            (LockOp::Acquire, vec![LockRet(true), LockRet(false)]),
            (LockOp::Release, vec![LockRet(true), LockRet(false)]),
        ]
    }

    type Recorded = Lock;
    const CALLS: &'static [&'static str] = &["acquire", "release"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("acquire", "nil", "nil")],
            allowed: ("release", "nil", "nil"),
            rejected: ("acquire", "nil", "nil"),
        },
        FileSample {
            initial: Some(":held"),
            calls: &[],
            allowed: ("release", "nil", "nil"),
            rejected: ("acquire", "nil", "nil"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Lock, String> {
        match initial {
            None | Some(Datum::Nil) => Ok(Lock::free()),
            Some(state) => match state.as_name() {
                Some("free") => Ok(Lock::free()),
                Some("held") => Ok(Lock::held()),
                _ => unexpected(":free or :held", state),
            },
        }
    }

    fn call(f: &str, _value: &Datum) -> Result<LockOp, String> {
        match f {
            "acquire" => Ok(LockOp::Acquire),
            "release" => Ok(LockOp::Release),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn outcome(_op: &LockOp, _value: &Datum, _nil: NilRead) -> Result<Option<LockRet>, String> {
        Ok(Some(LockRet(true)))
    }

    fn refused(_op: &LockOp) -> Option<LockRet> {
        Some(LockRet(false))
    }
}
