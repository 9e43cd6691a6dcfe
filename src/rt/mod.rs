//! The runtime of one run: tasks, points, steps.
//!
//! [`Worker::run`] executes one run. The executor of the worker lets the strategy choose a task, polls that task up to
//! its next point, and repeats this until the body of the test has ended or the run has failed. Primitives reach the
//! run through [`World`]; the executor has no special case for any of them.
//!
//! A worker owns the memory of its runs and reuses it. After the first few runs, a run allocates only for its body, and
//! one box for each task that it spawns.
//!
//! The core of a run consists of the files in this folder. [`parts`] contains everything else, and the core names none
//! of the parts: see [`part`].

mod arrival;
mod beyond;
mod body;
mod choose;
mod diagnose;
mod executor;
mod interned;
mod lives;
mod lock;
mod memory;
mod now;
mod numbers;
mod object;
mod ordinals;
mod panics;
mod part;
mod parts;
mod pending;
mod polls;
mod ready;
mod record;
mod services;
mod slot;
mod state;
mod step;
mod stores;
mod task_panics;
mod task_waker;
mod tasks;
#[cfg(test)]
mod tests;
mod worker;
mod world;

pub(crate) use self::body::{Body, TaskBody};
pub(crate) use self::interned::interned;
pub(crate) use self::lock::Vacancy;
pub(crate) use self::memory::Weaker;
pub(crate) use self::memory::weak::{Asked, Known};
pub(crate) use self::now::{by_hand, in_run, is_by_hand, is_turn_of, may_be_at_once, run};
pub(crate) use self::object::{AnnouncementId, Object};
pub(crate) use self::parts::branches::{BranchKeys, LogMark, OrderDraw};
pub(crate) use self::parts::ear::Ear;
pub(crate) use self::parts::fault::{Buggify, Cancellation, may_fail_weakly};
pub(crate) use self::parts::held::Hold;
pub(crate) use self::parts::node_clocks::Moment;
pub(crate) use self::parts::parking::Parking;
pub(crate) use self::parts::timers::CLOCK;
pub(crate) use self::parts::watch::{Awaited, HeldOp, ReadSet};
pub(crate) use self::pending::{PendingOp, Readiness, made, object_id};
pub(crate) use self::record::FalseRound;
pub(crate) use self::services::Ended;
pub(crate) use self::slot::Announcement;
pub(crate) use self::worker::{RunLimits, Worker};
pub(crate) use self::world::{WORLD, World};

use self::state::RunState;
use crate::run::ids::{ObjectId, Place, TaskId};

// The parts of a run, in the order in which they are called.
part::parts! {
    timers: Timers,
    hand: Hand,
    fault: FaultState,
    own_steps: OwnSteps,
    what_if: Regions,
    nodes: Nodes,
    pace: Pace,
    carrier: Suffered,
    watch: Watches,
    ear: Ears,
    parking: Parkings,
    at_end: Ends,
    kept: Kept,
    invariants: Invariants,
}
