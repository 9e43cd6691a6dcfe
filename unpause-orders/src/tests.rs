//! All schedules and all choices of small programs, compared with the axioms.
//!
//! No outcome may be found that the axioms forbid. Some allowed outcomes are lost, if S is the order of execution.
//! Their number is a constant in each test, so that a change cannot lose more of them unseen. The exact S loses none.
//!
//! 10,000 random programs are compared by default, in some seconds. `UNPAUSE_LONG=1` compares a million, in about a
//! quarter of an hour.

use std::collections::BTreeSet;

use crate::fences::FENCES_KEPT;
use crate::litmus::{
    Act, GENMC, Limits, Litmus, Outcome, Outcomes, Random, TABLE, outcomes, random, random_within,
};
use crate::{Operation as _, OrderS, Orders, Rules, SEQ_CST};

/// The decisions of a run, and the number of answers to each. Enumerates all runs.
#[derive(Default)]
struct Decisions {
    path: Vec<(usize, usize)>,
    at: usize,
}

impl Decisions {
    /// Answers a decision among `bound` answers.
    fn choose(&mut self, bound: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, bound));
        }
        let (answer, known) = self.path[self.at];
        assert_eq!(known, bound, "a run is a function of its decisions");
        self.at += 1;
        answer
    }

    /// Begins the next run. Returns `false` if there is none.
    fn advance(&mut self) -> bool {
        self.path.truncate(self.at);
        self.at = 0;
        while let Some((answer, bound)) = self.path.pop() {
            if answer + 1 < bound {
                self.path.push((answer + 1, bound));
                return true;
            }
        }
        false
    }
}

/// The schedules that are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Schedules {
    All,
    /// One schedule for each order of the conflicting operations, by sleep sets. Two operations conflict if they
    /// access the same word, and at least one of them may write it.
    OnePerClass,
}

fn conflict(a: &Act, b: &Act) -> bool {
    let only_reads = |act: &Act| matches!(act, Act::Load(..));
    a.word().is_some() && a.word() == b.word() && !(only_reads(a) && only_reads(b))
}

/// Returns the outcomes of a program in runs with these rules.
fn explored(program: &Litmus, rules: Rules, schedules: Schedules) -> BTreeSet<Outcome> {
    let threads = &program.threads;
    let (mut orders, mut decisions) = (Orders::default(), Decisions::default());
    let mut found = BTreeSet::new();
    // The place of each read value in the outcome. The values of the words follow.
    let mut reads = 0;
    let mut place = |act: &Act| {
        reads += usize::from(act.reads());
        reads - usize::from(act.reads())
    };
    let places: Vec<Vec<usize>> =
        threads.iter().map(|acts| acts.iter().map(&mut place).collect()).collect();
    let mut outcome = vec![0; reads + program.words];
    let (mut done, mut asleep) = (vec![0; threads.len()], vec![false; threads.len()]);
    loop {
        orders.reset(rules);
        // The first values are known to all threads.
        for word in 0..program.words {
            orders.perform(0, &Act::Load(word, 0), 0, 0);
        }
        (0..threads.len()).for_each(|thread| orders.spawned(0, thread + 1));
        outcome.fill(0);
        done.fill(0);
        asleep.fill(false);
        let (read, memory) = outcome.split_at_mut(reads);
        let mut has_chosen = false;
        let is_complete = loop {
            let is_left = |thread: &usize| done[*thread] < threads[*thread].len();
            let is_awake = |thread: &usize| is_left(thread) && !asleep[*thread];
            let awake = || (0..threads.len()).filter(is_awake);
            if awake().next().is_none() {
                break !(0..threads.len()).any(|thread| is_left(&thread));
            }
            let nth = decisions.choose(awake().count());
            let thread = awake().nth(nth).expect("one of the threads");
            let at = done[thread];
            let act = &threads[thread][at];
            if schedules == Schedules::OnePerClass {
                // The threads before this one have been tried, and sleep until a conflicting operation.
                for other in 0..threads.len() {
                    let sleeps = asleep[other] || other < thread && is_left(&other);
                    asleep[other] = sleeps && !conflict(act, &threads[other][done[other]]);
                }
            }
            let old = act.word().map_or(0, |word| memory[word]);
            let mut candidates = orders.candidates(thread + 1, act, old);
            if rules.s == OrderS::ExactWithMoves && candidates > 1 && !has_chosen {
                has_chosen = true;
                // A run decides at its first choice if stores may move.
                if decisions.choose(2) == 1 {
                    orders.forbid_moves();
                    candidates = orders.candidates(thread + 1, act, old);
                }
            }
            let nth = decisions.choose(candidates);
            let result = orders.perform(thread + 1, act, old, nth);
            assert!(result.in_memory || nth > 0, "{act:?}");
            done[thread] += 1;
            if let (Some(word), true) = (act.word(), result.in_memory) {
                memory[word] = result.new;
            }
            if act.reads() {
                read[places[thread][at]] = result.old;
            }
        };
        if is_complete && !found.contains(&outcome) {
            found.insert(outcome.clone());
        }
        if !decisions.advance() {
            return found;
        }
    }
}

