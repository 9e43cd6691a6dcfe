//! The estimated number of runs against the number of runs of the whole search, and of the shares of a search.

use std::ops::Range;

use super::super::program::Program;
use super::super::{by_search_up_to, effort};
use super::{LOCKS, MEMORY, SMALL, SearchTree, SliceWorker, WAITS, Workers, programs};
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::divided::{Division, LEVEL_COST, ProbeRoot, TreeEstimate};
use crate::strategy::search::Apart;

/// The usual number of steps of a run.
const LENGTH: u64 = 18;

/// An estimate with its cost in runs, and the number of steps of a run.
struct Estimated {
    estimate: TreeEstimate,
    cost: f64,
    length: f64,
}

/// Estimates the number of runs of a search, by probes of this width for runs of this length. Returns `None` if no run
/// was found.
fn estimated(program: &Program, size: (usize, u64), seed: u64) -> Option<Estimated> {
    let mut probes = ProbeRoot::whole(Apart::ORDERS).seeded(size, seed);
    let mut worker = SliceWorker::new();
    let (mut steps, mut of_runs, mut runs) = (0, 0, 0);
    while let Some(part) = probes.part() {
        let (length, before, is_run) = (part.path.len(), worker.runs, part.sample.is_some());
        let look = worker.look(program, part);
        let taken = length.max(look.steps.len()) + 1;
        steps += taken as u64 * (worker.runs - before);
        if is_run {
            (of_runs, runs) = (of_runs + taken, runs + 1);
        }
        probes.add(look);
    }
    let length = (of_runs as f64 / f64::from(runs.max(1))).max(1.0);
    let with_cost = |estimate| Estimated { estimate, cost: steps as f64 / length, length };
    probes.estimate().map(with_cost)
}

#[test]
fn an_estimate_is_the_number_of_runs_on_average_and_exact_if_its_width_is_enough() {
    crate::engine::simulate::hook::install();
    let (mut compared, mut errors) = (0, Vec::new());
    // An exact estimate costs many times the search.
    let runs_max = if crate::long() { 300 } else { 60 };
    for kind in [MEMORY, LOCKS, WAITS] {
        for program in programs(kind, 0..effort().0) {
            let Some(whole) = by_search_up_to(&program, Apart::ORDERS, runs_max) else { continue };
            if whole.apart != Apart::ORDERS {
                continue;
            }
            let runs = whole.runs as f64;
            let whole = estimated(&program, (usize::MAX, LENGTH), 0).expect("it visits all nodes");
            let whole = whole.estimate;
            assert_eq!((whole.runs, whole.low, whole.high), (runs, runs, runs), "{program:?}");
            let estimate = estimated(&program, (1, LENGTH), compared);
            errors.push(estimate.map_or(0.0, |own| own.estimate.runs) / runs - 1.0);
            compared += 1;
        }
    }
    let mean = errors.iter().sum::<f64>() / compared as f64;
    let squares = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>();
    println!(
        "{compared} programs, mean error {mean:.3}, deviation {:.3}",
        (squares / compared as f64).sqrt()
    );
    assert!(compared > 60 && mean.abs() < 0.05, "{compared} programs, mean error {mean}");
}

/// The estimated number of runs of a share, by probes that visit every node.
fn estimated_share(program: &Program, share: Division) -> f64 {
    let (mut tree, mut worker) = (SearchTree::new(SMALL, Apart::ORDERS), SliceWorker::new());
    let workers = Workers { workers: 1, chance: Rng::new(0), share: Some(share), lines: false };
    workers.take_share(program, &mut tree, &mut worker);
    let mut probes = tree.probe_root().probes(usize::MAX, LENGTH);
    while let Some(part) = probes.part() {
        probes.add(worker.look(program, part));
    }
    probes.estimate().expect("all probes were made").runs
}

