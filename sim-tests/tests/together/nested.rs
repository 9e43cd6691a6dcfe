//! Generated programs whose tasks spawn, abort and race other tasks. Each run must end and be reproducible, an
//! exhaustive search must find each run, and failures must be shrunk and replayed.
//!
//! A piece of a program takes only locks with higher numbers than the locks held around it, so nothing can deadlock.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{self, Arc};

use futures::future::{join, select};
use futures::stream::{FuturesUnordered, StreamExt};
use proptest::prelude::*;
use sim::Ordering::SeqCst;
use sim::report::Size;
use sim::run::{Failure, Outcome};
use sim::strategy::STRATEGIES;
use sim::{Atomic, Cell, Mutex, Runner, SIMULATED};
use sim_tests::histories;
use sim_tests::seeds::runner;
use sim_tests::unfound::unfound;

const LOCKS: usize = 2;

/// An act of a piece of a program.
#[derive(Clone, Debug)]
enum Act {
    /// Takes this lock until the piece ends, unless this lock or a later lock is held.
    Lock(usize),
    TryLock(usize),
    /// Gives up the lock that the piece took last.
    Unlock,
    Add,
    Load,
    /// Loads, and gives up the lock that the piece took last if the value is odd.
    UnlockIfOdd,
    /// Loads, and is over if the value is odd.
    StopIfOdd,
    Replace,
    Yield,
    /// Waits until the body of the test has stored, which the body does without waiting for any task.
    Spin,
    /// Checks if the last spawned task that will be joined has ended.
    Ended,
    /// Two pieces as branches of this task.
    Both(Vec<Act>, Vec<Act>),
    /// Two pieces as branches of this task; each piece is polled only after it was woken.
    Woken(Vec<Act>, Vec<Act>),
    /// Two pieces as branches of this task, the second dropped when the first has ended and the other way
    /// round.
    Race(Vec<Act>, Vec<Act>),
    /// A piece that is a separate task.
    Spawn(Vec<Act>, Fate),
}

/// The treatment of a spawned task.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// Joined at the end of the piece.
    Joined,
    /// Aborted after the next operation of the piece, and joined at its end.
    Aborted,
    /// Aborted in the same way, but not joined.
    Forsaken,
    /// No task waits for this task.
    Detached,
    /// The handle of the task is dropped when the piece has ended.
    Kept,
}

/// The values that each piece read, by its place in the program.
type Sight = BTreeMap<Vec<usize>, Vec<u64>>;

#[derive(Default)]
struct Shared {
    locks: [Mutex<u64>; LOCKS],
    word: Atomic<u64>,
    go: Atomic<bool>,
    cell: Cell<u64>,
    sight: sync::Mutex<Sight>,
}

fn piece(
    shared: Arc<Shared>,
    acts: Vec<Act>,
    place: Vec<usize>,
    floor: usize,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let sees = |value| {
            shared.sight.lock().unwrap().entry(place.clone()).or_default().push(value);
        };
        let mut held = Vec::new();
        // The tasks that will be joined, and the tasks that will not.
        let (mut tasks, mut kept) = (Vec::new(), Vec::new());
        for (number, act) in acts.into_iter().enumerate() {
            let floor = held.last().map_or(floor, |(lock, _)| lock + 1);
            let inner = |acts, branch| {
                let mut place = place.clone();
                place.extend([number, branch]);
                piece(shared.clone(), acts, place, floor)
            };
            match act {
                Act::Lock(lock) if lock >= floor => {
                    let mut guard = shared.locks[lock].lock().await;
                    sees(*guard);
                    *guard += 1;
                    held.push((lock, guard));
                }
                Act::TryLock(lock) if lock >= floor => {
                    let guard = shared.locks[lock].try_lock().await;
                    sees(u64::from(guard.is_some()));
                    held.extend(guard.map(|guard| (lock, guard)));
                }
                Act::Lock(_) | Act::TryLock(_) => {}
                Act::Unlock => drop(held.pop()),
                Act::Add => sees(shared.word.fetch_add(1, SeqCst).await),
                Act::Load => sees(shared.word.load(SeqCst).await),
                Act::UnlockIfOdd => {
                    let value = shared.word.load(SeqCst).await;
                    sees(value);
                    if value % 2 == 1 {
                        held.pop();
                    }
                }
                Act::StopIfOdd => {
                    let value = shared.word.load(SeqCst).await;
                    sees(value);
                    if value % 2 == 1 {
                        break;
                    }
                }
                Act::Replace => {
                    let new = place.iter().fold(7, |sum, n| 10 * sum + *n as u64);
                    sees(shared.cell.replace(new).await);
                }
                Act::Yield => sim::task::yield_now().await,
                Act::Spin => sim::spin_until(|| shared.go.load(SeqCst)).await,
                Act::Ended => {
                    let last: Option<&sim::JoinHandle<()>> = tasks.last();
                    sees(last.map_or(2, |task| u64::from(task.is_finished())));
                }
                Act::Both(one, other) => drop(join(inner(one, 0), inner(other, 1)).await),
                Act::Woken(one, other) => {
                    let both = [inner(one, 0), inner(other, 1)];
                    both.into_iter().collect::<FuturesUnordered<_>>().collect::<()>().await;
                }
                Act::Race(one, other) => drop(select(inner(one, 0), inner(other, 1)).await),
                Act::Spawn(acts, fate) => {
                    let task = sim::spawn(inner(acts, 0));
                    if matches!(fate, Fate::Aborted | Fate::Forsaken) {
                        sees(shared.word.load(SeqCst).await);
                        task.abort();
                    }
                    match fate {
                        Fate::Joined | Fate::Aborted => tasks.push(task),
                        Fate::Kept | Fate::Forsaken => kept.push(task),
                        Fate::Detached => task.detach(),
                    }
                }
            }
        }
        drop(held);
        while let Some(task) = tasks.pop() {
            sees(u64::from(task.await.is_ok()));
        }
    })
}

