//! The task of a plain thread. It resumes the thread, announces the operation that the thread requests, and performs it
//! in its turn.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use unpause_native::{Access, Operation, Request};

use super::beyond;
use super::calls;
use super::chances;
use super::channels::Operations;
use super::death;
use super::detail;
use super::endless;
use super::futexes;
use super::locks;
use super::looks::Repeated;
use super::loops;
use super::memory;
use super::ops::{self, POINT, SLEEP, YIELD};
use super::orders;
use super::others;
use super::panic_marks;
use super::queues;
use super::references;
use super::sites::{Loose, Site};
use super::spin::Looks;
use super::threads::{Threads, with};
use super::transfers::transfer;
use super::turns;
use crate::rt::{WORLD, World};
use crate::run::chances::Chance;
use crate::run::event::Values;
use crate::run::ids::Place;
use crate::run::points::Points;
use crate::seam::{ForeignOp, Handle, YieldPoint, draw_key, spawn};

/// Steps a thread until it ends.
pub(super) async fn drive(thread: usize) {
    let (mut reply, mut looks) = (0, with(Threads::take_looks));
    let points = with(|threads| threads.points);
    let mut operations = Operations::begin(thread);
    loop {
        let (request, site) = resume(thread, reply, points);
        let continues = operations.continue_with(&request, site, points);
        if !matches!(request, Request::Access(_) | Request::Yield) {
            looks.forget();
        }
        if WORLD.with(World::is_beyond)
            && let Some(answer) = beyond::answer(thread, request, site, &mut looks).await
        {
            reply = answer;
            continue;
        }
        reply = match request {
            Request::Access(access) => match locks::whole(&access, site, points) {
                Some(part) => {
                    looks.forget_last();
                    loops::before_call(thread, access, site, &mut looks).await;
                    let old = locks::step(thread, access, site, (part, continues)).await;
                    if part.is_unlock() {
                        looks.guarded(thread, access.address);
                    }
                    old
                }
                None => match do_at_once(thread, access, site, points) {
                    Some(old) => {
                        looks.forget_last();
                        old
                    }
                    None if points.all => do_access(thread, access, site).await.0,
                    None => {
                        let of = (continues, &mut operations);
                        do_in_loop(thread, access, site, of, &mut looks).await
                    }
                },
            },
            Request::Yield if continues || site.is_behind && queues::are_on() => 0,
            Request::Yield if !points.all && looks.yields_again(thread, &site) => 0,
            Request::End => {
                others::end(thread);
                return with(|threads| threads.put_back(looks));
            }
            Request::Fault => return memory::failed().await,
            Request::Died(reason) => death::fail(thread, reason, site.place),
            request => call(thread, request, (site, continues)).await,
        };
    }
}

/// Resumes a thread until its next request. Returns the request and its site.
#[inline]
fn resume(thread: usize, reply: u64, points: Points) -> (Request, Site) {
    let (request, site, is_noted) = with(|threads| threads.resume(thread, reply));
    if is_noted {
        calls::note(thread, &request, site);
    }
    if site.spawns_in_turn {
        turns::note();
    }
    if let Some(part) = site.unseen(points) {
        WORLD.with(|world| world.note_unseen(part));
    }
    if site.shows_counts || site.shows_marks() {
        references::show(thread);
    }
    (request, site)
}

/// Performs an access that is not a point. Returns the previous value, or `None` if the access is a point.
#[inline]
fn do_at_once(thread: usize, access: Access, site: Site, points: Points) -> Option<u64> {
    if access.size == 0 {
        with(|threads| threads.let_pass(thread, site));
        return Some(perform(thread).0);
    }
    if site.is_of_counts() && references::takes(thread, site) {
        return Some(references::count(thread, access, site));
    }
    if !points.all && panic_marks::note(thread, &access, site) {
        return Some(do_in_step(thread, access, site).0);
    }
    if !site.is_point(points) {
        with(|threads| threads.let_pass(thread, site));
        let (old, new) = do_quietly(thread, access, site);
        locks::changed_otherwise(access.address, new, site);
        return Some(old);
    }
    if !queues::takes_in(&access, site) {
        return None;
    }
    if site.primitive.is_none() {
        // A lock of std is a single word. Other locks have queues in other memory.
        detail::simplify();
    }
    Some(do_quietly(thread, access, site).0)
}

