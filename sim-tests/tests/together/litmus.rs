//! Litmus programs over `sim::Atomic`, with the memory `c11`, compared with the axioms of C++20.
//!
//! No seed may find an outcome that the axioms forbid. The table's programs show nearly all outcomes that the axioms
//! allow. A search shows all of them, and is a proof. `unpause-orders` compares the machine with the axioms, for all
//! schedules and choices. These tests check the input that a run gives to the machine, and the reduction of the search.
//!
//! Programs with loops have no axioms here. These programs come from open issues of loom.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sim::report::{Report, Style, text};
use sim::{Atomic, Ordering, Runner, spin_until};
use sim_tests::histories::long;
use unpause_orders::litmus::{
    Act, GENMC, Limits, Litmus, Outcome, Random, TABLE, outcomes, random, random_within,
};

fn order(number: u8) -> Ordering {
    match number {
        0 => Ordering::Relaxed,
        2 => Ordering::Acquire,
        3 => Ordering::Release,
        4 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// Does an action. Returns the value that it has read.
async fn act(act: Act, words: &[Atomic<u64>]) -> Option<u64> {
    match act {
        Act::Load(word, of) => Some(words[word].load(order(of)).await),
        Act::Store(word, value, of) => {
            words[word].store(value, order(of)).await;
            None
        }
        Act::Add(word, value, of) => Some(words[word].fetch_add(value, order(of)).await),
        Act::Swap(word, value, of) => Some(words[word].swap(value, order(of)).await),
        Act::Max(..) => unreachable!("tasks have no such operation"),
        Act::CompareExchange(word, old, new, success, failure) => {
            let orders = (order(success), order(failure));
            let result = words[word].compare_exchange(old, new, orders.0, orders.1).await;
            Some(result.unwrap_or_else(|seen| seen))
        }
        Act::Fence(of) => {
            sim::fence(order(of)).await;
            None
        }
    }
}

/// The thread and the position of loads that are repeated until all of them return 1, and the number of these loads.
#[derive(Clone, Copy, Debug)]
struct Wait {
    thread: usize,
    at: usize,
    loads: usize,
    /// True if a load is left out if an earlier one returned another value.
    stops_early: bool,
}

/// Repeats loads until all of them return 1.
async fn wait_for(loads: &[Act], words: &[Atomic<u64>], stops_early: bool) {
    let condition = async || {
        let mut holds = true;
        for load in loads {
            if holds || !stops_early {
                holds &= act(*load, words).await == Some(1);
            }
        }
        holds
    };
    spin_until(condition).await;
}

/// Runs a program, and returns the values that its threads have read and its last values.
async fn outcome(program: Arc<Litmus>, wait: Option<Wait>) -> Outcome {
    let words: Arc<[Atomic<u64>]> = (0..program.words).map(|_| Atomic::new(0)).collect();
    let threads = (0..program.threads.len()).map(|thread| {
        let (program, words) = (program.clone(), words.clone());
        sim::spawn(async move {
            let mut read = Vec::new();
            let mut acts = program.threads[thread].iter();
            let wait = wait.filter(|wait| wait.thread == thread);
            let before = wait.map_or(acts.len(), |wait| wait.at);
            for each in acts.by_ref().take(before) {
                read.extend(act(*each, &words).await);
            }
            if let Some(Wait { loads, stops_early, .. }) = wait {
                let (loads, rest) = acts.as_slice().split_at(loads);
                wait_for(loads, &words, stops_early).await;
                read.extend(loads.iter().map(|_| 1));
                acts = rest.iter();
            }
            for each in acts {
                read.extend(act(*each, &words).await);
            }
            read
        })
    });
    let mut outcome = Vec::new();
    for thread in threads.collect::<Vec<_>>() {
        outcome.extend(thread.await.unwrap());
    }
    outcome.extend(words.iter().map(Atomic::peek));
    outcome
}

/// The outcomes of a program in the runs of a runner, and the report.
fn found(program: &Litmus, wait: Option<Wait>, runner: Runner) -> (BTreeSet<Outcome>, Report) {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let program = Arc::new(program.clone());
    let report = runner.hermetic().memory("c11").run({
        let found = found.clone();
        move || {
            let (found, program) = (found.clone(), program.clone());
            async move {
                let outcome = outcome(program, wait).await;
                found.lock().unwrap().insert(outcome);
            }
        }
    });
    assert!(report.passed(), "{}", text(&report, &Style::default()));
    let found = found.lock().unwrap();
    (found.clone(), report)
}

/// The number of outcomes that the axioms allow, and the number of found outcomes.
fn count(program: &Litmus, name: &str, runner: Runner) -> [usize; 2] {
    let allowed = outcomes(program).by_cpp20;
    let (found, _) = found(program, None, runner);
    let forbidden: Vec<&Outcome> = found.difference(&allowed).collect();
    assert!(forbidden.is_empty(), "{name}: {forbidden:?} of {program:?}");
    [allowed.len(), found.len()]
}

fn table() -> impl Iterator<Item = (&'static str, Litmus)> {
    TABLE.lines().map(|line| {
        let (name, program) = line.split_once('\t').expect("a name and a program");
        (name, Litmus::parse(program))
    })
}

/// The sums of the counts of the programs.
fn total<'a>(
    programs: impl IntoIterator<Item = (&'a str, Litmus)>,
    runner: fn() -> Runner,
) -> [usize; 2] {
    let counts = programs.into_iter().map(|(name, program)| count(&program, name, runner()));
    counts.fold([0, 0], |sum, count| [sum[0] + count[0], sum[1] + count[1]])
}

#[cfg_attr(feature = "sim", test)]
fn seeds_find_nearly_all_outcomes_of_the_table() {
    let [allowed, found] = total(table(), || Runner::new().seeds(0..400));
    assert_eq!(allowed, 632);
    assert!(found >= 590, "{found}");
}

/// The results of searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Searches {
    /// The number of execution graphs that the axioms allow.
    graphs: usize,
    /// The number of runs, and the number of runs that were abandoned.
    runs: [u64; 2],
    /// The number of searches that are not a proof, because a task reads one word more than three times.
    unproved: usize,
}

impl Searches {
    /// Searches a program. The search must be a proof, and its runs must have exactly the outcomes that the axioms
    /// allow.
    fn add(&mut self, name: &str, program: &Litmus) {
        let allowed = outcomes(program);
        let runner = Runner::new().strategy("exhaustive").seeds(0..1_000_000);
        let (found, report) = found(program, None, runner);
        assert_eq!(found, allowed.by_cpp20, "{name}: {program:?}");
        let searched = report.searched.expect("a search");
        let is_proof = searched.is_proof();
        assert!(searched.complete && (is_proof || is_limited(program)), "{name}: {program:?}");
        self.graphs += allowed.graphs_by_cpp20;
        self.runs = [self.runs[0] + report.runs, self.runs[1] + searched.blocked];
        self.unproved += usize::from(!is_proof);
    }
}

/// Returns `true` if a task reads one word more than three times, so that a search may be no proof.
fn is_limited(program: &Litmus) -> bool {
    let reads = |thread: &Vec<Act>, word| {
        thread.iter().filter(|act| act.reads() && act.word() == Some(word)).count()
    };
    let may_be_limited = |thread| (0..program.words).any(|word| reads(thread, word) > 3);
    program.threads.iter().any(may_be_limited)
}

fn searched<'a>(programs: impl IntoIterator<Item = (&'a str, Litmus)>) -> Searches {
    let mut searches = Searches::default();
    programs.into_iter().for_each(|(name, program)| searches.add(name, &program));
    searches
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_all_outcomes_of_the_table() {
    assert_eq!(searched(table()), Searches { graphs: 646, runs: [3_581, 740], unproved: 1 });
}

/// Two programs of the table have several hundred execution graphs, and are left out.
#[cfg_attr(feature = "sim", test)]
fn a_search_finds_all_outcomes_of_the_programs_of_genmc() {
    let programs = GENMC.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, program, graphs] = fields[..] else { panic!("three fields: {line}") };
        let is_small = graphs.parse::<u32>().expect("a number") < 200;
        is_small.then(|| (name, Litmus::parse(program)))
    });
    assert_eq!(searched(programs), Searches { graphs: 488, runs: [2_959, 376], unproved: 0 });
}

