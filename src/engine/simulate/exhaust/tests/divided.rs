//! The divided search against the search in one piece: several workers, slices in any order, slices made twice.

mod estimates;
mod workers;

use std::collections::BTreeMap;
use std::ops::Range;
use std::pin::pin;

use super::act::Act;
use super::program::{Program, body};
use super::{All, by_search_up_to, effort, families, limits, place, seen};
use crate::engine::results::{SeenBySlice, SliceLine, read_back};
use crate::engine::simulate::exhaust::ends_by_a_step;
use crate::rt::{TaskBody, Worker};
use crate::run::Failure;
use crate::run::ids::{Seed, TaskId};
use crate::run::rng::Rng;
use crate::strategy::Search;
use crate::strategy::divided::{
    Division, DivisionRule, Look, Part, SearchTree, Sizes, Slice, without_rule,
};
use crate::strategy::exhaustive::Exhaustive;
use crate::strategy::search::Apart;

/// Small rounds, so that small programs are divided.
const SMALL: Sizes = Sizes { first: 3, slice: 2, grow: 16, jobs: 12 };

/// Slices of a few jobs.
const FEW: Sizes = Sizes { first: 3, slice: 2, grow: 16, jobs: 3 };

/// The workers of a divided search. Random conditions determine their work, and must make no difference to the result.
struct Workers {
    workers: usize,
    chance: Rng,
    /// The share of one of several processes.
    share: Option<Division>,
    /// True if each slice is written as a line and read back. Some lines are lost, and their slices are executed again.
    lines: bool,
}

/// A search, and the worker that executes its runs.
struct SliceWorker {
    search: Exhaustive,
    worker: Worker,
    /// The number of its runs, of every kind.
    runs: u64,
}

/// The runs of a divided search, in their order: the class of each, `None` if it was given up.
type Sequence = Vec<Option<u64>>;

/// A slice, with its runs.
struct Made {
    slice: Slice,
    runs: Sequence,
    all: All,
}

impl SliceWorker {
    fn new() -> SliceWorker {
        let search = Exhaustive::default();
        let worker = Worker::new(search.strategy());
        SliceWorker { search, worker, runs: 0 }
    }

    fn run(&mut self, program: &Program) -> Option<Failure> {
        self.runs += 1;
        let body = pin!(TaskBody::new(body(program)));
        self.worker.run(Seed(0), &limits(program), place(), body)
    }

    fn adopt(&mut self, program: &Program, part: Part) {
        self.search.adopt(part);
        while self.search.next_probe() {
            let failure = self.run(program);
            self.worker.forget_histories();
            #[cfg(feature = "tokio")]
            super::channels::take_got();
            self.search.probed(ends_by_a_step(failure.as_ref()));
        }
    }

    fn look(&mut self, program: &Program, part: Part) -> Look {
        self.adopt(program, part);
        self.search.begin_look();
        let failure = self.run(program);
        self.worker.forget_histories();
        #[cfg(feature = "tokio")]
        super::channels::take_got();
        self.search.end_look(ends_by_a_step(failure.as_ref()))
    }

    fn make(&mut self, program: &Program, part: Part, budget: u64) -> Made {
        let (mut runs, mut all) = (Vec::new(), All::default());
        self.adopt(program, part);
        for _ in 0..budget {
            let failure = self.run(program);
            let run = self.worker.extract(Seed(0), "exhaustive");
            self.worker.forget_histories();
            let blocked = self.search.is_blocked();
            let results = seen(&run);
            if !blocked {
                let diverged = matches!(failure, Some(Failure::Diverged { .. }));
                assert!(!diverged, "{failure:?} in {program:?}");
                all.results.insert(results);
            }
            let mut class = None;
            let more = self.search.advance_and(ends_by_a_step(failure.as_ref()), |order| {
                class = (!blocked).then(|| order.class());
            });
            runs.push(class);
            if !more || self.search.has_learnt() {
                break;
            }
        }
        Made { slice: self.search.leave(), runs, all }
    }
}