/// Performs an access at a point, or in the current step if the access [continues](Operations::continue_with) it. If
/// the access belongs to a loop that changes nothing, the point is left out, or the thread is held. Returns the
/// previous value.
async fn do_in_loop(
    thread: usize,
    access: Access,
    site: Site,
    (continues, operations): (bool, &mut Operations),
    looks: &mut Looks,
) -> u64 {
    let mut look = looks.next(thread, &access, &site);
    let (old, new, is_newest) = match looks.repeated(thread, &mut look, &site) {
        Repeated::Again { value, noted } if sees(thread, access, site, value, noted) => {
            looks.saw_again(thread, (look, &site), value);
            orders::treat(orders::in_turn(site));
            return perform(thread).0;
        }
        Repeated::No | Repeated::Again { .. } if continues => {
            let (old, new) = do_in_step(thread, access, site);
            (old, new, true)
        }
        Repeated::No | Repeated::Again { .. } => {
            let awaits = orders::are_searched() && looks.repeats_last(&look);
            if awaits {
                let round = (looks.last_read(), looks.began_in(&look, 1));
                endless::is_held(thread, (access, site), round);
            } else if orders::are_searched() && looks.comes_again(&look) {
                looks.note_state(thread, look);
            }
            let left = operations.may_find_notification(&access, site).then_some(operations);
            PointOfAccess { awaits, left, ..do_access(thread, access, site) }.await
        }
        Repeated::Unchanged(round) => {
            loops::access(thread, access, site, round, (look, looks)).await
        }
    };
    if is_newest {
        looks.saw(thread, (look, &site), access, (old, new));
    } else {
        // This is not a round of a loop: a thread is held for the newest values only.
        looks.forget();
    }
    looks.keep_last(look, old, &access);
    old
}

/// Performs a request that is not an access: a wait, a wake, a thread, a sleep, or a transfer. A wait or a wake that
/// `continues` the current step is an effect of it. Returns the reply.
async fn call(thread: usize, request: Request, (site, continues): (Site, bool)) -> u64 {
    match request {
        Request::Wait { word, expected, bits, deadline } => {
            futexes::wait(thread, word, (expected, bits), deadline, (site, continues)).await
        }
        Request::Wake { word, count, bits } => {
            futexes::wake_with(word, count, bits, (site, continues)).await
        }
        Request::Requeue { word, to, wakes, moves, expected } => {
            futexes::requeue(thread, [word, to], [wakes, moves], expected, site).await
        }
        Request::WakeOp { word, count, access, others, comparison, operand } => {
            let test = (comparison, operand);
            futexes::wake_op(thread, (word, count), (access, others), test, site).await
        }
        Request::Spawn { thread: child } => spawn_thread(thread, child, site),
        Request::Join { thread: unpause_native::OTHERS } => {
            others::wait(site).await;
            0
        }
        Request::Join { thread: child } => {
            join(child, site).await;
            0
        }
        Request::Yield => {
            YieldPoint::new(&YIELD, site.place).await;
            0
        }
        Request::Point => {
            YieldPoint::new(&POINT, site.place).await;
            0
        }
        Request::Sleep { until } => {
            sleep(thread, until, site).await;
            0
        }
        Request::Transfer(requested) => transfer(thread, requested, site).await,
        Request::Key => draw_key(),
        Request::Noted => unreachable!("a note is repeated, and the thread goes on"),
        Request::Access(_) | Request::End | Request::Fault | Request::Died(_) => {
            unreachable!("`drive` performs it")
        }
    }
}

fn spawn_thread(thread: usize, child: usize, site: Site) -> u64 {
    super::HAS_SPAWNED.store(true, Ordering::Relaxed);
    let handle = start(child, site.place);
    with(|threads| {
        threads.keep(child, handle);
        if thread == 0 {
            threads.last_spawn = Some(WORLD.with(World::position).1);
        }
    });
    0
}

/// Spawns the task of a thread. This is a separate function, because the future of a task spawns futures of its own
/// type.
fn start(thread: usize, place: Place) -> Handle<()> {
    spawn(None, place, drive(thread))
}

/// Performs the access that the thread has requested. Returns the previous value and the new value.
pub(super) fn perform(thread: usize) -> (u64, u64) {
    with(|threads| threads.execution().perform(thread))
}

/// Performs an access that is not a point. If accesses to this memory are points elsewhere, the run still records the
/// change. Returns the previous value and the new value.
pub(super) fn do_quietly(thread: usize, mut access: Access, site: Site) -> (u64, u64) {
    let (old, new, word) = with(|threads| {
        let (old, new) = threads.perform(thread, &mut access, site, 0);
        let changed = old != new || access.operation == Operation::Store;
        let followed = || threads.followed_lock(access.address).is_some();
        let word = if changed { threads.known_word(access.address) } else { None };
        (old, new, word.filter(|_| !followed()))
    });
    if let Some(word) = word {
        word.note(ops::op(&access, site), site.place, values(&access, site, (old, new)));
    }
    (old, new)
}

/// Performs an access as an effect of the current step. Returns the previous value and the new value.
fn do_in_step(thread: usize, mut access: Access, site: Site) -> (u64, u64) {
    let (old, new, word, op, has_locks) = with(|threads| {
        let word = threads.word_at(access.address, ops::kind(&access), site);
        let op = threads.op(&access, site);
        let (old, new) = threads.perform(thread, &mut access, site, 0);
        (old, new, word, op, threads.has_locks())
    });
    word.note(op, site.place, values(&access, site, (old, new)));
    if has_locks {
        locks::changed_otherwise(access.address, new, site);
    }
    (old, new)
}

