//! Orders of two lines, compared with all interleavings of small random programs. The comparison does not use classes.

use std::panic::Location;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};

use super::*;
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::engine::simulate::hook;
use crate::rt::{RunLimits, TaskBody, Worker};
use crate::run::Failure;
use crate::run::choice::{Draw, Mismatch, Strategy, View};
use crate::run::ids::Seed;
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::exhaustive::Exhaustive;
use crate::sync::Ordering::SeqCst;

/// The number of programs, and the maximum number of interleavings of a program.
fn effort() -> (u64, usize) {
    if crate::long() { (4_000, 5_000) } else { (200, 1_500) }
}

const LIMITS: RunLimits = RunLimits::of_test(100);

/// The acts of tasks, by number.
#[derive(Clone, Default, Debug)]
struct Program {
    tasks: Vec<Vec<u64>>,
    /// The acts of the body before it joins its tasks.
    first: Vec<u64>,
    /// The acts of the body after it has joined its tasks.
    last: Vec<u64>,
}

impl Program {
    fn of(tasks: &[&[u64]]) -> Program {
        let tasks = tasks.iter().map(|acts| acts.to_vec()).collect();
        Program { tasks, ..Program::default() }
    }

    fn generate(rng: &mut Rng) -> Program {
        let (count, acts) = if rng.below(3) == 0 { (3, 1) } else { (2, 3) };
        let mut own = |least: u64, most: u64| -> Vec<u64> {
            let count = least + rng.below(most - least + 1);
            (0..count).map(|_| rng.below(ACTS)).collect()
        };
        let tasks = (0..count).map(|_| own(1, acts)).collect();
        Program { tasks, first: own(0, 1), last: own(0, 1) }
    }
}

#[derive(Default)]
struct Shared {
    words: [crate::Atomic<u64>; 2],
    locks: [crate::Mutex<u64>; 2],
}

/// The number of different acts.
const ACTS: u64 = 13;

/// Executes an act. Each operation has its own line.
async fn act(shared: &Shared, act: u64) {
    let Shared { words: [one, two], locks: [first, second] } = shared;
    match act {
        0 => _ = one.load(SeqCst).await,
        1 => one.store(1, SeqCst).await,
        2 => one.store(2, SeqCst).await,
        3 => _ = one.fetch_add(1, SeqCst).await,
        4 => assert_ne!(one.load(SeqCst).await, 2),
        5 => assert_ne!(one.load(SeqCst).await, 0),
        6 => two.store(1, SeqCst).await,
        7 => assert_ne!(two.load(SeqCst).await, 1),
        8 => *first.lock().await += 1,
        9 => assert_ne!(*first.lock().await, 1),
        10 => {
            let _held = first.lock().await;
            *second.lock().await += 1;
        }
        11 => {
            let _held = second.lock().await;
            *first.lock().await += 1;
        }
        _ => {
            if one.load(SeqCst).await == 2 {
                two.store(3, SeqCst).await;
                panic!("the word is 2");
            }
        }
    }
}

async fn body(program: Program) {
    let Program { tasks, first, last } = program;
    let shared = Arc::new(Shared::default());
    let spawned: Vec<_> = tasks
        .into_iter()
        .map(|acts| {
            let shared = shared.clone();
            crate::spawn(async move {
                for number in acts {
                    act(&shared, number).await;
                }
            })
        })
        .collect();
    for number in first {
        act(&shared, number).await;
    }
    for task in spawned {
        task.await.unwrap();
    }
    for number in last {
        act(&shared, number).await;
    }
}

/// Runs a program once.
fn run_once(worker: &mut Worker, program: &Program) -> Option<Failure> {
    let body = pin!(TaskBody::new(body(program.clone())));
    let failure = worker.run(Seed(0), &LIMITS, Location::caller(), body);
    worker.forget_histories();
    failure
}

/// Returns the classes of all runs of a program.
fn classes_of(program: &Program) -> Classes {
    let search = Exhaustive::default();
    let mut worker = Worker::new(search.strategy());
    let mut classes = Classes::default();
    loop {
        let failure = run_once(&mut worker, program);
        let end = if failure.is_some() { End::Failed } else { End::Passed };
        let (run, is_new) = (worker.outline(Seed(0), ""), !search.is_blocked());
        let more = search.advance_and(ends_by_a_step(failure.as_ref()), |order| {
            if is_new {
                classes.add(&run, end, order);
            }
        });
        if search.progress().runs == 0 {
            classes.clear();
        }
        if !more {
            return classes;
        }
    }
}

/// The answers of a run: each a position among the candidates, with their number.
#[derive(Default)]
struct Path {
    taken: Vec<(usize, usize)>,
    at: usize,
}

/// A strategy that executes all runs, one after the other.
#[derive(Clone, Default)]
struct Every(Arc<Mutex<Path>>);

