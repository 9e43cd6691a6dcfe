//! The comparison of the runs of a program with its model.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sim::Runner;
use sim::report::Report;

use super::executed::{Got, body, outcome};
use super::explored::{Outcome, outcomes};
use super::{Clock, NAMES, Program};

/// A program with more states in the model is left out.
const STATES_MAX: usize = 6_000;
/// The same with `UNPAUSE_LONG`.
const LONG_STATES_MAX: usize = 60_000;
/// A search with more runs is no proof.
const RUNS_MAX: u64 = 1_500;
/// The runs of a search that reduces nothing.
const PLAIN_RUNS_MAX: u64 = 500;
/// The runs of seeds.
const SEEDS: u64 = 20;
/// The number of programs of each primitive, and the number with `UNPAUSE_LONG`.
const PROGRAMS: u64 = 5;
const LONG: u64 = 400;

/// The result of the runs of a program.
struct Tried {
    outcomes: BTreeSet<Outcome>,
    is_proof: bool,
    failure: Option<String>,
    runs: u64,
}

fn runner(program: &Program, strategy: &str, runs: u64) -> Runner {
    let clock = if program.clock == Clock::Any { "any" } else { "last" };
    let runner = Runner::new().hermetic().strategy(strategy).clock(clock).seeds(0..runs);
    runner.shrink(false).jobs(1)
}

/// Performs all runs of a search, also after a failure.
fn searched(program: &Arc<Program>, runner: &Runner) -> Tried {
    let (got, mut outcomes, mut failure) = (Arc::new(Got::default()), BTreeSet::new(), None);
    let report = runner.each_run(
        async || body(program, &got).await,
        |run| match outcome(&run, &got) {
            Ok(end) => drop(outcomes.insert(end)),
            Err(other) => failure = Some(other),
        },
    );
    if let Some(finding) = &report.finding {
        failure = Some(format!("{:?}", finding.run.outcome));
    }
    let is_proof = report.searched.as_ref().is_some_and(|searched| searched.is_proof());
    Tried { outcomes, is_proof, failure: failure.or(doubt(&report)), runs: report.runs }
}

/// Runs a program with seeds.
fn sampled(program: &Arc<Program>, first: u64) -> Tried {
    let (got, mut outcomes, mut failure) = (Arc::new(Got::default()), BTreeSet::new(), None);
    let runner = runner(program, "portfolio", SEEDS).hang(std::time::Duration::ZERO);
    for seed in first..first + SEEDS {
        let run = runner.run_seed(seed, async || body(program, &got).await);
        match outcome(&run, &got) {
            Ok(end) => drop(outcomes.insert(end)),
            Err(other) => failure = Some(other),
        }
    }
    Tried { outcomes, is_proof: false, failure, runs: SEEDS }
}

/// Runs a program as a test that stops at the first failure. Returns a contradiction with the model, if any.
fn stopped(program: &Arc<Program>, expected: &BTreeSet<Outcome>) -> Option<String> {
    let got = Arc::new(Got::default());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    let runner = runner(program, "exhaustive", RUNS_MAX).out(out);
    let report = runner.run(async || body(program, &got).await);
    let may_wait = expected.iter().any(|(_, stuck)| *stuck > 0);
    let searched = report.searched.as_ref();
    let is_proof = report.passed() && searched.is_some_and(|searched| searched.is_proof());
    match () {
        () if !report.passed() && !may_wait => {
            Some(format!("a false finding: {:?}", report.finding.map(|found| found.run.outcome)))
        }
        () if is_proof && may_wait => Some("a proof that misses a deadlock".into()),
        () => doubt(&report),
    }
}

/// Returns a contradiction that a search found in itself.
fn doubt(report: &Report) -> Option<String> {
    let searched = report.searched.as_ref()?;
    let is_doubted = searched.audit.as_ref().is_some_and(|audit| !audit.agrees());
    let is_no_proof = searched.complete && searched.blind;
    let is_contradiction = is_doubted || is_no_proof;
    is_contradiction.then(|| format!("the search contradicts itself: {searched:?}"))
}

impl Tried {
    /// Returns the difference from the outcomes of the model, if any.
    fn difference(&self, expected: &BTreeSet<Outcome>) -> Option<String> {
        let more: Vec<_> = self.outcomes.difference(expected).take(4).collect();
        let missing: Vec<_> = expected.difference(&self.outcomes).take(4).collect();
        match () {
            () if self.failure.is_some() => self.failure.clone(),
            () if !more.is_empty() => Some(format!("outcomes that cannot be: {more:?}")),
            () if self.is_proof && !missing.is_empty() => Some(format!("missing: {missing:?}")),
            () => None,
        }
    }
}

/// Counts over programs.
#[derive(Default, Debug)]
struct Sums {
    programs: u64,
    /// Programs whose search is a proof.
    proofs: u64,
    /// Programs whose search without reductions is a proof.
    plain_proofs: u64,
    runs: u64,
    outcomes: usize,
    deadlocks: usize,
}