/// Every store that the model allows, however often a thread has seen it.
fn unfair(moves: bool, s: OrderS) -> Rules {
    Rules { moves, repeats: u16::MAX, left_out: None, ..Rules::weak(s) }
}

/// The rules of runs without moves, of runs with moves, and of runs with moves and the exact order S.
fn each_rules() -> [Rules; 3] {
    use OrderS::{Exact, Execution};
    [(false, Execution), (true, Execution), (true, Exact)].map(|(moves, s)| unfair(moves, s))
}

/// Returns the number of allowed outcomes without such a run. Asserts that the runs have no other outcome.
fn lost(
    (name, program): (&str, &Litmus),
    allowed: &BTreeSet<Outcome>,
    (rules, schedules): (Rules, Schedules),
) -> usize {
    let found = explored(program, rules, schedules);
    let forbidden: Vec<&Outcome> = found.difference(allowed).collect();
    assert!(forbidden.is_empty(), "{name}, {rules:?}: {forbidden:?} of {program:?}");
    allowed.len() - found.len()
}

/// The number of outcomes that the axioms allow, and the numbers of lost ones under each of the rules.
#[derive(Default, PartialEq, Eq, Debug)]
struct Count {
    allowed: usize,
    lost: [usize; 3],
}

impl Count {
    fn add(&mut self, name: &str, program: &Litmus) {
        let Outcomes { by_cpp20: allowed, by_rc11, .. } = outcomes(program);
        assert!(allowed.is_subset(&by_rc11), "{name}: {program:?}");
        self.allowed += allowed.len();
        for (rules, lost_now) in each_rules().into_iter().zip(&mut self.lost) {
            *lost_now += lost((name, program), &allowed, (rules, Schedules::All));
        }
    }

    fn join(&mut self, other: &Count) {
        self.allowed += other.allowed;
        self.lost.iter_mut().zip(other.lost).for_each(|(own, other)| *own += other);
    }
}

/// Returns the sizes of the usual sample and of the sample on request.
pub(crate) fn sample<T>(usual: T, long: T) -> T {
    let is_long = std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0");
    if is_long { long } else { usual }
}

/// Calls `act` with each of these random programs, on several threads.
fn each_random<T: Default + Send>(
    seed: u64,
    (programs, limits): (usize, Limits),
    act: impl Fn(&mut T, &str, &Litmus) + Sync,
) -> Vec<T> {
    const THREADS: usize = 4;
    let of_thread = |part: usize| {
        // Each thread creates all programs, which takes little time.
        let (mut stream, mut result) = (Random(seed), T::default());
        for at in 0..programs {
            let program = random_within(&mut stream, limits);
            if at % THREADS == part {
                act(&mut result, &format!("program {at}"), &program);
            }
        }
        result
    };
    let of_thread = &of_thread;
    std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3].map(|part| scope.spawn(move || of_thread(part)));
        threads.into_iter().map(|thread| thread.join().expect("no assertion fails")).collect()
    })
}

const SMALL: Limits = Limits { acts: 7, threads: 3, words: 2 };
const LARGE: Limits = Limits { acts: 8, threads: 4, words: 3 };

#[test]
fn litmus_programs_have_no_forbidden_outcome() {
    let (mut count, mut rows) = (Count::default(), 0);
    for line in TABLE.lines() {
        let (name, program) = line.split_once('\t').expect("a name and a program");
        count.add(name, &Litmus::parse(program));
        rows += 1;
    }
    assert_eq!((rows, count), (86, Count { allowed: 632, lost: [17, 5, 0] }));
}

#[test]
fn execution_graphs_are_as_many_as_with_genmc() {
    for line in GENMC.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, program, graphs] = fields[..] else { panic!("three fields: {line}") };
        let program = Litmus::parse(program);
        let Outcomes { by_cpp20: allowed, graphs_by_rc11, .. } = outcomes(&program);
        assert_eq!(graphs_by_rc11.to_string(), graphs, "{name}");
        let exact = (unfair(true, OrderS::Exact), Schedules::OnePerClass);
        assert_eq!(lost((name, &program), &allowed, exact), 0, "{name}");
    }
}