/// Returns `true` if the access would see this value again and change nothing. The step then counts as a read of the
/// memory, whatever the result.
fn sees(thread: usize, access: Access, site: Site, value: u64, noted: bool) -> bool {
    let seen = with(|threads| threads.execution().look(thread));
    let again = seen == Some(value);
    if noted || !again {
        let word = with(|threads| threads.word_at(access.address, ops::kind(&access), site));
        let load = Access { operation: Operation::Load, ..access };
        let shown = if again { values(&load, site, (value, value)) } else { Values::None };
        word.note(with(|threads| threads.op(&load, site)), site.place, shown);
        orders::mark(&load, value, site);
    }
    again
}

/// Returns the values of a completed access, in the format of reports.
pub(super) fn values(access: &Access, site: Site, (old, new): (u64, u64)) -> Values {
    with(|threads| {
        let execution = threads.execution();
        ops::values(access, site, (old, new), |value| execution.stable_value(value))
    })
}

/// Performs an access at a point. Returns the previous value, the new value, and `true` if the access chose the newest
/// store.
#[inline]
fn do_access<'a>(thread: usize, access: Access, site: Site) -> PointOfAccess<'a> {
    let (word, op) = with(|threads| {
        let word = threads.word_at(access.address, ops::kind(&access), site);
        (word, threads.op(&access, site))
    });
    let op = ForeignOp::new(word, op, site.place);
    PointOfAccess { op, thread, access, site, awaits: false, left: None }
}

/// The future of [`do_access`].
struct PointOfAccess<'a> {
    op: ForeignOp,
    thread: usize,
    access: Access,
    site: Site,
    /// True if the access [waits for another store](orders::await_change).
    awaits: bool,
    /// The operations that may have left a notification for the access, which parks the thread.
    left: Option<&'a mut Operations>,
}

impl Future for PointOfAccess<'_> {
    type Output = (u64, u64, bool);

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(u64, u64, bool)> {
        let PointOfAccess { op, thread, access, site, awaits, left } = &mut *self;
        let may_fail = site.is_weak && access.operation == Operation::CompareExchange;
        let effect = || {
            let failed = if may_fail { chances::fail_weakly(*thread, access) } else { None };
            if *awaits {
                orders::await_change(*thread);
            }
            let found = left.as_mut().and_then(|operations| operations.find_notification(*thread));
            let chosen = if failed.is_none() { orders::choose(*thread, access, *site) } else { 0 };
            with(|threads| {
                let (old, new) = match (failed.or(found), chosen) {
                    (Some(values), _) => values,
                    (None, nth) => threads.perform(*thread, access, *site, nth),
                };
                let execution = threads.execution();
                let shown = |value| execution.stable_value(value);
                let values = match failed {
                    Some(_) => Values::Refused(shown(old), shown(access.operand)),
                    None => ops::values(access, *site, (old, new), shown),
                };
                ((old, new, chosen == 0, threads.has_locks(), failed.is_some()), values)
            })
        };
        op.poll(cx, effect).map(|(old, new, is_newest, has_locks, has_failed)| {
            // A spurious failure has seen the expected value, with the order of a failure.
            let failure = Access { operation: Operation::Load, order: access.failure, ..*access };
            orders::mark(if has_failed { &failure } else { &*access }, old, *site);
            if !is_newest {
                orders::note(*thread, access, old, *site);
            } else if has_locks {
                locks::changed_otherwise(access.address, new, *site);
            }
            (old, new, is_newest)
        })
    }
}

async fn join(child: usize, site: Site) {
    let handle = with(|threads| threads.handles.get_mut(child).and_then(Option::take));
    if let Some(mut handle) = handle {
        // The thread has ended, even if it panicked: its result contains the panic for its joiner.
        let _ = poll_fn(|cx| handle.poll_join(cx, site.place)).await;
    }
}

/// Performs a sleep until a virtual time, and a point at its end. A timer may end the sleep early.
async fn sleep(thread: usize, until: u64, site: Site) {
    // A sleep until a time in the past does not let other threads run first.
    if with(|threads| threads.has_passed(until)) {
        YieldPoint::new(&SLEEP, site.place).await;
    } else if site.loose == Some(Loose::Sleep) && chances::passes() {
        let timer = with(|threads| threads.timer_of(thread, site));
        timer.point(&chances::SLEPT, site.place, || ((), Values::None)).await;
        chances::pass_time(until);
    } else if chances::happens(Chance::Timer) {
        YieldPoint::new(&chances::SLEEP_ENDS_EARLY, site.place).await;
        chances::pass_time(until);
    } else {
        wait_until(until).await;
        YieldPoint::new(&SLEEP, site.place).await;
    }
}

/// Waits until a virtual time.
async fn wait_until(until: u64) {
    chances::note_wait_for_time();
    WORLD.with(|world| world.set_timer(until));
    let mut polled = false;
    poll_fn(|_| match std::mem::replace(&mut polled, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    with(|threads| threads.execution().advance_to(until));
}
