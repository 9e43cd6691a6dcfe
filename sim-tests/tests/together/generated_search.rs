//! Generated programs under a search. The search must find all programs of a shape, each in all its interleavings. The
//! expected programs and interleavings are enumerated here without the library.

mod brute;

use std::collections::{BTreeMap, BTreeSet};

use sim::check::Model;
use sim::run::program::Fate;
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, CommandId, Gen, Ordering::SeqCst, Program, Shape};
use sim_tests::seeds::runner;

use self::brute::{Command, Small, Told, outcomes, programs};

// ---- what is tested

/// Adds in two accesses, is read, and gives one away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Op {
    Add(CommandId),
    Get(CommandId),
    Take(CommandId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sum {
    value: i64,
    /// True if preconditions are checked: otherwise [`Op::Take`] may be called on nothing.
    strict: bool,
    kinds: usize,
}

impl Model for Sum {
    type Op = Op;
    type Ret = i64;

    fn step(&mut self, op: &Op) -> i64 {
        match op {
            Op::Add(_) => self.value += 1,
            Op::Get(_) => {}
            Op::Take(_) => self.value -= 1,
        }
        self.value
    }
}

impl Program for Sum {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let id = g.id();
        g.choose(&[Op::Add(id), Op::Get(id), Op::Take(id)][..self.kinds])
    }

    fn precondition(&self, op: &Op) -> bool {
        !self.strict || !matches!(op, Op::Take(_)) || self.value > 0
    }
}

async fn ask(sum: &Atomic<i64>, op: Op) -> i64 {
    match op {
        Op::Add(_) => {
            let value = sum.load(SeqCst).await + 1;
            sum.store(value, SeqCst).await;
            value
        }
        Op::Get(_) => sum.load(SeqCst).await,
        Op::Take(_) => sum.fetch_sub(1, SeqCst).await - 1,
    }
}

// ---- both

/// A program and the results of its commands, of a run of the library.
fn seen(run: &Run) -> (Vec<Command>, Told) {
    let program = &run.programs[0];
    let commands = program.commands.iter().map(|command| {
        let kind = match command.text.split('(').next() {
            Some("Add") => Some(0),
            Some("Get") => Some(1),
            Some("Take") => Some(2),
            _ => None,
        };
        assert_eq!(kind.is_some(), command.layout.fate == Fate::Runs, "{command:?}");
        let (crash, again) = (command.faults.crash, command.faults.again);
        Command { part: command.layout.part, kind, crash, again }
    });
    let told = program.commands.iter().map(|command| {
        let text = command.text.split(", ").next();
        let history = &run.histories[0];
        let own = history.operations.iter().find(|own| Some(own.op.as_str()) == text);
        own.and_then(|own| own.returned.as_ref()).map(|(ret, _)| ret.parse().unwrap())
    });
    (commands.collect(), told.collect())
}

/// Explores all programs of a shape, and compares. The numbers of programs and of outcomes.
fn compare(seed: u64) -> (usize, usize) {
    let small = Small::drawn(seed);
    let mut wanted: BTreeMap<Vec<Command>, BTreeSet<Told>> = BTreeMap::new();
    for program in programs(&small) {
        let outcomes = outcomes(&program);
        wanted.insert(program, outcomes);
    }
    let mut found: BTreeMap<Vec<Command>, BTreeSet<Told>> = BTreeMap::new();
    let runner = runner("all_programs").strategy("exhaustive").seeds(0..1_000_000);
    let report = runner.each_run(
        async || {
            let (sum, model) =
                (Atomic::new(0), Sum { value: 0, strict: small.strict, kinds: small.kinds });
            sim::parallel(small.shape(), model, async |op| ask(&sum, op).await).await;
        },
        |run| {
            let (program, told) = seen(&run);
            found.entry(program).or_default().insert(told);
        },
    );
    assert!(report.finding.is_none(), "seed {seed}: {small:?}: {report:?}");
    assert!(report.searched.unwrap().is_proof(), "seed {seed}: {small:?}");
    let missed: Vec<_> =
        wanted.iter().filter(|(program, _)| !found.contains_key(*program)).collect();
    assert!(missed.is_empty(), "seed {seed}: {small:?}: never made {:?}", missed[0]);
    let other: Vec<_> = found.iter().filter(|(p, told)| wanted.get(*p) != Some(*told)).collect();
    assert!(
        other.is_empty(),
        "seed {seed}: {small:?}: {:?} is not {:?}",
        other[0],
        wanted.get(other[0].0)
    );
    (wanted.len(), wanted.values().map(BTreeSet::len).sum())
}