/// Searches random programs within these limits, on two threads.
fn random_searches(seed: u64, programs: usize, limits: Limits) -> Searches {
    let of_thread = |part: usize| {
        let (mut stream, mut searches) = (Random(seed), Searches::default());
        for at in 0..programs {
            let program = random_within(&mut stream, limits);
            if at % 2 == part {
                searches.add(&format!("program {at}"), &program);
            }
        }
        searches
    };
    let of_thread = &of_thread;
    let both = std::thread::scope(|scope| {
        let threads = [0, 1].map(|part| scope.spawn(move || of_thread(part)));
        threads.map(|thread| thread.join().expect("no assertion fails"))
    });
    let [a, b] = both;
    Searches {
        graphs: a.graphs + b.graphs,
        runs: [a.runs[0] + b.runs[0], a.runs[1] + b.runs[1]],
        unproved: a.unproved + b.unproved,
    }
}

/// The results of bounded searches that leave out nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct BoundedSearches {
    /// The number of complete searches.
    complete: usize,
    /// The number of their runs.
    runs: u64,
    /// The number of searches that needed too many runs.
    too_large: usize,
}

/// Searches programs with `preemptions` and with `delays`, with a bound that leaves out nothing. Both searches must be
/// proofs, and their runs must have exactly the outcomes that the axioms allow.
fn bounded<'a>(
    programs: impl IntoIterator<Item = (&'a str, Litmus)>,
    runs_max: u64,
) -> BoundedSearches {
    let mut searches = BoundedSearches::default();
    for (name, program) in programs {
        let allowed = outcomes(&program).by_cpp20;
        for strategy in ["preemptions", "delays"] {
            let runner = Runner::new().strategy(strategy).seeds(0..runs_max);
            let (found, report) = found(&program, None, runner);
            let forbidden: Vec<&Outcome> = found.difference(&allowed).collect();
            assert!(forbidden.is_empty(), "{name}: {forbidden:?} of {program:?}");
            let searched = report.searched.expect("a search");
            if !searched.complete {
                searches.too_large += 1;
                continue;
            }
            assert_eq!(found, allowed, "{strategy}: {name}: {program:?}");
            let is_proof = searched.is_proof();
            assert!(is_proof || is_limited(&program), "{strategy}: {name}: {program:?}");
            searches.complete += 1;
            searches.runs += report.runs;
        }
    }
    searches
}

