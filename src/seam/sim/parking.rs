//! Parking: the operations on the tokens of tasks, and the work at the ends of tasks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Here;
use super::point::RunObject;
use crate::real::own::{self, AtEnd, RealParking};
use crate::rt::{Ear, Parking, PendingOp, WORLD, World, in_run, object_id, run};
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::{Access, Op, parking};
use crate::seam::SPENT;

const PARK: Op = Op::of_kind("park", Access::Act, parking::TAKE);
const REST: Op = Op::of_kind("begin_to_park", Access::Act, parking::REST);
const WAKE: Op = Op::of_kind("park", Access::Wait, parking::HEAR);
const UNPARK: Op = Op::of_kind("unpark", Access::Tell, parking::TELL);

impl RunObject for Parking {
    fn id_in_run(&self, place: Place) -> Option<ObjectId> {
        Some(object_id(&self.object, ValueKind::Opaque, place, || 0))
    }
}

/// A handle that makes the token of a task available.
#[derive(Clone, Debug)]
pub(crate) enum Unparker {
    Run { run: u64, task: TaskId },
    Real(RealParking),
}

impl Unparker {
    /// Returns the unparker of the current task.
    pub(crate) fn current() -> Unparker {
        match in_run() {
            true => Unparker::of_run(run(), WORLD.with(World::current_task)),
            false => Unparker::Real(RealParking::current()),
        }
    }

    /// Returns the unparker of a task of the run with this number.
    pub(super) fn of_run(number: u64, task: TaskId) -> Unparker {
        if in_run() && run() == number {
            // The token is created here, so that its number in the run does not depend on its first
            // user.
            WORLD.with(|world| world.parking(task));
        }
        Unparker::Run { run: number, task }
    }

    /// Makes the token available. Has no effect on a task of another run.
    pub(crate) fn unpark(&self, here: Here) {
        match self {
            Unparker::Real(parking) => parking.unpark(),
            Unparker::Run { run: of, task } if in_run() && run() == *of => {
                let parking = WORLD.with(|world| world.parking(*task));
                record(&parking, &UNPARK, here);
                parking.give();
            }
            Unparker::Run { .. } => {}
        }
    }
}

fn record(parking: &Parking, op: &'static Op, here: Here) {
    let object = parking.id_in_run(here);
    WORLD.with(|world| world.record(op, object, here, Values::None));
}

/// Registers `work` to be done at the end of the current task. Returns `false` outside of tasks.
pub(crate) fn at_end(work: AtEnd) -> bool {
    if !in_run() {
        return own::at_end(work).is_ok();
    }
    WORLD.with(|world| world.at_end(work));
    true
}

/// Waits for the token of the current task. In a run, the wait may end without a token.
pub(crate) async fn park(here: Here) {
    match in_run() {
        true => RunPark::new(here).await,
        false => RealParking::current().park().await,
    }
}

/// The wait of a task in a run.
struct RunPark {
    parking: Arc<Parking>,
    pending: PendingOp,
    /// The waker to call when the token becomes available, while the task waits.
    ear: Option<Arc<Ear>>,
    is_spurious: bool,
    is_over: bool,
}

impl RunPark {
    fn new(here: Here) -> RunPark {
        let parking = WORLD.with(World::own_parking);
        let pending = PendingOp::new(&PARK, here);
        RunPark { parking, pending, ear: None, is_spurious: false, is_over: false }
    }
}

impl Future for RunPark {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        assert!(!this.is_over, "{SPENT}");
        loop {
            if this.pending.poll_turn(cx, &*this.parking, this.ear.as_deref()).is_pending() {
                if this.is_spurious {
                    WORLD.with(|world| world.hear(this.pending.announcement.id));
                }
                return Poll::Pending;
            }
            let (has_token, place) = (this.parking.take(), this.pending.place);
            if has_token || this.ear.is_some() {
                let op = if this.ear.is_some() { &WAKE } else { &PARK };
                this.parking.set_sleeper(None);
                this.is_over = true;
                record(&this.parking, op, place);
                return Poll::Ready(());
            }
            record(&this.parking, &REST, place);
            let (ear, is_spurious) = WORLD.with(|world| (world.ear(), world.wakes_spuriously()));
            ear.open();
            this.parking.set_sleeper(Some(ear.clone()));
            (this.ear, this.is_spurious) = (Some(ear), is_spurious);
            this.pending = PendingOp::new(&WAKE, place);
        }
    }
}

impl Drop for RunPark {
    fn drop(&mut self) {
        // The token stays available for the next wait.
        if self.ear.is_some() && !self.is_over {
            self.parking.set_sleeper(None);
        }
    }
}
