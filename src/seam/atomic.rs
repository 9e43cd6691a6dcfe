//! The operations on words of memory that atomics and mapped files share.

use std::sync::atomic::Ordering;

use crate::run::op::{Access, Op};

pub(crate) const LOAD: Op = Op::new("load", Access::Read);
pub(crate) const STORE: Op = Op::new("store", Access::Write);
pub(crate) const SWAP: Op = Op::new("swap", Access::ReadModifyWrite);
pub(crate) const COMPARE_EXCHANGE: Op = Op::new("compare_exchange", Access::ReadModifyWrite);
pub(crate) const FETCH_ADD: Op = Op::new("fetch_add", Access::ReadModifyWrite);
pub(crate) const FETCH_SUB: Op = Op::new("fetch_sub", Access::ReadModifyWrite);
pub(crate) const FETCH_MAX: Op = Op::new("fetch_max", Access::ReadModifyWrite);
pub(crate) const FETCH_MIN: Op = Op::new("fetch_min", Access::ReadModifyWrite);
pub(crate) const FETCH_AND: Op = Op::new("fetch_and", Access::ReadModifyWrite);
pub(crate) const FETCH_NAND: Op = Op::new("fetch_nand", Access::ReadModifyWrite);
pub(crate) const FETCH_OR: Op = Op::new("fetch_or", Access::ReadModifyWrite);
pub(crate) const FETCH_XOR: Op = Op::new("fetch_xor", Access::ReadModifyWrite);

/// Panics for an ordering that a load cannot have, like std.
#[inline]
#[track_caller]
pub(crate) fn expect_of_load(order: Ordering) {
    assert!(
        !matches!(order, Ordering::Release | Ordering::AcqRel),
        "there is no such thing as a release load: use Relaxed, Acquire or SeqCst"
    );
}

/// Panics for an ordering that a store cannot have, like std.
#[inline]
#[track_caller]
pub(crate) fn expect_of_store(order: Ordering) {
    assert!(
        !matches!(order, Ordering::Acquire | Ordering::AcqRel),
        "there is no such thing as an acquire store: use Relaxed, Release or SeqCst"
    );
}

/// Panics for an ordering that a failing compare-exchange cannot have, like std.
#[inline]
#[track_caller]
pub(crate) fn expect_of_failure(order: Ordering) {
    assert!(
        !matches!(order, Ordering::Release | Ordering::AcqRel),
        "there is no such thing as a release load: let a failure be Relaxed, Acquire or SeqCst"
    );
}
