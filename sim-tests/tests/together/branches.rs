//! Generated tasks of several branches: every branch is woken and ends.
//!
//! Each branch takes locks in ascending order and releases all of them before it ends. So no program can deadlock, and
//! the sums under the locks are known. An exhaustive search must find all values that branches read under random seeds.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{self, Arc};

use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};
use proptest::prelude::*;
use sim::Ordering::SeqCst;
use sim::run::Outcome;
use sim::strategy::STRATEGIES;
use sim::{Atomic, Cell, Mutex, Runner, SIMULATED};
use sim_tests::histories;
use sim_tests::unfound::unfound;

const LOCKS: usize = 2;

/// An act of a branch.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes the lock and adds to the value under it, unless the branch holds this lock or a later lock.
    Lock(usize),
    /// Gives up the lock that it took last.
    Unlock,
    Add,
    Set,
    Yield,
}

/// The way in which the branches of a task are polled.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Each branch is polled whenever the task is polled.
    All,
    /// The branches that were woken.
    Woken,
    /// Each branch is a separate task, and one task joins them.
    Spawned,
}

type Branches = (Form, Vec<Vec<Act>>);

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..LOCKS).prop_map(Act::Lock),
        2 => Just(Act::Unlock),
        2 => Just(Act::Add),
        1 => Just(Act::Set),
        1 => Just(Act::Yield),
    ]
}

fn tasks() -> impl Strategy<Value = Vec<Branches>> {
    let form = prop_oneof![Just(Form::All), Just(Form::Woken), Just(Form::Spawned)];
    let branches = prop::collection::vec(prop::collection::vec(act(), 1..6), 1..4);
    prop::collection::vec((form, branches), 1..4)
}

/// The values that each branch read, by its task and its number there.
type Sight = BTreeMap<(usize, usize), Vec<u64>>;

#[derive(Default)]
struct Shared {
    locks: [Mutex<u64>; LOCKS],
    word: Atomic<u64>,
    cell: Cell<u64>,
    sight: sync::Mutex<Sight>,
}

/// The number of times that the branch takes each lock.
fn taken(branch: &[Act]) -> [u64; LOCKS] {
    let (mut held, mut taken) = (Vec::new(), [0; LOCKS]);
    for act in branch {
        match act {
            Act::Lock(lock) if held.last().is_none_or(|last| last < lock) => {
                held.push(*lock);
                taken[*lock] += 1;
            }
            Act::Unlock => drop(held.pop()),
            _ => {}
        }
    }
    taken
}

async fn branch(shared: Arc<Shared>, acts: Vec<Act>, name: (usize, usize)) {
    let sees = |value| shared.sight.lock().unwrap().entry(name).or_default().push(value);
    let mut held = Vec::new();
    for act in acts {
        match act {
            Act::Lock(lock) if held.last().is_none_or(|(last, _)| *last < lock) => {
                let mut guard = shared.locks[lock].lock().await;
                sees(*guard);
                *guard += 1;
                held.push((lock, guard));
            }
            Act::Lock(_) => {}
            Act::Unlock => drop(held.pop()),
            Act::Add => sees(shared.word.fetch_add(1, SeqCst).await),
            Act::Set => sees(shared.cell.replace((10 * name.0 + name.1) as u64).await),
            Act::Yield => sim::task::yield_now().await,
        }
    }
}

async fn task(shared: Arc<Shared>, (form, branches): Branches, number: usize) {
    let run = |(at, acts)| -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(branch(shared.clone(), acts, (number, at)))
    };
    let all = branches.into_iter().enumerate().map(run);
    match form {
        Form::All => drop(join_all(all).await),
        Form::Woken => all.collect::<FuturesUnordered<_>>().collect().await,
        Form::Spawned => {
            for task in join_all(all.map(sim::spawn)).await {
                task.unwrap();
            }
        }
    }
}

async fn body(tasks: Vec<Branches>) -> Sight {
    let branches = tasks.iter().flat_map(|(_, branches)| branches);
    let mut expected = [0; LOCKS];
    for taken in branches.map(|branch| taken(branch)) {
        (0..LOCKS).for_each(|lock| expected[lock] += taken[lock]);
    }
    let shared = Arc::new(Shared::default());
    let spawn = |(number, branches)| sim::spawn(task(shared.clone(), branches, number));
    for task in tasks.into_iter().enumerate().map(spawn).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for (lock, expected) in shared.locks.iter().zip(expected) {
        assert_eq!(*lock.lock().await, expected);
    }
    let sight = shared.sight.lock().unwrap();
    sight.clone()
}

/// Checks that an exhaustive search finds the sights of random seeds, and their classes.
fn is_found(tasks: &[Branches]) {
    let missing = unfound(300, true, async || body(tasks.to_vec()).await);
    assert!(missing.is_empty(), "{tasks:?}: {missing:?}");
}

#[cfg_attr(feature = "sim", test)]
fn the_order_in_which_branches_are_woken_is_their_own_tasks_affair() {
    use Act::Add;
    let two = (Form::Woken, vec![vec![Add, Add], vec![Add]]);
    is_found(&[two, (Form::Woken, vec![vec![Add, Add]])]);
}

fn cases(usual: u32, long: u32) -> ProptestConfig {
    let cases = if histories::long() { long } else { usual };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn few_tasks() -> impl Strategy<Value = Vec<Branches>> {
    let form = prop_oneof![Just(Form::All), Just(Form::Woken)];
    let branches = prop::collection::vec(prop::collection::vec(act(), 1..4), 1..3);
    prop::collection::vec((form, branches), 1..3)
}

proptest! {
    #![proptest_config(cases(10, 2_000))]

    #[test]
    fn what_branches_see_is_found_by_an_exhaustive_search(tasks in few_tasks()) {
        if SIMULATED {
            is_found(&tasks);
        }
    }
}

proptest! {
    #![proptest_config(cases(30, 10_000))]

    #[test]
    fn branches_that_wait_for_each_other_all_end(tasks in tasks()) {
        let seeds = if !SIMULATED { 1 } else if histories::long() { 20 } else { 8 };
        for strategy in STRATEGIES.iter().map(|row| row.name) {
            let runner = Runner::new().hermetic().strategy(strategy);
            for seed in 0..seeds {
                let run = runner.run_seed(seed, async || drop(body(tasks.clone()).await));
                prop_assert_eq!(&run.outcome, &Outcome::Passed, "{} {}: {:?}", strategy, seed, run.events);
            }
        }
    }
}
