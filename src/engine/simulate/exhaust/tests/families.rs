//! Families of random programs, which are compared with brute force: a row and a test each.
//!
//! `UNPAUSE_LONG=1 cargo test --release -p unpause --features tokio --lib -- --nocapture hundred_thousand_programs`
//! compares a hundred thousand programs and prints a table, with the runs per class of each family.
//! `UNPAUSE_FAMILY=mpsc` takes only the families with such names, and `UNPAUSE_LONG=5000` compares 5000 programs.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::act::Act;
#[cfg(feature = "tokio")]
use super::mail;
use super::program::Program;
use super::{Tally, regions, timed};
use crate::run::clock_mode::ClockMode;
use crate::run::faults::{Faults, Progress};
use crate::run::rng::Rng;

/// A family of programs.
struct Family {
    name: &'static str,
    /// The minimum percentage of programs that are small enough for brute force.
    small: u64,
    generate: fn(&mut Rng) -> Program,
    /// A property that the compared programs must have had.
    holds: fn(&Tally) -> bool,
}

macro_rules! families {
    ($($(#[$attribute:meta])* $test:ident: $name:literal, $small:literal, $generate:expr $(, $holds:expr)?;)*) => {
        /// All families.
        const FAMILIES: &[Family] = &[$(
            $(#[$attribute])*
            Family {
                name: $name,
                small: $small,
                generate: $generate,
                holds: {
                    let holds: fn(&Tally) -> bool = |_| true;
                    $(let holds: fn(&Tally) -> bool = { let _ = holds; $holds };)?
                    holds
                },
            },
        )*];

        $(
            #[test]
            $(#[$attribute])*
            fn $test() {
                compare(FAMILIES.iter().find(|family| family.name == $name).unwrap());
            }
        )*
    };
}

type Acts<'a> = &'a [fn(&mut Rng) -> Act];

/// A program of these acts. `shape` has the maximum number of tasks and of acts of each task.
fn of(rng: &mut Rng, shape: (u64, u64), acts: Acts<'_>) -> Program {
    Program::generate(rng, acts, shape)
}

fn one_of<T: Copy>(all: &[T], rng: &mut Rng) -> T {
    all[rng.below(all.len() as u64) as usize]
}

fn early(rng: &mut Rng) -> Program {
    let kinds: [Acts<'_>; 3] = [
        &[Act::load, Act::store, Act::lock, Act::lock, Act::unlock],
        &[Act::load, Act::add, Act::spawn, Act::join, Act::lock, Act::unlock],
        &[Act::store, Act::lock, Act::attempt, Act::spawn, Act::finished, Act::abort, Act::wait],
    ];
    let acts = one_of(&kinds, rng);
    let awaited = rng.below(2) as usize;
    Program::generate(rng, acts, (2, 3)).awaiting(awaited)
}

fn befallen(rng: &mut Rng, shape: (u64, u64), acts: Acts<'_>, faults: Faults) -> Program {
    of(rng, shape, acts).befallen_by(faults)
}

#[rustfmt::skip]
families! {
    bodies_that_return_early_are_explored_as_by_brute_force: "early", 25, early,
        |tally| tally.cut_short * 3 > tally.programs * 2;
    memory_is_explored_as_by_brute_force: "memory", 25, |rng|
        of(rng, (3, 3), &[Act::load, Act::store, Act::add, Act::exchange]);
    regions_as_one_step_are_explored_as_by_brute_force: "regions", 25, |rng| {
        let kinds: [Acts<'_>; 4] = [
            &[Act::load, Act::store, Act::add, Act::exchange],
            &[Act::load, Act::store, Act::lock, Act::lock, Act::unlock],
            &[Act::store, Act::lock, Act::attempt, Act::unlock, Act::wait, Act::join],
            &[Act::load, Act::add, Act::spawn, Act::join, Act::abort, Act::leave, Act::both],
        ];
        let acts = one_of(&kinds, rng);
        let program = of(rng, (3, 4), acts);
        regions::with_region(program, rng)
    };
    locks_are_explored_as_by_brute_force: "Mutex", 25, |rng|
        of(rng, (3, 4), &[Act::load, Act::store, Act::lock, Act::lock, Act::unlock]);
    attempts_at_locks_are_explored_as_by_brute_force: "try_lock", 25, |rng|
        of(rng, (3, 3), &[Act::store, Act::lock, Act::attempt, Act::unlock]);
    draws_are_explored_as_by_brute_force: "rand", 25, |rng|
        of(rng, (2, 3), &[Act::load, Act::store_drawn, Act::lock, Act::unlock]);
    tasks_are_explored_as_by_brute_force: "spawn, join", 25, |rng|
        of(rng, (3, 3), &[Act::load, Act::add, Act::spawn, Act::join, Act::lock, Act::unlock]);
    ends_are_explored_as_by_brute_force: "abort, is_finished", 25, |rng| of(rng, (3, 3), &[
        Act::load, Act::add, Act::spawn, Act::join, Act::finished, Act::abort, Act::leave,
    ]);
    branches_are_explored_as_by_brute_force: "join!", 25, |rng|
        of(rng, (2, 3), &[Act::load, Act::store, Act::both, Act::lock, Act::unlock, Act::join]);
    histories_are_explored_as_by_brute_force: "History", 25, |rng|
        of(rng, (3, 2), &[Act::load, Act::store, Act::call, Act::call]);
    waits_are_explored_as_by_brute_force: "spin_until", 25, |rng|
        of(rng, (3, 3), &[Act::store, Act::add, Act::wait, Act::wait, Act::load]);
    unseen_wake_ups_are_explored_as_by_brute_force: "unseen wakers", 25, |rng|
        of(rng, (2, 3), &[Act::bell, Act::bell, Act::load, Act::store, Act::lock, Act::unlock]),
        |tally| tally.by_step * 3 > tally.programs;
    unseen_ends_are_explored_as_by_brute_force: "unseen wakers, aborts", 25, |rng| of(rng, (2, 3), &[
        Act::bell, Act::bell, Act::add, Act::spawn, Act::abort, Act::join, Act::both,
    ]);
    condition_variables_are_explored_as_by_brute_force: "Condvar", 25, |rng| {
        let spurious = rng.below(2) == 1;
        let acts: Acts<'_> =
            &[Act::condvar, Act::condvar, Act::condvar, Act::unlock, Act::add, Act::lock];
        befallen(rng, (3, 2), acts, Faults { spurious, ..Faults::NONE })
    };
    dropped_waits_for_condition_variables_are_explored_as_by_brute_force: "Condvar, dropped", 25, |rng|
        of(rng, (3, 2), &[
            Act::condvar, Act::condvar, Act::spawn, Act::abort, Act::join, Act::cancellable,
        ]);
    cancellations_are_explored_as_by_brute_force: "cancellable", 25, |rng| of(rng, (2, 2), &[
        Act::cancellable, Act::cancellable, Act::load, Act::store, Act::lock, Act::unlock,
    ]);
    aborts_at_any_point_are_explored_as_by_brute_force: "aborts by choice", 25, |rng| {
        let cancel = Some(one_of(&["t1", "t*", "*2"], rng).into());
        let acts: Acts<'_> =
            &[Act::load, Act::store, Act::lock, Act::unlock, Act::wait, Act::cancellable];
        befallen(rng, (2, 2), acts, Faults { cancel, ..Faults::NONE })
    };
    stalls_are_explored_as_by_brute_force: "stalls", 25, |rng| {
        let progress = one_of(
            &[Progress::LockFree, Progress::ObstructionFree, Progress::WaitFree(2)],
            rng,
        );
        let acts: Acts<'_> =
            &[Act::load, Act::store, Act::add, Act::lock, Act::unlock, Act::wait, Act::abort];
        befallen(rng, (2, 2), acts, Faults { progress, ..Faults::NONE })
    };
    spurious_failures_are_explored_as_by_brute_force: "compare_exchange_weak", 25, |rng| {
        let acts: Acts<'_> = &[Act::exchange_weakly, Act::exchange_weakly, Act::load, Act::store];
        befallen(rng, (2, 2), acts, Faults { weak: true, ..Faults::NONE })
    };
    sleeps_are_explored_as_by_brute_force: "sleep", 25, |rng|
        of(rng, (3, 3), &[Act::load, Act::store, Act::sleep, Act::sleep, Act::now]);
    timeouts_are_explored_as_by_brute_force: "timeout", 25, |rng| of(rng, (3, 3), &[
        Act::store, Act::sleep, Act::within, Act::within, Act::lock, Act::unlock,
    ]);
    moves_of_the_time_are_explored_as_by_brute_force: "advance", 25, |rng| of(rng, (2, 3), &[
        Act::load, Act::store, Act::sleep, Act::within, Act::now, Act::advance,
    ]);
    times_at_any_moment_are_explored_as_by_brute_force: "clock = any", 25, |rng|
        timed::program(rng).with_clock(ClockMode::Any);
    early_moves_of_the_time_are_explored_as_by_brute_force: "clock = late", 25, |rng| {
        let most = 1 + rng.below(2) as u32;
        timed::program(rng).with_clock(ClockMode::Late(most))
    };
    selects_are_explored_as_by_brute_force: "select!", 25, |rng|
        of(rng, (2, 2), &[Act::select, Act::select, Act::store, Act::lock, Act::unlock]);
    selects_and_aborts_are_explored_as_by_brute_force: "select!, aborts, clocks", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> = &[Act::select, Act::spawn, Act::abort, Act::join, Act::cancellable];
        of(rng, (2, 2), acts).with_clock(clock)
    };
    early_deadlines_are_explored_as_by_brute_force: "timeout, select!, early", 25, |rng| {
        let acts: Acts<'_> =
            &[Act::within, Act::within, Act::select, Act::store, Act::lock, Act::unlock, Act::now];
        let clock = one_of(&[ClockMode::Last, ClockMode::Last, ClockMode::Late(1)], rng);
        befallen(rng, (2, 2), acts, Faults { selects: true, ..Faults::NONE }).with_clock(clock)
    };
    values_made_once_are_explored_as_by_brute_force: "OnceLock", 25, |rng|
        of(rng, (3, 2), &[Act::cell, Act::cell, Act::cell, Act::add]);
    initialisations_that_are_given_up_are_explored_as_by_brute_force: "OnceLock, given up", 25, |rng|
        of(rng, (3, 1), &[Act::cell_or_not, Act::cell_or_not, Act::cell]);
    initialisations_of_aborted_tasks_are_explored_as_by_brute_force: "OnceLock, aborted", 25, |rng|
        of(rng, (3, 2), &[Act::cell, Act::cell, Act::spawn, Act::abort, Act::join]);
    parking_is_explored_as_by_brute_force: "park", 25, |rng| {
        let spurious = rng.below(3) == 0;
        let acts: Acts<'_> = &[Act::token, Act::token, Act::token, Act::add, Act::load];
        befallen(rng, (3, 3), acts, Faults { spurious, ..Faults::NONE })
    };
    dropped_waits_for_tokens_are_explored_as_by_brute_force: "park, dropped", 25, |rng|
        of(rng, (2, 2), &[Act::token, Act::token, Act::token_or_not, Act::store]);
    parking_of_aborted_tasks_is_explored_as_by_brute_force: "park, aborted", 25, |rng|
        of(rng, (3, 3), &[Act::token, Act::token, Act::spawn, Act::abort, Act::join]);
    counts_are_explored_as_by_brute_force: "counted Arc", 25, |rng| {
        let shape = one_of(&[(2, 3), (3, 2)], rng);
        of(rng, shape, &[Act::count, Act::count, Act::count, Act::count, Act::add])
    };
    counts_of_aborted_tasks_are_explored_as_by_brute_force: "counted Arc, aborted", 25, |rng|
        of(rng, (2, 3), &[Act::count, Act::count, Act::spawn, Act::abort, Act::join]);
    links_are_explored_as_by_brute_force: "net link", 25, |rng|
        of(rng, (3, 3), &[Act::link, Act::link, Act::link, Act::add]);
    datagrams_are_explored_as_by_brute_force: "net datagrams", 25, |rng|
        of(rng, (3, 3), &[Act::datagram, Act::datagram, Act::datagram, Act::cut]);
    cuts_are_explored_as_by_brute_force: "net cut, mend", 25, |rng|
        of(rng, (3, 3), &[Act::link, Act::link, Act::cut, Act::add]);
    clogs_are_explored_as_by_brute_force: "net clog", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> =
            &[Act::link, Act::datagram, Act::clog, Act::clog, Act::cut, Act::death];
        of(rng, (3, 2), acts).with_clock(clock)
    };
    deaths_of_nodes_are_explored_as_by_brute_force: "node kill, restart", 25, |rng|
        of(rng, (3, 2), &[Act::link, Act::death, Act::node_task, Act::node_task, Act::datagram]);
    deaths_of_nodes_at_work_are_explored_as_by_brute_force: "node work, kill", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Last, ClockMode::Any], rng);
        of(rng, (3, 1), &[Act::death, Act::node_work, Act::node_work, Act::nap, Act::load])
            .with_clock(clock)
    };
    faults_of_disks_are_explored_as_by_brute_force: "node disk faults", 10, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Last, ClockMode::Any], rng);
        of(rng, (2, 2), &[Act::disk, Act::disk, Act::death, Act::load]).with_clock(clock)
    };
    statics_of_nodes_are_explored_as_by_brute_force: "node statics", 25, |rng|
        of(rng, (3, 2), &[Act::of_static, Act::of_static, Act::of_static, Act::death, Act::load]);
    names_of_new_nodes_are_explored_as_by_brute_force: "new nodes, names", 25, |rng|
        of(rng, (3, 3), &[Act::names, Act::names, Act::add, Act::death]);
    tables_of_nodes_are_explored_as_by_brute_force: "new nodes, addresses", 25, |rng|
        of(rng, (3, 2), &[Act::table, Act::table, Act::address, Act::load]);
    lists_of_nodes_are_explored_as_by_brute_force: "new nodes, lists", 10, |rng|
        of(rng, (3, 2), &[Act::list, Act::list, Act::names, Act::load]);
    main_functions_of_nodes_are_explored_as_by_brute_force: "node main, shared memory", 25, |rng| of(rng, (3, 2), &[
        Act::main_of_node, Act::death, Act::share, Act::of_static, Act::of_static, Act::load,
    ]);
    pauses_of_nodes_are_explored_as_by_brute_force: "node pause", 25, |rng|
        of(rng, (3, 2), &[Act::pause_node, Act::node_task, Act::death, Act::load, Act::wait]);
    clocks_of_nodes_are_explored_as_by_brute_force: "node clocks", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> =
            &[Act::clock_of_node, Act::clock_of_node, Act::nap, Act::sleep, Act::advance, Act::load];
        of(rng, (2, 2), acts).with_clock(clock)
    };
    slow_nodes_are_explored_as_by_brute_force: "slow nodes", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> = &[
            Act::slow_node, Act::slow_node, Act::node_task, Act::nap, Act::late_timers, Act::death,
            Act::sleep, Act::load,
        ];
        of(rng, (2, 2), acts).with_clock(clock)
    };
    aborts_by_others_are_explored_as_by_brute_force: "aborts by others", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> = &[
            Act::strike, Act::strike, Act::sleep, Act::within, Act::lock, Act::add, Act::token,
        ];
        of(rng, (2, 2), acts).with_clock(clock)
    };
    aborts_by_choice_of_tasks_that_wait_are_explored_as_by_brute_force: "aborts by choice, clocks", 25, |rng| {
        let cancel = Some(one_of(&["t1", "t*", "*2"], rng).into());
        let clock = one_of(&[ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> = &[Act::sleep, Act::sleep, Act::within, Act::lock, Act::strike];
        befallen(rng, (2, 1), acts, Faults { cancel, ..Faults::NONE }).with_clock(clock)
    };
    aborts_of_tasks_of_nodes_are_explored_as_by_brute_force: "node aborts, kill", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> =
            &[Act::resident, Act::resident, Act::abort, Act::finished, Act::end_of_nodes, Act::load];
        of(rng, (2, 2), acts).with_clock(clock)
    };
    all_at_once_is_explored_as_by_brute_force: "all of these", 25, |rng| of(rng, (3, 3), &[
        Act::load, Act::store, Act::add, Act::exchange, Act::store_drawn, Act::lock, Act::unlock,
        Act::attempt, Act::spawn, Act::join, Act::finished, Act::abort, Act::leave, Act::both,
        Act::check, Act::pause, Act::wait, Act::sleep, Act::within, Act::advance,
    ]);
    #[cfg(feature = "tokio")]
    semaphores_are_explored_as_by_brute_force: "tokio Semaphore", 20, |rng|
        of(rng, (3, 3), &[Act::semaphore, Act::semaphore, Act::add]);
    #[cfg(feature = "tokio")]
    locks_with_readers_are_explored_as_by_brute_force: "tokio RwLock", 20, |rng|
        of(rng, (3, 3), &[Act::rwlock, Act::rwlock, Act::add]);
    #[cfg(feature = "tokio")]
    notifications_are_explored_as_by_brute_force: "tokio Notify", 20, |rng|
        of(rng, (3, 3), &[Act::notify, Act::notify, Act::add]);
    #[cfg(feature = "tokio")]
    barriers_are_explored_as_by_brute_force: "tokio Barrier", 20, |rng|
        of(rng, (3, 3), &[Act::arrive, Act::arrive, Act::add]);
    #[cfg(feature = "tokio")]
    cells_are_explored_as_by_brute_force: "tokio OnceCell, SetOnce", 20, |rng|
        of(rng, (3, 3), &[Act::once, Act::once, Act::add]);
    #[cfg(feature = "tokio")]
    races_of_waits_are_explored_as_by_brute_force: "tokio, races of waits", 20, |rng| of(rng, (3, 3), &[
        Act::race, Act::race, Act::semaphore, Act::rwlock, Act::notify, Act::once,
    ]);
    #[cfg(feature = "tokio")]
    aborts_of_waits_are_explored_as_by_brute_force: "tokio, aborts of waits", 20, |rng| of(rng, (3, 3), &[
        Act::spawn, Act::abort, Act::semaphore, Act::rwlock, Act::notify, Act::both,
    ]);
    #[cfg(feature = "tokio")]
    selects_of_objects_of_tokio_are_explored_as_by_brute_force: "tokio, select!", 20, |rng| of(rng, (2, 2), &[
        Act::select_of_tokio, Act::select_of_tokio, Act::semaphore, Act::notify,
    ]);
    #[cfg(feature = "tokio")]
    messages_are_explored_as_by_brute_force: "tokio mpsc", 25, |rng|
        mail::generate(rng, mail::MESSAGES, (3, 3));
    #[cfg(feature = "tokio")]
    room_for_messages_is_explored_as_by_brute_force: "tokio mpsc, reserve", 25, |rng|
        mail::generate(rng, mail::ROOM, (3, 3));
    #[cfg(feature = "tokio")]
    counts_of_senders_are_explored_as_by_brute_force: "tokio mpsc, weak senders", 25, |rng|
        mail::generate(rng, mail::COUNTS, (3, 3));
    #[cfg(feature = "tokio")]
    messages_of_aborted_tasks_are_explored_as_by_brute_force: "tokio mpsc, aborts", 25, |rng| {
        let strike = vec![Act::strike(rng)];
        mail::generate(rng, mail::MESSAGES, (2, 2)).beside(strike)
    };
    #[cfg(feature = "tokio")]
    connections_are_explored_as_by_brute_force: "net connect, cut", 25, |rng| {
        let clock = one_of(&[ClockMode::Last, ClockMode::Last, ClockMode::Late(1), ClockMode::Any], rng);
        let acts: Acts<'_> =
            &[Act::connection, Act::connection, Act::cut, Act::abort, Act::end_of_nodes];
        of(rng, (2, 2), acts).with_clock(clock)
    };
    #[cfg(feature = "tokio")]
    broadcasts_are_explored_as_by_brute_force: "tokio broadcast", 25, |rng|
        mail::generate(rng, mail::BROADCAST, (3, 3));
    #[cfg(feature = "tokio")]
    watches_are_explored_as_by_brute_force: "tokio watch", 25, |rng|
        mail::generate(rng, mail::WATCH, (3, 3));
}