#[cfg_attr(feature = "sim", test)]
fn a_search_explores_all_programs_of_a_shape_in_all_interleavings() {
    let shapes = if sim_tests::histories::long() { 500 } else { 2 };
    let (mut programs, mut outcomes) = (0, 0);
    for seed in 0..shapes {
        let (some, told) = compare(seed);
        programs += some;
        outcomes += told;
    }
    println!("{shapes} shapes, {programs} programs, {outcomes} outcomes");
    assert!(outcomes > programs, "nothing ever overlapped");
}

/// Answers wrongly when three calls are under way.
async fn wrong_if_three(shape: Shape) {
    let (under_way, sum) = (Atomic::new(0), Atomic::new(0i64));
    let model = Sum { value: 0, strict: false, kinds: 2 };
    sim::parallel(shape, model, async |op| {
        let others = under_way.fetch_add(1, SeqCst).await;
        let value = match op {
            Op::Add(_) => sum.fetch_add(1, SeqCst).await + 1,
            _ => sum.load(SeqCst).await,
        };
        under_way.fetch_sub(1, SeqCst).await;
        if others >= 2 { value + 100 } else { value }
    })
    .await;
}

#[cfg_attr(feature = "sim", test)]
fn a_search_proves_nothing_of_chunks_that_it_did_not_make() {
    let shape = |size| {
        let one = Shape::chunks().max_chunks(1).max_chunk_size(size);
        one.max_prefix_length(0).max_suffix_length(1)
    };
    for strategy in ["exhaustive", "delays:2"] {
        let search = |size| {
            let runner = runner("three").strategy(strategy).seeds(0..200_000);
            runner.run(async || wrong_if_three(shape(size)).await)
        };
        let found = search(3)
            .finding
            .unwrap_or_else(|| panic!("{strategy}: a chunk of three was never made"));
        let failure = match &found.run.outcome {
            Outcome::Failed(failure @ Failure::History { .. }) => failure,
            outcome => panic!("{strategy}: {outcome:?}"),
        };
        assert_eq!(failure.kind(), "history");
        let two = search(2);
        assert!(two.passed(), "{strategy}: {two:?}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_of_large_programs_is_not_taken_for_non_determinism() {
    for shape in [Shape::chunks(), Shape::branches(), Shape::chunks().max_chunks(1)] {
        for strategy in ["exhaustive", "preemptions:1", "delays:1"] {
            let runner = runner("large").strategy(strategy).seeds(0..300);
            let report = runner.run(async || {
                let sum = sim::Mutex::new(0i64);
                let model = Sum { value: 0, strict: true, kinds: 3 };
                sim::parallel(shape.clone(), model, async |op| {
                    let mut sum = sum.lock().await;
                    *sum += match op {
                        Op::Add(_) => 1,
                        Op::Get(_) => 0,
                        Op::Take(_) => -1,
                    };
                    *sum
                })
                .await;
            });
            assert!(report.passed(), "{strategy}, {shape:?}: {report:?}");
            assert!(!report.searched.unwrap().is_proof(), "{strategy}: {shape:?}");
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn what_a_search_finds_is_replayed_and_made_smaller() {
    let shape = || Shape::chunks().max_chunks(1).max_prefix_length(0).max_suffix_length(1);
    let body = async || {
        let sum = Atomic::new(0);
        let model = Sum { value: 0, strict: true, kinds: 2 };
        sim::parallel(shape(), model, async |op| ask(&sum, op).await).await;
    };
    let report = runner("found_by_search").strategy("exhaustive").seeds(0..10_000).run(body);
    let found = report.finding.expect("an update is lost");
    assert_eq!(found.run.programs[0].left().len(), 2, "{:?}", found.run.programs);
    // The trace is complete: without the strategy it gives the same run.
    let again = runner("found_by_search").replay(found.trace_file.unwrap()).run(body);
    let again = again.finding.unwrap();
    assert_eq!(again.run.programs, found.run.programs);
    assert_eq!(again.run.events, found.run.events);
}
