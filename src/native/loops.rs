//! Operations in loops that are held until another thread changes an object of the loop.

use std::sync::Arc;

use unpause_native::Access;

use super::drive::values;
use super::endless;
use super::locks;
use super::looks::{Look, Release, Round};
use super::ops;
use super::orders;
use super::sites::Site;
use super::spin::Looks;
use super::threads::{Threads, with};
use crate::rt::{WORLD, World};
use crate::run::event::Values;
use crate::run::op::{self, Op};
use crate::seam::ForeignWord;

/// Waits until another thread has released a lock, before a call of the lock.
const LOOK_AGAIN: Op = Op::of_kind("look_again", op::Access::Act, op::lock::LOOK);

/// Holds a read in a loop until another thread changes an object that the loop reads. Then performs it. Returns the
/// previous value, the new value, and `true` if the read chose the newest store.
pub(super) async fn access(
    thread: usize,
    mut access: Access,
    site: Site,
    round: Round,
    (look, looks): (Look, &mut Looks),
) -> (u64, u64, bool) {
    // If the loop reads more than one value, it may read an older one of them.
    let awaits = orders::are_searched() && looks.repeats_last(&look);
    let before = looks.began_in(&look, round.accesses);
    let let_go = is_let_go((thread, access, site), (&round, before), looks);
    let (word, op) = with(|threads| {
        let word = threads.word_at(access.address, ops::kind(&access), site);
        (word, threads.op(&access, site))
    });
    let effect = || {
        let chosen = match awaits {
            true => {
                orders::await_change(thread);
                orders::choose(thread, &access, site)
            }
            false => {
                orders::treat(orders::in_turn(site));
                0
            }
        };
        let (old, new) = with(|threads| threads.perform(thread, &mut access, site, chosen));
        ((old, new, chosen == 0), values(&access, site, (old, new)))
    };
    let done = hold((&word, op), effect, site, (round, let_go), (look, looks)).await;
    let (old, new, is_newest) = done;
    orders::mark(&access, old, site);
    if !is_newest {
        orders::note(thread, &access, old, site);
    } else if with(|threads| threads.has_locks()) {
        locks::changed_otherwise(access.address, new, site);
    }
    done
}

/// Called before a lock call that is a single operation. If a search finds that the thread repeats such calls, holds
/// the thread until another thread changes an object of the loop.
pub(super) async fn before_call(thread: usize, access: Access, site: Site, looks: &mut Looks) {
    let Some((call, round)) = looks.calls_again(thread, access.address, &site) else { return };
    let Some((lock, _)) = with(|threads| threads.known_lock(access.address)) else { return };
    let let_go = is_let_go((thread, access, site), (&round, None), looks);
    let effect = || ((), Values::None);
    hold((lock.word(), &LOOK_AGAIN), effect, site, (round, let_go), (call, looks)).await;
}

/// Called before a thread is held before an access. Returns `true` if the thread continues when no other thread can.
/// `before` is like in [`endless::is_held`].
fn is_let_go(
    (thread, access, site): (usize, Access, Site),
    (round, before): (&Round, Option<u64>),
    looks: &Looks,
) -> bool {
    let accesses = looks.last(round.accesses);
    if round.is_new {
        endless::is_held(thread, (access, site), (accesses, before));
    }
    let ends = || endless::ends(thread, (access, site), accesses, looks.most_pauses());
    round.release == Release::Always || round.release == Release::IfItEnds && ends()
}

/// Holds an operation on a word until another thread changes an object of a loop. Then performs the effect of the
/// operation, and returns its result. If no thread can continue, and the thread is `let_go`, it runs for some more
/// rounds, because a loop may count its rounds.
async fn hold<R: Send>(
    (word, op): (&Arc<ForeignWord>, &'static Op),
    effect: impl FnMut() -> (R, Values) + Send + Unpin,
    site: Site,
    (Round { looked: (addresses, seen), .. }, let_go): (Round, bool),
    (look, looks): (Look, &mut Looks),
) -> R {
    let object = |threads: &Threads, address: usize| {
        let of_lock = || threads.known_lock(address).map(|(lock, _)| lock.word().clone());
        Some(threads.known_word(address).or_else(of_lock)?.id(site.place))
    };
    let objects = with(|threads| {
        addresses.iter().filter_map(|address| object(threads, *address)).collect::<Vec<_>>()
    });
    let before_time = let_go && looks.goes_before_time(look);
    if let_go {
        // The timer expires before all other timers, or after all of them.
        WORLD.with(|world| world.set_timer(if before_time { 0 } else { u64::MAX }));
    }
    with(|threads| addresses.iter().for_each(|address| threads.begin_await(*address)));
    let done = word.held(op, site.place, (objects, seen), effect).await;
    with(|threads| addresses.iter().for_each(|address| threads.end_await(*address)));
    if let_go && !WORLD.with(World::clear_timer) {
        let passed = looks.was_let_go(before_time);
        // The loop may wait for a time, so the clock advances.
        with(|threads| {
            let now = threads.execution().now();
            threads.execution().advance_to(now + passed);
        });
    }
    done
}