#[test]
fn random_programs_have_no_forbidden_outcome() {
    let (programs, expected) = sample(
        (4_000, Count { allowed: 14_090, lost: [108, 13, 0] }),
        (1_000_000, Count { allowed: 3_632_231, lost: [28_122, 4_594, 0] }),
    );
    let counts = each_random(1, (programs, SMALL), Count::add);
    let mut count = Count::default();
    counts.iter().for_each(|part| count.join(part));
    assert_eq!(count, expected);
}

/// With the exact order S, the outcomes depend only on the order of the conflicting operations. So a search may leave
/// out schedules that differ in the order of other operations, for example of fences.
#[test]
fn one_schedule_for_each_order_of_conflicts_has_all_outcomes() {
    let programs = sample(2_000, 100_000);
    let lost = each_random(2, (programs, LARGE), |sum: &mut usize, name, program| {
        let allowed = outcomes(program).by_cpp20;
        let rules = unfair(true, OrderS::Exact);
        *sum += lost((name, program), &allowed, (rules, Schedules::OnePerClass));
    });
    assert_eq!(lost.iter().sum::<usize>(), 0);
}

/// A limit loses outcomes, but adds none.
#[test]
fn limits_add_no_outcome() {
    let programs = sample(500, 20_000);
    let exact = unfair(true, OrderS::Exact);
    let limits = [1, 2, 3, 4].map(|nodes| Rules { nodes, ..exact });
    let kept = [2, 3].map(|kept| Rules { kept, ..exact });
    let with_moves = Rules { s: OrderS::ExactWithMoves, ..exact };
    let lost = each_random(4, (programs, SMALL), |sum: &mut [usize; 7], name, program| {
        let allowed = outcomes(program).by_cpp20;
        let each = limits.into_iter().chain(kept).chain([with_moves]);
        for (rules, sum) in each.zip(sum) {
            *sum += lost((name, program), &allowed, (rules, Schedules::All));
        }
    });
    let lost = lost.iter().fold([0; 7], |sum, part| std::array::from_fn(|at| sum[at] + part[at]));
    let [of_one_node, .., of_moves] = lost;
    assert!(of_one_node > 0, "the limit was never reached");
    assert_eq!(of_moves, 0);
}

/// A run with many fences keeps only the last fences, but has no store buffering around any fence.
#[test]
fn fences_that_are_dropped_add_no_outcome() {
    let fence = Act::Fence(SEQ_CST);
    let [read_x, read_y] = [0, 1].map(|word| Act::Load(word, 0));
    let [write_x, write_y] = [0, 1].map(|word| Act::Store(word, 1, 0));
    for between in [0, 10, 3 * FENCES_KEPT] {
        let mut orders = Orders::default();
        orders.reset(unfair(true, OrderS::Execution));
        orders.perform(0, &read_x, 0, 0);
        orders.perform(0, &read_y, 0, 0);
        (1..4).for_each(|thread| orders.spawned(0, thread));
        orders.perform(1, &write_x, 0, 0);
        orders.perform(1, &fence, 0, 0);
        (0..between).for_each(|_| _ = orders.perform(3, &fence, 0, 0));
        orders.perform(2, &write_y, 0, 0);
        orders.perform(2, &fence, 0, 0);
        // The second thread cannot miss the store of the first thread, whose fence was earlier.
        assert_eq!(orders.candidates(2, &read_x, 1), 1, "{between} fences");
        assert_eq!(orders.candidates(1, &read_y, 1), 2, "{between} fences");
        assert!(orders.fences.count() <= FENCES_KEPT);
    }
}

/// Memory that is allocated again loses its words. Their accesses may be in S. Store buffering with fences: the first
/// thread has missed the store of x, so the second thread cannot miss the store of y after its fence.
#[test]
fn words_that_are_forgotten_add_no_outcome() {
    let (fence, read_x, read_y) = (Act::Fence(SEQ_CST), Act::Load(0, 0), Act::Load(1, 0));
    for forgets in [false, true] {
        let mut orders = Orders::default();
        orders.reset(unfair(true, OrderS::Exact));
        orders.perform(0, &read_x, 0, 0);
        orders.perform(0, &read_y, 0, 0);
        (1..3).for_each(|thread| orders.spawned(0, thread));
        orders.perform(1, &Act::Store(1, 1, 0), 0, 0);
        orders.perform(1, &fence, 0, 0);
        orders.perform(1, &read_x, 0, 0);
        orders.perform(2, &Act::Store(0, 1, 0), 0, 0);
        if forgets {
            orders.allocated(2, read_x.address(), 8);
        }
        assert_eq!(orders.candidates(2, &read_y, 1), 2);
        orders.perform(2, &fence, 0, 0);
        assert_eq!(orders.candidates(2, &read_y, 1), 1, "{forgets}");
    }
}

