//! Parallel programs from a model: they are generated, run, recorded, checked, shrunk, replayed.

use std::collections::BTreeSet;
use std::time::Duration;

use sim::check::Model;
use sim::report::Finding;
use sim::run::program::{Fate, Part};
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, Cell, Gen, Mutex, Ordering::SeqCst, Program, SIMULATED, Script, Shape};
use sim_tests::counter::{
    Counter,
    Op::{Get, Increment},
};
use sim_tests::seeds::{finding, passes, runner};

/// Reads, then writes.
async fn buggy(shape: Shape) {
    let counter = Atomic::new(0);
    sim::parallel(shape, Counter::default(), async |op| match op {
        Increment(_) => {
            let value = counter.load(SeqCst).await;
            counter.store(value + 1, SeqCst).await;
            None
        }
        Get => Some(counter.load(SeqCst).await),
    })
    .await;
}

/// Adds in one step, and ignores a command that it has already executed.
async fn fixed(shape: Shape) {
    let counter = Mutex::new((0, BTreeSet::new()));
    sim::parallel(shape, Counter::default(), async |op| {
        let mut counter = counter.lock().await;
        match op {
            Increment(id) => {
                counter.0 += u64::from(counter.1.insert(id));
                None
            }
            Get => Some(counter.0),
        }
    })
    .await;
}

fn shapes() -> [Shape; 2] {
    [Shape::chunks(), Shape::branches()]
}

/// The remaining commands of the program of a run, with their positions.
fn left(run: &Run) -> Vec<(Part, String)> {
    let left = run.programs[0].left();
    left.iter().map(|command| (command.layout.part, command.label.clone())).collect()
}

/// Two increments at the same time, then a get: 4 accesses and 1, one preemption.
fn is_least(found: &Finding) -> bool {
    let beside = |part: &Part| matches!(part, Part::Branch { .. });
    let left = left(&found.run);
    let labels: Vec<&str> = left.iter().map(|(_, label)| label.as_str()).collect();
    let accesses = found.run.events.iter().filter(|e| ["load", "store"].contains(&e.op.name));
    let preemptions = found.run.steps.iter().filter(|step| step.preempts).count();
    labels == ["Increment", "Increment", "Get"]
        && beside(&left[0].0)
        && beside(&left[1].0)
        && left[2].0 == Part::Suffix
        && accesses.count() == 5
        && preemptions == 1
}

