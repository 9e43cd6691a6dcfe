//! Litmus programs over `sim::Atomic`, with the memory `c11`, compared with the axioms of C++20.
//!
//! No outcome may be found that the axioms forbid, by any seed. The table's programs show nearly all outcomes that the
//! axioms allow, and a search shows all of them. `unpause-orders` compares the machine with the axioms, for all
//! schedules and choices. These tests check the input that a run gives to the machine.
//!
//! Programs with loops have no axioms here. They come from open issues of loom.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sim::report::{Style, text};
use sim::{Atomic, Ordering, Runner, spin_until};
use sim_tests::histories::long;
use unpause_orders::litmus::{Act, GENMC, Litmus, Outcome, Random, TABLE, outcomes, random};

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

/// Runs a program, and returns the values that its threads have read and its last values.
async fn outcome(program: Arc<Litmus>) -> Outcome {
    let words: Arc<[Atomic<u64>]> = (0..program.words).map(|_| Atomic::new(0)).collect();
    let threads = (0..program.threads.len()).map(|thread| {
        let (program, words) = (program.clone(), words.clone());
        sim::spawn(async move {
            let mut read = Vec::new();
            for each in &program.threads[thread] {
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

/// The outcomes of a program in the runs of a runner.
fn found(program: &Litmus, runner: Runner) -> BTreeSet<Outcome> {
    let found = Arc::new(Mutex::new(BTreeSet::new()));
    let program = Arc::new(program.clone());
    let report = runner.hermetic().memory("c11").run({
        let found = found.clone();
        move || {
            let (found, program) = (found.clone(), program.clone());
            async move {
                let outcome = outcome(program).await;
                found.lock().unwrap().insert(outcome);
            }
        }
    });
    assert!(report.passed(), "{}", text(&report, &Style::default()));
    let found = found.lock().unwrap();
    found.clone()
}

/// The number of outcomes that the axioms allow, and the number of found outcomes.
fn count(program: &Litmus, name: &str, runner: Runner) -> [usize; 2] {
    let allowed = outcomes(program).by_cpp20;
    let found = found(program, runner);
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

fn search() -> Runner {
    Runner::new().strategy("exhaustive").seeds(0..20_000)
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_all_outcomes_of_the_table() {
    assert_eq!(total(table(), search), [632, 632]);
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
    assert_eq!(total(programs, search), [484, 484]);
}

/// Two readers wait for one store each, and then load the other word. They do not both miss the other store. This is
/// issue 191 of loom, for which a search does not end.
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

/// A loop without a point of its own waits for a relaxed store. It may read the old value several times, but not
/// forever.
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
    // Release and acquire are too weak.
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