/// The maximum number of runs of a program by brute force. A program with more runs is too large.
const RUNS_MAX: u64 = 300;

/// The program of a family with this seed.
pub(super) fn generate(family: &str, seed: u64) -> Program {
    let family = FAMILIES.iter().find(|known| known.name == family).expect("a family");
    (family.generate)(&mut Rng::new(seed))
}

/// Compares a few programs of the family.
fn compare(family: &Family) {
    crate::engine::simulate::hook::install();
    let programs = if crate::long() { 40 } else { 15 };
    // A large program is given up only after many runs, so families with large programs have fewer of them.
    let programs = if family.small < 25 { programs * 2 / 5 } else { programs };
    let mut tally = Tally::default();
    for seed in 0..programs {
        tally.compare(&(family.generate)(&mut Rng::new(seed)), RUNS_MAX);
    }
    println!("{}: {tally:?}", family.name);
    assert!(100 * tally.programs > family.small * programs, "{}: {tally:?}", family.name);
    assert!((family.holds)(&tally), "{}: {tally:?}", family.name);
}

/// Compares programs of all families, on all processors, until `wanted` programs were small enough: at most `runs_max`
/// runs by brute force. A job is `job_size` programs of one family.
fn compare_until(
    families: &[&'static Family],
    (wanted, job_size, runs_max): (u64, u64, u64),
) -> BTreeMap<&'static str, Tally> {
    let tallies: Mutex<BTreeMap<&str, Tally>> = Mutex::default();
    let (next, compared) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        while compared.load(Ordering::Relaxed) < wanted {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let family = families[(job % families.len() as u64) as usize];
            let first = job / families.len() as u64 * job_size;
            let mut tally = Tally::default();
            for seed in first..first + job_size {
                tally.compare(&(family.generate)(&mut Rng::new(seed)), runs_max);
            }
            let before = compared.fetch_add(tally.programs, Ordering::Relaxed);
            if (before + tally.programs) / 10_000 > before / 10_000 {
                eprintln!("{} programs", before + tally.programs);
            }
            let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
            tallies.entry(family.name).or_default().add(&tally);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    tallies.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn row(name: &str, tally: &Tally) -> String {
    let Tally { programs, deadlocks, brute, classes, runs, blocked, .. } = *tally;
    let per_class = runs as f64 / classes as f64;
    let abandoned = 100.0 * blocked as f64 / (runs + blocked) as f64;
    format!(
        "| {name} | {programs} | {deadlocks} | {brute} | {classes} | {per_class:.4} | {abandoned:.1} % |"
    )
}

#[test]
fn a_hundred_thousand_programs_are_explored_as_by_brute_force() {
    crate::engine::simulate::hook::install();
    let long = std::env::var("UNPAUSE_LONG").ok();
    let long = long.map(|number| number.parse().ok().filter(|n| *n > 1).unwrap_or(100_000));
    // A few programs of each family by default.
    let few = FAMILIES.len() as u64;
    let (wanted, job_size, runs_max) = long.map_or((few, 1, 60), |wanted| (wanted, 25, 500));
    let of = std::env::var("UNPAUSE_FAMILY").unwrap_or_default();
    let families: Vec<_> = FAMILIES.iter().filter(|family| family.name.contains(&of)).collect();
    assert!(!families.is_empty(), "no family is called {of}");
    let start = Instant::now();
    let tallies = compare_until(&families, (wanted, job_size, runs_max));
    println!(
        "| family | programs | with a deadlock | interleavings | classes | runs per class | abandoned |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut all = Tally::default();
    for family in FAMILIES {
        let Some(tally) = tallies.get(family.name) else { continue };
        println!("{}", row(family.name, tally));
        all.add(tally);
    }
    println!("{}", row("all", &all));
    println!("{} families, {:.0} s", tallies.len(), start.elapsed().as_secs_f64());
    assert!(all.programs >= wanted, "{all:?}");
    assert!(!of.is_empty() || all.deadlocks * 20 > all.programs, "{all:?}");
    assert_eq!(tallies.len(), families.len());
    // Runs that repeat a class are caused by drawn values that made no difference.
    assert!(all.runs * 100 < all.classes * 103, "{all:?}");
}