impl Workers {
    /// Searches a program. Returns everything found, and the sequence of the runs.
    fn search(&mut self, program: &Program, apart: Apart, sizes: Sizes) -> (All, Sequence) {
        let mut tree = SearchTree::new(sizes, apart);
        let mut workers: Vec<SliceWorker> = (0..self.workers).map(|_| SliceWorker::new()).collect();
        let (mut all, mut sequence) = (All::default(), Vec::new());
        self.take_share(program, &mut tree, &mut workers[0]);
        while !tree.is_through() {
            let budgets = tree.budgets(u64::MAX);
            let mut order: Vec<usize> = (0..budgets.len()).collect();
            self.shuffle(&mut order);
            let mut made: Vec<Option<Made>> = order.iter().map(|_| None).collect();
            for at in order {
                let worker = self.chance.below(self.workers as u64) as usize;
                let part = tree.part(at);
                if self.chance.below(5) == 0 {
                    // Two workers may execute the same slice.
                    workers[worker].make(program, part.clone(), budgets[at]);
                }
                let mut own = workers[worker].make(program, part, budgets[at]);
                if self.lines {
                    own.slice = through_line(&own.slice);
                }
                made[at] = Some(own);
            }
            let mut slices = Vec::new();
            for Made { slice, runs, all: own } in made.into_iter().flatten() {
                let is_last = slice.learnt.is_some();
                if is_last {
                    all.classes.clear();
                } else {
                    all.results.extend(own.results);
                    for class in runs.iter().flatten() {
                        *all.classes.entry(*class).or_default() += 1;
                    }
                    sequence.extend(runs);
                }
                slices.push(slice);
                if is_last {
                    break;
                }
            }
            let before = tree.apart();
            tree.merge(slices);
            if tree.apart() != before {
                self.take_share(program, &mut tree, &mut workers[0]);
            }
            assert!(sequence.len() < 200_000, "the search does not end: {program:?}");
        }
        let progress = tree.progress();
        (all.runs, all.blocked, all.apart) = (progress.runs, progress.blocked, tree.apart());
        (all, sequence)
    }

    /// Makes the top of the tree, and keeps the share.
    fn take_share(&self, program: &Program, tree: &mut SearchTree, worker: &mut SliceWorker) {
        let Some(share) = self.share else { return };
        while let Some(at) = tree.to_look_at(share) {
            let look = worker.look(program, tree.part(at));
            tree.look_below(at, look);
        }
        tree.keep_share(share);
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for at in (1..order.len()).rev() {
            order.swap(at, self.chance.below(at as u64 + 1) as usize);
        }
    }
}