#[cfg_attr(feature = "sim", test)]
fn a_lost_update_comes_down_to_two_increments_and_a_get() {
    let wanted = if sim_tests::histories::long() { 1000 } else { 2 };
    for (shape, name) in shapes().into_iter().zip(["chunks", "branches"]) {
        let (mut failing, mut least, mut spent) = (0, 0, Duration::ZERO);
        let mut worst = Duration::ZERO;
        for seed in 0.. {
            if failing == wanted {
                break;
            }
            let began = std::time::Instant::now();
            let runner = runner(&format!("least_{name}")).seed(seed).jobs(1);
            let report = runner.run(async || buggy(shape.clone()).await);
            let Some(found) = report.finding else { continue };
            failing += 1;
            least += u32::from(is_least(&found));
            spent += began.elapsed();
            worst = worst.max(began.elapsed());
        }
        println!(
            "{name}: {least} of {failing} least, {:?} each, {worst:?} at most",
            spent / failing
        );
        assert!(least * 100 >= failing * 99, "{name}: {least} of {failing}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_lost_update_is_found_within_twenty_seeds_on_average() {
    for shape in shapes() {
        let starts: Vec<u64> = (0..20).map(|n| n * 50).collect();
        let runs: u64 = starts
            .iter()
            .map(|start| {
                let run = |seed: &u64| {
                    let run = runner("found").run_seed(*seed, async || buggy(shape.clone()).await);
                    run.outcome != Outcome::Passed
                };
                (*start..).position(|seed| run(&seed)).unwrap() as u64 + 1
            })
            .sum();
        println!("{} seeds on average", runs as f64 / starts.len() as f64);
        assert!(runs <= 20 * starts.len() as u64);
    }
}

#[cfg_attr(feature = "sim", test)]
fn programs_grow_with_the_seed() {
    for shape in shapes() {
        let commands = |seed: u64| {
            let run = runner("grow").run_seed(seed, async || fixed(shape.clone()).await);
            run.programs[0].commands.len()
        };
        let mean = |seeds: std::ops::Range<u64>| seeds.map(commands).sum::<usize>();
        assert!(mean(0..20) * 3 < mean(40..60) * 2);
    }
}

#[test]
fn a_thing_that_is_right_passes_whatever_befalls_its_commands() {
    for shape in shapes() {
        for (n, shape) in [
            shape.clone(),
            shape.clone().stutter(0.5),
            shape.clone().crash(0.5),
            shape.clone().timeout(0.5),
            shape.stutter(0.3).crash(0.3).timeout(0.3),
        ]
        .into_iter()
        .enumerate()
        {
            let seeds = if SIMULATED { 200 } else { 10 };
            let runner = runner(&format!("right_{n}")).seeds(0..seeds);
            let report = runner.run(async || fixed(shape.clone()).await);
            assert!(report.passed(), "{shape:?}: {report:?}");
        }
    }
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let found = |jobs| {
        let runner = runner("workers").jobs(jobs);
        let report = runner.run(async || buggy(Shape::branches()).await);
        report.finding.map(|found| (found.from.clone(), found.run.steps, found.run.draws))
    };
    if SIMULATED {
        let one = found(1);
        assert!(one.is_some());
        for jobs in [2, 4] {
            assert_eq!(found(jobs), one);
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_trace_holds_the_program() {
    for shape in shapes() {
        let found = finding("holds", async || buggy(shape.clone()).await);
        let file = found.trace_file.clone().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let commands: Vec<&str> = text.lines().filter(|line| line.starts_with("command")).collect();
        assert_eq!(commands.len(), 3, "{text}");
        assert!(commands[2].starts_with("command suffix"), "{text}");
        let again = runner("holds").replay(file).run(async || buggy(shape.clone()).await);
        let again = again.finding.unwrap();
        assert_eq!(again.run.programs, found.run.programs);
        assert_eq!(again.run.events, found.run.events);
    }
}

/// A pair of words that are written one after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Pair(u64);

#[derive(Clone, PartialEq, Eq, Debug)]
enum PairOp {
    Set(u64),
    Sum,
}

impl Model for Pair {
    type Op = PairOp;
    type Ret = u64;

    fn step(&mut self, op: &PairOp) -> u64 {
        if let PairOp::Set(value) = op {
            self.0 = *value;
        }
        2 * self.0
    }
}

impl Program for Pair {
    fn generate(&self, g: &mut Gen<'_, Self>) -> PairOp {
        if g.bool() { PairOp::Set(g.range(1..9)) } else { PairOp::Sum }
    }
}

async fn pair(shape: Shape, careful: bool) {
    let (pair, lock) = ((Cell::new(0), Cell::new(0)), Mutex::new(()));
    sim::parallel(shape, Pair::default(), async |op| {
        let _held = lock.lock().await;
        match op {
            // If the command is dropped here, only one half is written. The careful version writes both halves in the
            // step in which it takes the lock.
            PairOp::Set(value) if careful => {
                let both = futures::future::join(pair.0.set(value), pair.1.set(value));
                both.await;
                2 * value
            }
            PairOp::Set(value) => {
                pair.0.set(value).await;
                pair.1.set(value).await;
                2 * value
            }
            PairOp::Sum => pair.0.get().await + pair.1.get().await,
        }
    })
    .await;
}

#[cfg_attr(feature = "sim", test)]
fn a_crash_in_the_middle_of_a_command_is_found() {
    let shape = || Shape::branches().min_prefix_length(0).crash(0.3);
    passes("half", async || pair(Shape::branches(), false).await);
    passes("half_careful", async || pair(shape(), true).await);
    let found = finding("half_crash", async || pair(shape(), false).await);
    let left = found.run.programs[0].left();
    let texts: Vec<&str> = left.iter().map(|command| command.text.as_str()).collect();
    assert_eq!(texts, ["Set(1), dropped at point 3", "Sum"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_command_that_is_sent_again_must_change_nothing() {
    async fn forgetful(shape: Shape) {
        let counter = Atomic::new(0);
        sim::parallel(shape, Counter::default(), async |op| match op {
            Increment(_) => {
                counter.fetch_add(1, SeqCst).await;
                None
            }
            Get => Some(counter.load(SeqCst).await),
        })
        .await;
    }
    passes("once", async || forgetful(Shape::branches()).await);
    let found = finding("twice", async || forgetful(Shape::branches().stutter(0.2)).await);
    let left = found.run.programs[0].left();
    let texts: Vec<&str> = left.iter().map(|command| command.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("Increment") && texts[0].ends_with("sent again"), "{texts:?}");
    assert_eq!(texts[1], "Get");
}

#[cfg_attr(feature = "sim", test)]
fn a_command_that_is_not_waited_for_overlaps_with_the_next_one() {
    // Only commands whose branch does not wait for them run beside other commands.
    let shape = || Shape::branches().min_prefix_length(3).timeout(0.5);
    let found = finding("unheard", async || buggy(shape()).await);
    let left = found.run.programs[0].left();
    let alone = left.iter().all(|c| matches!(c.layout.part, Part::Prefix | Part::Suffix));
    assert!(alone && left.iter().any(|c| c.text.ends_with("not waited for")), "{left:?}");
}

#[cfg_attr(feature = "sim", test)]
fn what_shrinking_leaves_was_not_allowed_to_be_anything_else() {
    // The record contains commands that were left out, with their fates.
    let found = finding("fates", async || buggy(Shape::branches()).await);
    let program = &found.run.programs[0];
    let runs = program.commands.iter().filter(|c| c.layout.fate == Fate::Runs).count();
    assert_eq!(runs, 3);
    assert!(program.commands.len() > 3);
    assert_eq!(program.interleavings, 2);
}

#[test]
fn outside_a_run_a_program_runs_on_threads() {
    for shape in shapes() {
        sim::block_on(fixed(shape.stutter(0.3).timeout(0.3)));
    }
}

#[test]
fn what_runs_a_command_may_borrow_and_need_not_be_send() {
    passes("borrows", async || {
        let last = Atomic::new(0);
        sim::parallel(Shape::chunks(), Counter::default(), async |op| {
            let _held = std::rc::Rc::new(());
            match op {
                Increment(_) => {
                    last.fetch_add(1, SeqCst).await;
                    None
                }
                Get => Some(last.load(SeqCst).await),
            }
        })
        .await;
        last.load(SeqCst).await;
    });
}

#[test]
fn a_program_that_is_not_awaited_is_no_pass() {
    let forgotten: [fn(); 2] = [
        || drop(program()),
        || drop(sim::parallel::scripted(Script::new(), Counter::default(), async |_| None)),
    ];
    for forget in forgotten {
        let found = finding("not awaited", async move || forget());
        let Outcome::Failed(Failure::Panic { message, .. }) = &found.run.outcome else {
            panic!("{:?}", found.run.outcome);
        };
        assert!(message.contains("tests/together/parallel.rs:"), "{message}");
        assert!(message.ends_with("was never run: write `.await` after it"), "{message}");
    }
}

fn program() -> impl Future<Output = ()> {
    sim::parallel(Shape::chunks(), Counter::default(), async |_| None)
}
