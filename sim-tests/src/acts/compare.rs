//! Holds the results of a search against those of the interpreter.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use sim::Runner;
use sim::run::{Failure, Outcome};

use super::drive::Driven;
use super::interpret;
use super::program::{End, Program, Sight};

/// Runs that a search may take; with more it is left out.
const RUNS_MAX: u64 = 3_000;
/// Runs that a search without reduction may take.
const PLAIN_RUNS_MAX: u64 = 20_000;
/// States that the interpreter may visit.
const STATES_MAX: usize = 100_000;

/// The source of the expected results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judge {
    /// From [`interpret::results`].
    Interpreter,
    /// From the search `preemptions` without a bound, which reduces nothing: for acts that the
    /// interpreter does not model.
    Preemptions,
}

/// The result of a comparison.
#[derive(Debug)]
pub enum Verdict {
    /// The search claims a proof, and all accounts agree on these results, found in so many runs.
    Same {
        /// The results.
        results: BTreeSet<Sight>,
        /// The runs of the search.
        runs: u64,
    },
    /// The accounts differ.
    Differs(Difference),
    /// No account contradicts another, but nothing is claimed: for this reason.
    LeftOut(Why),
}

/// The reason for which a program is not compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The search would take too many runs.
    Runs,
    /// The search reports that tasks share state outside this library.
    Blind,
    /// The expected results are too many states or runs away.
    Expected,
}

/// Results that one account has and another has not.
#[derive(Debug)]
pub struct Difference {
    /// The kind of the sight that differs.
    pub kind: Kind,
    /// The results.
    pub sights: BTreeSet<Sight>,
}

/// Kinds of differences.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Expected, but not found by a search that claims to have found all: a false proof.
    Missed,
    /// Found by the search and not expected: the search, or the interpreter, is wrong.
    Unexpected,
    /// Seen by a run at random and not expected.
    SeenAtRandom,
    /// The search has all results, but its own sampled runs contradict it.
    Doubted,
    /// A plain run of the search passed although a result fails, or the other way round.
    Outcome,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Missed => "the search says that it has seen all, and has not seen",
            Kind::Unexpected => "the search has seen what is not expected:",
            Kind::SeenAtRandom => "runs at random have seen what is not expected:",
            Kind::Doubted => "the search is through, and says that it is wrong. Expected is:",
            Kind::Outcome => {
                "a plain run of the search does not fail exactly if one of these does:"
            }
        };
        writeln!(f, "{what}")?;
        self.sights.iter().try_for_each(|sight| writeln!(f, "    {sight:?}"))
    }
}

/// The runs to compare, and their judge.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The source of the expected results.
    pub judge: Judge,
    /// The number of random runs for each strategy of [`AT_RANDOM`].
    pub random: u64,
    /// True if the test is also run plainly, up to its first failure.
    pub plain: bool,
}

/// The strategies whose runs are compared.
pub const AT_RANDOM: [&str; 2] = ["random", "portfolio"];

impl Comparison {
    /// Compares the accounts of a program.
    pub fn of(&self, program: &Program) -> Verdict {
        self.between(program, program)
    }

    /// Compares the expected results of one program with the results of a search for another.
    pub fn between(&self, of: &Program, program: &Program) -> Verdict {
        let expected = match self.judge {
            Judge::Interpreter => interpret::results(of, STATES_MAX),
            Judge::Preemptions => {
                let searched = search(of, "preemptions", PLAIN_RUNS_MAX);
                searched.complete.then_some(searched.sights)
            }
        };
        let Some(expected) = expected else { return Verdict::LeftOut(Why::Expected) };
        let searched = search(program, "exhaustive", RUNS_MAX);
        let differs = |kind, sights: BTreeSet<Sight>| Verdict::Differs(Difference { kind, sights });
        let new = |sights: &BTreeSet<Sight>| -> BTreeSet<Sight> {
            sights.difference(&expected).cloned().collect()
        };
        if !new(&searched.sights).is_empty() {
            return differs(Kind::Unexpected, new(&searched.sights));
        }
        // Also if it has found out by itself that it is wrong.
        if searched.complete && !searched.blind {
            let missed: BTreeSet<_> = expected.difference(&searched.sights).cloned().collect();
            if !missed.is_empty() {
                return differs(Kind::Missed, missed);
            }
        }
        let random = self.at_random(program);
        if !new(&random).is_empty() {
            return differs(Kind::SeenAtRandom, new(&random));
        }
        match () {
            () if searched.blind => Verdict::LeftOut(Why::Blind),
            () if !searched.complete => Verdict::LeftOut(Why::Runs),
            () if searched.doubted => differs(Kind::Doubted, expected),
            () if self.plain && passes(program) != expected.iter().all(|s| s.end.passed()) => {
                differs(Kind::Outcome, expected)
            }
            () => Verdict::Same { results: expected, runs: searched.runs },
        }
    }

    /// The sights of random runs.
    fn at_random(&self, program: &Program) -> BTreeSet<Sight> {
        let driven = Driven::new(program);
        let mut sights = BTreeSet::new();
        for strategy in AT_RANDOM {
            let runner = runner(strategy);
            for seed in 0..self.random {
                let run = runner.run_seed(seed, async || driven.body().await);
                sights.insert(driven.sight(&run));
            }
        }
        sights
    }
}

fn runner(strategy: &str) -> Runner {
    // Without a watchdog there is no thread for each search.
    Runner::new().hermetic().strategy(strategy).hang(Duration::ZERO).max_steps(2_000)
}

struct Searched {
    sights: BTreeSet<Sight>,
    runs: u64,
    /// True if runs that it sampled did not agree with it.
    doubted: bool,
    complete: bool,
    blind: bool,
}

fn search(program: &Program, strategy: &str, runs: u64) -> Searched {
    let driven = Driven::new(program);
    let mut sights = BTreeSet::new();
    let report = runner(strategy)
        .seeds(0..runs)
        .each_run(async || driven.body().await, |run| sights.extend([driven.sight(&run)]));
    if let Some(finding) = &report.finding {
        // A failing run is a result, but a run that is not reproducible is a fault of the driver.
        let outcome = &finding.run.outcome;
        if matches!(outcome, Outcome::Failed(Failure::NonDeterminism { .. })) {
            let end = End::Other(format!("{outcome:?}"));
            sights.insert(Sight { end, logs: Vec::new(), memory: Default::default() });
        }
    }
    let searched = report.searched.expect("a search says how far it came");
    Searched {
        sights,
        runs: report.runs,
        // That one of them failed is nothing new: each run of the search was shown.
        doubted: searched
            .audit
            .as_ref()
            .is_some_and(|audit| audit.missed.is_some() || audit.unseen),
        complete: searched.complete,
        blind: searched.blind,
    }
}

/// Returns `true` if a test passes that stops at the first failure and checks the orders of calls
/// without running them.
fn passes(program: &Program) -> bool {
    let driven = Driven::new(program);
    // A failure is written down; tests at the same time do not write to one place.
    let place = format!("sim-acts-{}-{:?}", std::process::id(), std::thread::current().id());
    let out = std::env::temp_dir().join(place);
    let runner = runner("exhaustive").prove(0).out(&out);
    let passed = runner.run(async || driven.body().await).passed();
    if !passed {
        // Files left behind do no harm.
        let _ = std::fs::remove_dir_all(out);
    }
    passed
}
