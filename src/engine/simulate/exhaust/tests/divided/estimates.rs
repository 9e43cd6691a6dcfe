//! The estimated number of runs against the number of runs of the whole search, and of the shares of a search.

use super::super::program::Program;
use super::super::{by_search_up_to, effort};
use super::{LOCKS, MEMORY, SMALL, SearchTree, SliceWorker, WAITS, Workers, programs};
use crate::run::rng::Rng;
use crate::strategy::divided::{Division, ProbeRoot, TreeEstimate};
use crate::strategy::search::Apart;

/// The estimated number of runs of a search, by probes of this width, and the number of short runs that it took.
fn estimated(program: &Program, width: usize, seed: u64) -> (TreeEstimate, u64) {
    let mut probes = ProbeRoot::whole(Apart::ORDERS).seeded(width, seed);
    let mut worker = SliceWorker::new();
    while let Some(part) = probes.part() {
        probes.add(worker.look(program, part));
    }
    (probes.estimate().expect("all probes were made"), worker.runs)
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
            assert_eq!(estimated(&program, usize::MAX, 0).0.runs, runs, "{program:?}");
            errors.push(estimated(&program, 4, compared).0.runs / runs - 1.0);
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
    let mut probes = tree.probe_root().probes(usize::MAX);
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

#[test]
fn an_estimate_of_a_large_search_is_near() {
    crate::engine::simulate::hook::install();
    // With other numbers of programs, the comparison has no meaning.
    let (wanted, sizes) = if crate::long() { (100, 1_000..10_000) } else { (6, 300..1_500) };
    let (mut errors, mut held, mut cost) = (Vec::new(), 0usize, 0);
    for seed in 0.. {
        let kind = [MEMORY, WAITS, LOCKS][seed as usize % 3];
        let program = Program::generate(&mut Rng::new(seed), kind, (4, 3));
        let Some(whole) = by_search_up_to(&program, Apart::ORDERS, sizes.end) else { continue };
        if whole.runs < sizes.start || whole.apart != Apart::ORDERS {
            continue;
        }
        let (runs, (estimate, made)) = (whole.runs as f64, estimated(&program, 32, 0));
        cost += made;
        errors.push((estimate.runs / runs - 1.0).abs());
        held += usize::from((estimate.low..=estimate.high).contains(&runs));
        if errors.len() == wanted {
            break;
        }
    }
    errors.sort_unstable_by(f64::total_cmp);
    let (median, tenth) = (errors[wanted / 2], errors[wanted * 9 / 10]);
    let each = cost / wanted as u64;
    println!(
        "{wanted} programs: median error {median:.3}, worst tenth {tenth:.3}, held {held}, short runs {each}"
    );
    // With few programs, the share of intervals that contain the result may be lower by chance.
    let least = if crate::long() { 90 } else { 70 };
    assert!(median < 0.6 && 100 * held > least * wanted, "{errors:?}");
}