async fn body(program: &[Act]) -> Sight {
    let shared = Arc::new(Shared::default());
    let main = sim::spawn(piece(shared.clone(), program.to_vec(), Vec::new(), 0));
    shared.go.store(true, SeqCst).await;
    main.await.unwrap();
    let sight = shared.sight.lock().unwrap();
    sight.clone()
}

fn plain() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..LOCKS).prop_map(Act::Lock),
        1 => (0..LOCKS).prop_map(Act::TryLock),
        2 => Just(Act::Unlock),
        2 => Just(Act::Add),
        1 => Just(Act::Load),
        1 => Just(Act::UnlockIfOdd),
        1 => Just(Act::StopIfOdd),
        1 => Just(Act::Replace),
        1 => Just(Act::Yield),
        1 => Just(Act::Spin),
        1 => Just(Act::Ended),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    use Fate::*;
    prop::sample::select(vec![Joined, Aborted, Forsaken, Detached, Kept])
}

/// Programs of about `size` acts.
fn program(size: u32, wide: usize) -> impl Strategy<Value = Vec<Act>> {
    let act = plain().prop_recursive(3, size, wide as u32, move |act| {
        let piece = prop::collection::vec(act.clone(), 1..=wide);
        let two = (piece.clone(), piece.clone());
        prop_oneof![
            2 => act,
            1 => two.clone().prop_map(|(one, other)| Act::Both(one, other)),
            1 => two.clone().prop_map(|(one, other)| Act::Woken(one, other)),
            1 => two.prop_map(|(one, other)| Act::Race(one, other)),
            4 => (piece, fate()).prop_map(|(acts, fate)| Act::Spawn(acts, fate)),
        ]
    });
    prop::collection::vec(act, 1..=wide)
}

fn spins(program: &[Act]) -> bool {
    program.iter().any(|act| match act {
        Act::Spin => true,
        Act::Both(one, other) | Act::Woken(one, other) | Act::Race(one, other) => {
            spins(one) || spins(other)
        }
        Act::Spawn(acts, _) => spins(acts),
        _ => false,
    })
}

/// Returns the sights of random seeds that an exhaustive search does not have, and the sights whose class the search
/// does not have.
fn missing(program: &[Act]) -> BTreeSet<Sight> {
    // The number of reads before a wait distinguishes classes, but a search does not distinguish them.
    unfound(200, !spins(program), async || body(program).await)
}

fn cases(usual: u32, long: u32) -> ProptestConfig {
    let cases = if histories::long() { long } else { usual };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(12, 10_000))]

    #[test]
    fn every_run_ends_and_is_the_same_again(program in program(24, 4)) {
        let seeds = if !SIMULATED { 1 } else if sim_tests::histories::long() { 12 } else { 6 };
        for strategy in STRATEGIES.iter().map(|row| row.name) {
            let runner = Runner::new().hermetic().strategy(strategy);
            for seed in 0..seeds {
                let go = || runner.run_seed(seed, async || drop(body(&program).await));
                let (run, again) = (go(), go());
                prop_assert_eq!(&run.outcome, &Outcome::Passed, "{} {}", strategy, seed);
                prop_assert_eq!((run.steps, run.events), (again.steps, again.events));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(10, 3_000))]

    #[test]
    fn what_a_seed_sees_is_found_by_an_exhaustive_search(program in program(9, 3)) {
        if !SIMULATED {
            return Ok(());
        }
        let missing = missing(&program);
        prop_assert!(missing.is_empty(), "{:?}", missing);
    }
}

#[test]
fn to_abort_a_task_too_late_comes_before_it_is_joined() {
    let kept = Act::Spawn(vec![Act::Add], Fate::Kept);
    finds_all(&[kept, Act::Spawn(vec![Act::Yield], Fate::Aborted)]);
}

