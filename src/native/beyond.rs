//! Plain threads beyond the step limit of their run.
//!
//! A stress test of 100,000 messages terminates, but not within its step limit. So the run continues after the limit.
//! Its threads then execute their operations directly, a thousand in a turn. A turn ends after 64 operations without a
//! change, because a thread that waits for another thread in a loop would waste the rest of its turn. Another thread
//! may continue when a turn is over, and when a thread waits, yields or ends. Lock calls are not single operations in
//! this part of the run, because the carrier does not see them: locks wait and wake as they do outside of runs.
//!
//! Some threads were held or waited for a lock at the limit. They must see the changes that let them continue. So
//! operations on the awaited memory are still requests.
//!
//! A loop that waits for ever changes nothing. After [`IDLE`] turns without a change all operations are requests again,
//! for [`STEPPED`] steps or until something changes. In these steps the run holds the loop (`spin.rs`) and finds the
//! deadlock, as it does within the limit.
//!
//! The run gives up after [`TURNS`] turns, or when the time limit of the test is over. The run then counts as having
//! reached its step limit.

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

/// The number of turns after which a run gives up. With a thousand operations each, they last some seconds.
const TURNS: u32 = 1_000_000;
/// The number of consecutive turns without a change, of any thread, after which operations are requests again. The
/// first half of these turns are short, so they have 68,000 operations.
const IDLE: u32 = 128;
/// The maximum number of steps in which operations are requests: several times the number of rounds after which a loop
/// is held.
const STEPPED: u32 = 10_000;
/// The number of requests between two reads of the clock.
const REQUESTS: u32 = 64;
/// The minimum processor time for this part of a run. It lets a run be decided even if its steps took all the time.
/// Other load on the machine does not shorten it.
const LEAST: Duration = Duration::from_secs(3);

/// The report text for a part of the program that a search does not see.
const PASSED: &str = "the operations after the step limit of a run";

/// The time at which the current test must end.
static DEADLINE: Mutex<Option<Instant>> = Mutex::new(None);

/// Sets the time at which runs beyond their step limit give up.
pub(crate) fn set_deadline(deadline: Option<Instant>) {
    *DEADLINE.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
}

/// The state of a run beyond its step limit.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    /// The processor time at the first request beyond the limit. `None` within the limit.
    begun: Option<Duration>,
    /// The number of requests since the clock was last read.
    requests: u32,
    turns: u32,
    /// The number of consecutive turns without a change, and the number after which operations are requests again.
    idle: u32,
    idle_max: u32,
    /// The step up to which operations are requests; 0 while threads execute them directly.
    stepped_until: u32,
}

/// The next action for a thread that has stopped beyond the limit.
enum Next {
    /// Steps the request, like each request within the limit.
    Step,
    /// Performs the access without a point.
    Pass(Access),
    /// Lets other threads go first, then performs the access.
    Turn(Access),
}

/// Answers a request beyond the step limit. Returns `None` if the caller must step the request as usual.
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
            // This access is within a turn, but a thread waits for its memory.
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

    /// Lets threads execute their operations directly. `in_vain` is true if the operations were requests, and the
    /// threads neither changed anything nor waited for ever.
    fn run_on(&mut self, in_vain: bool) {
        if in_vain {
            self.beyond.idle_max = self.beyond.idle_max.saturating_mul(2);
        }
        (self.beyond.stepped_until, self.beyond.idle) = (0, 0);
        let awaited = std::mem::take(&mut self.awaited);
        self.execution().run_on(&awaited);
        self.awaited = awaited;
    }

    /// Counts a turn. Returns `true` if this many turns changed nothing, so that operations are requests from now on.
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

    /// Returns `true` if the time of the test is over. Reads the clock in one of `REQUESTS` calls only.
    fn is_late(&mut self) -> bool {
        self.beyond.requests = (self.beyond.requests + 1) % REQUESTS;
        if self.beyond.requests != 0 {
            return false;
        }
        let begun = self.beyond.begun;
        // The run and the process that repeats it must get the same answer.
        self.execution().agree(|| {
            let deadline = *DEADLINE.lock().unwrap_or_else(PoisonError::into_inner);
            let lasts = || processor_time().saturating_sub(begun.unwrap_or_default());
            deadline.is_some_and(|deadline| Instant::now() >= deadline) && lasts() >= LEAST
        })
    }

    /// Records that a thread waits for changes of this memory, until [`end_await`](Threads::end_await).
    pub(super) fn begin_await(&mut self, address: usize) {
        self.awaited.push(address);
    }

    /// Records that a thread no longer waits for a change of this memory.
    pub(super) fn end_await(&mut self, address: usize) {
        if let Some(at) = self.awaited.iter().position(|other| *other == address) {
            self.awaited.swap_remove(at);
        }
    }

    fn is_awaited(&self, address: usize) -> bool {
        self.awaited.contains(&address)
    }
}
