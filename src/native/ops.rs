//! The operations of plain threads, by name.

use unpause_native::{Access, Operation};

use super::orders;
use super::sites::Site;
use crate::run::event::Values;
use crate::run::op::{self, Op, word};

pub(super) const LOAD: Op = Op::new("load", op::Access::Read);
const STORE: Op = Op::new("store", op::Access::Write);
const SWAP: Op = change("swap");
pub(super) const ADD: Op = change("fetch_add");
pub(super) const SUB: Op = change("fetch_sub");
const AND: Op = change("fetch_and");
const OR: Op = change("fetch_or");
const XOR: Op = change("fetch_xor");
const NAND: Op = change("fetch_nand");
const COMPARE_EXCHANGE: Op = change("compare_exchange");
const MAX: Op = change("fetch_max");
const MIN: Op = change("fetch_min");
const FENCE: Op = Op::new("fence", op::Access::Yield);

/// Joins the queue of a word, if the word has the expected value.
pub(super) const WAIT: Op = Op::new("wait", op::Access::Enqueue);
/// Continues after a wait.
pub(super) const RESUME: Op = Op::new("resume", op::Access::Resume);
/// Wakes waiters of a word.
pub(super) const WAKE: Op = Op::new("wake", op::Access::Wake);
/// Wakes waiters of a word, and moves others to the queue of another word.
pub(super) const REQUEUE: Op = Op::new("requeue", op::Access::Wake);
/// Moves waiters to the queue of a word.
pub(super) const MOVE: Op = Op::new("requeue_to", op::Access::Enqueue);
/// Changes another word, and wakes waiters of a word.
pub(super) const WAKE_OP: Op = Op::new("wake_op", op::Access::Wake);
/// Leaves the queue of a word to which the wait was moved, because the time limit has passed.
pub(super) const TIME_OUT: Op = Op::new("time_out", op::Access::Wake);
/// Lets other threads go first.
pub(super) const YIELD: Op = Op::new("yield_now", op::Access::Yield);
/// Ends the first thread, and with it the run, directly after it has spawned a thread.
pub(super) const RETURN: Op = Op::new("return", op::Access::Yield);
/// Represents a step of a command that shrinking left out.
pub(super) const POINT: Op = Op::new("yield_now", op::Access::Yield);
/// Ends a turn beyond the step limit of the run.
pub(super) const RUN_ON: Op = Op::new("run_on", op::Access::Yield);
/// Continues after a sleep.
pub(super) const SLEEP: Op = Op::new("sleep", op::Access::Yield);

const fn change(name: &'static str) -> Op {
    Op::new(name, op::Access::ReadModifyWrite)
}

/// An operation on the memory of a lock outside of the lock's calls.
macro_rules! of_lock {
    ($op:expr) => {{
        const OF_LOCK: Op = match $op.access {
            op::Access::Read => Op::of_kind($op.name, op::Access::Act, op::lock::LOOK),
            _ => Op::of_kind($op.name, op::Access::Act, op::lock::TOUCH),
        };
        &OF_LOCK
    }};
}

/// Like [`op`], but for an access to the memory of a lock.
pub(super) fn of_lock(access: &Access) -> &'static Op {
    match access.operation {
        Operation::Load => of_lock!(LOAD),
        Operation::Store => of_lock!(STORE),
        Operation::CompareExchange => of_lock!(COMPARE_EXCHANGE),
        Operation::And => of_lock!(AND),
        Operation::Or => of_lock!(OR),
        _ => of_lock!(SWAP),
    }
}

/// The beginning of a read of one of loom's cells. The word of the cell counts reads, and a read sees only if the word
/// also contains a write. So reads commute, like references.
const BEGIN_READ: Op = of_reads(ADD, word::GAIN);
/// The end of such a read.
const END_READ: Op = of_reads(SUB, word::LOSE);

const fn of_reads(op: Op, kind: op::kind::Kind) -> Op {
    Op { kind: Some(kind), ..op }
}

/// Returns `true` for an operation with which a read of one of loom's cells begins or ends. With the memory `c11`,
/// these operations are like all other operations on memory, because they may choose a store.
fn is_of_read(access: &Access, site: Site) -> bool {
    // A write adds a larger number.
    site.is_of_cell && access.operand == 1 && !orders::may_be_old()
}

/// Returns the operation of an access at a place.
pub(super) fn op(access: &Access, site: Site) -> &'static Op {
    match access.operation {
        Operation::Add if is_of_read(access, site) => &BEGIN_READ,
        Operation::Sub if is_of_read(access, site) => &END_READ,
        Operation::CompareExchange if site.looped == Some("fetch_max") => &MAX,
        Operation::CompareExchange if site.looped.is_some() => &MIN,
        Operation::Load => &LOAD,
        Operation::Store => &STORE,
        Operation::Swap => &SWAP,
        Operation::Add => &ADD,
        Operation::Sub => &SUB,
        Operation::And => &AND,
        Operation::Or => &OR,
        Operation::Xor => &XOR,
        Operation::Nand => &NAND,
        Operation::CompareExchange => &COMPARE_EXCHANGE,
        Operation::Fence => &FENCE,
    }
}

/// Returns the object kind at an address, from the size of its accesses.
pub(super) fn kind(access: &Access) -> &'static str {
    match access.size {
        1 => "AtomicU8",
        2 => "AtomicU16",
        4 => "AtomicU32",
        _ => "AtomicU64",
    }
}

/// Returns the values that an access at a place saw and left, in the form given by `shown`.
pub(super) fn values(
    access: &Access,
    site: Site,
    (old, new): (u64, u64),
    shown: impl Fn(u64) -> u64,
) -> Values {
    match access.operation {
        // The number of reads differs between equivalent orders.
        Operation::Add | Operation::Sub if is_of_read(access, site) => Values::None,
        Operation::Load => Values::Read(shown(old)),
        Operation::Store => Values::Wrote(shown(new)),
        Operation::CompareExchange if old != access.operand => {
            Values::Refused(shown(old), shown(access.operand))
        }
        Operation::Fence => Values::None,
        _ => Values::Changed(shown(old), shown(new)),
    }
}