impl Every {
    fn path(&self) -> MutexGuard<'_, Path> {
        self.0.lock().unwrap()
    }

    /// Selects the next run. Returns `false` if no run is left.
    fn advance(&self) -> bool {
        let mut path = self.path();
        while let Some((at, of)) = path.taken.pop() {
            if at + 1 < of {
                path.taken.push((at + 1, of));
                return true;
            }
        }
        false
    }
}

impl Strategy for Every {
    fn begin(&mut self, _: Seed) {
        self.path().at = 0;
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        let mut path = self.path();
        let mut tasks = view.candidates().to_vec();
        tasks.sort_unstable();
        if path.at == path.taken.len() {
            path.taken.push((0, tasks.len()));
        }
        let task = tasks[path.taken[path.at].0];
        path.at += 1;
        Ok(view.task(task).candidate())
    }

    fn draw(&mut self, _: &Draw) -> Result<u64, Mismatch> {
        unreachable!("these programs draw nothing")
    }
}

/// Returns all runs of a program, each as its lines and `true` if it failed; `None` if there are too many.
fn interleavings(program: &Program, most: usize) -> Option<Vec<(Vec<Site>, bool)>> {
    let every = Every::default();
    let mut worker = Worker::new(Box::new(every.clone()));
    let mut all = Vec::new();
    loop {
        let failed = run_once(&mut worker, program).is_some();
        all.push((lines(&worker.outline(Seed(0), "")), failed));
        if !every.advance() {
            return Some(all);
        }
        if all.len() == most {
            return None;
        }
    }
}

#[test]
fn an_order_is_proved_exactly_if_each_interleaving_that_keeps_it_passes() {
    hook::install();
    let (programs, most) = effort();
    let (mut possible, mut proved) = (0, 0);
    for seed in 0..programs {
        let program = Program::generate(&mut Rng::new(seed));
        let Some(all) = interleavings(&program, most) else { continue };
        let classes = classes_of(&program);
        let failing = || classes.all.iter().filter(|class| class.is_failing);
        let passes_with =
            |order: &Order| all.iter().all(|(run, failed)| !failed || !keeps(run, order));
        let count = classes.lines.len();
        for (early, late) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
            let [first, second] = [early, late].map(|line| classes.lines[line].site);
            for times in (1..=3).filter(|_| early != late) {
                let order = Order { early: first, late: second, times };
                let fails = failing().any(|class| class.can_keep(early, late, times as usize));
                assert_eq!(passes_with(&order), !fails, "{seed} {program:?}: {order:?}");
                possible += u64::from(!fails && failing().next().is_some());
            }
        }
        for Proved { order, kept } in classes.proved() {
            let text = format!("{seed} {program:?}: {order:?}");
            assert!(passes_with(&order), "{text}");
            // At least one passing run must contain both lines in this order.
            let has_both = |run: &[Site]| run.contains(&order.late) && keeps(run, &order);
            assert!(all.iter().any(|(run, failed)| !failed && has_both(run)), "{text}");
            assert!(kept > 0 && kept <= classes.passing().count(), "{text}");
            proved += 1;
        }
    }
    assert!(possible > proved && proved > 20, "{possible} {proved}");
}

/// The proved orders of a program: the distances of both lines from the first executed line, and the number.
fn proved(program: &Program) -> Vec<(u32, u32, u32)> {
    hook::install();
    let classes = classes_of(program);
    let first = classes.lines.iter().map(|line| line.site.place.line()).min().unwrap_or(0);
    let distance = |site: Site| site.place.line() - first;
    let orders = classes.proved().into_iter().map(|proved| proved.order);
    orders.map(|order| (distance(order.early), distance(order.late), order.times)).collect()
}

#[test]
fn a_line_that_all_tasks_execute_comes_before_another_line() {
    // The load sees two of three additions.
    assert_eq!(proved(&Program::of(&[&[3], &[3], &[3, 4]])), [(0, 1, 3)]);
}

#[test]
fn a_line_that_only_failing_runs_execute_is_in_no_order() {
    // The store of the last act is executed only before the panic. The load before the store must come before the store
    // of the other task.
    let orders = proved(&Program::of(&[&[2, 7], &[12]]));
    assert!(matches!(orders[..], [(load, 0, 1)] if load > 5), "{orders:?}");
}

#[test]
fn a_line_is_in_no_order_if_it_is_executed_after_a_join() {
    let program = Program { first: vec![5], ..Program::of(&[&[1]]) };
    assert_eq!(proved(&program), [(0, 4, 1)]);
    assert!(proved(&Program { last: vec![5], ..program }).is_empty());
}

#[test]
fn a_failure_in_every_run_has_no_order() {
    assert!(proved(&Program::of(&[&[0], &[5]])).is_empty());
}