/// Compares all runs of a program with its model. Returns the differences.
fn compare(program: &Arc<Program>, number: u64, sums: &mut Sums) -> Vec<String> {
    let Some(expected) = outcomes(program, states_max(), None) else { return Vec::new() };
    let tried = searched(program, &runner(program, "exhaustive", RUNS_MAX));
    sums.programs += 1;
    sums.proofs += u64::from(tried.is_proof);
    sums.runs += tried.runs;
    sums.outcomes += expected.len();
    sums.deadlocks += usize::from(expected.iter().any(|(_, stuck)| *stuck > 0));
    let mut all = vec![("search", tried.difference(&expected))];
    if number % 4 == 0 {
        let strategy = if number % 8 == 0 { "preemptions" } else { "delays" };
        let plain = searched(program, &runner(program, strategy, PLAIN_RUNS_MAX));
        sums.plain_proofs += u64::from(plain.is_proof);
        all.push((strategy, plain.difference(&expected)));
    }
    all.push(("seeds", sampled(program, 1_000 * number).difference(&expected)));
    if number % 2 == 1 {
        all.push(("test", stopped(program, &expected)));
    }
    if program.clock == Clock::Any {
        for clock in ["last", "late:1"] {
            let runner = runner(program, "exhaustive", RUNS_MAX).clock(clock);
            let fewer = Tried { is_proof: false, ..searched(program, &runner) };
            all.push((clock, fewer.difference(&expected)));
        }
    } else if program.has_time() {
        let runner = runner(program, "exhaustive", RUNS_MAX).cancel_selects(true);
        let any = Program { clock: Clock::Any, ..(**program).clone() };
        if let Some(any) = outcomes(&any, states_max(), None) {
            let fewer = Tried { is_proof: false, ..searched(program, &runner) };
            all.push(("cancel_selects", fewer.difference(&any)));
        }
    }
    let shown = |(how, difference): (&str, Option<String>)| Some(format!("{how}: {}", difference?));
    all.into_iter().filter_map(shown).collect()
}

fn states_max() -> usize {
    if sim_tests::histories::long() { LONG_STATES_MAX } else { STATES_MAX }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

/// A test for each primitive.
macro_rules! tests {
    ($($test:ident $name:ident,)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[cfg_attr(feature = "sim", test)]
            fn $test() {
                compare_programs(stringify!($name));
            }
        )*
    };
}

tests! {
    words_are_as_in_the_model words_model,
    semaphores_are_as_in_the_model semaphore_model,
    fair_mutexes_are_as_in_the_model fair_mutex,
    locks_with_readers_are_as_in_the_model readers_model,
    notifications_are_as_in_the_model notify_model,
    bounded_channels_are_as_in_the_model mpsc_model,
    unbounded_channels_are_as_in_the_model unbounded_model,
    channels_for_one_value_are_as_in_the_model oneshot_model,
    channels_for_the_last_value_are_as_in_the_model watch_model,
    channels_for_all_are_as_in_the_model broadcast_model,
    barriers_are_as_in_the_model barrier_model,
    cells_are_as_in_the_model once_model,
    barging_mutexes_are_as_in_the_model barging_mutex,
    sets_of_tasks_are_as_in_the_model set_model,
}

#[cfg_attr(feature = "sim", test)]
fn each_primitive_is_tested() {
    assert_eq!(NAMES, TESTED);
}

/// Returns the number of a primitive.
fn number_of(name: &str) -> usize {
    NAMES.iter().position(|known| *known == name).expect("a primitive")
}

fn compare_programs(name: &str) {
    let usual = if sim_tests::histories::long() { LONG } else { PROGRAMS };
    let (first, count) = (setting("FIRST", 0), setting("PROGRAMS", usual));
    let begun = Instant::now();
    let (mut differing, mut sums) = (Vec::new(), Sums::default());
    for number in first..first + count {
        let program = Arc::new(Program::generate(number_of(name), number));
        for difference in compare(&program, number, &mut sums) {
            differing.push(format!("{name} {number}, {difference}\n{program:?}"));
        }
    }
    println!("{name}: {sums:?} in {:?}", begun.elapsed());
    let shown: Vec<_> = differing.iter().take(setting("SHOWN", 6) as usize).cloned().collect();
    assert!(differing.is_empty(), "{} differ\n{}", differing.len(), shown.join("\n\n"));
    assert!(sums.proofs * 10 >= sums.programs * 7, "{sums:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_planted_fault_of_each_model_is_noticed() {
    for (primitive, name) in NAMES.iter().enumerate() {
        let is_noticed = |number| {
            let program = Arc::new(Program::generate(primitive, number));
            let Some(expected) = outcomes(&program, STATES_MAX, Some(primitive)) else {
                return false;
            };
            // A program without a difference needs no runs.
            if outcomes(&program, STATES_MAX, None).as_ref() == Some(&expected) {
                return false;
            }
            let tried = searched(&program, &runner(&program, "exhaustive", RUNS_MAX));
            tried.difference(&expected).is_some()
        };
        assert!((0..400).any(is_noticed), "{name}");
    }
}