#[test]
fn what_an_aborted_task_was_about_to_do_can_come_after_what_others_do() {
    let inner = vec![Act::Spawn(vec![Act::Add], Fate::Detached), in_a_task(Act::Replace)];
    finds_all(&[Act::Spawn(inner, Fate::Detached), Act::Spawn(vec![Act::Replace], Fate::Forsaken)]);
    let inner = vec![in_a_task(Act::Lock(1))];
    finds_all(&[
        Act::Spawn(inner, Fate::Kept),
        Act::Spawn(vec![Act::Lock(1), Act::Add], Fate::Forsaken),
    ]);
}

#[test]
fn what_the_loser_of_a_race_was_about_to_do_can_come_after_what_others_do() {
    let joins =
        vec![Act::Spawn(vec![Act::Lock(0)], Fate::Joined), Act::Spawn(vec![Act::Add], Fate::Kept)];
    finds_all(&[Act::Race(joins, vec![Act::Add])]);
    let inner = Act::Spawn(vec![Act::Replace, Act::Lock(1)], Fate::Kept);
    finds_all(&[
        Act::Spawn(vec![inner], Fate::Kept),
        Act::Race(vec![Act::Lock(1), Act::Replace], vec![Act::Lock(1)]),
    ]);
    finds_all(&[
        Act::Spawn(vec![Act::Lock(1), Act::Add], Fate::Detached),
        Act::Race(vec![Act::Add], vec![Act::TryLock(1)]),
    ]);
}

/// A task that holds one lock tries another lock. If it does not get the second lock, it releases the first at once.
/// The order of its attempt and of another task's operation at the first lock therefore depends on the owner of the
/// second lock.
#[cfg_attr(feature = "sim", test)]
fn what_a_task_does_after_an_attempt_is_known_where_it_succeeds() {
    let body = async || {
        let word = Arc::new(Atomic::new(0));
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let held = locks[1].lock().await;
        let (others, both) = (locks.clone(), locks.clone());
        let counter = word.clone();
        let spawner = async move {
            let add = async move { counter.fetch_add(1, SeqCst).await };
            sim::spawn(add).detach();
            sim::spawn(async move { drop(others[0].try_lock().await) }).detach();
        };
        sim::spawn(spawner).detach();
        let task = sim::spawn(async move {
            let first = both[0].lock().await;
            if both[1].try_lock().await.is_none() {
                drop(first);
            }
            sim::task::yield_now().await;
        });
        word.load(SeqCst).await;
        drop(held);
        task.await.unwrap();
    };
    assert_eq!(unfound(1000, true, body), BTreeSet::new());
}

fn in_a_task(act: Act) -> Act {
    Act::Spawn(vec![act], Fate::Detached)
}

fn finds_all(program: &[Act]) {
    if SIMULATED {
        let missing = missing(program);
        assert!(missing.is_empty(), "{missing:?}");
    }
}

proptest! {
    #![proptest_config(cases(10, 2_000))]

    #[test]
    fn what_fails_is_shrunk_and_replayed(program in program(16, 4)) {
        if !SIMULATED {
            return Ok(());
        }
        // The rarest sight is the planted failure.
        let last = sync::Mutex::new(Sight::new());
        let sees = async || *last.lock().unwrap() = body(&program).await;
        let mut seen = BTreeMap::<Sight, u32>::new();
        let random = Runner::new().hermetic().strategy("random");
        for seed in 0..60 {
            prop_assert_eq!(random.run_seed(seed, sees).outcome, Outcome::Passed);
            *seen.entry(last.lock().unwrap().clone()).or_default() += 1;
        }
        let (bad, _) = seen.iter().min_by_key(|(_, times)| **times).unwrap();
        let fails = async || assert_ne!(&body(&program).await, bad, "seen");
        let is_it = |outcome: &Outcome| {
            matches!(outcome, Outcome::Failed(Failure::Panic { message, .. }) if message.contains("seen"))
        };
        let runner = runner("nested").strategy("random").seeds(0..60);
        let finding = runner.run(fails).finding.expect("one of the seeds saw it");
        prop_assert!(is_it(&finding.run.outcome), "{:?}", finding.run.outcome);
        let shrunk = finding.shrunk.as_ref().expect("it was shrunk");
        let cost = |size: &Size| (size.preemptions, size.switches, size.steps);
        prop_assert!(cost(&shrunk.size) <= cost(&finding.original));
        let again = runner.clone().replay(finding.trace_file.clone().unwrap()).run(fails);
        let again = again.finding.expect("it fails again");
        prop_assert!(is_it(&again.run.outcome), "{:?}", again.run.outcome);
        prop_assert_eq!(&again.run.events, &finding.run.events);
    }
}
