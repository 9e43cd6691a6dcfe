//! Futex calls of plain threads: waits in the queues of words, wakes, and moves from one queue to another.
//!
//! A call is an operation on the object of its word. If it also concerns another word, it records a further operation
//! on the object of the other word, in the same step.
//!
//! A waiting thread has announced its resumption on the word for which it began to wait. Its wait may be moved to
//! another word. A wake of the other word is then also recorded on the first word, because it enables the resumption.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use unpause_native::{Access, Comparison};

use super::chances;
use super::drive::{perform, values};
use super::locks;
use super::ops::{self, LOAD, MOVE, REQUEUE, RESUME, WAIT, WAKE, WAKE_OP};
use super::orders;
use super::queues;
use super::sites::Site;
use super::threads::with;
use super::timed::{TimedWait, Woken};
use super::waiter::Waiter;
use crate::rt::WORLD;
use crate::run::event::Values;

/// `errno` of a wait on a word that does not have the expected value.
const EAGAIN: u64 = 11;
/// `errno` of a wait that timed out.
const ETIMEDOUT: u64 = 110;

/// The bits of a wake that ends all waits.
const ALL: u32 = u32::MAX;

/// The result of a requeue if the word does not have the expected value.
const DIFFERS: u64 = u64::MAX;

/// The result of an attempt to join the queue of a word.
enum Joined {
    Waits(Arc<Waiter>),
    /// The word does not have the expected value.
    Differs,
    /// The time limit of the wait has passed.
    Late,
}

/// Waits in the queue of a word for a wake with one of these bits, unless the word does not have the expected value.
pub(super) async fn wait(
    thread: usize,
    address: usize,
    (expected, bits): (u32, u32),
    deadline: Option<u64>,
    (site, continues): (Site, bool),
) -> u64 {
    locks::is_waited_for(address, site);
    let word = with(|threads| threads.word_at(address, "futex", site));
    let enqueue = || {
        with(|threads| {
            let value = threads.execution().word(thread);
            if value != expected {
                let refused = Values::Refused(u64::from(value), u64::from(expected));
                return (Joined::Differs, refused);
            }
            // A wait until a time in the past does not let other threads run first.
            if deadline.is_some_and(|deadline| threads.has_passed(deadline)) {
                return (Joined::Late, Values::Read(u64::from(value)));
            }
            let waiter = Waiter::with_bits(bits);
            threads.enqueue(address, waiter.clone());
            (Joined::Waits(waiter), Values::Changed(0, 1))
        })
    };
    let is_whole = site.is_whole_lock(with(|threads| threads.points));
    let joined = if is_whole || continues || site.is_behind && queues::are_on() {
        let (joined, values) = enqueue();
        word.note(&WAIT, site.place, values);
        joined
    } else {
        word.point(&WAIT, site.place, enqueue).await
    };
    let waiter = match joined {
        Joined::Waits(waiter) => waiter,
        Joined::Differs => return EAGAIN,
        Joined::Late => return ETIMEDOUT,
    };
    let wait = TimedWait { queue: address, word: &word, waiter: &waiter, deadline };
    match wait.end(&RESUME, site.place, || chances::wakes(site)).await {
        Woken::InTime => 0,
        Woken::TooLate => ETIMEDOUT,
    }
}

/// Wakes waiters of a word. Returns their number.
pub(super) async fn wake(address: usize, count: u32, site: Site) -> u64 {
    wake_with(address, count, ALL, (site, false)).await
}

/// Wakes waiters of a word that wait for one of these bits. Returns their number.
pub(super) async fn wake_with(
    address: usize,
    count: u32,
    bits: u32,
    (site, continues): (Site, bool),
) -> u64 {
    locks::is_waited_for(address, site);
    let word = with(|threads| threads.word_at(address, "futex", site));
    let dequeue = || {
        let woken = with(|threads| threads.dequeue(address, count as usize, bits));
        let number = woken.len() as u64;
        // Without waiters, a wake changes nothing and commutes with other wakes.
        (woken, Values::Changed(0, number))
    };
    let woken: Vec<Arc<Waiter>> = if continues {
        let (woken, values) = dequeue();
        word.note(&WAKE, site.place, values);
        woken
    } else {
        word.point(&WAKE, site.place, dequeue).await
    };
    let_go(&woken, address, site);
    woken.len() as u64
}