#[cfg_attr(feature = "sim", test)]
fn a_bounded_search_finds_all_outcomes() {
    let (programs, runs_max) = if long() { (500, 50_000) } else { (50, 500) };
    let mut stream = Random(8);
    let limits = Limits { acts: 5, threads: 3, words: 2 };
    let random = (0..programs).map(|_| ("random", random_within(&mut stream, limits)));
    let searches = [bounded(table(), runs_max), bounded(random, runs_max)];
    println!("{searches:?}");
    if !long() {
        let expected = [
            BoundedSearches { complete: 88, runs: 6_572, too_large: 84 },
            BoundedSearches { complete: 48, runs: 3_124, too_large: 52 },
        ];
        assert_eq!(searches, expected);
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_all_outcomes_of_random_programs() {
    let programs = if long() { 20_000 } else { 1_000 };
    let small = random_searches(5, programs, Limits { acts: 6, threads: 3, words: 2 });
    let large = random_searches(6, programs / 10, Limits { acts: 8, threads: 4, words: 3 });
    if !long() {
        let expected = [
            Searches { graphs: 3_913, runs: [15_949, 2_897], unproved: 0 },
            Searches { graphs: 532, runs: [3_919, 680], unproved: 0 },
        ];
        assert_eq!([small, large], expected);
    }
}

/// In a random program, one task waits for stores of other tasks. A search must be a proof, and must have the outcomes
/// of a program in which single loads read these stores. False evaluations of the condition make no difference.
#[cfg_attr(feature = "sim", test)]
fn a_search_finds_all_outcomes_behind_a_wait() {
    let mut stream = Random(7);
    // A search of two loads that are repeated has many runs, so some programs exceed the limit.
    let (programs, runs_max) = if long() { (8_000, 4_000) } else { (400, 1_000) };
    let mut proofs = [0, 0];
    for nth in 0..programs {
        let loads = if nth % 4 == 0 { 1 } else { 2 };
        let (acts, threads, runs) = match nth % 4 {
            0 => (5, 3, 1_000_000),
            1 => (3, 3, runs_max),
            _ => (3, 2, runs_max),
        };
        let mut program = random_within(&mut stream, Limits { acts, threads, words: 2 });
        let first = program.words;
        program.words += loads;
        let orders = [(0, 0), (3, 2), (5, 5), (3, 5)];
        let at = program.threads[1].len() / 2;
        for flag in 0..loads {
            let (store, load) = orders[(program.threads[0].len() + flag) % 4];
            // The second store belongs to the same task or to another one.
            let thread = if flag == 0 || program.threads.len() < 3 { 0 } else { 2 };
            let middle = program.threads[thread].len() / 2;
            program.threads[thread].insert(middle, Act::Store(first + flag, 1, store));
            program.threads[1].insert(at + flag, Act::Load(first + flag, load));
        }
        let reads = |acts: &[Act]| acts.iter().filter(|act| act.reads()).count();
        let read = reads(&program.threads[0]) + reads(&program.threads[1][..at]);
        let mut allowed = outcomes(&program).by_cpp20;
        allowed.retain(|outcome| outcome[read..read + loads].iter().all(|value| *value == 1));
        let runner = Runner::new().strategy("exhaustive").seeds(0..runs);
        let wait = Wait { thread: 1, at, loads, stops_early: nth % 8 < 4 };
        let (found, report) = found(&program, Some(wait), runner);
        assert!(found.is_subset(&allowed), "{program:?}, {wait:?}");
        if report.searched.expect("a search").is_proof() {
            assert_eq!(found, allowed, "{program:?}, {wait:?}");
            proofs[loads - 1] += 1;
        }
        if nth % 400 == 399 {
            println!("{proofs:?} proofs of {}", nth + 1);
        }
    }
    assert_eq!(proofs[0], programs / 4);
    assert!(proofs[1] * 10 > programs, "{proofs:?}");
}

/// Two readers each wait for one store, and then load the word of the other store. At least one reader must see the
/// other store. This program is issue 191 of loom, where the search does not end.
async fn readers_count(store: Ordering, load: Ordering) {
    let shared = Arc::new(([Atomic::new(false), Atomic::new(false)], Atomic::new(0)));
    let writers = [0, 1].map(|own| {
        let shared = shared.clone();
        sim::spawn(async move { shared.0[own].store(true, store).await })
    });
    let readers = [0, 1].map(|own| {
        let shared = shared.clone();
        sim::spawn(async move {
            let (words, count) = &*shared;
            spin_until(|| words[own].load(load)).await;
            if words[1 - own].load(load).await {
                count.fetch_add(1, Ordering::SeqCst).await;
            }
        })
    });
    for task in writers.into_iter().chain(readers) {
        task.await.unwrap();
    }
    assert_ne!(shared.1.load(Ordering::SeqCst).await, 0);
}

/// A loop without a point waits for a relaxed store. The loop may read the old value several times, but not forever.
async fn loop_ends() {
    let flag = Arc::new(Atomic::new(false));
    let writer = sim::spawn({
        let flag = flag.clone();
        async move { flag.store(true, Ordering::Relaxed).await }
    });
    while !flag.load(Ordering::Relaxed).await {}
    writer.await.unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn programs_with_loops_end() {
    let runner = |seeds| Runner::new().hermetic().memory("c11").shrink(false).seeds(0..seeds);
    let (acquire, release) = (Ordering::Acquire, Ordering::Release);
    let report = runner(300).run(|| readers_count(Ordering::SeqCst, Ordering::SeqCst));
    assert!(report.passed(), "{}", text(&report, &Style::default()));
    // Release and acquire are too weak here.
    assert!(!runner(2_000).run(move || readers_count(release, acquire)).passed());
    let report = runner(300).run(loop_ends);
    assert!(report.passed(), "{}", text(&report, &Style::default()));
}

#[cfg_attr(feature = "sim", test)]
fn random_programs_have_no_forbidden_outcome() {
    let mut stream = Random(3);
    let programs = if long() { 20_000 } else { 80 };
    let programs = (0..programs).map(|_| ("random", random(&mut stream, 7)));
    let [allowed, found] = total(programs, || Runner::new().seeds(0..60));
    assert!(found * 100 >= allowed * 93, "{found} of {allowed}");
}