/// The slice as another process reads it from its line: without footprints.
fn through_line(slice: &Slice) -> Slice {
    let (tally, untried, warnings, notes) = Default::default();
    let seen = SeenBySlice { tally: &tally, untried, warnings, notes, stuck: None };
    let line = SliceLine::write((0, 0, 0), slice, u64::MAX, &seen);
    read_back(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
}

/// Sums over programs.
#[derive(Default, Debug)]
pub(super) struct Divided {
    pub(super) programs: u64,
    pub(super) runs: u64,
    /// The number of runs that were given up: by the whole search, and by the divided search.
    pub(super) blocked: [u64; 2],
    /// The number of runs whose class another run already had: in the whole search, and in the divided search.
    pub(super) twice: [u64; 2],
    /// The programs for which the divided search misses a class or a result.
    pub(super) missing: u64,
    /// True if a rule is left out.
    is_planted: bool,
}

/// The finds of all processes together.
fn by_shares(program: &Program, apart: Apart, of: u64) -> All {
    let mut union = All::default();
    for number in 1..=of {
        let share = Some(Division { number, of, jobs: 2 });
        let mut workers = Workers { workers: 2, chance: Rng::new(number), share, lines: false };
        let (all, _) = workers.search(program, apart, SMALL);
        union.results.extend(all.results);
        for (class, count) in all.classes {
            *union.classes.entry(class).or_default() += count;
        }
        union.runs += all.runs;
        union.blocked += all.blocked;
        union.apart = union.apart.and(all.apart);
    }
    union
}

/// Returns the number of runs whose class another run already had.
fn twice(all: &All) -> u64 {
    all.classes.values().map(|count| count - 1).sum()
}

impl Divided {
    /// Compares the divided search of a program with the search in one piece, which found `whole`.
    pub(super) fn compare(&mut self, program: &Program, whole: &All, apart: Apart) {
        let chance = |seed| Rng::new(self.programs * 2 + seed);
        let (mut alone, mut many) = (
            Workers { workers: 1, chance: chance(0), share: None, lines: false },
            Workers { workers: 3, chance: chance(1), share: None, lines: false },
        );
        let (one, sequence) = alone.search(program, apart, SMALL);
        let (others, same) = many.search(program, apart, SMALL);
        assert_eq!(sequence, same, "the number of workers makes a difference\n{program:?}");
        assert_eq!(one.results, others.results, "{program:?}");
        if !self.is_planted {
            let mut written = Workers { workers: 2, chance: chance(2), share: None, lines: true };
            let (_, same) = written.search(program, apart, SMALL);
            assert_eq!(sequence, same, "a slice from its line makes a difference\n{program:?}");
        }
        // If call orders are not distinguished, a run also represents other orders of its calls, and the results may
        // differ.
        let same_results = !one.apart.orders || whole.results == one.results;
        self.programs += 1;
        self.runs += one.runs;
        self.blocked[0] += whole.blocked;
        self.blocked[1] += one.blocked;
        self.twice[0] += twice(whole);
        self.twice[1] += twice(&one);
        let is_missing = |class: &u64| !one.classes.contains_key(class);
        let misses = whole.apart == one.apart && whole.classes.keys().any(is_missing);
        self.missing += u64::from(misses || !same_results);
    }
}

type Kind = &'static [fn(&mut Rng) -> Act];

const MEMORY: Kind = &[Act::load, Act::store, Act::add, Act::exchange];
const LOCKS: Kind = &[Act::lock, Act::add, Act::load, Act::spawn, Act::unlock];
const WAITS: Kind = &[Act::store, Act::add, Act::wait, Act::wait, Act::lock, Act::unlock];

/// Programs of these acts.
fn programs(kind: Kind, seeds: Range<u64>) -> impl Iterator<Item = Program> {
    seeds.map(move |seed| Program::generate(&mut Rng::new(seed), kind, (3, 3)))
}

/// Compares programs that are small enough. Leaves out the rule that the variable names, if the variable is set.
fn compared(
    rule: Option<DivisionRule>,
    programs: impl Iterator<Item = Program>,
    apart: Apart,
) -> Divided {
    crate::engine::simulate::hook::install();
    let mut divided = Divided { is_planted: rule.is_some(), ..Divided::default() };
    for program in programs {
        let Some(whole) = by_search_up_to(&program, apart, 1_500) else { continue };
        match rule {
            None => divided.compare(&program, &whole, apart),
            Some(rule) => without_rule(rule, || divided.compare(&program, &whole, apart)),
        }
    }
    println!("{rule:?}: {divided:?}");
    divided
}

#[test]
fn a_divided_search_has_the_runs_of_a_whole_one_for_any_number_of_workers() {
    for kind in [MEMORY, LOCKS, WAITS] {
        let divided = compared(None, programs(kind, 0..effort().0), Apart::ORDERS);
        assert!(divided.programs > 30, "{divided:?}");
        assert_eq!((divided.missing, divided.twice), (0, [0, 0]), "{divided:?}");
    }
}

#[test]
fn processes_that_do_not_see_each_other_find_what_one_does() {
    crate::engine::simulate::hook::install();
    let families = ["memory", "Mutex", "spin_until", "compare_exchange_weak", "rand", "select!"];
    let mut compared = 0;
    for (family, seed) in
        families.iter().flat_map(|name| (0..effort().0 / 4).map(move |n| (name, n)))
    {
        let program = families::generate(family, seed);
        let Some(whole) = by_search_up_to(&program, Apart::ORDERS, 600) else { continue };
        let union = by_shares(&program, Apart::ORDERS, 3);
        assert_eq!(whole.apart, union.apart, "{program:?}");
        let is_missing = |class: &&u64| !union.classes.contains_key(class);
        assert_eq!(whole.classes.keys().find(is_missing), None, "{program:?}");
        assert_eq!(whole.results, union.results, "{program:?}");
        assert!(program.draws() || union.runs == whole.runs, "{program:?}");
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

// Leaves out each rule of the division, one at a time, on programs that need the rule.

/// Programs of a family of random programs.
fn of_family(family: &'static str, seeds: &'static [u64]) -> impl Iterator<Item = Program> {
    seeds.iter().map(move |seed| families::generate(family, *seed))
}

#[test]
fn requests_that_go_nowhere_are_noticed() {
    let divided = compared(Some(DivisionRule::Wishes), programs(LOCKS, 0..40), Apart::ORDERS);
    assert!(divided.missing > 0, "{divided:?}");
}

#[test]
fn requests_of_complete_jobs_that_are_lost_are_noticed() {
    let programs = || programs(LOCKS, 0..40);
    let divided = compared(Some(DivisionRule::Kept), programs(), Apart::ORDERS);
    assert!(divided.missing > 0, "{divided:?}");
    assert_eq!(compared(None, programs(), Apart::ORDERS).missing, 0);
}

#[test]
fn siblings_that_sleep_behind_each_other_are_noticed() {
    let divided = compared(Some(DivisionRule::Order), programs(MEMORY, 0..10), Apart::ORDERS);
    assert!(divided.missing > 0, "{divided:?}");
}

#[test]
fn footprints_of_one_value_are_noticed() {
    let programs = || of_family("select!", &[0, 8, 9, 16]);
    assert!(compared(Some(DivisionRule::Values), programs(), Apart::ORDERS).missing > 0);
    assert_eq!(compared(None, programs(), Apart::ORDERS).missing, 0);
}

#[test]
fn footprints_that_are_forgotten_between_slices_are_noticed() {
    let programs = || of_family("select!", &[17, 34, 39, 65]);
    assert!(compared(Some(DivisionRule::Current), programs(), Apart::ORDERS).missing > 0);
    assert_eq!(compared(None, programs(), Apart::ORDERS).missing, 0);
}

#[test]
fn values_that_are_given_away_and_kept_are_noticed() {
    let programs = || of_family("rand", &[0, 1, 2, 3, 4, 5, 6, 7]);
    let divided = compared(Some(DivisionRule::Given), programs(), Apart::ORDERS);
    assert!(divided.twice[1] > divided.twice[0], "{divided:?}");
    let divided = compared(None, programs(), Apart::ORDERS);
    assert_eq!(divided.twice[1], divided.twice[0], "{divided:?}");
}

#[test]
fn jobs_from_before_the_search_began_again_are_noticed() {
    let programs = || of_family("node work, kill", &[62]);
    assert!(compared(Some(DivisionRule::Anew), programs(), Apart::NOTHING).missing > 0);
    assert_eq!(compared(None, programs(), Apart::NOTHING).missing, 0);
}

/// The number of open reversals of paths that the next slices of the jobs do not find again.
fn lost_reversals(program: &Program) -> u64 {
    let (mut tree, mut worker) = (SearchTree::new(FEW, Apart::ORDERS), SliceWorker::new());
    let (mut lost, mut expected) = (0, BTreeMap::new());
    for _ in 0..100 {
        let budgets = tree.budgets(u64::MAX);
        let mut slices = Vec::new();
        for (at, budget) in budgets.into_iter().enumerate() {
            let (number, part) = (tree.number_of(at), tree.part(at));
            worker.adopt(program, part);
            for nth in 0..budget {
                let failure = worker.run(program);
                worker.worker.forget_histories();
                let more = worker.search.advance(ends_by_a_step(failure.as_ref()));
                let explorer = worker.search.explorer();
                if !more || explorer.has_begun_again() {
                    expected.remove(&number);
                    break;
                }
                // The last frame takes another step now.
                let kept = explorer.depth().saturating_sub(1);
                let open = explorer.open_reversals(kept);
                let is_needed =
                    |(at, _, until): &(usize, TaskId, u32)| (*at).max(*until as usize) < kept;
                let is_lost = |reversal: &&(usize, TaskId, u32)| {
                    let is_planned = explorer.is_planned(reversal.0, reversal.1);
                    is_needed(reversal) && !open.contains(reversal) && !is_planned
                };
                let before: Vec<_> = expected.remove(&number).unwrap_or_default();
                if nth == 0 {
                    lost += before.iter().filter(is_lost).count() as u64;
                }
                expected.insert(number, open.into_iter().filter(is_needed).collect());
            }
            slices.push(worker.search.leave());
        }
        tree.merge(slices);
        if tree.is_through() {
            break;
        }
    }
    lost
}

#[test]
fn slices_that_do_not_plan_their_path_are_noticed() {
    crate::engine::simulate::hook::install();
    let programs: Vec<Program> =
        [LOCKS, WAITS].iter().flat_map(|kind| programs(kind, 0..effort().0)).collect();
    let lost: u64 = programs.iter().map(lost_reversals).sum();
    assert_eq!(lost, 0);
    let lost: u64 =
        without_rule(DivisionRule::Replan, || programs.iter().map(lost_reversals).sum());
    assert!(lost > 0);
}
