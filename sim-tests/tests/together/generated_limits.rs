//! Generators that are not functions of their decisions, and programs that take long to generate.

use std::sync::atomic::AtomicU64;

use sim::check::Model;
use sim::run::{Failure, Outcome};
use sim::{Atomic, Gen, Mutex, Ordering::SeqCst, Program, SIMULATED, Script, Shape};
use sim_tests::seeds::{passes, runner};

/// A bounded sum, with the list of additions.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sum {
    flaky: bool,
    /// True if there are preconditions.
    strict: bool,
    added: Vec<u64>,
}

impl Model for Sum {
    type Op = u64;
    type Ret = u64;

    fn step(&mut self, op: &u64) -> u64 {
        self.added.push(*op);
        self.added.iter().sum()
    }
}

static CALLS: AtomicU64 = AtomicU64::new(0);

impl Program for Sum {
    fn generate(&self, g: &mut Gen<'_, Self>) -> u64 {
        let drawn = g.below(5);
        if self.flaky { CALLS.fetch_add(1, SeqCst) } else { drawn }
    }

    fn precondition(&self, op: &u64) -> bool {
        !self.strict || *op != 4 || self.added.iter().sum::<u64>() > 3
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_generator_that_makes_other_programs_of_the_same_decisions_is_found() {
    let run = |flaky| {
        runner("flaky").seeds(0..50).run(async || {
            let sum = Mutex::new(0);
            let model = Sum { flaky, ..Sum::default() };
            sim::parallel(Shape::chunks(), model, async |op| {
                let mut sum = sum.lock().await;
                *sum += op;
                *sum
            })
            .await;
        })
    };
    assert!(run(false).passed());
    let outcome = run(true).finding.expect("the programs differ").run.outcome;
    let Outcome::Failed(Failure::NonDeterminism { first, second, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(first.starts_with("command #0 of the generated program: "), "{first}");
    assert_ne!(first, second);
}

#[cfg_attr(feature = "sim", test)]
fn shrinking_a_program_that_takes_long_to_make_ends() {
    let shape = || Shape::branches().max_branch_length(20).min_prefix_length(0);
    let found = runner("long_to_make").seeds(40..60).run(async || {
        let sum = Atomic::new(0);
        let model = Sum { strict: true, ..Sum::default() };
        sim::parallel(shape(), model, async |op| {
            let before = sum.load(SeqCst).await;
            sum.store(before + op, SeqCst).await;
            before + op
        })
        .await;
    });
    let found = found.finding.expect("an update is lost");
    let left = found.run.programs[0].left();
    let shrinking = found.shrunk.expect("it was made smaller");
    println!("{} commands, {shrinking:?}", left.len());
    // The program is generated once, because a generation in each replay would use up the work limit of shrinking.
    assert!(shrinking.complete && left.len() == 2, "{left:?} {shrinking:?}");
}

/// Like [`Sum`], but draws a number that is not in its plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Aside(u64);

impl Model for Aside {
    type Op = u64;
    type Ret = u64;

    fn step(&mut self, op: &u64) -> u64 {
        self.0 += op;
        self.0
    }
}

impl Program for Aside {
    fn generate(&self, g: &mut Gen<'_, Self>) -> u64 {
        1 + sim::rand::below(5) + g.below(5)
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_program_of_a_model_that_draws_on_its_own_is_made_smaller() {
    let found = runner("aside").seeds(0..200).run(async || {
        let sum = Atomic::new(0);
        sim::parallel(Shape::chunks(), Aside(0), async |op| {
            let before = sum.load(SeqCst).await;
            sum.store(before + op, SeqCst).await;
            before + op
        })
        .await;
    });
    let found = found.finding.expect("an update is lost");
    assert!(found.shrunk.expect("it was made smaller").complete);
    let left = found.run.programs[0].left();
    let texts: Vec<&str> = left.iter().map(|command| command.text.as_str()).collect();
    assert_eq!(texts, ["1", "1"]);
}

#[test]
fn a_long_prefix_is_planned_in_little_time() {
    let began = std::time::Instant::now();
    for strict in [false, true] {
        let run = runner("prefix").run_seed(0, async || {
            let model = Sum { strict, ..Sum::default() };
            let shape = Shape::chunks().min_prefix_length(500).budget(1);
            sim::parallel(shape, model, async |_| 0).await;
        });
        if SIMULATED {
            assert!(run.programs[0].commands.len() > 500);
        }
    }
    println!("{:?}", began.elapsed());
}

#[cfg_attr(feature = "sim", test)]
fn a_script_too_large_to_be_checked_is_run_as_it_stands_and_says_so() {
    let script = |length: u64| {
        let commands = (0..8).flat_map(|branch| (0..length).map(move |n| (branch, n)));
        commands.fold(Script::new(), |script, (branch, n)| script.branch(0, branch, n % 4))
    };
    let run = |length| {
        runner("large_script").seeds(0..2).run(async || {
            let sum = Mutex::new(0);
            let model = Sum { strict: true, ..Sum::default() };
            sim::parallel::scripted(script(length).budget(2_000_000), model, async |op| {
                let mut sum = sum.lock().await;
                *sum += op;
                *sum
            })
            .await;
        })
    };
    let report = run(3);
    assert!(report.passed(), "{report:?}");
    let warned = |report: &sim::report::Report| {
        report.warnings.iter().any(|warning| warning.contains("were not checked in all orders"))
    };
    assert!(warned(&report), "{:?}", report.warnings);
    passes("small_script", async || {
        let model = Sum { strict: true, ..Sum::default() };
        let sum = Atomic::new(0);
        let script = Script::new().branch(0, 0, 1).branch(0, 1, 2).suffix(0);
        sim::parallel::scripted(script, model, async |op| sum.fetch_add(op, SeqCst).await + op)
            .await;
    });
}