/// A fence follows the accesses before a known store, also if the word no longer contains that store. The first thread
/// stores x and y in S. The second thread stores y later, so after its fence it cannot miss the store of x.
#[test]
fn stores_that_are_removed_add_no_outcome() {
    let (store_y, read_x) = (|value, order| Act::Store(1, value, order), Act::Load(0, 0));
    for (kept, knows, candidates) in [(16, false, 2), (16, true, 1), (2, true, 1)] {
        let mut orders = Orders::default();
        orders.reset(Rules { kept, ..unfair(true, OrderS::Exact) });
        orders.perform(0, &read_x, 0, 0);
        orders.perform(0, &Act::Load(1, 0), 0, 0);
        (1..4).for_each(|thread| orders.spawned(0, thread));
        orders.perform(1, &Act::Store(0, 1, SEQ_CST), 0, 0);
        orders.perform(1, &store_y(1, SEQ_CST), 0, 0);
        orders.perform(if knows { 2 } else { 3 }, &store_y(2, 0), 1, 0);
        orders.perform(3, &store_y(3, 0), 2, 0);
        orders.perform(3, &store_y(4, 0), 3, 0);
        orders.perform(2, &Act::Fence(SEQ_CST), 0, 0);
        assert_eq!(orders.candidates(2, &read_x, 1), candidates, "{kept} stores, {knows}");
    }
}

/// A sequentially consistent memory has only the newest store.
#[test]
fn runs_without_older_stores_are_sequentially_consistent() {
    let mut stream = Random(2);
    for _ in 0..100 {
        let program = random(&mut stream, 6);
        let strong = |act: &Act| match *act {
            Act::Load(word, _) => Act::Load(word, 5),
            Act::Store(word, value, _) => Act::Store(word, value, 5),
            Act::Add(word, value, _) => Act::Add(word, value, 5),
            Act::Swap(word, value, _) => Act::Swap(word, value, 5),
            Act::Max(word, value, _) => Act::Max(word, value, 5),
            Act::CompareExchange(word, old, new, ..) => Act::CompareExchange(word, old, new, 5, 5),
            Act::Fence(_) => Act::Fence(5),
        };
        let threads = program.threads.iter().map(|acts| acts.iter().map(strong).collect());
        let strong = Litmus { threads: threads.collect(), words: program.words };
        let newest = explored(&program, Rules::NEWEST, Schedules::All);
        assert_eq!(
            newest,
            explored(&strong, unfair(true, OrderS::Exact), Schedules::All),
            "{program:?}"
        );
        assert_eq!(newest, outcomes(&strong).by_cpp20, "{program:?}");
    }
}

/// A value that is not recorded orders its reader strongly after all earlier events. The first thread stores x in S,
/// and then w by an operation that is not recorded. The second thread acquires w, and reads z in S before the store of
/// the third thread. So the third thread cannot miss the store of x.
#[test]
fn values_that_are_not_recorded_add_no_outcome() {
    let (store_x, read_x) = (Act::Store(0, 1, SEQ_CST), Act::Load(0, SEQ_CST));
    let (store_w, read_w) = (Act::Store(1, 1, 3), Act::Load(1, 2));
    let (store_z, read_z) = (Act::Store(2, 1, SEQ_CST), Act::Load(2, SEQ_CST));
    for (is_recorded, acquires) in [(true, true), (false, true), (false, false)] {
        let mut orders = Orders::default();
        orders.reset(unfair(true, OrderS::Exact));
        [read_x, read_w, read_z].iter().for_each(|read| _ = orders.perform(0, read, 0, 0));
        (1..4).for_each(|thread| orders.spawned(0, thread));
        orders.perform(1, &store_x, 0, 0);
        if is_recorded {
            orders.perform(1, &store_w, 0, 0);
        }
        if acquires {
            orders.perform(2, &read_w, 1, 0);
        }
        orders.perform(2, &read_z, 0, 0);
        orders.perform(3, &store_z, 0, 0);
        let candidates = if acquires { 1 } else { 2 };
        assert_eq!(orders.candidates(3, &read_x, 1), candidates, "{is_recorded}, {acquires}");
    }
}
