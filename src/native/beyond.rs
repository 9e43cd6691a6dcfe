//! Plain threads beyond the step limit of their run.
//!
//! A stress test of 100,000 messages ends by itself, but not within its step limit. So the run continues after the
//! limit, and its threads do their operations by themselves, a thousand in a turn: another thread may continue when a
//! turn is over, and when a thread waits, yields or ends. Calls of locks are not single operations there, because the
//! carrier does not see them: locks wait and wake as they do outside of runs.
//!
//! Threads that were held or waited for a lock at the limit must see the changes that let them continue. So operations
//! on the memory that they wait for are still requests.
//!
//! A loop that waits for ever changes nothing. After [`IDLE`] turns without a change all operations are requests again,
//! for [`STEPPED`] steps or until something changes. In these steps the loop is held (`spin.rs`), and the deadlock is
//! found as it is found within the limit.
//!
//! The run gives up after [`TURNS`] turns, or when the time of the test is over. It has then reached its step limit.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use unpause_native::{Access, Request, processor_time};

use super::detail::Detail;
use super::drive::{do_quietly, perform};
use super::locks;
use super::ops::RUN_ON;
use super::sites::Site;
use super::spin::Looks;
use super::threads::{Threads, with};
use crate::rt::{WORLD, World};
use crate::seam::YieldPoint;

/// The turns of a thousand operations after which a run gives up: some seconds.
const TURNS: u32 = 1_000_000;
/// The turns in succession without a change after which operations are stepped again.
const IDLE: u32 = 64;
/// The maximum number of steps in which operations are stepped: several times the number of rounds
/// after which a loop is held.
const STEPPED: u32 = 10_000;
/// The number of requests between two looks at the clock.
const REQUESTS: u32 = 64;
/// The minimum processor time for this part of a run. With it, a run is decided even if its steps took all the time.
/// Other work on the machine takes nothing from it.
const LEAST: Duration = Duration::from_secs(3);

/// A part of the program that a search does not see.
const PASSED: &str = "the operations after the step limit of a run";

/// The time at which the current test must end.
static DEADLINE: Mutex<Option<Instant>> = Mutex::new(None);

/// Sets the time at which runs beyond their step limit give up.
pub(crate) fn set_deadline(deadline: Option<Instant>) {
    *DEADLINE.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
}

/// The part of a run beyond its step limit.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    /// The processor time at its first request. `None` within the limit.
    begun: Option<Duration>,
    /// The number of requests, to look at the clock from time to time.
    requests: u32,
    turns: u32,
    /// The number of successive turns without a change, and the number after which operations are
    /// stepped.
    idle: u32,
    idle_max: u32,
    /// The step up to which operations are stepped; 0 while threads do them by themselves.
    stepped_until: u32,
}

/// The next act of a thread that has stopped beyond the limit.
enum Next {
    /// Steps the request, like each request within the limit.
    Step,
    /// Does the access without a point.
    Pass(Access),
    /// Lets other threads go first, and does the access.
    Turn(Access),
}

/// Answers a request beyond the step limit. `None` if the request is stepped as usual.
pub(super) async fn answer(
    thread: usize,
    request: Request,
    site: Site,
    looks: &mut Looks,
) -> Option<u64> {
    let access = match with(|threads| threads.next(request)) {
        Next::Step => return None,
        Next::Pass(access) => access,
        Next::Turn(access) => {
            YieldPoint::new(&RUN_ON, site.place).await;
            access
        }
    };
    looks.forget();
    if !with(|threads| threads.is_awaited(access.address)) {
        return Some(perform(thread).0);
    }
    let (old, new) = do_quietly(thread, access, site);
    locks::changed_otherwise(access.address, new, site);
    Some(old)
}

impl Threads {
    /// Decides on a request beyond the step limit.
    fn next(&mut self, request: Request) -> Next {
        if self.beyond.begun.is_none() {
            self.begin_beyond();
        }
        if self.is_late() {
            WORLD.with(World::end_beyond);
        }
        if self.beyond.stepped_until > 0 {
            let changed = self.execution().take_changed();
            if !changed && WORLD.with(World::position).1 < self.beyond.stepped_until {
                return Next::Step;
            }
            self.run_on(!changed);
        }
        match request {
            // In its turn, but on memory that a thread waits for.
            Request::Access(access) if !self.execution().next_turn() => Next::Pass(access),
            Request::Access(access) => match self.ends_turn() {
                true => Next::Step,
                false => Next::Turn(access),
            },
            Request::Yield => {
                self.ends_turn();
                Next::Step
            }
            _ => {
                self.beyond.idle = 0;
                Next::Step
            }
        }
    }

    fn begin_beyond(&mut self) {
        WORLD.with(|world| world.note_unseen(PASSED));
        self.beyond.begun = Some(processor_time());
        self.beyond.idle_max = IDLE;
        self.detail = Detail::Instructions;
        self.run_on(false);
    }

    /// Makes threads do their operations by themselves. `in_vain` if they were stepped, and neither changed anything
    /// nor waited for ever.
    fn run_on(&mut self, in_vain: bool) {
        if in_vain {
            self.beyond.idle_max = self.beyond.idle_max.saturating_mul(2);
        }
        (self.beyond.stepped_until, self.beyond.idle) = (0, 0);
        let awaited = std::mem::take(&mut self.awaited);
        self.execution().run_on(&awaited);
        self.awaited = awaited;
    }

    /// Counts a turn. Returns `true` if so many changed nothing that operations are stepped from now on.
    fn ends_turn(&mut self) -> bool {
        let changed = self.execution().take_changed();
        let beyond = &mut self.beyond;
        beyond.turns += 1;
        beyond.idle = if changed { 0 } else { beyond.idle + 1 };
        if beyond.turns >= TURNS {
            WORLD.with(World::end_beyond);
        }
        let is_idle = beyond.idle >= beyond.idle_max;
        if is_idle {
            beyond.stepped_until = WORLD.with(World::position).1 + STEPPED;
            self.execution().stop_all();
        }
        is_idle
    }

    /// Returns `true` if the time of the test is over. Looks at the clock from time to time.
    fn is_late(&mut self) -> bool {
        self.beyond.requests = (self.beyond.requests + 1) % REQUESTS;
        if self.beyond.requests != 0 {
            return false;
        }
        let begun = self.beyond.begun;
        // One answer for the run and for the process that follows it.
        self.execution().agree(|| {
            let deadline = *DEADLINE.lock().unwrap_or_else(PoisonError::into_inner);
            let lasts = || processor_time().saturating_sub(begun.unwrap_or_default());
            deadline.is_some_and(|deadline| Instant::now() >= deadline) && lasts() >= LEAST
        })
    }

    /// A thread waits for changes of this memory, until [`end_await`](Threads::end_await).
    pub(super) fn begin_await(&mut self, address: usize) {
        self.awaited.push(address);
    }

    /// A thread waits no longer for a change of this memory.
    pub(super) fn end_await(&mut self, address: usize) {
        if let Some(at) = self.awaited.iter().position(|other| *other == address) {
            self.awaited.swap_remove(at);
        }
    }

    fn is_awaited(&self, address: usize) -> bool {
        self.awaited.contains(&address)
    }
}