/// Wakes waiters of a word, and moves further waiters to the queue of another word. Returns the number of both, or
/// [`DIFFERS`].
pub(super) async fn requeue(
    thread: usize,
    [address, to]: [usize; 2],
    [wakes, moves]: [u32; 2],
    expected: Option<u32>,
    site: Site,
) -> u64 {
    locks::is_waited_for(address, site);
    locks::is_waited_for(to, site);
    let (word, other) = with(|threads| {
        (threads.word_at(address, "futex", site), threads.word_at(to, "futex", site))
    });
    let act = || {
        with(|threads| {
            let seen = expected.map(|_| threads.execution().word(thread));
            if seen != expected {
                return ((seen, None), Values::Changed(0, 0));
            }
            let woken = threads.dequeue(address, wakes as usize, ALL);
            let moved = threads.requeue(address, to, moves as usize);
            let number = (woken.len() + moved) as u64;
            ((seen, Some((woken, moved))), Values::Changed(0, number))
        })
    };
    let (seen, done) = word.point(&REQUEUE, site.place, act).await;
    if let Some(seen) = seen {
        word.note(&LOAD, site.place, Values::Read(u64::from(seen)));
    }
    let Some((woken, moved)) = done else { return DIFFERS };
    if moved > 0 {
        other.note(&MOVE, site.place, Values::Changed(0, moved as u64));
    }
    let_go(&woken, address, site);
    (woken.len() + moved) as u64
}

/// Performs `access` on another word, which the thread has requested, and wakes waiters of a word. If the previous
/// value of the other word passes the test, also wakes waiters of the other word. Returns the number of both.
pub(super) async fn wake_op(
    thread: usize,
    (address, count): (usize, u32),
    (access, others): (Access, u32),
    (comparison, operand): (Comparison, i32),
    site: Site,
) -> u64 {
    locks::is_waited_for(address, site);
    locks::is_waited_for(access.address, site);
    let (word, other) = with(|threads| {
        let word = threads.word_at(address, "futex", site);
        (word, threads.word_at(access.address, ops::kind(&access), site))
    });
    let act = || {
        let (old, new) = perform(thread);
        with(|threads| {
            let woken = threads.dequeue(address, count as usize, ALL);
            let passes = comparison.holds(old as i32, operand);
            let more = passes.then(|| threads.dequeue(access.address, others as usize, ALL));
            let number = woken.len() as u64;
            ((woken, more, old, new), Values::Changed(0, number))
        })
    };
    let (woken, more, old, new) = word.point(&WAKE_OP, site.place, act).await;
    let op = with(|threads| threads.op(&access, site));
    other.note(op, site.place, values(&access, site, (old, new)));
    orders::mark(&access, old, site);
    locks::changed_otherwise(access.address, new, site);
    let_go(&woken, address, site);
    let Some(more) = more else { return woken.len() as u64 };
    other.note(&WAKE, site.place, Values::Changed(0, more.len() as u64));
    let_go(&more, access.address, site);
    (woken.len() + more.len()) as u64
}

/// Lets waiters continue that were removed from the queue of the word at `address`.
fn let_go(woken: &[Arc<Waiter>], address: usize, site: Site) {
    for waiter in woken {
        let home = waiter.home();
        if home != address
            && let Some(word) = with(|threads| threads.known_word(home))
        {
            word.note(&WAKE, site.place, Values::Changed(0, 1));
        }
        waiter.woken.store(true, Ordering::Relaxed);
        WORLD.with(|world| world.resume(waiter.task));
    }
}
