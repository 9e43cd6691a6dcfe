//! Compares the results of a search with the results of the interpreter.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use sim::Runner;
use sim::run::{Failure, Outcome};

use super::drive::Driven;
use super::interpret;
use super::program::{End, Program, Sight};

/// The maximum number of runs of a search. A program whose search needs more runs is left out.
const RUNS_MAX: u64 = 3_000;
/// The maximum number of runs of a search without reduction.
const PLAIN_RUNS_MAX: u64 = 20_000;
/// The maximum number of states that the interpreter visits.
const STATES_MAX: usize = 100_000;

/// The source of the expected results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judge {
    /// The function [`interpret::results`].
    Interpreter,
    /// The search `preemptions` without a bound, which reduces nothing. Used for acts that the
    /// interpreter does not model.
    Preemptions,
}

/// The result of a comparison.
#[derive(Debug)]
pub enum Verdict {
    /// The search claims a proof, and all sources agree on these results.
    Same {
        /// The results.
        results: BTreeSet<Sight>,
        /// The runs of the search.
        runs: u64,
    },
    /// The sources of results differ.
    Differs(Difference),
    /// No source contradicts another source. The comparison claims no proof, for the reason `Why`.
    LeftOut(Why),
}

/// The reason why a program is not compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The search would need too many runs.
    Runs,
    /// The search reports that tasks share state outside this library.
    Blind,
    /// The interpreter or the reference search would need too many states or runs.
    Expected,
}

/// Results that one source has, but another source lacks.
#[derive(Debug)]
pub struct Difference {
    /// The kind of the difference.
    pub kind: Kind,
    /// The results.
    pub sights: BTreeSet<Sight>,
}

/// Kinds of differences.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Expected, but missing in a search that claims to be complete: a false proof.
    Missed,
    /// A result that the search found, but that is not expected. The search or the interpreter is wrong.
    Unexpected,
    /// A result that a random run showed, but that is not expected.
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

/// The sources to compare, including the source of the expected results.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The source of the expected results.
    pub judge: Judge,
    /// The number of random runs for each strategy of [`AT_RANDOM`].
    pub random: u64,
    /// True if the test also runs plainly, until its first failure.
    pub plain: bool,
}

/// The strategies for the compared random runs.
pub const AT_RANDOM: [&str; 2] = ["random", "portfolio"];

impl Comparison {
    /// Compares the results of all sources for a program.
    pub fn of(&self, program: &Program) -> Verdict {
        self.between(program, program)
    }

    /// Compares the expected results of one program with the results of a search for another program.
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
        // A search that has discovered a fault in itself is compared, too.
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

    /// Returns the sights of random runs.
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
    // Without a watchdog, a search starts no additional thread.
    Runner::new().hermetic().strategy(strategy).hang(Duration::ZERO).max_steps(2_000)
}

struct Searched {
    sights: BTreeSet<Sight>,
    runs: u64,
    /// True if the search's own sampled runs contradict the search.
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
        // A failing sampled run adds nothing, because each run of the search was already shown.
        doubted: searched
            .audit
            .as_ref()
            .is_some_and(|audit| audit.missed.is_some() || audit.unseen),
        complete: searched.complete,
        blind: searched.blind,
    }
}

/// Returns `true` if a plain test passes. The check stops at the first failure, and checks the orders of calls without
/// running them.
fn passes(program: &Program) -> bool {
    let driven = Driven::new(program);
    // A failure writes files, so parallel tests need separate folders.
    let place = format!("sim-acts-{}-{:?}", std::process::id(), std::thread::current().id());
    let out = std::env::temp_dir().join(place);
    let runner = runner("exhaustive").prove(0).out(&out);
    let passed = runner.run(async || driven.body().await).passed();
    if !passed {
        // Remaining files are harmless.
        let _ = std::fs::remove_dir_all(out);
    }
    passed
}