#[test]
fn an_estimate_of_a_share_is_the_number_of_its_runs() {
    crate::engine::simulate::hook::install();
    let mut compared = 0;
    for kind in [MEMORY, LOCKS, WAITS] {
        for program in programs(kind, 0..effort().0 / 2) {
            let Some(whole) = by_search_up_to(&program, Apart::ORDERS, 60) else { continue };
            if whole.apart != Apart::ORDERS {
                continue;
            }
            let mut sum = 0;
            for number in 1..=3 {
                let share = Division { number, of: 3, jobs: 2 };
                let (chance, lines) = (Rng::new(number), false);
                let mut workers = Workers { workers: 1, chance, share: Some(share), lines };
                let (all, _) = workers.search(&program, Apart::ORDERS, SMALL);
                assert_eq!(estimated_share(&program, share), all.runs as f64, "{program:?}");
                sum += all.runs;
            }
            assert_eq!(sum, whole.runs, "{program:?}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

/// Returns the number of runs of a search; `None` if there are more than `runs_max` runs, or if the search restarted.
fn counted(program: &Program, runs_max: u64) -> Option<u64> {
    let mut worker = SliceWorker::new();
    worker.search.tell_apart(Apart::ORDERS);
    loop {
        let failure = worker.run(program);
        worker.worker.forget_histories();
        #[cfg(feature = "tokio")]
        super::super::channels::take_got();
        let more = worker.search.advance(ends_by_a_step(failure.as_ref()));
        let runs = worker.search.progress().runs;
        if worker.search.apart() != Apart::ORDERS || runs > runs_max {
            return None;
        }
        if !more {
            return Some(runs);
        }
    }
}

/// Random programs, and the cost of their estimates.
struct Series {
    programs: usize,
    /// The maximum numbers of tasks and of acts of a task.
    size: (u64, u64),
    runs: Range<u64>,
    /// The maximum cost of an estimate, in runs.
    cost_max: f64,
}

/// Compares the estimates of programs with their numbers of runs. Returns the median error, the error of the worst
/// tenth of the programs, and the part of the intervals that contain the number.
fn compare(series: &Series) -> (f64, f64, f64) {
    let Series { programs, size, ref runs, cost_max } = *series;
    let (mut errors, mut held, mut cost) = (Vec::new(), 0usize, 0.0);
    for seed in 0.. {
        let kind = [MEMORY, WAITS, LOCKS][seed as usize % 3];
        let program = Program::generate(&mut Rng::new(seed), kind, size);
        // A search that is far too large takes long.
        let Some(rough) = estimated(&program, (8, LENGTH), 1) else { continue };
        let about = rough.estimate.runs;
        if about > 3.0 * runs.end as f64 || about < runs.start as f64 / 10.0 {
            continue;
        }
        let Some(number) = counted(&program, runs.end) else { continue };
        if number < runs.start {
            continue;
        }
        let width = (cost_max / (LEVEL_COST as f64 * rough.length)).max(1.0) as usize;
        let size = (width, rough.length.round() as u64);
        let Some(own) = estimated(&program, size, 0) else { continue };
        let (number, estimate) = (number as f64, own.estimate);
        cost += own.cost;
        held += usize::from((estimate.low..=estimate.high).contains(&number));
        errors.push((estimate.runs / number - 1.0).abs());
        println!("{seed} {number} {estimate:?} {:.0}", own.cost);
        if errors.len() == programs {
            break;
        }
    }
    errors.sort_unstable_by(f64::total_cmp);
    let (median, tenth) = (errors[programs / 2], errors[programs * 9 / 10]);
    println!(
        "{programs} programs of {runs:?} runs: median error {median:.3}, worst tenth {tenth:.3}, held {held}, \
         cost {:.0} runs",
        cost / programs as f64
    );
    (median, tenth, held as f64 / programs as f64)
}

#[test]
fn an_estimate_of_a_large_search_is_near() {
    crate::engine::simulate::hook::install();
    // With other numbers of programs, the comparison has no meaning.
    let short = Series { programs: 6, size: (4, 3), runs: 300..1_500, cost_max: 2_000.0 };
    let small = Series { programs: 100, size: (4, 3), runs: 1_000..10_000, cost_max: 4_000.0 };
    let large = Series { programs: 100, size: (4, 4), runs: 10_000..1_000_000, cost_max: 4_000.0 };
    let all = if crate::long() { vec![small, large] } else { vec![short] };
    for series in all {
        let (median, tenth, held) = compare(&series);
        assert!(median < 0.1 && tenth < 0.3 && held >= 0.9, "{median} {tenth} {held}");
    }
}
